/* simd_sums.c - the tables of sums.h; compiled once per instruction set. */
#include "cpu/kernels.h"
#include "cpu/lanes.h"

#include "cpu/simd_f32.h"

#include "cpu/sums_template.h"

#include "cpu/simd_f64.h"

#include "cpu/sums_template.h"

const remat_sums_kernels REMAT_SIMD_NAME(remat_sums_kernels)[2] = {
    {add_columns_f32, store_f32, sum_f32}, {add_columns_f64, store_f64, sum_f64}};
