/* simd_product.c - matrix products in f32 with AVX-512, on one thread; other instruction sets have
 * none and leave the product to BLAS.
 *
 * The blocking is that of Goto and van de Geijn (2008), with buffers small enough for the stack. C
 * is made in tiles of ROWS x COLUMNS that stay in registers while k runs through a block of DEPTH:
 *   - op(B) is copied panel by panel, COLUMNS wide, into the first-level cache: [depth, COLUMNS];
 *   - op(A) is read where it lies if its rows are contiguous, and otherwise copied, as many rows as
 *     the buffer holds, in groups of ROWS: [group, depth, ROWS].
 * Every element of C is one sum in the order of k per block, whatever the tile it falls into. */
#include "cpu/product.h"

#include "cpu/simd.h"

#if defined(__AVX512F__)

#include <immintrin.h>

enum {
    WIDTH = 16, /* floats of a register */
    ROWS = 8,
    COLUMNS = 2 * WIDTH, /* with ROWS: 16 sums, enough to hide an addition's latency */
    DEPTH = 256,
    COPIED_A = 64 * DEPTH /* floats */
};

/* A block of op(A): element (i, p) is at data[i * row + p * step]. */
typedef struct left_block {
    const float *data;
    int64_t row, step;
} left_block;

/* Where a tile goes: `columns` of its COLUMNS exist. */
typedef struct target {
    float *c;
    int64_t stride, columns;
    bool accumulate;
} target;

SIMD_INLINE void store_row(const target *t, int64_t row, __m512 low, __m512 high)
{
    float *c = t->c + row * t->stride;
    const uint32_t exist = t->columns >= COLUMNS ? UINT32_MAX : (UINT32_C(1) << t->columns) - 1;
    const __mmask16 mask_low = (__mmask16)exist, mask_high = (__mmask16)(exist >> WIDTH);
    if (t->accumulate) {
        low = _mm512_add_ps(low, _mm512_maskz_loadu_ps(mask_low, c));
        high = _mm512_add_ps(high, _mm512_maskz_loadu_ps(mask_high, c + WIDTH));
    }
    _mm512_mask_storeu_ps(c, mask_low, low);
    _mm512_mask_storeu_ps(c + WIDTH, mask_high, high);
}

/* C [rows, COLUMNS] = a [rows, depth] panel [depth, COLUMNS]. rows, and row or step, are constants
 * where this is called; with every loop over rows unrolled, the sums are registers. */
