/* test_optimizers.c - SGD, Adam and AdamW against loops in double and against PyTorch. */
#include <stdio.h>

#include "cpu/kernels.h"
#include "optimizer_reference.h"

#define MAX_COUNT 70
#define STEPS     4

static const recipe recipes[] = {
    {.kind = SGD, .learning_rate = 0.125},
    {.kind = SGD, .learning_rate = 0.1, .weight_decay = 0.05, .zero_gradients = true},
    {.kind = SGD, .learning_rate = 0.1, .momentum = 0.9},
    {.kind = SGD,
     .learning_rate = 0.1,
     .momentum = 0.9,
     .weight_decay = 0.01,
     .zero_gradients = true},
    {.kind = SGD, .learning_rate = 0.1, .momentum = 0.8, .nesterov = true},
    {.kind = SGD,
     .learning_rate = 0.1,
     .momentum = 0.8,
     .nesterov = true,
     .weight_decay = 0.02,
     .zero_gradients = true},
    {.kind = ADAM, .learning_rate = 0.001, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
    {.kind = ADAM,
     .learning_rate = 0.02,
     .beta1 = 0.8,
     .beta2 = 0.95,
     .epsilon = 1e-3,
     .weight_decay = 0.1,
     .zero_gradients = true},
    {.kind = ADAM, .learning_rate = 0.02, .beta2 = 0.5, .epsilon = 1e-8},
    {.kind = ADAMW,
     .learning_rate = 0.01,
     .beta1 = 0.9,
     .beta2 = 0.999,
     .epsilon = 1e-8,
     .weight_decay = 0.1},
    {.kind = ADAMW,
     .learning_rate = 0.02,
     .beta1 = 0.8,
     .beta2 = 0.95,
     .epsilon = 1e-3,
     .weight_decay = 0.5,
     .zero_gradients = true},
};
#define RECIPES (sizeof recipes / sizeof recipes[0])

/* adam->step is kept by the caller; the other fields come from the recipe. */
static remat_status library_step(const recipe *r, uint64_t *step, const remat_param *params,
                                 size_t n)
{
    if (r->kind == SGD) {
        const remat_sgd sgd = {r->learning_rate, r->momentum, r->weight_decay, r->nesterov,
                               r->zero_gradients};
        return remat_sgd_step(&sgd, params, n);
    }
    remat_adam adam = {r->learning_rate, r->beta1,          r->beta2, r->epsilon,
                       r->weight_decay,  r->zero_gradients, *step};
    remat_status status =
        r->kind == ADAM ? remat_adam_step(&adam, params, n) : remat_adamw_step(&adam, params, n);
    *step = adam.step;
    return status;
}

static void check_recipe(const recipe *r, remat_dtype dtype, size_t count, size_t offset)
{
    uint32_t random = (uint32_t)count;
    uint64_t library_steps = 0;
    tensor t;
    tensor_create(&t, dtype, count, offset, &random);
    for (int step = 1; step <= STEPS; step++) {
        new_gradients(&t, &random);
        reference_step(&t, r, step);
        assert_int_equal(library_step(r, &library_steps, &t.param, 1), REMAT_OK);
        assert_tensor(&t);
    }
    assert_int_equal(library_steps, r->kind == SGD ? 0 : STEPS);
    tensor_destroy(&t);
}

static void test_agrees_with_loops_in_double(void **state)
{
    (void)state;
    static const size_t offsets[] = {0, 1, 3};
    for (size_t k = 0; k < RECIPES; k++) {
        for (size_t count = 0; count <= MAX_COUNT; count++) {
            check_recipe(&recipes[k], REMAT_F32, count, offsets[count % 3]);
            check_recipe(&recipes[k], REMAT_F64, count, offsets[count % 3]);
        }
    }
}

static void test_steps_tensors_of_both_types_in_one_call(void **state)
{
    (void)state;
    for (size_t k = 0; k < RECIPES; k++) {
        uint32_t random = 5;
        uint64_t step = 0;
        tensor tensors[3];
        remat_param params[3];
        for (size_t i = 0; i < 3; i++) {
            tensor_create(&tensors[i], i == 1 ? REMAT_F64 : REMAT_F32, 9 + i, 0, &random);
            params[i] = tensors[i].param;
            reference_step(&tensors[i], &recipes[k], 1);
        }
        assert_int_equal(library_step(&recipes[k], &step, params, 3), REMAT_OK);
        for (size_t i = 0; i < 3; i++) {
            assert_tensor(&tensors[i]);
            tensor_destroy(&tensors[i]);
        }
    }
}

/* Every level of vector instructions of this machine, beside the one that is chosen. */
static void test_every_level_agrees_with_loops_in_double(void **state)
{
    (void)state;
    const remat_adam_coefficients c = {.beta1 = 0.9,
                                       .beta2 = 0.99,
                                       .epsilon = 1e-6,
                                       .rate = 0.01 / (1 - 0.9),
                                       .root_scale = 1 / sqrt(1 - 0.99),
                                       .weight_decay = 0.1,
                                       .shrink = 1};
    const recipe adam = {.kind = ADAM,
                         .learning_rate = 0.01,
                         .beta1 = 0.9,
                         .beta2 = 0.99,
                         .epsilon = 1e-6,
                         .weight_decay = 0.1};
    const remat_sgd nesterov = {.learning_rate = 0.1, .momentum = 0.8, .nesterov = true};
    const recipe *sgd = &recipes[4];
    for (int level = 0; level < REMAT_SIMD_LEVEL_COUNT; level++) {
        const remat_kernels *kernels = remat_cpu_kernels_at((remat_simd_level)level);
        for (size_t count = 0; kernels != NULL && count <= 2 * MAX_COUNT; count++) {
            uint32_t random = 7;
            remat_dtype dtype = count % 2 == 0 ? REMAT_F32 : REMAT_F64;
            const remat_optimizer_kernels *loops = &kernels->optimizer[dtype];
            tensor t;
            tensor_create(&t, dtype, count / 2, 1, &random);
            loops->adam(&c, count / 2, t.param.data, t.param.gradient, t.param.state[0],
                        t.param.state[1]);
            reference_step(&t, &adam, 1);
            assert_tensor(&t);
            loops->sgd(&nesterov, count / 2, t.param.data, t.param.gradient, t.param.state[0]);
            reference_step(&t, sgd, 1);
            assert_tensor(&t);
            tensor_destroy(&t);
        }
    }
}

enum { GOLDEN_ELEMENTS = 5, GOLDEN_STEPS = 6 };

static void read_row(FILE *file, double *row)
{
    for (int i = 0; i < GOLDEN_ELEMENTS; i++)
        assert_int_equal(fscanf(file, "%lf", &row[i]), 1);
}

static void check_golden_case(FILE *file, const recipe *r, remat_dtype dtype)
{
    uint32_t random = 1;
    uint64_t library_steps = 0;
    tensor t;
    tensor_create(&t, dtype, GOLDEN_ELEMENTS, 0, &random);
    double row[GOLDEN_ELEMENTS];
    read_row(file, row);
    for (size_t i = 0; i < GOLDEN_ELEMENTS; i++)
        set(t.param.data, dtype, i, row[i]);
    for (int step = 0; step < GOLDEN_STEPS; step++) {
        read_row(file, row);
        for (size_t i = 0; i < GOLDEN_ELEMENTS; i++)
            set(t.param.gradient, dtype, i, row[i]);
        assert_int_equal(library_step(r, &library_steps, &t.param, 1), REMAT_OK);
        read_row(file, row);
        for (size_t i = 0; i < GOLDEN_ELEMENTS; i++)
            assert_near(get(t.param.data, dtype, i), row[i], dtype == REMAT_F32 ? 4e-6 : 1e-14);
    }
    tensor_destroy(&t);
}

static bool read_recipe(FILE *file, recipe *r)
{
    char name[8];
    int nesterov;
    if (fscanf(file, " case %7s", name) != 1)
        return false;
    assert_int_equal(fscanf(file, "%lf %lf %lf %d %lf %lf %lf", &r->learning_rate, &r->momentum,
                            &r->weight_decay, &nesterov, &r->beta1, &r->beta2, &r->epsilon),
                     7);
    r->nesterov = nesterov != 0;
    r->zero_gradients = false;
    r->kind = strcmp(name, "sgd") == 0 ? SGD : strcmp(name, "adam") == 0 ? ADAM : ADAMW;
    return true;
}

static void test_agrees_with_pytorch(void **state)
{
    (void)state;
    FILE *file = fopen(REMAT_TEST_DATA "/optimizer_golden.txt", "r");
    assert_non_null(file);
    char line[128];
    long start = 0;
    while (fgets(line, sizeof line, file) != NULL && line[0] == '#')
        start = ftell(file);
    for (remat_dtype dtype = REMAT_F32; dtype <= REMAT_F64; dtype++) {
        recipe r;
        int cases = 0;
        assert_int_equal(fseek(file, start, SEEK_SET), 0);
        for (; read_recipe(file, &r); cases++)
            check_golden_case(file, &r, dtype);
        assert_int_equal(cases, 11);
    }
    assert_int_equal(fclose(file), 0);
}

/* A refused call leaves every buffer and the step counter as they were. */
static void refuse(const recipe *r, const remat_param *broken, tensor *good, uint64_t step)
{
    const remat_param params[2] = {good->param, broken ? *broken : good->param};
    const uint64_t before = step;
    assert_int_equal(library_step(r, &step, params, 2), REMAT_INVALID_ARGUMENT);
    assert_int_equal(step, before);
    assert_tensor(good);
}

static void test_refuses_bad_hyperparameters(void **state)
{
    (void)state;
    const recipe sgd = recipes[4], adam = recipes[6];
    uint32_t random = 3;
    tensor t;
    tensor_create(&t, REMAT_F32, 5, 0, &random);
    static const double bad[] = {-0.1, -INFINITY, INFINITY, 1e39, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        recipe cases[] = {sgd, sgd, sgd, adam, adam, adam, adam, adam};
        cases[0].learning_rate = cases[1].momentum = cases[2].weight_decay = bad[i];
        cases[3].learning_rate = cases[4].beta1 = cases[5].beta2 = bad[i];
        cases[6].epsilon = cases[7].weight_decay = bad[i];
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
            refuse(&cases[k], NULL, &t, 3);
            if (cases[k].kind == ADAM)
                cases[k].kind = ADAMW;
            refuse(&cases[k], NULL, &t, 3);
        }
    }
    recipe unit = adam;
    unit.beta1 = 1;
    refuse(&unit, NULL, &t, 0);
    unit = adam;
    unit.beta2 = 1;
    refuse(&unit, NULL, &t, 0);
    recipe nesterov = sgd;
    nesterov.momentum = 0;
    refuse(&nesterov, NULL, &t, 0);
    refuse(&adam, NULL, &t, UINT64_MAX);
    tensor_destroy(&t);
}

