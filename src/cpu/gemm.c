/* gemm.c - matrix products, by the kernels of product.h where the processor has them and one thread
 * is enough, else by OpenBLAS; the only file that includes cblas.h. The choice depends on the
 * extents and the number of threads only. */
#include "cpu/gemm.h"
#include "cpu/kernels.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <string.h>

/* Multiplications in a product from which on several threads of OpenBLAS are worth having. */
#define WORTH_THREADS ((int64_t)1 << 23)

bool remat_gemm_fits(int64_t m, int64_t n, int64_t k)
{
    const int64_t largest = sizeof(blasint) == sizeof(int) ? INT_MAX : INT64_MAX;
    return m <= largest && n <= largest && k <= largest;
}

/* Fills C with rows of bias, or zeros, to add the product to. The epilogue is a prologue: OpenBLAS
 * scales C by beta in a pass of its own, which the bias replaces at no cost; adding it to the
 * finished C costs 0.5 % at 256 x 512 x 512 and up to 10 % where C has left the cache. */
static void fill_rows(const remat_gemm *gemm, void *c)
{
    const size_t element = remat_dtype_bytes(gemm->dtype);
    const size_t bytes = (size_t)gemm->n * element, stride = (size_t)gemm->ldc * element;
    for (int64_t i = 0; i < gemm->m; i++) {
        if (gemm->bias)
            memcpy((char *)c + (size_t)i * stride, gemm->bias, bytes);
        else
            memset((char *)c + (size_t)i * stride, 0, bytes);
    }
}

static bool is_for_one_thread(const remat_gemm *gemm)
{
    return remat_threads() == 1 || gemm->m * gemm->n < WORTH_THREADS / gemm->k;
}

static void blas_product(const remat_gemm *gemm, bool beta, const void *a, const void *b, void *c)
{
    const enum CBLAS_TRANSPOSE op_a = gemm->transpose_a ? CblasTrans : CblasNoTrans;
    const enum CBLAS_TRANSPOSE op_b = gemm->transpose_b ? CblasTrans : CblasNoTrans;
    const blasint m = (blasint)gemm->m, n = (blasint)gemm->n, k = (blasint)gemm->k;
    const blasint lda = (blasint)gemm->lda, ldb = (blasint)gemm->ldb, ldc = (blasint)gemm->ldc;
    if (gemm->dtype == REMAT_F32)
        cblas_sgemm(CblasRowMajor, op_a, op_b, m, n, k, 1.0F, a, lda, b, ldb, beta ? 1.0F : 0.0F, c,
                    ldc);
    else
        cblas_dgemm(CblasRowMajor, op_a, op_b, m, n, k, 1.0, a, lda, b, ldb, beta ? 1.0 : 0.0, c,
                    ldc);
}

static void matrix_product(const remat_gemm *gemm, const void *a, const void *b, void *c)
{
    const bool beta = gemm->accumulate || gemm->bias;
    const remat_product_kernels *own = &remat_cpu_kernels()->product[gemm->dtype];
    if (gemm->bias)
        fill_rows(gemm, c);
    if (own->run && is_for_one_thread(gemm))
        own->run(gemm, beta, a, b, c);
    else
        blas_product(gemm, beta, a, b, c);
}

/* y += op(M) x; M is stored [rows, columns]. */
static void add_vector_product(remat_dtype dtype, bool transpose, int64_t rows, int64_t columns,
                               const void *matrix, int64_t ld, const void *x, int64_t x_stride,
                               void *y, int64_t y_stride)
{
    const enum CBLAS_TRANSPOSE op = transpose ? CblasTrans : CblasNoTrans;
    if (dtype == REMAT_F32)
        cblas_sgemv(CblasRowMajor, op, (blasint)rows, (blasint)columns, 1.0F, matrix, (blasint)ld,
                    x, (blasint)x_stride, 1.0F, y, (blasint)y_stride);
    else
        cblas_dgemv(CblasRowMajor, op, (blasint)rows, (blasint)columns, 1.0, matrix, (blasint)ld, x,
                    (blasint)x_stride, 1.0, y, (blasint)y_stride);
}

/* m or n is 1: gemv is 3 to 10 times as fast as gemm. C is zeroed here, as gemv's beta = 0 lets NaN
 * through in some versions. */
static void vector_product(const remat_gemm *gemm, const void *a, const void *b, void *c)
{
    const bool ta = gemm->transpose_a, tb = gemm->transpose_b;
    const int64_t m = gemm->m, n = gemm->n, k = gemm->k;
    if (gemm->bias || !gemm->accumulate)
        fill_rows(gemm, c);
    if (n == 1)
        add_vector_product(gemm->dtype, ta, ta ? k : m, ta ? m : k, a, gemm->lda, b,
                           tb ? 1 : gemm->ldb, c, gemm->ldc);
    else
        add_vector_product(gemm->dtype, !tb, tb ? n : k, tb ? k : n, b, gemm->ldb, a,
                           ta ? gemm->lda : 1, c, 1);
}

void remat_gemm_run(const remat_gemm *gemm, const void *a, const void *b, void *c)
{
    remat_gemm g = *gemm;
    assert(g.m > 0 && g.n > 0 && g.k > 0 && !(g.accumulate && g.bias));
    if (g.lda == 0)
        g.lda = g.transpose_a ? g.m : g.k;
    if (g.ldb == 0)
        g.ldb = g.transpose_b ? g.k : g.n;
    if (g.ldc == 0)
        g.ldc = g.n;
    assert(remat_gemm_fits(g.m, g.n, g.k) && remat_gemm_fits(g.lda, g.ldb, g.ldc));
    if (g.m == 1 || g.n == 1)
        vector_product(&g, a, b, c);
    else
        matrix_product(&g, a, b, c);
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
