/* test_special_values.c - where a formula has a corner: kinks, infinities, NaN, ignored rows,
 * labels out of range, rows without variance. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/op_harness.h"
#include "support/op_runner.h"

static const op_memory plain = {.misaligned = false, .fill = 0xFF};
static const remat_dtype dtypes[] = {REMAT_F32, REMAT_F64};

/* One vector through a row's operation: y = f(x), dx for an upstream gradient of ones. Elements
 * beyond n are padding, so that vector bodies see the same values as tails. */
enum { padded = 37 };
typedef struct outcome {
    double y[padded], dx[padded];
} outcome;

static outcome apply(const char *name, remat_dtype dtype, const double *x, size_t n)
{
    op_case row = *op_case_find(name);
    row.leaves[0].shape = REMAT_SHAPE(padded);
    op_subject subject = op_subject_open(&row, dtype);
    op_values values = op_values_draw(&subject);
    outcome result;
    op_run run;
    for (size_t i = 0; i < padded; i++) {
        values.leaf[0][i] = x[i % n];
        values.upstream[0][i] = 1.0;
    }
    op_run_open(&run, &subject, &values, plain);
    run.may_be_infinite = true;
    assert_int_equal(op_run_forward(&run, 1, OP_OUT_OF_PLACE), REMAT_OK);
    assert_int_equal(op_run_backward(&run, &values, 1, NULL, OP_OUT_OF_PLACE), REMAT_OK);
    op_load(run.result[0], dtype, padded, result.y);
    op_load(run.gradient[0], dtype, padded, result.dx);
    op_run_close(&run);
    op_values_free(&values);
    op_subject_close(&subject);
    return result;
}

typedef struct corner {
    const char *name;
    double x, y, dx; /* NAN: any NaN */
} corner;

static const corner corners[] = {
    {"relu", 0.0, 0.0, 0.0},
    {"relu", -0.0, 0.0, 0.0},
    {"relu", INFINITY, INFINITY, 1.0},
    {"relu", -INFINITY, 0.0, 0.0},
    {"exp", 1000.0, INFINITY, INFINITY},
    {"exp", -1000.0, 0.0, 0.0},
    {"exp", INFINITY, INFINITY, INFINITY},
    {"exp", -INFINITY, 0.0, 0.0},
    {"exp", 0.0, 1.0, 1.0},
    {"log", 0.0, -INFINITY, INFINITY},
    {"log", 1.0, 0.0, 1.0},
    {"log", -1.0, NAN, -1.0},
    {"log", INFINITY, INFINITY, 0.0},
    {"sqrt", 0.0, 0.0, INFINITY},
    {"sqrt", -1.0, NAN, NAN},
    {"sqrt", INFINITY, INFINITY, 0.0},
    {"sigmoid", INFINITY, 1.0, 0.0},
    {"sigmoid", -INFINITY, 0.0, 0.0},
    {"sigmoid", 1000.0, 1.0, 0.0},
    {"sigmoid", -1000.0, 0.0, 0.0},
    {"sigmoid", 0.0, 0.5, 0.25},
    {"tanh", INFINITY, 1.0, 0.0},
    {"tanh", -INFINITY, -1.0, 0.0},
    {"tanh", 0.0, 0.0, 1.0},
    {"tanh", 1000.0, 1.0, 0.0},
    {"gelu", 0.0, 0.0, 0.5},
    {"gelu", 1000.0, 1000.0, 1.0},
    {"gelu", -1000.0, 0.0, 0.0},
    {"gelu_tanh", 0.0, 0.0, 0.5},
    {"gelu_tanh", 1000.0, 1000.0, 1.0},
    {"gelu_tanh", -1000.0, 0.0, 0.0},
    {"silu", 0.0, 0.0, 0.5},
    {"silu", 1000.0, 1000.0, 1.0},
    {"silu", -1000.0, 0.0, 0.0},
};

static bool same(double a, double b)
{
    return isnan(b) ? isnan(a) : a == b;
}

static void unary_corners(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof corners / sizeof corners[0]; c++) {
        for (size_t d = 0; d < 2; d++) {
            const corner *expected = &corners[c];
            const outcome got = apply(expected->name, dtypes[d], &expected->x, 1);
            for (size_t i = 0; i < padded; i++) {
                if (!same(got.y[i], expected->y) || !same(got.dx[i], expected->dx))
                    fail_msg("%s %s(%g): %g and %g instead of %g and %g", expected->name,
                             remat_dtype_name(dtypes[d]), expected->x, got.y[i], got.dx[i],
                             expected->y, expected->dx);
            }
        }
    }
}