static void test_refuses_bad_tensors(void **state)
{
    (void)state;
    static const size_t picks[] = {0, 2, 6, 9};
    uint32_t random = 3;
    tensor t;
    tensor_create(&t, REMAT_F64, 5, 0, &random);
    for (size_t k = 0; k < sizeof picks / sizeof picks[0]; k++) {
        const recipe *r = &recipes[picks[k]];
        remat_param broken[5] = {t.param, t.param, t.param, t.param, t.param};
        broken[0].data = NULL;
        broken[1].gradient = NULL;
        broken[2].dtype = REMAT_I32;
        broken[3].state[0] = NULL;
        broken[4].state[1] = NULL;
        size_t n_broken = r->kind != SGD ? 5 : r->momentum > 0 ? 4 : 3;
        for (size_t i = 0; i < n_broken; i++)
            refuse(r, &broken[i], &t, 2);
        uint64_t step = 0;
        assert_int_equal(library_step(r, &step, NULL, 1), REMAT_INVALID_ARGUMENT);
        assert_int_equal(library_step(r, &step, NULL, 0), REMAT_OK);
    }
    assert_int_equal(remat_sgd_step(NULL, &t.param, 1), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_adam_step(NULL, &t.param, 1), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_adamw_step(NULL, &t.param, 1), REMAT_INVALID_ARGUMENT);
    tensor_destroy(&t);
}

