/* test_broadcast.c - add, subtract, multiply and divide against plain loops, for every pair of
 * shapes of up to four axes with extents 1 to 3, and for shapes around the kernels' block sizes. */
#include "support/exact.h"

#include <math.h>
#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

typedef struct operation {
    const char *name;
    remat_var (*record)(remat_tape *tape, remat_var a, remat_var b);
    double (*value)(double a, double b);
    double (*gradient_a)(double a, double b);
    double (*gradient_b)(double a, double b);
} operation;

static double sum(double a, double b)
{
    return a + b;
}

static double difference(double a, double b)
{
    return a - b;
}

static double product(double a, double b)
{
    return a * b;
}

static double quotient(double a, double b)
{
    return a / b;
}

static double one(double a, double b)
{
    (void)a;
    (void)b;
    return 1;
}

static double minus_one(double a, double b)
{
    return -one(a, b);
}

static double first(double a, double b)
{
    (void)b;
    return a;
}

static double second(double a, double b)
{
    (void)a;
    return b;
}

static double inverse(double a, double b)
{
    (void)a;
    return 1 / b;
}

static double minus_quotient_over_b(double a, double b)
{
    return -a / (b * b);
}

static const operation operations[] = {
    {"add", remat_add, sum, one, one},
    {"subtract", remat_subtract, difference, one, minus_one},
    {"multiply", remat_multiply, product, second, first},
    {"divide", remat_divide, quotient, inverse, minus_quotient_over_b},
};
enum { n_operations = sizeof operations / sizeof operations[0] };

static remat_var record(remat_tape *tape, const remat_var *leaves, const void *context)
{
    const operation *op = context;
    return op->record(tape, leaves[0], leaves[1]);
}

/* NumPy's rule; false if the shapes do not broadcast. */
static bool broadcast(const remat_shape *a, const remat_shape *b, remat_shape *y)
{
    const int32_t ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    int64_t dims[REMAT_MAX_DIMS];
    for (int32_t i = 0; i < ndim; i++) {
        const int32_t in_a = i - (ndim - a->ndim), in_b = i - (ndim - b->ndim);
        const int64_t extent_a = in_a < 0 ? 1 : a->dims[in_a];
        const int64_t extent_b = in_b < 0 ? 1 : b->dims[in_b];
        if (extent_a != extent_b && extent_a != 1 && extent_b != 1)
            return false;
        dims[i] = extent_a > extent_b ? extent_a : extent_b;
    }
    *y = remat_shape_make((size_t)ndim, dims);
    return true;
}

static void fill_expected(exact_case *c, const operation *op)
{
    const exact_tensor *y = &c->result;
    const size_t count = (size_t)remat_shape_count(&y->shape);
    for (size_t i = 0; i < count; i++) {
        int64_t position[REMAT_MAX_DIMS];
        exact_position(&y->shape, i, position);
        const size_t at_a = exact_broadcast_index(&c->leaf[0].shape, y->shape.ndim, position);
        const size_t at_b = exact_broadcast_index(&c->leaf[1].shape, y->shape.ndim, position);
        const double a = c->leaf[0].value[at_a], b = c->leaf[1].value[at_b];
        y->value[i] = op->value(a, b);
        c->leaf[0].gradient[at_a] += y->gradient[i] * op->gradient_a(a, b);
        c->leaf[1].gradient[at_b] += y->gradient[i] * op->gradient_b(a, b);
    }
}

static void check_pair(const operation *op, remat_shape a, remat_shape b)
{
    uint64_t state = 1;
    exact_case c = {.record = record, .context = op, .n_leaves = 2};
    remat_shape y = REMAT_SCALAR;
    c.leaf[0] = exact_tensor_create(a, &state);
    c.leaf[1] = exact_tensor_create(b, &state);
    const size_t count_b = (size_t)remat_shape_count(&b);
    for (size_t i = 0; i < count_b; i++) /* a power of two: quotients are exact */
        c.leaf[1].value[i] = ldexp(c.leaf[1].value[i] < 0 ? -1 : 1, (int)(i % 3) - 1);
    if (broadcast(&a, &b, &y)) {
        c.result = exact_tensor_create(y, &state);
        const size_t count = (size_t)remat_shape_count(&y);
        for (size_t i = 0; i < count; i++)
            c.result.gradient[i] = exact_integer(&state);
        fill_expected(&c, op);
        exact_check(&c);
    } else {
        exact_check_refused(&c, REMAT_SHAPE_MISMATCH);
    }
    exact_case_destroy(&c);
}

