/* test_needs.c - backward asks for no more than it reads: what an operation of two operands needs
 * is what the planner must keep or replay, so each declaration is stated here. */
#include "tape/tape.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { A = 1, B = 2 }; /* operands, and gradients of them */

typedef struct row {
    remat_var (*record)(remat_tape *tape, remat_var a, remat_var b);
    remat_shape a, b;
    uint64_t gradients, operands, results;
} row;

static remat_var matmul(remat_tape *tape, remat_var a, remat_var b)
{
    return remat_matmul(tape, a, b, false, true);
}

static remat_var linear(remat_tape *tape, remat_var a, remat_var b)
{
    return remat_linear(tape, a, b, (remat_var){0});
}

static remat_var mse(remat_tape *tape, remat_var a, remat_var b)
{
    return remat_mse(tape, a, b, REMAT_MEAN);
}

static void check(const row *r)
{
    remat_tape *tape = NULL;
    assert_int_equal(remat_tape_create(NULL, &tape), REMAT_OK);
    const remat_type in[2] = {{REMAT_F32, r->a}, {REMAT_F32, r->b}};
    const remat_var a = remat_input(tape, "a", REMAT_F32, r->a, NULL);
    const remat_var y = r->record(tape, a, remat_input(tape, "b", REMAT_F32, r->b, NULL));
    assert_string_equal(remat_tape_message(tape), "");
    const remat_statement_view s = remat_tape_statement(tape, 0);
    const remat_type out = {REMAT_F32, remat_var_shape(tape, y)};
    const remat_query query = {s.attributes, in, 2, &out, 1, r->gradients};
    uint64_t operands = s.op->needs_operands, results = s.op->needs_results;
    if (s.op->needs)
        s.op->needs(&query, &operands, &results);
    if (operands != r->operands || results != r->results)
        fail_msg("%s, gradients %d: operands %d, results %d; expected %d, %d", s.op->name,
                 (int)r->gradients, (int)operands, (int)results, (int)r->operands, (int)r->results);
    remat_tape_destroy(tape);
}

static void test_needs(void **state)
{
    const remat_shape m = REMAT_SHAPE(3, 3), one = REMAT_SHAPE(1);
    const row rows[] = {
        {matmul, m, m, A, B, 0},
        {matmul, m, m, B, A, 0},
        {matmul, m, m, A | B, A | B, 0},
        {linear, m, m, A, B, 0},
        {linear, m, m, B, A, 0},
        {linear, m, m, A | B, A | B, 0},
        {remat_add, m, one, A | B, 0, 0},
        {remat_subtract, m, one, A | B, 0, 0},
        {remat_multiply, m, m, A, B, 0},
        {remat_multiply, m, m, B, A, 0},
        {remat_multiply, m, m, A | B, A | B, 0},
        {remat_divide, m, m, A, B, 0},
        {remat_divide, m, m, B, B, 1}, /* the quotient, not a */
        {remat_divide, m, one, A | B, B, 1},
        {remat_divide, one, m, A | B, A | B, 0}, /* a is smaller than the quotient */
        {mse, m, m, A, A | B, 0},
        {mse, m, m, B, A | B, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_needs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
