/* simd_loss.c - the tables of loss.h; compiled once per instruction set. */
#include "cpu/kernels.h"
#include "cpu/lanes.h"
#include "cpu/simd.h"

#include <math.h>
#include <string.h>

#include "cpu/simd_f32.h"

#include "cpu/math_template.h"

#include "cpu/loss_template.h"

#include "cpu/simd_f64.h"

#include "cpu/math_template.h"

#include "cpu/loss_template.h"

#define TABLE(type)                                                                            \
    {                                                                                          \
        sum_of_exp_##type, softmax_gradient_##type, squared_distance_##type, difference_##type \
    }

const remat_loss_kernels REMAT_SIMD_NAME(remat_loss_kernels)[2] = {TABLE(f32), TABLE(f64)};
