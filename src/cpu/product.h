/* product.h - kernels of single-threaded matrix products, for processors where they beat the BLAS
 * library. Part of the tables of kernels.h. */
#ifndef REMAT_CPU_PRODUCT_H
#define REMAT_CPU_PRODUCT_H

#include "cpu/gemm.h"

/* C = op(A) op(B) + beta C, as gemm describes the operands, with all its leading dimensions set;
 * its bias and accumulate are not looked at. beta: false 0 (C is written, never read), true 1. Uses
 * less than 100 KiB of stack. NULL: none for this instruction set and element type. */
typedef struct remat_product_kernels {
    void (*run)(const remat_gemm *gemm, bool beta, const void *a, const void *b, void *c);
} remat_product_kernels;

#endif