/* Is there a NaN in the result if this element is one? */
static bool shows_nan(const op_subject *subject, op_values *values, size_t leaf, size_t element)
{
    const double before = values->leaf[leaf][element];
    values->leaf[leaf][element] = NAN;
    op_run run;
    op_run_open(&run, subject, values, plain);
    run.may_be_infinite = true;
    assert_int_equal(op_run_forward(&run, 0, OP_OUT_OF_PLACE), REMAT_OK);
    double *result = op_read(run.result[0], &subject->out[0]);
    bool seen = false;
    for (size_t j = 0; j < op_type_count(&subject->out[0]); j++)
        seen = seen || isnan(result[j]);
    free(result);
    op_run_close(&run);
    values->leaf[leaf][element] = before;
    return seen;
}

/* A NaN among the elements reaches a result: one that vanished would hide a divergence. */
static void nan_is_seen(void **state)
{
    const op_point *point = *state;
    op_subject subject = op_subject_open(point->row, point->dtype);
    op_values values = op_values_draw(&subject);
    for (size_t i = 0; i < subject.n_leaves; i++) {
        const size_t last = op_type_count(&subject.leaf[i]) - 1;
        if (subject.leaf[i].dtype == REMAT_I32)
            continue;
        assert_true(shows_nan(&subject, &values, i, 0));
        assert_true(shows_nan(&subject, &values, i, last));
    }
    op_values_free(&values);
    op_subject_close(&subject);
}

/* Masked attention: -infinity gets no weight and no gradient, and does no harm to its neighbours.
 */
static void softmax_masks(void **state)
{
    (void)state;
    const double x[padded] = {-INFINITY, 1.0, -INFINITY, 1.0, -INFINITY};
    for (size_t d = 0; d < 2; d++) {
        const outcome got = apply("softmax_vector", dtypes[d], x, padded);
        double sum = 0.0;
        for (size_t i = 0; i < padded; i++) {
            sum += got.y[i];
            assert_true(isfinite(got.y[i]) && isfinite(got.dx[i]));
            assert_true(isfinite(x[i]) || (got.y[i] == 0.0 && got.dx[i] == 0.0));
        }
        assert_true(fabs(sum - 1.0) < 1e-6);
        assert_true(got.y[1] == got.y[3]);
    }
}

/* Results are relative to the largest element, however large. */
static void softmax_is_shifted(void **state)
{
    (void)state;
    double near[padded], far[padded];
    for (size_t i = 0; i < padded; i++) {
        near[i] = (double)(i % 5);
        far[i] = near[i] + 1048576.0;
    }
    for (size_t d = 0; d < 2; d++) {
        const outcome a = apply("softmax_vector", dtypes[d], near, padded);
        const outcome b = apply("softmax_vector", dtypes[d], far, padded);
        assert_memory_equal(a.y, b.y, sizeof a.y);
        const outcome c = apply("log_softmax_vector", dtypes[d], far, padded);
        for (size_t i = 0; i < padded; i++)
            assert_true(fabs(exp(c.y[i]) - b.y[i]) < 1e-6);
    }
}

/* A row without variance has finite results; its gradient is scaled by 1 / sqrt(epsilon). */
static void layer_norm_of_constant(void **state)
{
    (void)state;
    double x = 3.0;
    for (size_t d = 0; d < 2; d++) {
        const outcome got = apply("layer_norm_plain", dtypes[d], &x, 1);
        for (size_t i = 0; i < padded; i++)
            assert_true(got.y[i] == 0.0 && fabs(got.dx[i]) < 1e-3);
    }
}

typedef struct labelled {
    op_subject subject;
    op_values values;
    op_run run;
} labelled;

/* Cross entropy of four rows with these labels. */
static remat_status classify(labelled *l, const char *name, remat_dtype dtype, const int *labels)
{
    l->subject = op_subject_open(op_case_find(name), dtype);
    l->values = op_values_draw(&l->subject);
    for (size_t i = 0; i < 4; i++)
        l->values.leaf[1][i] = labels[i];
    op_run_open(&l->run, &l->subject, &l->values, plain);
    return op_run_forward(&l->run, 1, OP_OUT_OF_PLACE);
}

