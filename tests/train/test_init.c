/* test_init.c - initial values: their distribution, their range, and that they repeat. */
#include <math.h>
#include <remat/remat.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT 100000

/* Mean, variance and largest magnitude of a buffer. */
typedef struct moments {
    double mean, variance, largest;
} moments;

static moments measure(const double *x, size_t count)
{
    moments m = {0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        m.mean += x[i] / (double)count;
        m.largest = fmax(m.largest, fabs(x[i]));
    }
    for (size_t i = 0; i < count; i++)
        m.variance += (x[i] - m.mean) * (x[i] - m.mean) / (double)count;
    return m;
}

static double *values_create(void)
{
    double *x = malloc(COUNT * sizeof(double));
    assert_non_null(x);
    return x;
}

static void assert_within(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", actual, expected, tolerance);
}

/* Five standard errors of mean and variance; the seeds are fixed, so nothing can flicker. */
static void assert_normal(const double *x, double mean, double sigma)
{
    moments m = measure(x, COUNT);
    assert_within(m.mean, mean, 5 * sigma / sqrt(COUNT));
    assert_within(m.variance, sigma * sigma, 5 * sigma * sigma * sqrt(2.0 / COUNT));
    assert_true(m.largest < fabs(mean) + 6 * sigma);
    size_t within_one = 0, above = 0;
    for (size_t i = 0; i < COUNT; i++) {
        within_one += fabs(x[i] - mean) < sigma;
        above += x[i] > mean;
    }
    assert_within((double)within_one / COUNT, erf(sqrt(0.5)), 5 * 0.5 / sqrt(COUNT));
    assert_within((double)above / COUNT, 0.5, 5 * 0.5 / sqrt(COUNT));
}

static void assert_uniform(const double *x, double low, double high)
{
    double width = high - low;
    moments m = measure(x, COUNT);
    assert_within(m.mean, low + width / 2, 5 * width / sqrt(12.0 * COUNT));
    assert_within(m.variance, width * width / 12, 5 * width * width * sqrt(1.0 / 180 / COUNT));
    double least = high, most = low;
    for (size_t i = 0; i < COUNT; i++) {
        least = fmin(least, x[i]);
        most = fmax(most, x[i]);
    }
    assert_true(low <= least && most <= high);
    assert_within(least, low, width * 1e-3);
    assert_within(most, high, width * 1e-3);
}

static void test_distributions(void **state)
{
    (void)state;
    double *x = values_create();
    assert_int_equal(remat_init_normal(x, REMAT_F64, COUNT, 3, 0.5, 1), REMAT_OK);
    assert_normal(x, 3, 0.5);
    assert_int_equal(remat_init_uniform(x, REMAT_F64, COUNT, -1, 4, 2), REMAT_OK);
    assert_uniform(x, -1, 4);
    assert_int_equal(remat_init_kaiming_normal(x, REMAT_F64, COUNT, 50, 3), REMAT_OK);
    assert_normal(x, 0, 0.2);
    assert_int_equal(remat_init_kaiming_uniform(x, REMAT_F64, COUNT, 24, 4), REMAT_OK);
    assert_uniform(x, -0.5, 0.5);
    assert_int_equal(remat_init_xavier_normal(x, REMAT_F64, COUNT, 30, 20, 5), REMAT_OK);
    assert_normal(x, 0, 0.2);
    assert_int_equal(remat_init_xavier_uniform(x, REMAT_F64, COUNT, 4, 20, 6), REMAT_OK);
    assert_uniform(x, -0.5, 0.5);
    free(x);
}

/* The two halves of a pair, and neighbours in general, are not correlated. */
static void test_neighbours_are_independent(void **state)
{
    (void)state;
    double *x = values_create();
    assert_int_equal(remat_init_normal(x, REMAT_F64, COUNT, 0, 1, 9), REMAT_OK);
    for (size_t lag = 1; lag <= 4; lag++) {
        double sum = 0;
        for (size_t i = 0; i + lag < COUNT; i++)
            sum += x[i] * x[i + lag];
        assert_within(sum / COUNT, 0, 5 / sqrt(COUNT));
    }
    free(x);
}

static void test_constant_and_empty(void **state)
{
    (void)state;
    float x[3] = {1, 2, 3};
    assert_int_equal(remat_init_constant(x, REMAT_F32, 2, 0.25), REMAT_OK);
    assert_true(x[0] == 0.25f && x[1] == 0.25f && x[2] == 3);
    assert_int_equal(remat_init_normal(NULL, REMAT_F32, 0, 0, 1, 1), REMAT_OK);
    assert_int_equal(remat_init_uniform(x, REMAT_F32, 3, 2, 2, 1), REMAT_OK);
    assert_true(x[0] == 2 && x[1] == 2 && x[2] == 2);
    assert_int_equal(remat_init_normal(x, REMAT_F32, 3, 2, 0, 1), REMAT_OK);
    assert_true(x[0] == 2 && x[1] == 2 && x[2] == 2);
}

