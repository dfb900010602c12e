/* The chain solver against slow optima on random chains with options; what it refuses; memory that
 * runs out; and the judge of orders. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/chain_oracles.h"
#include "core/support/counting_allocator.h"
#include "core/support/random_tape.h"

static remat_chain_solution *solve(const remat_chain *chain, const remat_chain_settings *settings)
{
    remat_allocator allocator = remat_allocator_default();
    remat_chain_solution *solution;
    assert_int_equal(remat_chain_solve(&allocator, chain, settings, &solution, NULL), REMAT_OK);
    return solution;
}

static double emitted_cost(const remat_chain *chain, const remat_chain_solution *solution,
                           size_t budget)
{
    remat_allocator allocator = remat_allocator_default();
    remat_chain_ops ops = {0};
    remat_chain_replayed r = {.cost = INFINITY};
    remat_status status = remat_chain_emit(solution, budget, &allocator, &ops);
    if (status == REMAT_OK) {
        assert_true(remat_chain_replay(&allocator, chain, ops.data, ops.count, &r));
        assert_null(r.fault);
        assert_true(r.peak_bytes <= budget);
    } else
        assert_int_equal(status, REMAT_INFEASIBLE_BUDGET);
    remat_vector_release(&allocator, &ops);
    return r.cost;
}

/* Costs at every budget, and orders at every breakpoint. */
static void check_against_table(const remat_chain *chain, bool holes)
{
    static double expected[CHAIN_ORACLE_BYTES];
    remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
    settings.persistent = !holes;
    remat_chain_solution *solution = solve(chain, &settings);
    chain_oracle_table(chain, holes, expected);
    for (size_t budget = 0; budget < CHAIN_ORACLE_BYTES; budget++)
        assert_true(remat_chain_cost(solution, budget) == expected[budget]);
    size_t least = remat_chain_min_budget(solution);
    assert_true(expected[least] < INFINITY && (least == 0 || expected[least - 1] == INFINITY));
    for (size_t i = 0; i < remat_chain_curve_count(solution); i++) {
        remat_chain_breakpoint point = remat_chain_curve(solution, i);
        assert_true(expected[point.budget_bytes] == point.cost);
        assert_true(i == 0 || expected[point.budget_bytes - 1] > point.cost);
        assert_true(emitted_cost(chain, solution, point.budget_bytes) == point.cost);
    }
    remat_chain_solution_destroy(solution);
}

static void test_dense_table(void **state)
{
    (void)state;
    uint64_t random = 11;
    static chain_case c;
    for (int i = 0; i < 300; i++) {
        uint32_t n_stages = 1 + (uint32_t)test_random_below(&random, CHAIN_ORACLE_STAGES);
        chain_case_random(&c, &random, n_stages,
                          1 + (uint32_t)test_random_below(&random, CHAIN_CASE_OPTIONS));
        check_against_table(&c.chain, false);
        check_against_table(&c.chain, true);
    }
}

/* No order is cheaper than the best of all; orders with holes lie between it and persistent ones,
 * and a single stage or two leave nothing to be gained. */
static void test_search(void **state)
{
    (void)state;
    uint64_t random = 12;
    static chain_case c;
    for (int i = 0; i < 60; i++) {
        uint32_t n = 1 + (uint32_t)test_random_below(&random, 4);
        chain_case_random(&c, &random, n, 1 + (uint32_t)test_random_below(&random, 3));
        remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
        settings.persistent = true;
        remat_chain_solution *persistent = solve(&c.chain, &settings);
        remat_chain_solution *holes = solve(&c.chain, NULL);
        size_t least = remat_chain_min_budget(holes);
        for (size_t budget = least; budget < least + 24; budget += 6) {
            double any = chain_oracle_search(&c.chain, budget);
            double with_holes = remat_chain_cost(holes, budget);
            assert_true(any <= with_holes);
            assert_true(with_holes <= remat_chain_cost(persistent, budget));
            assert_true(n > 2 || any == with_holes);
        }
        remat_chain_solution_destroy(persistent);
        remat_chain_solution_destroy(holes);
    }
}

/* Fewer options over holes: between all and none. */
static void test_hole_options(void **state)
{
    (void)state;
    uint64_t random = 13;
    static chain_case c;
    for (int i = 0; i < 100; i++) {
        chain_case_random(&c, &random, 8, 4);
        remat_chain_solution *solutions[6];
        for (uint32_t k = 0; k < 6; k++) { /* none, 1, 2, 3, 4, all */
            remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
            settings.persistent = k == 0;
            settings.hole_options = k < 5 ? k : 0;
            solutions[k] = solve(&c.chain, &settings);
        }
        for (size_t budget = 0; budget < CHAIN_ORACLE_BYTES; budget++) {
            double none = remat_chain_cost(solutions[0], budget);
            double all = remat_chain_cost(solutions[5], budget);
            assert_true(remat_chain_cost(solutions[4], budget) == all);
            for (uint32_t k = 1; k < 4; k++) {
                double some = remat_chain_cost(solutions[k], budget);
                assert_true(all <= some && some <= none);
            }
            for (uint32_t k = 0; k < 6; k++)
                assert_true(emitted_cost(&c.chain, solutions[k], budget) ==
                            remat_chain_cost(solutions[k], budget));
        }
        for (uint32_t k = 0; k < 6; k++)
            remat_chain_solution_destroy(solutions[k]);
    }
}

