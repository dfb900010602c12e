/* test_cpu_rows.c - the kernels that work on rows (softmax, layer normalisation, dropout's
 * generator) in every table that this processor can run, and the choice of a table. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "cpu/kernels.h"

#define LONGEST   300
#define FOR_LEVEL for (int level = 0; level < REMAT_SIMD_LEVEL_COUNT; level++)

static const remat_kernels *kernels_at(int level)
{
    return remat_cpu_kernels_at((remat_simd_level)level);
}

static void highest_level_is_chosen(void **state)
{
    (void)state;
    const remat_kernels *highest = NULL;
    FOR_LEVEL
    {
        if (kernels_at(level))
            highest = kernels_at(level);
    }
    assert_non_null(kernels_at(REMAT_SIMD_GENERIC));
    assert_ptr_equal(remat_cpu_kernels(), highest);
}

/* ---- softmax ---- */

static void fill(float *x, size_t count, double scale)
{
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(scale * sin(1.7 * (double)i + 0.1 * (double)(i % 7)));
}

/* softmax and log_softmax of one line of n elements, `stride` apart. The rounding of x - max, which
 * is at most 18, is magnified. */
static void check_line(const float *x, const float *y, const float *log_y, int64_t n,
                       int64_t stride)
{
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = fmax(max, (double)x[i * stride]);
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)x[i * stride] - max);
    for (int64_t i = 0; i < n; i++) {
        double exact = exp((double)x[i * stride] - max) / sum;
        double log_exact = (double)x[i * stride] - max - log(sum);
        assert_true(fabs((double)y[i * stride] - exact) <= 12 * (double)FLT_EPSILON * exact);
        assert_true(fabs((double)log_y[i * stride] - log_exact) <=
                    4 * (double)FLT_EPSILON * (1 + fabs(log_exact)));
    }
}

/* Rows of every length and columns of every width; off alignment and in place: the same bits. */
static void softmax_lines(void **state)
{
    (void)state;
    float x[LONGEST + 1], y[LONGEST], log_y[LONGEST], moved[LONGEST + 1];
    fill(x, LONGEST + 1, 9);
    FOR_LEVEL
    {
        const remat_kernels *k = kernels_at(level);
        for (int64_t n = 1; k && n <= 150; n++) {
            for (int64_t inner = 1; n * inner <= LONGEST; inner += 1 + inner / 2) {
                remat_softmax_extents extents = {.outer = 1, .n = n, .inner = inner};
                size_t bytes = (size_t)(n * inner) * sizeof(float);
                k->softmax->forward[REMAT_SOFTMAX_PLAIN](&extents, x, y);
                k->softmax->forward[REMAT_SOFTMAX_LOG](&extents, x, log_y);
                for (int64_t j = 0; j < inner; j++)
                    check_line(x + j, y + j, log_y + j, n, inner);
                memcpy(moved + 1, x, bytes);
                k->softmax->forward[REMAT_SOFTMAX_PLAIN](&extents, moved + 1, moved + 1);
                assert_memory_equal(moved + 1, y, bytes);
            }
        }
    }
}

static void softmax_special_values(void **state)
{
    (void)state;
    FOR_LEVEL
    {
        const remat_kernels *k = kernels_at(level);
        float large[] = {-1e30f, 3e38f, -INFINITY}, bad[] = {1, NAN, 2}, y[3];
        remat_softmax_extents extents = {.outer = 1, .n = 3, .inner = 1};
        if (!k)
            continue;
        k->softmax->forward[REMAT_SOFTMAX_PLAIN](&extents, large, y);
        assert_true(y[0] == 0 && y[1] == 1 && y[2] == 0);
        k->softmax->forward[REMAT_SOFTMAX_PLAIN](&extents, bad, y);
        assert_true(isnan(y[0]) && isnan(y[1]) && isnan(y[2]));
    }
}

/* ---- layer normalisation ---- */

