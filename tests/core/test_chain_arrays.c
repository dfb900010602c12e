/* Chains as users of plan.h make them: from the arrays of the literature, with the C library's
 * allocator or their own, with settings left at zero; what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/chain_cases.h"
#include "core/support/counting_allocator.h"

typedef struct rotor {
    double uf[CHAIN_CASE_STAGES], ub[CHAIN_CASE_STAGES];
    size_t wabar[CHAIN_CASE_STAGES], of[CHAIN_CASE_STAGES], ob[CHAIN_CASE_STAGES];
    remat_chain_arrays arrays;
} rotor;

/* The chain's numbers as arrays. */
static void take_apart(const remat_chain *chain, rotor *r)
{
    for (uint32_t i = 0; i < chain->n_stages; i++) {
        const remat_chain_option *option = chain->stages[i].options;
        assert_int_equal(chain->stages[i].n_options, 1);
        r->uf[i] = option->forward_cost;
        r->ub[i] = option->backward_cost;
        r->wabar[i] = option->saved_bytes;
        r->of[i] = option->forward_extra_bytes;
        r->ob[i] = option->backward_extra_bytes;
    }
    r->arrays = (remat_chain_arrays){.n_stages = chain->n_stages,
                                     .uf = r->uf,
                                     .ub = r->ub,
                                     .wa = chain->activation_bytes,
                                     .wabar = r->wabar,
                                     .wd = chain->gradient_bytes,
                                     .of = r->of,
                                     .ob = r->ob};
}

static remat_chain_solution *solve(const remat_chain *chain)
{
    remat_chain_solution *solution = NULL;
    assert_int_equal(remat_chain_solve(NULL, chain, NULL, &solution, NULL), REMAT_OK);
    return solution;
}

static void assert_same_curve(const remat_chain_solution *a, const remat_chain_solution *b)
{
    assert_int_equal(remat_chain_curve_count(a), remat_chain_curve_count(b));
    for (size_t i = 0; i < remat_chain_curve_count(a); i++) {
        remat_chain_breakpoint x = remat_chain_curve(a, i), y = remat_chain_curve(b, i);
        assert_int_equal(x.budget_bytes, y.budget_bytes);
        assert_true(x.cost == y.cost);
    }
}

static void check_golden(const chain_golden *golden)
{
    rotor r;
    remat_chain *chain = NULL;
    take_apart(&golden->c.chain, &r);
    assert_int_equal(remat_chain_create(NULL, &r.arrays, &chain), REMAT_OK);
    memset(&r, 0xa5, sizeof r); /* the arrays were copied */
    remat_chain_solution *given = solve(&golden->c.chain), *made = solve(chain);
    assert_same_curve(given, made);
    remat_chain_destroy(chain);
    assert_int_equal(remat_chain_min_budget(made),
                     golden->min_holes); /* the solution stands alone */
    remat_chain_solution_destroy(given);
    remat_chain_solution_destroy(made);
}

static void arrays_make_the_chains_of_the_golden_cases(void **state)
{
    (void)state;
    static chain_golden golden;
    size_t n = 0;
    FILE *file = fopen(REMAT_TEST_DATA "/chain_golden.txt", "r");
    assert_non_null(file);
    for (; chain_golden_read(file, &golden); n++)
        if (golden.c.chain.n_stages <= 16)
            check_golden(&golden);
    fclose(file);
    assert_true(n > 20);
}

/* Two stages, by hand: keep all takes 10 + 20 + 20 + the gradients. */
static const double cost[2] = {1, 2};
static const size_t wa[3] = {10, 10, 10}, wabar[2] = {20, 20}, zero[3] = {0, 0, 0};

static void what_is_left_out_has_its_default(void **state)
{
    (void)state;
    const remat_chain_arrays brief = {2, cost, cost, wa, wabar, NULL, NULL, NULL};
    const remat_chain_arrays full = {2, cost, cost, wa, wabar, wa, zero, zero};
    remat_chain *a = NULL, *b = NULL;
    assert_int_equal(remat_chain_create(NULL, &brief, &a), REMAT_OK);
    assert_int_equal(remat_chain_create(NULL, &full, &b), REMAT_OK);
    remat_chain_solution *x = solve(a), *y = solve(b);
    assert_same_curve(x, y);
    assert_true(remat_chain_least_cost(x) == 6);
    assert_true(remat_chain_cost(x, 10 + 20 + 20 + 10 + 10) == 6);
    remat_chain_solution_destroy(x);
    remat_chain_solution_destroy(y);
    remat_chain_destroy(a);
    remat_chain_destroy(b);
}

