/* gemm.h - the seam to the matrix products: row-major products, one or a batch, with an epilogue.
 * Callers describe a product by its extents; who computes it (today OpenBLAS) is decided behind
 * this header, which is all that src/ops knows of BLAS. */
#ifndef REMAT_CPU_GEMM_H
#define REMAT_CPU_GEMM_H

#include <remat/remat.h>

/* C [m, n] = op(A) op(B) + beta C, or + bias. op(A) is [m, k], op(B) is [k, n]; a transpose flag
 * says that the operand is stored exchanged: A as [k, m], B as [n, k]. C overlaps neither. */
typedef struct remat_gemm {
    remat_dtype dtype; /* f32 or f64 */
    bool transpose_a, transpose_b;
    bool accumulate;       /* beta: false 0 (C is written, never read), true 1 */
    int64_t m, n, k;       /* each at least 1 */
    int64_t lda, ldb, ldc; /* elements from one stored row to the next; 0: rows without gaps */
    const void *bias;      /* [n], added to every row of C, not with accumulate; NULL: none */
} remat_gemm;

/* Elements from one matrix of a batch to the next. 0: the same matrix every time; for C this means
 * the sum of the batch's products, taken in the order of the batch (and no bias). */
typedef struct remat_gemm_batch {
    int64_t count;
    int64_t a, b, c;
} remat_gemm_batch;

/* Whether products of these extents, without gaps, can be addressed. */
bool remat_gemm_fits(int64_t m, int64_t n, int64_t k);

/* For one number of threads the same arguments give the same bits, wherever they lie in memory. */
void remat_gemm_run(const remat_gemm *gemm, const void *a, const void *b, void *c);
void remat_gemm_run_batch(const remat_gemm *gemm, const remat_gemm_batch *batch, const void *a,
                          const void *b, void *c);

/* kernel_id of the operations that run products. */
uint64_t remat_gemm_kernel_id(void);

#endif
