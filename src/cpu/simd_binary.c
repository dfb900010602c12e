/* simd_binary.c - the tables of binary.h; compiled once per instruction set. */
#include "cpu/kernels.h"

#include "cpu/simd_f32.h"

#include "cpu/binary_template.h"

#include "cpu/simd_f64.h"

#include "cpu/binary_template.h"

#define TABLE(type)                                 \
    {                                               \
        {[REMAT_BINARY_ADD] = add_##type,           \
         [REMAT_BINARY_SUBTRACT] = subtract_##type, \
         [REMAT_BINARY_MULTIPLY] = multiply_##type, \
         [REMAT_BINARY_DIVIDE] = divide_##type},    \
            quotient_##type                         \
    }

const remat_binary_kernels REMAT_SIMD_NAME(remat_binary_kernels)[2] = {TABLE(f32), TABLE(f64)};
