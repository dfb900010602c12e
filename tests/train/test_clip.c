/* test_clip.c - gradient clipping by the global norm. */
#include "cpu/kernels.h"
#include "optimizer_reference.h"

static remat_param gradient_of(remat_dtype dtype, size_t count, void *gradient)
{
    return (remat_param){.dtype = dtype, .count = count, .data = gradient, .gradient = gradient};
}

static void test_scales_to_the_maximal_norm(void **state)
{
    (void)state;
    float a[2] = {3, 0};
    double b[3] = {0, -4, 12};
    const remat_param params[] = {gradient_of(REMAT_F32, 2, a), gradient_of(REMAT_F64, 3, b)};
    double norm = 0;
    assert_int_equal(remat_clip_gradients(params, 2, 6.5, &norm), REMAT_OK);
    assert_true(norm == 13);
    assert_true(a[0] == 1.5f && a[1] == 0 && b[0] == 0 && b[1] == -2 && b[2] == 6);
}

static void test_leaves_small_gradients_alone(void **state)
{
    (void)state;
    float a[2] = {3, 4};
    const remat_param param = gradient_of(REMAT_F32, 2, a);
    double norm = 0;
    assert_int_equal(remat_clip_gradients(&param, 1, 5, &norm), REMAT_OK);
    assert_true(norm == 5 && a[0] == 3 && a[1] == 4);
    assert_int_equal(remat_clip_gradients(&param, 1, INFINITY, NULL), REMAT_OK);
    assert_true(a[0] == 3 && a[1] == 4);
    assert_int_equal(remat_clip_gradients(NULL, 0, 1, &norm), REMAT_OK);
    assert_true(norm == 0);
}

static void test_every_length_and_level(void **state)
{
    (void)state;
    for (size_t count = 0; count <= 70; count++) {
        for (remat_dtype dtype = REMAT_F32; dtype <= REMAT_F64; dtype++) {
            uint32_t random = (uint32_t)count;
            tensor t;
            tensor_create(&t, dtype, count, count % 4, &random);
            double sum = 0, first_bits = 0;
            for (size_t i = 0; i < count; i++)
                sum += t.reference[GRADIENT][i] * t.reference[GRADIENT][i];
            for (int level = 0; level < REMAT_SIMD_LEVEL_COUNT; level++) {
                const remat_kernels *kernels = remat_cpu_kernels_at((remat_simd_level)level);
                if (kernels == NULL)
                    continue;
                double found = kernels->optimizer[dtype].sum_of_squares(count, t.param.gradient, 2);
                assert_near(found, 4 * sum, 1e-14);
                first_bits = level == 0 ? found : first_bits;
                /* These squares and sums are exact, so each level has the same bits. */
                assert_true(found == first_bits);
            }
            double norm = 0, max_norm = sqrt(sum) / 3;
            for (size_t i = 0; i < count; i++)
                t.reference[GRADIENT][i] /= 3;
            assert_int_equal(remat_clip_gradients(&t.param, 1, count > 0 ? max_norm : 1, &norm),
                             REMAT_OK);
            assert_near(norm, sqrt(sum), 1e-14);
            assert_tensor(&t);
            tensor_destroy(&t);
        }
    }
}

/* Norms within the range of double whose squares are not. */
static void test_extreme_norms(void **state)
{
    (void)state;
    static const double scales[] = {0x1p1000, 0x1p-1000};
    for (size_t k = 0; k < 2; k++) {
        double g[2] = {3 * scales[k], -4 * scales[k]}, norm = 0;
        const remat_param param = gradient_of(REMAT_F64, 2, g);
        assert_int_equal(remat_clip_gradients(&param, 1, scales[k], &norm), REMAT_OK);
        assert_near(norm / scales[k], 5, 1e-15);
        assert_near(g[0] / scales[k], 0.6, 1e-15);
        assert_near(g[1] / scales[k], -0.8, 1e-15);
    }
}

static void test_norms_that_are_not_finite_change_nothing(void **state)
{
    (void)state;
    float g[3] = {1, INFINITY, 2};
    const remat_param param = gradient_of(REMAT_F32, 3, g);
    double norm = 0;
    assert_int_equal(remat_clip_gradients(&param, 1, 1, &norm), REMAT_OK);
    assert_true(isinf(norm) && g[0] == 1 && isinf(g[1]) && g[2] == 2);
    g[1] = NAN;
    assert_int_equal(remat_clip_gradients(&param, 1, 1, &norm), REMAT_OK);
    assert_true(isnan(norm) && g[0] == 1 && isnan(g[1]) && g[2] == 2);
}

static void test_refuses_bad_arguments(void **state)
{
    (void)state;
    float g[2] = {3, 4};
    const remat_param good = gradient_of(REMAT_F32, 2, g);
    remat_param broken[2][2] = {{good, good}, {good, good}};
    broken[0][1].gradient = NULL;
    broken[1][1].dtype = REMAT_I32;
    static const double bad[] = {0, -1, -INFINITY, NAN};
    double norm = -7;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(remat_clip_gradients(&good, 1, bad[i], &norm), REMAT_INVALID_ARGUMENT);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(remat_clip_gradients(broken[i], 2, 1, &norm), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_clip_gradients(NULL, 1, 1, &norm), REMAT_INVALID_ARGUMENT);
    assert_true(norm == -7 && g[0] == 3 && g[1] == 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scales_to_the_maximal_norm),
        cmocka_unit_test(test_leaves_small_gradients_alone),
        cmocka_unit_test(test_every_length_and_level),
        cmocka_unit_test(test_extreme_norms),
        cmocka_unit_test(test_norms_that_are_not_finite_change_nothing),
        cmocka_unit_test(test_refuses_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