static void missing_arrays_are_refused(void **state)
{
    (void)state;
    const remat_allocator broken = {0};
    const remat_chain_arrays good = {2, cost, cost, wa, wabar, NULL, NULL, NULL};
    remat_chain *chain = NULL;
    for (int k = 0; k < 6; k++) {
        remat_chain_arrays wrong = good;
        wrong.n_stages = k == 0 ? 0 : k == 1 ? REMAT_CHAIN_MAX_STAGES + 1 : 2;
        wrong.uf = k == 2 ? NULL : cost;
        wrong.ub = k == 3 ? NULL : cost;
        wrong.wa = k == 4 ? NULL : wa;
        wrong.wabar = k == 5 ? NULL : wabar;
        assert_int_equal(remat_chain_create(NULL, &wrong, &chain), REMAT_INVALID_ARGUMENT);
        assert_null(chain);
    }
    assert_int_equal(remat_chain_create(NULL, NULL, &chain), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_chain_create(NULL, &good, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_chain_create(&broken, &good, &chain), REMAT_INVALID_ARGUMENT);
    remat_chain_destroy(NULL);
}

static void missing_arguments_are_refused(void **state)
{
    (void)state;
    const remat_allocator broken = {0};
    const remat_chain_arrays good = {2, cost, cost, wa, wabar, NULL, NULL, NULL};
    remat_chain *chain = NULL;
    remat_chain_solution *solution = NULL;
    remat_chain_ops ops = {0};
    uint64_t extra;
    assert_int_equal(remat_chain_create(NULL, &good, &chain), REMAT_OK);
    assert_int_equal(remat_chain_solve(NULL, NULL, NULL, &solution, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_chain_solve(NULL, chain, NULL, NULL, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_chain_solve(&broken, chain, NULL, &solution, NULL),
                     REMAT_INVALID_ARGUMENT);
    assert_null(solution);
    solution = solve(chain);
    assert_int_equal(remat_chain_emit(NULL, 100, NULL, &ops), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_chain_emit(solution, 100, NULL, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_chain_emit(solution, 100, &broken, &ops), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_revolve_create(NULL, 4, 2, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_mixed_create(NULL, 4, 2, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_revolve_extra_forward(4, 2, NULL, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_revolve_extra_forward(4, 2, &extra, NULL), REMAT_OK);
    remat_chain_ops_release(NULL, &ops);
    remat_chain_ops_release(NULL, NULL);
    remat_chain_solution_destroy(solution);
    remat_chain_destroy(chain);
}

static remat_status work(const remat_allocator *allocator)
{
    const remat_chain_arrays good = {2, cost, cost, wa, wabar, NULL, NULL, NULL};
    remat_chain *chain = NULL;
    remat_chain_solution *solution = NULL;
    remat_chain_ops ops = {0};
    remat_status status = remat_chain_create(allocator, &good, &chain);
    if (status == REMAT_OK)
        status = remat_chain_solve(allocator, chain, NULL, &solution, NULL);
    if (status == REMAT_OK)
        status = remat_chain_emit(solution, 100, allocator, &ops);
    assert_true(status != REMAT_OK || ops.count >= 4);
    remat_chain_ops_release(allocator, &ops);
    remat_chain_solution_destroy(solution);
    remat_chain_destroy(chain);
    return status;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    counting_allocator counts = {0};
    const remat_allocator allocator = counting_allocator_make(&counts);
    assert_int_equal(work(&allocator), REMAT_OK);
    for (size_t n = counts.calls; n > 0; n--) {
        counts = (counting_allocator){.fail_at = n};
        assert_int_equal(work(&allocator), REMAT_OUT_OF_MEMORY);
        assert_int_equal(counts.live_blocks, 0);
        assert_int_equal(counts.wrong_sizes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_make_the_chains_of_the_golden_cases),
        cmocka_unit_test(what_is_left_out_has_its_default),
        cmocka_unit_test(missing_arrays_are_refused),
        cmocka_unit_test(missing_arguments_are_refused),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