/* What is solved for one budget is, there, the full solution. */
static void test_one_budget(void **state)
{
    (void)state;
    uint64_t random = 15;
    static chain_case c;
    for (int i = 0; i < 100; i++) {
        chain_case_random(&c, &random, 7, 3);
        remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
        settings.persistent = i % 4 == 0;
        remat_chain_solution *full = solve(&c.chain, &settings);
        size_t least = remat_chain_min_budget(full);
        for (size_t budget = least ? least - 1 : 0; budget < least + 60; budget += 3) {
            remat_allocator allocator = remat_allocator_default();
            remat_chain_solution *one;
            remat_status status =
                remat_chain_solve_for(&allocator, &c.chain, &settings, budget, &one, NULL);
            assert_int_equal(status, REMAT_OK);
            double cost = remat_chain_cost(full, budget);
            assert_int_equal(remat_chain_min_budget(one), least);
            assert_true(remat_chain_cost(one, budget) == cost);
            assert_true(emitted_cost(&c.chain, one, budget) == cost);
            remat_chain_solution_destroy(one);
        }
        remat_chain_solution_destroy(full);
    }
}

/* ---- Refusals --------------------------------------------------------------------------------*/

static void expect_refusal(const chain_case *c, const remat_chain_settings *settings,
                           remat_status status, uint32_t index, uint32_t option)
{
    counting_allocator counting = {0};
    remat_allocator allocator = counting_allocator_make(&counting);
    remat_chain_solution *solution;
    remat_chain_fault fault;
    assert_int_equal(remat_chain_solve(&allocator, &c->chain, settings, &solution, &fault), status);
    assert_null(solution);
    assert_non_null(fault.text);
    assert_int_equal(fault.index, index);
    assert_int_equal(fault.option, option);
    assert_int_equal(counting.live_blocks, 0);
}

static chain_case *good_case(void)
{
    static chain_case c;
    uint64_t random = 14;
    memset(&c, 0, sizeof c);
    chain_case_random(&c, &random, 6, 3);
    return &c;
}

static void test_bad_costs(void **state)
{
    (void)state;
    static const double bad[] = {-1, -0x1p-60, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        chain_case *c = good_case();
        c->stages[3].forward_cost = bad[i];
        expect_refusal(c, NULL, REMAT_INVALID_ARGUMENT, 3, 0);
        c = good_case();
        c->options[4][2].forward_cost = bad[i];
        expect_refusal(c, NULL, REMAT_INVALID_ARGUMENT, 4, 2);
        c = good_case();
        c->options[5][1].backward_cost = bad[i];
        expect_refusal(c, NULL, REMAT_INVALID_ARGUMENT, 5, 1);
    }
    chain_case *c = good_case();
    c->stages[1].forward_cost = c->stages[2].forward_cost = 0x1p998;
    expect_refusal(c, NULL, REMAT_OVERFLOW, 1, 0); /* 6 runs of it are too many */
}

static void test_bad_bytes(void **state)
{
    (void)state;
    chain_case *c = good_case();
    c->activation_bytes[3] = c->options[2][0].saved_bytes = c->options[2][2].saved_bytes = 100;
    c->options[2][1].saved_bytes = 99;
    expect_refusal(c, NULL, REMAT_INVALID_ARGUMENT, 2, 1);
    c = good_case();
    c->gradient_bytes[4] = SIZE_MAX;
    expect_refusal(c, NULL, REMAT_OVERFLOW, 4, 0);
    c = good_case();
    c->options[1][2].saved_bytes = SIZE_MAX;
    expect_refusal(c, NULL, REMAT_OVERFLOW, 1, 0);
    c = good_case();
    c->stages[5].forward_extra_bytes = SIZE_MAX / 4;
    expect_refusal(c, NULL, REMAT_OVERFLOW, 5, 0);
    c->stages[5].forward_extra_bytes = SIZE_MAX / 8;
    remat_chain_solution_destroy(solve(&c->chain, NULL));
}

