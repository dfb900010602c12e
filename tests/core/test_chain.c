/* The chain solver against golden optima: costs, whole curves, smallest budgets, orders. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/support/chain_cases.h"

enum { GOLDEN_CHAINS = 21 };

static remat_chain_solution *solve(const remat_chain *chain, const remat_chain_settings *settings)
{
    remat_allocator allocator = remat_allocator_default();
    remat_chain_solution *solution;
    remat_chain_fault fault;
    assert_int_equal(remat_chain_solve(&allocator, chain, settings, &solution, &fault), REMAT_OK);
    assert_null(fault.text);
    return solution;
}

/* The order emitted is valid, fits, and costs what the solver says; at most that if inexact. */
static void check_order(const remat_chain *chain, const remat_chain_solution *solution,
                        size_t budget, bool exact)
{
    remat_allocator allocator = remat_allocator_default();
    remat_chain_ops ops = {0};
    double cost = remat_chain_cost(solution, budget);
    remat_status status = remat_chain_emit(solution, budget, &allocator, &ops);
    if (cost == INFINITY) {
        assert_int_equal(status, REMAT_INFEASIBLE_BUDGET);
        assert_int_equal(ops.count, 0);
    } else {
        remat_chain_replayed replayed;
        assert_int_equal(status, REMAT_OK);
        assert_true(remat_chain_replay(&allocator, chain, ops.data, ops.count, &replayed));
        assert_null(replayed.fault);
        assert_true(replayed.peak_bytes <= budget);
        assert_true(exact ? replayed.cost == cost : replayed.cost <= cost);
    }
    remat_vector_release(&allocator, &ops);
}

static void check_persistent(const chain_golden *golden)
{
    remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
    settings.persistent = true;
    remat_chain_solution *solution = solve(&golden->c.chain, &settings);
    assert_int_equal(remat_chain_min_budget(solution), golden->min_persistent);
    assert_int_equal(remat_chain_curve_count(solution), golden->n_curve);
    for (size_t i = 0; i < golden->n_curve; i++) {
        remat_chain_breakpoint point = remat_chain_curve(solution, i);
        assert_int_equal(point.budget_bytes, golden->curve[i].budget_bytes);
        assert_true(point.cost == golden->curve[i].cost);
        check_order(&golden->c.chain, solution, point.budget_bytes, true);
    }
    double least = remat_chain_least_cost(solution);
    assert_true(remat_chain_cost(solution, golden->min_no_replay) == least);
    assert_true(remat_chain_cost(solution, golden->min_no_replay - 1) > least);
    for (size_t i = 0; i < golden->n_budgets; i++) {
        const chain_golden_budget *budget = &golden->budgets[i];
        assert_true(remat_chain_cost(solution, budget->bytes) == budget->persistent);
        check_order(&golden->c.chain, solution, budget->bytes, true);
    }
    remat_chain_solution_destroy(solution);
}

static void check_holes(const chain_golden *golden)
{
    remat_chain_solution *solution = solve(&golden->c.chain, NULL);
    assert_int_equal(remat_chain_min_budget(solution), golden->min_holes);
    for (size_t i = 0; i < golden->n_budgets; i++) {
        const chain_golden_budget *budget = &golden->budgets[i];
        double cost = remat_chain_cost(solution, budget->bytes);
        assert_true(cost <= budget->holes);
        assert_true(isnan(budget->any) || cost >= budget->any);
        check_order(&golden->c.chain, solution, budget->bytes, true);
    }
    for (size_t i = 0; i < remat_chain_curve_count(solution); i++)
        check_order(&golden->c.chain, solution, remat_chain_curve(solution, i).budget_bytes, true);
    remat_chain_solution_destroy(solution);
}

static FILE *open_golden(void)
{
    FILE *file = fopen(REMAT_TEST_DATA "/chain_golden.txt", "r");
    assert_non_null(file);
    return file;
}

static void test_golden(void **state)
{
    (void)state;
    FILE *file = open_golden();
    chain_golden golden;
    int n_chains = 0;
    while (chain_golden_read(file, &golden)) {
        check_persistent(&golden);
        check_holes(&golden);
        n_chains++;
    }
    (void)fclose(file);
    assert_int_equal(n_chains, GOLDEN_CHAINS);
}