/* Plain SGD must not ask for, or touch, state; momentum only the first buffer. */
static void test_states_that_are_not_needed_may_be_null(void **state)
{
    (void)state;
    float p = 1, g = 0.5f, v = 0;
    remat_param param = {.dtype = REMAT_F32, .count = 1, .data = &p, .gradient = &g};
    remat_sgd sgd = REMAT_SGD_INIT;
    sgd.learning_rate = 0.5;
    assert_int_equal(remat_sgd_step(&sgd, &param, 1), REMAT_OK);
    assert_true(p == 0.75f);
    sgd.momentum = 0.5;
    param.state[0] = &v;
    assert_int_equal(remat_sgd_step(&sgd, &param, 1), REMAT_OK);
    assert_true(p == 0.5f && v == 0.5f);
    const remat_param empty = {.dtype = REMAT_F64};
    assert_int_equal(remat_sgd_step(&sgd, &empty, 1), REMAT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_loops_in_double),
        cmocka_unit_test(test_steps_tensors_of_both_types_in_one_call),
        cmocka_unit_test(test_every_level_agrees_with_loops_in_double),
        cmocka_unit_test(test_agrees_with_pytorch),
        cmocka_unit_test(test_refuses_bad_hyperparameters),
        cmocka_unit_test(test_refuses_bad_tensors),
        cmocka_unit_test(test_states_that_are_not_needed_may_be_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