SIMD_INLINE void tile(const int rows, const float *a, int64_t row, int64_t step, const float *panel,
                      int64_t depth, const target *t)
{
    __m512 low[ROWS], high[ROWS];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
        low[i] = high[i] = _mm512_setzero_ps();
        /* C is fetched while the sums are made: a factor of 1.7 where it exceeds the cache. */
        __builtin_prefetch(t->c + i * t->stride, 1);
        __builtin_prefetch(t->c + i * t->stride + WIDTH, 1);
    }
    for (int64_t p = 0; p < depth; p++) {
        const __m512 b_low = _mm512_load_ps(panel + p * COLUMNS);
        const __m512 b_high = _mm512_load_ps(panel + p * COLUMNS + WIDTH);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            const __m512 x = _mm512_set1_ps(a[i * row + p * step]);
            low[i] = _mm512_fmadd_ps(x, b_low, low[i]);
            high[i] = _mm512_fmadd_ps(x, b_high, high[i]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
        store_row(t, i, low[i], high[i]);
}

#define TILE_CASE(rows)                                      \
    case rows:                                               \
        if (a->step == 1)                                    \
            tile(rows, a->data, a->row, 1, panel, depth, t); \
        else                                                 \
            tile(rows, a->data, 1, ROWS, panel, depth, t);   \
        break;

SIMD_LOOP void run_tile(int64_t rows, const left_block *a, const float *panel, int64_t depth,
                        const target *t)
{
    switch (rows) {
        TILE_CASE(1)
        TILE_CASE(2)
        TILE_CASE(3)
        TILE_CASE(4)
        TILE_CASE(5)
        TILE_CASE(6)
        TILE_CASE(7)
        TILE_CASE(8)
    }
}

/* ---- Copies ----------------------------------------------------------------------------------*/

/* One transposition step on pairs of 32-bit lanes, then on pairs of 64-bit lanes. */
SIMD_INLINE void transpose_within_quarters(const __m512 *in, __m512 *out)
{
    for (int i = 0; i < WIDTH; i += 4) {
        const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(in[i], in[i + 1]));
        const __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(in[i], in[i + 1]));
        const __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(in[i + 2], in[i + 3]));
        const __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(in[i + 2], in[i + 3]));
        out[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        out[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        out[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        out[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
}

/* to [WIDTH, COLUMNS], its first WIDTH columns = from [WIDTH, WIDTH] transposed. */
SIMD_INLINE void transpose_square(const float *from, int64_t stride, float *to)
{
    __m512 r[WIDTH], q[WIDTH];
    for (int i = 0; i < WIDTH; i++)
        r[i] = _mm512_loadu_ps(from + i * stride);
    transpose_within_quarters(r, q);
    for (int i = 0; i < 4; i++) { /* quarters: row i of quarter j of q[4 k + i] */
        const __m512 a = _mm512_shuffle_f32x4(q[i], q[i + 4], 0x88);
        const __m512 b = _mm512_shuffle_f32x4(q[i + 8], q[i + 12], 0x88);
        const __m512 c = _mm512_shuffle_f32x4(q[i], q[i + 4], 0xDD);
        const __m512 d = _mm512_shuffle_f32x4(q[i + 8], q[i + 12], 0xDD);
        _mm512_store_ps(to + (i + 0) * COLUMNS, _mm512_shuffle_f32x4(a, b, 0x88));
        _mm512_store_ps(to + (i + 4) * COLUMNS, _mm512_shuffle_f32x4(c, d, 0x88));
        _mm512_store_ps(to + (i + 8) * COLUMNS, _mm512_shuffle_f32x4(a, b, 0xDD));
        _mm512_store_ps(to + (i + 12) * COLUMNS, _mm512_shuffle_f32x4(c, d, 0xDD));
    }
}

/* panel [depth, COLUMNS] = from [columns, depth] transposed; columns that do not exist are 0. */
static void copy_panel_transposed(const float *from, int64_t stride, int64_t columns, int64_t depth,
                                  float *panel)
{
    for (int64_t j = 0; j < COLUMNS; j += WIDTH) {
        int64_t p = 0;
        for (; j + WIDTH <= columns && p + WIDTH <= depth; p += WIDTH)
            transpose_square(from + j * stride + p, stride, panel + p * COLUMNS + j);
        for (; p < depth; p++)
            for (int64_t k = j; k < j + WIDTH; k++)
                panel[p * COLUMNS + k] = k < columns ? from[k * stride + p] : 0.0F;
    }
}

/* panel [depth, COLUMNS] = from [depth, columns]; columns that do not exist are 0. */
static void copy_panel(const float *from, int64_t stride, int64_t columns, int64_t depth,
                       float *panel)
{
    const uint32_t exist = columns >= COLUMNS ? UINT32_MAX : (UINT32_C(1) << columns) - 1;
    const __mmask16 low = (__mmask16)exist, high = (__mmask16)(exist >> WIDTH);
    for (int64_t p = 0; p < depth; p++, from += stride, panel += COLUMNS) {
        _mm512_store_ps(panel, _mm512_maskz_loadu_ps(low, from));
        _mm512_store_ps(panel + WIDTH, _mm512_maskz_loadu_ps(high, from + WIDTH));
    }
}

/* to [group, depth, ROWS] = from [depth, rows]; rows that do not exist are 0. */
static void copy_left(const float *from, int64_t stride, int64_t rows, int64_t depth, float *to)
{
    for (int64_t i = 0; i < rows; i += ROWS) {
        const int64_t left = rows - i;
        const __mmask8 exist = (__mmask8)(left >= ROWS ? 0xFF : (1 << left) - 1);
        for (int64_t p = 0; p < depth; p++, to += ROWS)
            _mm256_store_ps(to, _mm256_maskz_loadu_ps(exist, from + p * stride + i));
    }
}

/* ---- Blocks ----------------------------------------------------------------------------------*/

/* A product [m, n] = [m, depth] [depth, n]: one step of k, all or some rows. */
typedef struct block {
    const remat_gemm *gemm;
    int64_t m, depth;
    left_block a;
    const float *b;
    float *c;
    bool accumulate;
} block;

static void run_block(const block *s, float *panel)
{
    const remat_gemm *g = s->gemm;
    for (int64_t j = 0; j < g->n; j += COLUMNS) {
        target t = {s->c + j, g->ldc, g->n - j < COLUMNS ? g->n - j : COLUMNS, s->accumulate};
        if (g->transpose_b)
            copy_panel_transposed(s->b + j * g->ldb, g->ldb, t.columns, s->depth, panel);
        else
            copy_panel(s->b + j, g->ldb, t.columns, s->depth, panel);
        left_block a = s->a;
        for (int64_t i = 0; i < s->m; i += ROWS) {
            run_tile(s->m - i < ROWS ? s->m - i : ROWS, &a, panel, s->depth, &t);
            a.data += a.step == 1 ? ROWS * a.row : ROWS * s->depth;
            t.c += ROWS * g->ldc;
        }
    }
}

static void run(const remat_gemm *gemm, bool beta, const void *a, const void *b, void *c)
{
    _Alignas(64) float panel[DEPTH * COLUMNS];
    _Alignas(64) float copied[COPIED_A];
    for (int64_t p = 0; p < gemm->k; p += DEPTH) {
        block s = {.gemm = gemm,
                   .m = gemm->m,
                   .depth = gemm->k - p < DEPTH ? gemm->k - p : DEPTH,
                   .b = (const float *)b + (gemm->transpose_b ? p : p * gemm->ldb),
                   .c = c,
                   .accumulate = beta || p > 0};
        if (!gemm->transpose_a) {
            s.a = (left_block){(const float *)a + p, gemm->lda, 1};
            run_block(&s, panel);
            continue;
        }
        const int64_t rows = COPIED_A / s.depth / ROWS * ROWS;
        for (int64_t i = 0; i < gemm->m; i += rows, s.c += rows * gemm->ldc) {
            s.m = gemm->m - i < rows ? gemm->m - i : rows;
            s.a = (left_block){copied, 1, ROWS};
            copy_left((const float *)a + p * gemm->lda + i, gemm->lda, s.m, s.depth, copied);
            run_block(&s, panel);
        }
    }
}

const remat_product_kernels REMAT_SIMD_NAME(remat_product_kernels)[2] = {[REMAT_F32] = {run}};

#else

const remat_product_kernels REMAT_SIMD_NAME(remat_product_kernels)[2] = {{NULL}, {NULL}};

#endif
