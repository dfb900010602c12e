/* test_permute.c - permute, transpose and reshape against plain loops: every permutation of up to
 * four axes, random ones of up to eight, and planes around the kernel's tiles. */
#include "support/exact.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

typedef struct axes {
    int axis[REMAT_MAX_DIMS];
    size_t count;
} axes;

static remat_var record_permute(remat_tape *tape, const remat_var *leaves, const void *context)
{
    const axes *p = context;
    return remat_permute(tape, leaves[0], p->axis, p->count);
}

static remat_var record_transpose(remat_tape *tape, const remat_var *leaves, const void *context)
{
    const axes *p = context;
    return remat_transpose(tape, leaves[0], p->axis[0], p->axis[1]);
}

/* Result axis i is axis p->axis[i] of the operand. */
static void check(exact_case c, remat_shape shape, const axes *p)
{
    uint64_t state = 23;
    remat_shape y = shape;
    for (size_t i = 0; i < p->count; i++)
        y.dims[i] = shape.dims[p->axis[i]];
    c.n_leaves = 1;
    c.leaf[0] = exact_tensor_create(shape, &state);
    c.result = exact_tensor_create(y, &state);
    const size_t count = (size_t)remat_shape_count(&y);
    for (size_t i = 0; i < count; i++) {
        int64_t to[REMAT_MAX_DIMS], from[REMAT_MAX_DIMS];
        exact_position(&y, i, to);
        for (size_t axis = 0; axis < p->count; axis++)
            from[p->axis[axis]] = to[axis];
        const size_t x = exact_broadcast_index(&shape, shape.ndim, from);
        c.result.value[i] = c.leaf[0].value[x];
        c.result.gradient[i] = exact_integer(&state);
        c.leaf[0].gradient[x] = c.result.gradient[i];
    }
    exact_check(&c);
    exact_case_destroy(&c);
}

static void check_permute(remat_shape shape, const axes *p)
{
    axes given = *p; /* every other axis counted from the end */
    for (size_t i = 0; i < given.count; i += 2)
        given.axis[i] -= (int)given.count;
    check((exact_case){.record = record_permute, .context = &given}, shape, p);
}

/* Permutation number `number` of n axes (factorial digits). */
static axes numbered(size_t n, size_t number)
{
    axes p = {.count = n};
    int left[REMAT_MAX_DIMS];
    for (size_t i = 0; i < n; i++)
        left[i] = (int)i;
    for (size_t i = 0; i < n; i++) {
        const size_t choice = number % (n - i);
        number /= n - i;
        p.axis[i] = left[choice];
        memmove(&left[choice], &left[choice + 1], (n - i - choice - 1) * sizeof left[0]);
    }
    return p;
}

static void test_all_small(void **state)
{
    static const size_t factorial[] = {1, 1, 2, 6, 24};
    static const int64_t extents[3][4] = {{2, 3, 4, 5}, {3, 1, 2, 17}, {18, 2, 1, 3}};
    (void)state;
    for (size_t n = 0; n <= 4; n++)
        for (size_t number = 0; number < factorial[n]; number++)
            for (size_t row = 0; row < 3; row++) {
                const axes p = numbered(n, number);
                check_permute(remat_shape_make(n, extents[row]), &p);
            }
}

static void test_random(void **state)
{
    uint64_t random = 29;
    (void)state;
    for (int round = 0; round < 200; round++) {
        const size_t n = 5 + (size_t)(round % 4);
        int64_t dims[REMAT_MAX_DIMS];
        size_t number = 0;
        for (size_t i = 0; i < n; i++) {
            dims[i] = 1 + ((int64_t)exact_integer(&random) + 4) % 3;
            number = number * 9 + (size_t)(exact_integer(&random) + 4);
        }
        const axes p = numbered(n, number);
        check_permute(remat_shape_make(n, dims), &p);
    }
}

static void test_transpose(void **state)
{
    static const int64_t dims[] = {3, 33, 2, 47};
    (void)state;
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            axes p = numbered(4, 0);
            const axes given = {{a, b - 4}, 2};
            p.axis[a] = b;
            p.axis[b] = a;
            check((exact_case){.record = record_transpose, .context = &given},
                  remat_shape_make(4, dims), &p);
        }
}

static void test_refusals(void **state)
{
    static const axes wrong[] = {{{0, 1}, 2},     {{0, 1, 1}, 3},  {{0, 1, 3}, 3},
                                 {{0, 1, -4}, 3}, {{0, 1, -2}, 3}, {{0}, 0}};
    uint64_t random = 1;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        exact_case c = {.record = record_permute, .context = &wrong[i], .n_leaves = 1};
        c.leaf[0] = exact_tensor_create(REMAT_SHAPE(2, 3, 4), &random);
        exact_check_refused(&c, REMAT_SHAPE_MISMATCH);
        exact_case_destroy(&c);
    }
}

/* i32 is moved by its bits: these would be signalling NaN as f32. */
static void test_i32(void **state)
{
    enum { rows = 19, columns = 35 };
    static int32_t x[rows * columns];
    (void)state;
    for (int i = 0; i < rows * columns; i++)
        x[i] = 0x7F800001 + i;
    remat_tape *tape = NULL;
    remat_exec *exec = NULL;
    remat_exec_options options = {.forward_only = true};
    const void *data = NULL;
    assert_int_equal(remat_tape_create(NULL, &tape), REMAT_OK);
    remat_var v = remat_input(tape, "x", REMAT_I32, REMAT_SHAPE(rows, columns), x);
    v = remat_transpose(tape, v, 0, 1);
    assert_int_equal(remat_exec_create(tape, v, &options, &exec), REMAT_OK);
    assert_int_equal(remat_exec_forward(exec), REMAT_OK);
    assert_int_equal(remat_exec_value(exec, v, &data), REMAT_OK);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            assert_int_equal(((const int32_t *)data)[j * rows + i], x[i * columns + j]);
    remat_exec_destroy(exec);
    remat_tape_destroy(tape);
}

static remat_var record_reshape(remat_tape *tape, const remat_var *leaves, const void *context)
{
    return remat_reshape(tape, leaves[0], *(const remat_shape *)context);
}

static void check_reshape(remat_shape from, remat_shape given, remat_shape to)
{
    uint64_t random = 3;
    exact_case c = {.record = record_reshape, .context = &given, .n_leaves = 1};
    c.leaf[0] = exact_tensor_create(from, &random);
    c.result = exact_tensor_create(to, &random);
    const size_t count = (size_t)remat_shape_count(&from);
    for (size_t i = 0; i < count; i++) {
        c.result.value[i] = c.leaf[0].value[i];
        c.leaf[0].gradient[i] = c.result.gradient[i] = exact_integer(&random);
    }
    exact_check(&c);
    exact_case_destroy(&c);
}

static void test_reshape(void **state)
{
    (void)state;
    check_reshape(REMAT_SHAPE(4, 6), REMAT_SHAPE(3, 8), REMAT_SHAPE(3, 8));
    check_reshape(REMAT_SHAPE(4, 6), REMAT_SHAPE(-1), REMAT_SHAPE(24));
    check_reshape(REMAT_SHAPE(4, 6), REMAT_SHAPE(2, -1, 3), REMAT_SHAPE(2, 4, 3));
    check_reshape(REMAT_SHAPE(1), REMAT_SCALAR, REMAT_SCALAR);
    check_reshape(REMAT_SCALAR, REMAT_SHAPE(1, -1), REMAT_SHAPE(1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_small), cmocka_unit_test(test_random),
        cmocka_unit_test(test_transpose), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_i32),       cmocka_unit_test(test_reshape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
