/* simd_norm.c - the tables of norm.h; compiled once per instruction set. */
#include "cpu/kernels.h"
#include "cpu/simd.h"

#include "cpu/simd_f32.h"

#include "cpu/norm_template.h"

#include "cpu/simd_f64.h"

#include "cpu/norm_template.h"

const remat_norm_kernels REMAT_SIMD_NAME(remat_norm_kernels)[2] = {{forward_f32, backward_f32},
                                                                   {forward_f64, backward_f64}};