static void declassify(labelled *l)
{
    op_run_close(&l->run);
    op_values_free(&l->values);
    op_subject_close(&l->subject);
}

static void all_rows_ignored(void **state)
{
    (void)state;
    static const char *const names[] = {"cross_entropy_mean_ignore", "cross_entropy_sum_ignore",
                                        "cross_entropy_mean_smooth_ignore"};
    const int labels[4] = {-100, -100, -100, -100};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        for (size_t d = 0; d < 2; d++) {
            labelled l;
            double loss = NAN, gradient[20];
            assert_int_equal(classify(&l, names[n], dtypes[d], labels), REMAT_OK);
            assert_int_equal(op_run_backward(&l.run, &l.values, 1, NULL, OP_OUT_OF_PLACE),
                             REMAT_OK);
            op_load(l.run.result[0], dtypes[d], 1, &loss);
            op_load(l.run.gradient[0], dtypes[d], 20, gradient);
            assert_true(loss == 0.0);
            for (size_t i = 0; i < 20; i++)
                assert_true(gradient[i] == 0.0);
            declassify(&l);
        }
    }
}

static void labels_out_of_range(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int labels[4];
    } bad[] = {
        {"cross_entropy_mean", {0, 5, 1, 2}},
        {"cross_entropy_mean", {0, 1, 2, -1}},
        {"cross_entropy_mean", {-100, 1, 2, 3}},
        {"cross_entropy_sum", {0, 1, INT32_MAX, 3}},
        {"cross_entropy_sum_smooth", {0, 1, INT32_MIN, 3}},
        {"cross_entropy_mean_ignore", {-100, -99, 0, 0}},
    };
    for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
        labelled l;
        assert_int_equal(classify(&l, bad[b].name, REMAT_F32, bad[b].labels), REMAT_OP_FAILED);
        assert_non_null(strstr(l.run.message, "label"));
        declassify(&l);
    }
}

/* Operations that only move elements move those of every dtype alike. */
static void integers_are_moved(void **state)
{
    (void)state;
    for (size_t r = 0; r < op_case_count(); r++) {
        const op_case *row = op_case_at(r);
        if (!row->takes_i32)
            continue;
        op_subject subjects[2] = {op_subject_open(row, REMAT_I32), op_subject_open(row, REMAT_F64)};
        op_values values = op_values_draw(&subjects[0]);
        double *moved[2];
        for (size_t i = 0; i < op_type_count(&subjects[0].leaf[0]); i++)
            values.leaf[0][i] = (double)i;
        for (size_t d = 0; d < 2; d++) {
            op_run run;
            op_run_open(&run, &subjects[d], &values, plain);
            assert_int_equal(op_run_forward(&run, 0, OP_OUT_OF_PLACE), REMAT_OK);
            moved[d] = op_read(run.result[0], &subjects[d].out[0]);
            op_run_close(&run);
        }
        const size_t count = op_type_count(&subjects[0].out[0]);
        assert_memory_equal(moved[0], moved[1], count * sizeof(double));
        op_values_free(&values);
        for (size_t d = 0; d < 2; d++) {
            free(moved[d]);
            op_subject_close(&subjects[d]);
        }
    }
}

static bool floats_may_be_nan(const op_case *row)
{
    return strncmp(row->name, "dropout", 7) != 0; /* it may zero the element */
}

int main(void)
{
    static const op_check checks[] = {{"NaN is seen", nan_is_seen, false, false}};
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_moved),     cmocka_unit_test(unary_corners),
        cmocka_unit_test(softmax_masks),          cmocka_unit_test(softmax_is_shifted),
        cmocka_unit_test(layer_norm_of_constant), cmocka_unit_test(all_rows_ignored),
        cmocka_unit_test(labels_out_of_range),
    };
    int failures = op_run_checks("special values", checks, 1, floats_may_be_nan);
    for (int level = 0; level < REMAT_SIMD_LEVEL_COUNT; level++) {
        if (!op_has_level((remat_simd_level)level))
            continue;
        op_use_level((remat_simd_level)level);
        failures +=
            cmocka_run_group_tests_name(op_level_name((remat_simd_level)level), tests, NULL, NULL);
    }
    return failures;
}
