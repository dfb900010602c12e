/* gemm.c - matrix products by OpenBLAS; the only file that includes cblas.h. Vectors (m or n = 1)
 * take the same path: one path, one set of bits. */
#include "cpu/gemm.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <string.h>

bool remat_gemm_fits(int64_t m, int64_t n, int64_t k)
{
    const int64_t largest = sizeof(blasint) == sizeof(int) ? INT_MAX : INT64_MAX;
    return m <= largest && n <= largest && k <= largest;
}

/* The epilogue is a prologue: OpenBLAS scales C by beta in a pass of its own, which rows of bias
 * replace at no cost; a pass over the finished C costs 0.5 % at 256 x 512 x 512, 1-10 % where C
 * leaves the cache. */
static void fill_rows(const remat_gemm *gemm, int64_t ldc, void *c)
{
    const size_t element = remat_dtype_bytes(gemm->dtype);
    const size_t bytes = (size_t)gemm->n * element;
    for (int64_t i = 0; i < gemm->m; i++)
        memcpy((char *)c + (size_t)(i * ldc) * element, gemm->bias, bytes);
}

void remat_gemm_run(const remat_gemm *gemm, const void *a, const void *b, void *c)
{
    const int64_t lda = gemm->lda ? gemm->lda : gemm->transpose_a ? gemm->m : gemm->k;
    const int64_t ldb = gemm->ldb ? gemm->ldb : gemm->transpose_b ? gemm->k : gemm->n;
    const int64_t ldc = gemm->ldc ? gemm->ldc : gemm->n;
    const bool beta = gemm->accumulate || gemm->bias;
    assert(gemm->m > 0 && gemm->n > 0 && gemm->k > 0);
    assert(remat_gemm_fits(gemm->m, gemm->n, gemm->k) && remat_gemm_fits(lda, ldb, ldc));
    assert(!(gemm->accumulate && gemm->bias));
    if (gemm->bias)
        fill_rows(gemm, ldc, c);
    const enum CBLAS_TRANSPOSE op_a = gemm->transpose_a ? CblasTrans : CblasNoTrans;
    const enum CBLAS_TRANSPOSE op_b = gemm->transpose_b ? CblasTrans : CblasNoTrans;
    const blasint m = (blasint)gemm->m, n = (blasint)gemm->n, k = (blasint)gemm->k;
    if (gemm->dtype == REMAT_F32)
        cblas_sgemm(CblasRowMajor, op_a, op_b, m, n, k, 1.0F, a, (blasint)lda, b, (blasint)ldb,
                    beta ? 1.0F : 0.0F, c, (blasint)ldc);
    else
        cblas_dgemm(CblasRowMajor, op_a, op_b, m, n, k, 1.0, a, (blasint)lda, b, (blasint)ldb,
                    beta ? 1.0 : 0.0, c, (blasint)ldc);
}

void remat_gemm_run_batch(const remat_gemm *gemm, const remat_gemm_batch *batch, const void *a,
                          const void *b, void *c)
{
    const int64_t element = (int64_t)remat_dtype_bytes(gemm->dtype);
    remat_gemm product = *gemm;
    assert(batch->c || batch->count == 1 || !gemm->bias);
    for (int64_t i = 0; i < batch->count; i++) {
        product.accumulate = gemm->accumulate || (i > 0 && batch->c == 0);
        remat_gemm_run(&product, (const char *)a + i * batch->a * element,
                       (const char *)b + i * batch->b * element,
                       (char *)c + i * batch->c * element);
    }
}

uint64_t remat_gemm_kernel_id(void)
{
    return (uint64_t)remat_threads();
}

remat_status remat_set_threads(int threads)
{
    if (threads < 1)
        return REMAT_INVALID_ARGUMENT;
    openblas_set_num_threads(threads);
    return REMAT_OK;
}

int remat_threads(void)
{
    return openblas_get_num_threads();
}
