/* simd_softmax.c - the tables of softmax.h; compiled once per instruction set. */
#include "cpu/kernels.h"
#include "cpu/simd.h"

/* Lines that are walked together where the axis is not the last one. */
#define COLUMNS 64

/* Exponentials that are taken and added up side by side in a row, a power of 2. */
#define LANES 16

static int64_t width(const remat_softmax_extents *extents, int64_t first)
{
    return extents->inner - first < COLUMNS ? extents->inner - first : COLUMNS;
}

#include "cpu/simd_f32.h"

#include "cpu/math_template.h"

#include "cpu/blocks_template.h"

#include "cpu/softmax_template.h"

#include "cpu/simd_f64.h"

#include "cpu/math_template.h"

#include "cpu/blocks_template.h"

#include "cpu/softmax_template.h"

#define TABLE(type)                                              \
    {                                                            \
        {softmax_forward_##type, log_softmax_forward_##type},    \
        {                                                        \
            softmax_backward_##type, log_softmax_backward_##type \
        }                                                        \
    }

const remat_softmax_kernels REMAT_SIMD_NAME(remat_softmax_kernels)[2] = {TABLE(f32), TABLE(f64)};
