/* test_dropout.c - the mask of dropout: its rate, its independence, and what it is a function of.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/op_harness.h"
#include "support/op_levels.h"

enum { n_elements = 100000 };

/* A row of ones: forward and backward both show the mask, scaled. */
static op_case ones_row(double rate, size_t ndim)
{
    op_case row = *op_case_find("dropout");
    row.number = rate;
    row.leaves[0].shape =
        ndim == 1 ? REMAT_SHAPE(n_elements) : REMAT_SHAPE(n_elements / 500, 10, 50);
    return row;
}

/* The mask as 0 and 1, n_elements of it. which: 0 from forward, 1 from backward. */
static bool *mask_of(const op_case *row, remat_dtype dtype, remat_random_key key, int which)
{
    op_subject subject = op_subject_open(row, dtype);
    op_values values = op_values_draw(&subject);
    for (size_t i = 0; i < n_elements; i++)
        values.leaf[0][i] = values.upstream[0][i] = 1.0;
    op_run run;
    op_run_open(&run, &subject, &values, (op_memory){.misaligned = false, .fill = 0xFF});
    run.random = key;
    assert_int_equal(op_run_forward(&run, 1, OP_OUT_OF_PLACE), REMAT_OK);
    assert_int_equal(op_run_backward(&run, &values, 1, NULL, OP_OUT_OF_PLACE), REMAT_OK);
    double *scaled = op_read(which == 0 ? run.result[0] : run.gradient[0], &subject.out[0]);
    bool *mask = malloc(n_elements * sizeof *mask);
    assert_non_null(mask);
    for (size_t i = 0; i < n_elements; i++) {
        mask[i] = scaled[i] != 0.0;
        assert_true(!mask[i] || fabs(scaled[i] * (1.0 - row->number) - 1.0) < 1e-6);
    }
    free(scaled);
    op_run_close(&run);
    op_values_free(&values);
    op_subject_close(&subject);
    return mask;
}

static const remat_random_key key = {.seed = 11, .step = 4, .stream = 9};

/* count successes of n trials of this probability, within five standard deviations. */
static void check_binomial(size_t count, size_t n, double probability)
{
    const double mean = (double)n * probability, sigma = sqrt(mean * (1.0 - probability));
    if (!(fabs((double)count - mean) <= 5.0 * sigma))
        fail_msg("%zu of %zu; expected %.1f, sigma %.1f", count, n, mean, sigma);
}

static void rate(void **state)
{
    (void)state;
    static const double rates[] = {0.01, 0.1, 0.5, 0.9, 0.999, 1 - 1e-12};
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        const op_case row = ones_row(rates[r], 1);
        bool *mask = mask_of(&row, REMAT_F32, key, 0);
        size_t zeroed = 0;
        for (size_t i = 0; i < n_elements; i++)
            zeroed += !mask[i];
        check_binomial(zeroed, n_elements, rates[r]);
        free(mask);
    }
}

/* Elements are independent of their neighbours: within one block of the generator and beyond. */
static void neighbours(void **state)
{
    (void)state;
    const op_case row = ones_row(0.5, 1);
    bool *mask = mask_of(&row, REMAT_F32, key, 0);
    for (size_t lag = 1; lag <= 64; lag *= 2) {
        size_t equal = 0;
        for (size_t i = 0; i + lag < n_elements; i++)
            equal += mask[i] == mask[i + lag];
        check_binomial(equal, n_elements - lag, 0.5);
    }
    free(mask);
}

static void same_mask(const op_case *a, remat_dtype dtype_a, int which_a, const op_case *b,
                      remat_dtype dtype_b, int which_b)
{
    bool *first = mask_of(a, dtype_a, key, which_a), *second = mask_of(b, dtype_b, key, which_b);
    assert_memory_equal(first, second, n_elements * sizeof *first);
    free(first);
    free(second);
}

/* The mask is a function of the key and the element only. */
static void repeats(void **state)
{
    (void)state;
    const op_case flat = ones_row(0.3, 1), folded = ones_row(0.3, 3);
    same_mask(&flat, REMAT_F32, 0, &flat, REMAT_F32, 0);
    same_mask(&flat, REMAT_F32, 0, &flat, REMAT_F32, 1);
    same_mask(&flat, REMAT_F64, 0, &flat, REMAT_F64, 1);
    same_mask(&flat, REMAT_F32, 0, &flat, REMAT_F64, 0);
    same_mask(&flat, REMAT_F32, 0, &folded, REMAT_F32, 0);
}

/* And the same for every instruction set. */
static void levels_agree(void **state)
{
    (void)state;
    const op_case row = ones_row(0.3, 1);
    bool *best = mask_of(&row, REMAT_F32, key, 0);
    for (int level = 0; level < REMAT_SIMD_LEVEL_COUNT; level++) {
        if (!op_has_level((remat_simd_level)level))
            continue;
        op_use_level((remat_simd_level)level);
        bool *mask = mask_of(&row, REMAT_F32, key, 1);
        op_use_best_level();
        assert_memory_equal(best, mask, n_elements * sizeof *mask);
        free(mask);
    }
    free(best);
}

/* Another seed, step or statement: masks that agree as often as independent ones do. */
static void differs(void **state)
{
    (void)state;
    const remat_random_key keys[] = {
        {key.seed + 1, key.step, key.stream},
        {key.seed, key.step + 1, key.stream},
        {key.seed, key.step, key.stream + 1},
        {key.seed + (UINT64_C(1) << 40), key.step, key.stream},
        {key.seed, key.step + (UINT64_C(1) << 33), key.stream},
        {key.step, key.seed, key.stream},
        {key.seed, key.stream, key.step},
    };
    const op_case row = ones_row(0.3, 1);
    bool *mask = mask_of(&row, REMAT_F32, key, 0);
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        bool *other = mask_of(&row, REMAT_F32, keys[k], 0);
        size_t equal = 0;
        for (size_t i = 0; i < n_elements; i++)
            equal += mask[i] == other[i];
        check_binomial(equal, n_elements, 0.3 * 0.3 + 0.7 * 0.7);
        free(other);
    }
    free(mask);
}

/* Rate 0 changes nothing, to the bit. */
static void identity(void **state)
{
    (void)state;
    op_subject subject = op_subject_open(op_case_find("dropout_none"), REMAT_F32);
    op_values values = op_values_draw(&subject);
    op_run run;
    op_run_all(&run, &subject, &values, (op_memory){.misaligned = false, .fill = 0xFF});
    assert_memory_equal(run.result[0], run.leaf[0].data, run.leaf[0].bytes);
    assert_memory_equal(run.gradient[0], run.grad_out[0].data, run.leaf[0].bytes);
    op_run_close(&run);
    op_values_free(&values);
    op_subject_close(&subject);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_agree), cmocka_unit_test(rate),    cmocka_unit_test(neighbours),
        cmocka_unit_test(repeats),      cmocka_unit_test(differs), cmocka_unit_test(identity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