/* Element i depends on the seed and i alone, and f32 values are the rounded f64 values. */
static void test_prefixes_and_types_agree(void **state)
{
    (void)state;
    double whole[71];
    assert_int_equal(remat_init_normal(whole, REMAT_F64, 71, 0, 1, 12), REMAT_OK);
    for (size_t count = 0; count <= 71; count++) {
        double d[72];
        float f[72];
        d[count] = 77;
        f[count] = 77;
        assert_int_equal(remat_init_normal(d, REMAT_F64, count, 0, 1, 12), REMAT_OK);
        assert_int_equal(remat_init_normal(f, REMAT_F32, count, 0, 1, 12), REMAT_OK);
        assert_memory_equal(d, whole, count * sizeof(double));
        for (size_t i = 0; i < count; i++)
            assert_true(f[i] == (float)whole[i]);
        assert_true(d[count] == 77 && f[count] == 77);
    }
}

static void test_seeds_differ(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {0, 1, 2, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_MAX};
    double x[6][50];
    for (size_t k = 0; k < 6; k++) {
        assert_int_equal(remat_init_uniform(x[k], REMAT_F64, 50, 0, 1, seeds[k]), REMAT_OK);
        for (size_t j = 0; j < k; j++) {
            for (size_t i = 0; i < 50; i++)
                assert_true(x[k][i] != x[j][i]);
        }
    }
}

/* FNV-1a over the values as little-endian words, whatever the machine's order. */
static uint64_t hash_bits(const float *x, size_t count)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        for (int byte = 0; byte < 4; byte++)
            hash = (hash ^ (bits >> (8 * byte) & 0xFF)) * UINT64_C(1099511628211);
    }
    return hash;
}

/* Promised to stay: results that users have published depend on it. Uniform values have the same
 * bits on every machine, normal ones but for the last bit of libm. The expected values come from a
 * generator written apart from this library, in Python. */
static void test_known_values(void **state)
{
    (void)state;
    static const double normal[] = {1.2313382759052154, 0.7305302557354582, -0.2547771650559607,
                                    0.829867349704414,  0.6130543056690898, 0.2598637693238625};
    float x[1000];
    double y[6];
    assert_int_equal(remat_init_uniform(x, REMAT_F32, 1000, -1, 1, 2026), REMAT_OK);
    assert_int_equal(hash_bits(x, 1000), UINT64_C(0x4b9183d627c22f5d));
    assert_int_equal(remat_init_normal(y, REMAT_F64, 6, 0, 1, 2026), REMAT_OK);
    for (size_t i = 0; i < 6; i++)
        assert_within(y[i], normal[i], 1e-14);
}

static void test_refuses_bad_arguments(void **state)
{
    (void)state;
    double x[2] = {5, 6};
    const remat_status bad = REMAT_INVALID_ARGUMENT;
    assert_int_equal(remat_init_constant(NULL, REMAT_F64, 2, 1), bad);
    assert_int_equal(remat_init_constant(x, REMAT_I32, 2, 1), bad);
    assert_int_equal(remat_init_uniform(NULL, REMAT_F64, 2, 0, 1, 1), bad);
    assert_int_equal(remat_init_uniform(x, REMAT_I32, 2, 0, 1, 1), bad);
    assert_int_equal(remat_init_uniform(x, REMAT_F64, 2, 1, 0, 1), bad);
    assert_int_equal(remat_init_uniform(x, REMAT_F64, 2, NAN, 1, 1), bad);
    assert_int_equal(remat_init_uniform(x, REMAT_F64, 2, 0, INFINITY, 1), bad);
    assert_int_equal(remat_init_uniform(x, REMAT_F64, 2, -1.5e308, 1.5e308, 1), bad);
    assert_int_equal(remat_init_uniform(x, REMAT_F32, 2, 0, 1e39, 1), bad);
    assert_int_equal(remat_init_normal(NULL, REMAT_F64, 2, 0, 1, 1), bad);
    assert_int_equal(remat_init_normal(x, (remat_dtype)9, 2, 0, 1, 1), bad);
    assert_int_equal(remat_init_normal(x, REMAT_F64, 2, NAN, 1, 1), bad);
    assert_int_equal(remat_init_normal(x, REMAT_F64, 2, 0, -1, 1), bad);
    assert_int_equal(remat_init_normal(x, REMAT_F64, 2, 0, NAN, 1), bad);
    assert_int_equal(remat_init_kaiming_uniform(x, REMAT_F64, 2, 0, 1), bad);
    assert_int_equal(remat_init_kaiming_normal(x, REMAT_F64, 2, 0, 1), bad);
    assert_int_equal(remat_init_xavier_uniform(x, REMAT_F64, 2, 0, 1, 1), bad);
    assert_int_equal(remat_init_xavier_uniform(x, REMAT_F64, 2, 1, 0, 1), bad);
    assert_int_equal(remat_init_xavier_normal(x, REMAT_F64, 2, 0, 1, 1), bad);
    assert_int_equal(remat_init_xavier_normal(x, REMAT_F64, 2, 1, 0, 1), bad);
    assert_true(x[0] == 5 && x[1] == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_neighbours_are_independent),
        cmocka_unit_test(test_constant_and_empty),
        cmocka_unit_test(test_prefixes_and_types_agree),
        cmocka_unit_test(test_seeds_differ),
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_refuses_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