/* The shape whose number, in base 3, has the extents less 1 as digits. */
static remat_shape numbered_shape(int32_t ndim, int number)
{
    int64_t dims[4];
    for (int32_t i = 0; i < ndim; i++, number /= 3)
        dims[i] = number % 3 + 1;
    return remat_shape_make((size_t)ndim, dims);
}

static int power_of_3(int32_t exponent)
{
    return exponent == 0 ? 1 : 3 * power_of_3(exponent - 1);
}

/* a of this many axes with b of every shape. */
static void check_all_pairs(const operation *op, int32_t ndim_a)
{
    for (int a = 0; a < power_of_3(ndim_a); a++)
        for (int32_t ndim_b = 0; ndim_b <= 4; ndim_b++)
            for (int b = 0; b < power_of_3(ndim_b); b++)
                check_pair(op, numbered_shape(ndim_a, a), numbered_shape(ndim_b, b));
}

static void test_small_shapes(void **state)
{
    for (int32_t ndim_a = 0; ndim_a <= 4; ndim_a++)
        check_all_pairs(*state, ndim_a);
}

/* Around 8 rows, 256 columns, blocks of 64 and of 2048 elements, 8 axes. */
static void test_large_shapes(void **state)
{
    const remat_shape pairs[][2] = {
        {REMAT_SHAPE(9, 257), REMAT_SHAPE(257)},
        {REMAT_SHAPE(9, 257), REMAT_SHAPE(9, 1)},
        {REMAT_SHAPE(257, 9), REMAT_SHAPE(257, 1)},
        {REMAT_SHAPE(600), REMAT_SHAPE(19, 600)},
        {REMAT_SHAPE(2, 3, 2100), REMAT_SHAPE(2, 1, 2100)},
        {REMAT_SHAPE(5, 1), REMAT_SHAPE(1, 2100)},
        {REMAT_SHAPE(4200), REMAT_SCALAR},
        {REMAT_SHAPE(1), REMAT_SHAPE(3, 700)},
        {REMAT_SHAPE(3, 1, 65), REMAT_SHAPE(1, 17, 65)},
        {REMAT_SHAPE(2, 1, 33, 1), REMAT_SHAPE(1, 5, 1, 70)},
        {REMAT_SHAPE(2, 1, 2, 1, 2, 1, 2, 1), REMAT_SHAPE(1, 2, 1, 2, 1, 2, 1, 2)},
        {REMAT_SHAPE(2, 2, 2, 2, 2, 2, 2, 2), REMAT_SHAPE(2, 1, 1, 2, 2, 1, 1)},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        check_pair(*state, pairs[i][0], pairs[i][1]);
        check_pair(*state, pairs[i][1], pairs[i][0]);
    }
}

/* Both operands are one value: the gradients meet in one buffer. */
static remat_var record_same(remat_tape *tape, const remat_var *leaves, const void *context)
{
    const operation *op = context;
    return op->record(tape, leaves[0], leaves[0]);
}

static void test_same_operand(void **state)
{
    const operation *op = *state;
    uint64_t random = 5;
    exact_case c = {.record = record_same, .context = op, .n_leaves = 1};
    c.leaf[0] = exact_tensor_create(REMAT_SHAPE(5, 13), &random);
    c.result = exact_tensor_create(REMAT_SHAPE(5, 13), &random);
    for (size_t i = 0; i < 65; i++) {
        const double a = ldexp(c.leaf[0].value[i] < 0 ? -1 : 1, (int)(i % 3));
        const double dy = exact_integer(&random);
        c.leaf[0].value[i] = a;
        c.result.value[i] = op->value(a, a);
        c.result.gradient[i] = dy;
        c.leaf[0].gradient[i] = dy * (op->gradient_a(a, a) + op->gradient_b(a, a));
    }
    exact_check(&c);
    exact_case_destroy(&c);
}

int main(void)
{
    static const struct {
        const char *name;
        CMUnitTestFunction run;
    } checks[] = {
        {"small shapes", test_small_shapes},
        {"large shapes", test_large_shapes},
        {"same operand", test_same_operand},
    };
    enum { n_checks = sizeof checks / sizeof checks[0] };
    struct CMUnitTest tests[n_checks * n_operations];
    static char names[n_checks * n_operations][64];
    for (size_t i = 0; i < n_checks * n_operations; i++) {
        const operation *op = &operations[i % n_operations];
        snprintf(names[i], sizeof names[i], "%s: %s", checks[i / n_operations].name, op->name);
        tests[i] = (struct CMUnitTest){names[i], checks[i / n_operations].run, NULL, NULL,
                                       (void *)(uintptr_t)op};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
