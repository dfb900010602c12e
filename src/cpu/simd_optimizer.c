/* simd_optimizer.c - the kernels of optimizer.h; compiled once per instruction set. */
#include "cpu/kernels.h"
#include "cpu/simd.h"

SIMD_INLINE float square_root_f32(float x)
{
    return sqrtf(x);
}

SIMD_INLINE double square_root_f64(double x)
{
    return sqrt(x);
}

#define SUM_LANES ((size_t)16)

#include "cpu/simd_f64.h"

#include "cpu/optimizer_template.h"

#include "cpu/simd_f32.h"

#include "cpu/optimizer_template.h"

const remat_optimizer_kernels REMAT_SIMD_NAME(remat_optimizer_kernels)[2] = {
    [REMAT_F32] = {sgd_f32, adam_f32, sum_of_squares_f32, scale_f32},
    [REMAT_F64] = {sgd_f64, adam_f64, sum_of_squares_f64, scale_f64},
};