/* A mean 10^5 times the deviation, and not a float: the variance survives. */
static void variance_is_safe(void **state)
{
    (void)state;
    float x[LONGEST], y[LONGEST], mean, rstd;
    double sum = 0, squares = 0;
    for (int i = 0; i < LONGEST; i++) {
        x[i] = 100000 + (float)(i % 16) / 16;
        sum += (double)x[i];
    }
    for (int i = 0; i < LONGEST; i++)
        squares += ((double)x[i] - sum / LONGEST) * ((double)x[i] - sum / LONGEST);
    double exact = 1 / sqrt(squares / LONGEST);
    FOR_LEVEL
    {
        const remat_kernels *k = kernels_at(level);
        remat_norm_forward norm = {
            .rows = 1, .n = LONGEST, .x = x, .y = y, .mean = &mean, .rstd = &rstd};
        if (!k)
            continue;
        k->norm->forward(&norm);
        assert_true(fabs((double)rstd - exact) <= 2 * (double)FLT_EPSILON * exact);
        assert_true((double)fabsf(mean - (float)(sum / LONGEST)) == 0);
    }
}

/* A row of equal elements has no variance: not even a negative one by rounding. */
static void constant_row(void **state)
{
    (void)state;
    float x[37], y[37], mean, rstd;
    for (int i = 0; i < 37; i++)
        x[i] = 0.1f;
    FOR_LEVEL
    {
        const remat_kernels *k = kernels_at(level);
        remat_norm_forward norm = {
            .rows = 1, .n = 37, .x = x, .epsilon = 1e-6, .y = y, .mean = &mean, .rstd = &rstd};
        if (!k)
            continue;
        k->norm->forward(&norm);
        assert_true(fabs((double)rstd - 1000) < 1e-3);
        for (int i = 0; i < 37; i++)
            assert_true(y[i] == 0);
    }
}

/* ---- dropout ---- */

/* The words of the kernel are those of remat_random_block(). threshold splits at one word. */
static void check_words(const remat_kernels *k, const remat_random_key *key, int64_t count)
{
    float ones[1500], mask[1500];
    for (int64_t i = 0; i < count; i++)
        ones[i] = 1;
    for (uint32_t threshold = 0x10000000u; threshold != 0; threshold <<= 1) {
        k->dropout->apply(key, threshold, 2, ones, mask, count, false);
        for (int64_t i = 0; i < count; i++) {
            uint32_t words[4];
            remat_random_block(key, (uint64_t)i / 4, words);
            assert_true(mask[i] == (words[i % 4] >= threshold ? 2.0f : 0.0f));
        }
    }
}

static void dropout_draws_random_blocks(void **state)
{
    (void)state;
    const remat_random_key key = {.seed = 0x123456789abcdef0, .step = 0x1ffffffff, .stream = 77};
    FOR_LEVEL
    {
        const remat_kernels *k = kernels_at(level);
        for (int64_t count = 1; k && count <= 1500; count += 1 + count / 3)
            check_words(k, &key, count);
    }
}

static void dropout_adds(void **state)
{
    (void)state;
    const remat_random_key key = {.seed = 5};
    double x[100], plain[100], added[100];
    FOR_LEVEL
    {
        const remat_kernels *k = kernels_at(level);
        if (!k)
            continue;
        for (int i = 0; i < 100; i++) {
            x[i] = i + 1;
            added[i] = 1000;
        }
        k->dropout[REMAT_F64].apply(&key, 1u << 31, 2, x, plain, 100, false);
        k->dropout[REMAT_F64].apply(&key, 1u << 31, 2, x, added, 100, true);
        for (int i = 0; i < 100; i++)
            assert_true(added[i] == 1000 + plain[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(highest_level_is_chosen),
        cmocka_unit_test(softmax_lines),
        cmocka_unit_test(softmax_special_values),
        cmocka_unit_test(variance_is_safe),
        cmocka_unit_test(constant_row),
        cmocka_unit_test(dropout_draws_random_blocks),
        cmocka_unit_test(dropout_adds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