static void test_bad_arguments(void **state)
{
    (void)state;
    chain_case *c = good_case();
    c->chain.n_stages = 0;
    expect_refusal(c, NULL, REMAT_INVALID_ARGUMENT, 0, 0);
    c->chain.n_stages = REMAT_CHAIN_MAX_STAGES + 1;
    expect_refusal(c, NULL, REMAT_INVALID_ARGUMENT, REMAT_CHAIN_MAX_STAGES + 1, 0);
    c = good_case();
    c->stages[2].n_options = 0;
    expect_refusal(c, NULL, REMAT_INVALID_ARGUMENT, 2, 0);
    c->stages[2].n_options = REMAT_CHAIN_MAX_OPTIONS + 1;
    expect_refusal(c, NULL, REMAT_INVALID_ARGUMENT, 2, 0);
    c = good_case();
    c->stages[3].options = NULL;
    expect_refusal(c, NULL, REMAT_INVALID_ARGUMENT, 3, 0);
    c = good_case();
    c->chain.gradient_bytes = NULL;
    expect_refusal(c, NULL, REMAT_INVALID_ARGUMENT, 0, 0);
    c = good_case();
    remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
    settings.max_points = 1;
    expect_refusal(c, &settings, REMAT_INVALID_ARGUMENT, 0, 0);
    settings.max_points = 0;
    settings.max_extra = NAN;
    expect_refusal(c, &settings, REMAT_INVALID_ARGUMENT, 0, 0);
}

/* Every allocation fails once; nothing is leaked, and the next attempt works. */
static void test_memory_runs_out(void **state)
{
    (void)state;
    chain_case *c = good_case();
    counting_allocator counting = {0};
    remat_allocator allocator = counting_allocator_make(&counting);
    for (bool done = false; !done;) {
        remat_chain_solution *solution;
        remat_chain_ops ops = {0};
        remat_chain_replayed replayed;
        counting.calls = 0;
        counting.fail_at++;
        remat_status status = remat_chain_solve(&allocator, &c->chain, NULL, &solution, NULL);
        if (status == REMAT_OK)
            status = remat_chain_emit(solution, remat_chain_min_budget(solution), &allocator, &ops);
        if (status == REMAT_OK)
            done = remat_chain_replay(&allocator, &c->chain, ops.data, ops.count, &replayed);
        else
            assert_int_equal(status, REMAT_OUT_OF_MEMORY);
        remat_vector_release(&allocator, &ops);
        remat_chain_solution_destroy(solution);
        assert_int_equal(counting.live_blocks, 0);
        assert_int_equal(counting.wrong_sizes, 0);
    }
    assert_true(counting.fail_at > 10);
}

/* ---- The judge -------------------------------------------------------------------------------*/

static const char *judge(const remat_chain *chain, const remat_chain_op *ops, size_t n,
                         size_t fault_at)
{
    remat_allocator allocator = remat_allocator_default();
    remat_chain_replayed r;
    assert_true(remat_chain_replay(&allocator, chain, ops, n, &r));
    assert_true(!r.fault || r.at == fault_at);
    return r.fault;
}

#define FAULT(at, ...)                                                                            \
    assert_non_null(judge(&c->chain, (const remat_chain_op[]){__VA_ARGS__},                       \
                          sizeof((const remat_chain_op[]){__VA_ARGS__}) / sizeof(remat_chain_op), \
                          at))
#define SAVE(i)                \
    {                          \
        REMAT_CHAIN_SAVE, 0, i \
    }
#define BACK(i)                    \
    {                              \
        REMAT_CHAIN_BACKWARD, 0, i \
    }
#define STORE(i)                \
    {                           \
        REMAT_CHAIN_STORE, 0, i \
    }
#define MOVE(i)                \
    {                          \
        REMAT_CHAIN_MOVE, 0, i \
    }
#define DROP(i)                \
    {                          \
        REMAT_CHAIN_DROP, 0, i \
    }

static void test_judge(void **state)
{
    (void)state;
    chain_case *c = good_case();
    c->chain.n_stages = 2;
    static const remat_chain_op good[] = {STORE(0), SAVE(1), BACK(1), SAVE(0), BACK(0)};
    assert_null(judge(&c->chain, good, 5, 0));
    FAULT(4, STORE(0), SAVE(1), BACK(1), SAVE(0));            /* ends early */
    FAULT(0, SAVE(1));                                        /* no input */
    FAULT(0, MOVE(0));                                        /* would drop activation 0 */
    FAULT(1, SAVE(0), MOVE(1));                               /* its input is not held by itself */
    FAULT(1, SAVE(0), SAVE(0));                               /* twice */
    FAULT(1, STORE(0), STORE(0));                             /* twice */
    FAULT(1, SAVE(0), BACK(0));                               /* out of order */
    FAULT(1, STORE(0), BACK(1));                              /* nothing saved */
    FAULT(3, STORE(0), SAVE(1), DROP(1), BACK(1));            /* its input is gone */
    FAULT(2, SAVE(0), SAVE(1), {REMAT_CHAIN_BACKWARD, 1, 1}); /* another option */
    FAULT(0, DROP(0));
    FAULT(0, DROP(1));
    FAULT(0, STORE(2));
    FAULT(0, DROP(3));
    FAULT(0, {REMAT_CHAIN_SAVE, 3, 0}); /* no such option */
    FAULT(0, {REMAT_CHAIN_DROP + 1, 0, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense_table),   cmocka_unit_test(test_search),
        cmocka_unit_test(test_hole_options),  cmocka_unit_test(test_one_budget),
        cmocka_unit_test(test_bad_costs),     cmocka_unit_test(test_bad_bytes),
        cmocka_unit_test(test_bad_arguments), cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_judge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