/* Within the limits of interest the solution is the full one's; the smallest budget always is. */
static void check_window(const chain_golden *golden, bool holes)
{
    remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
    settings.persistent = !holes;
    remat_chain_solution *full = solve(&golden->c.chain, &settings);
    size_t n = remat_chain_curve_count(full);
    for (size_t i = 0; i < n; i += 1 + n / 8) {
        remat_chain_breakpoint low = remat_chain_curve(full, i);
        settings.max_budget = remat_chain_curve(full, i + (n - i) / 2).budget_bytes;
        settings.max_extra = low.cost - remat_chain_least_cost(full);
        remat_chain_solution *part = solve(&golden->c.chain, &settings);
        assert_int_equal(remat_chain_min_budget(part), remat_chain_min_budget(full));
        for (size_t k = 0; k < n; k++) {
            size_t budget = remat_chain_curve(full, k).budget_bytes;
            double cost = remat_chain_cost(full, budget);
            bool within = k >= i && budget <= settings.max_budget;
            double found = remat_chain_cost(part, budget);
            assert_true(within ? found == cost : found >= cost);
            check_order(&golden->c.chain, part, budget, within);
        }
        remat_chain_solution_destroy(part);
    }
    remat_chain_solution_destroy(full);
}

static void test_window(void **state)
{
    (void)state;
    FILE *file = open_golden();
    chain_golden golden;
    while (chain_golden_read(file, &golden))
        if (golden.c.chain.n_stages <= 20) {
            check_window(&golden, false);
            check_window(&golden, true);
        }
    (void)fclose(file);
}

/* With fewer points every order still fits, and costs at most what is said. */
static void check_thinned(const chain_golden *golden, uint32_t max_points)
{
    remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
    remat_chain_solution *exact = solve(&golden->c.chain, &settings);
    settings.max_points = max_points;
    remat_chain_solution *thin = solve(&golden->c.chain, &settings);
    assert_true(remat_chain_curve_count(thin) <= max_points);
    assert_int_equal(remat_chain_min_budget(thin), remat_chain_min_budget(exact));
    for (size_t i = 0; i < remat_chain_curve_count(exact); i++) {
        size_t budget = remat_chain_curve(exact, i).budget_bytes;
        double cost = remat_chain_cost(thin, budget);
        assert_true(cost >= remat_chain_cost(exact, budget) && cost < INFINITY);
        check_order(&golden->c.chain, thin, budget, false);
    }
    remat_chain_solution_destroy(thin);
    remat_chain_solution_destroy(exact);
}

static void test_thinned(void **state)
{
    (void)state;
    FILE *file = open_golden();
    chain_golden golden;
    while (chain_golden_read(file, &golden))
        for (uint32_t max_points = 2; max_points <= 32; max_points *= 2)
            if (golden.c.chain.n_stages <= 28)
                check_thinned(&golden, max_points);
    (void)fclose(file);
}

/* Sums of costs are exact: how they are ordered makes no difference, so costs in seconds have the
 * breakpoints that the same costs have in integers. */
static void test_costs_are_exact(void **state)
{
    (void)state;
    chain_case c = {0};
    enum { STAGES = 40 };
    chain_case_link(&c, STAGES, 1);
    size_t points[2];
    for (int seconds = 0; seconds < 2; seconds++) {
        double unit = seconds ? 1.1e-4 : 1;
        for (uint32_t i = 0; i < STAGES; i++) {
            c.activation_bytes[i + 1] = 3;
            c.stages[i].forward_cost = 3 * unit;
            c.options[i][0] = (remat_chain_option){3 * unit, 7 * unit, 10 + i % 2, 0, 0};
        }
        remat_chain_solution *solution = solve(&c.chain, NULL);
        points[seconds] = remat_chain_curve_count(solution);
        double least = remat_chain_least_cost(solution);
        assert_true(fabs(least / (STAGES * 10 * unit) - 1) < 1e-12);
        remat_chain_solution_destroy(solution);
    }
    assert_int_equal(points[0], points[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_window),
                                       cmocka_unit_test(test_thinned),
                                       cmocka_unit_test(test_costs_are_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
