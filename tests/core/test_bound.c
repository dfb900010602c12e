/* test_bound.c - the lower bound never exceeds an optimum, and is worth its name. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/support/brute_force.h"
#include "core/support/counting_allocator.h"
#include "core/support/dag_cases.h"
#include "core/support/random_tape.h"
#include "plan/bound.h"
#include "plan/derive.h"
#include "plan/strategy/remake.h"
#include "plan/strategy/strategy.h"

enum { EFFORTS = 3, RANDOM_ORDERS = 20 };

static FILE *open_data(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", REMAT_TEST_DATA, name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s cannot be opened", path);
    return file;
}

static double bound_of(const remat_problem *problem, size_t budget, remat_effort effort)
{
    double bound = NAN, again = NAN;
    assert_true(remat_bound_cut(problem, budget, effort, &bound));
    assert_true(remat_bound_cut(problem, budget, effort, &again));
    assert_memory_equal(&bound, &again, sizeof bound);
    assert_true(bound >= 0);
    return bound;
}

/* ---- Published optima ------------------------------------------------------------------------*/

typedef struct tally {
    double proven; /* sum of the shares of the overhead that were proven */
    size_t cases;
} tally;

/* The replays of an optimum. */
static double extra(const dag_case *dag, double optimum)
{
    return optimum == -1 ? INFINITY : optimum - dag->least_cost;
}

static void check_budget(const dag_case *dag, const dag_budget *b, tally *tallies)
{
    double staged = extra(dag, b->staged), any = b->any == -2 ? staged : extra(dag, b->any);
    for (int effort = 0; effort < EFFORTS; effort++) {
        double bound = bound_of(&dag->problem, b->bytes, (remat_effort)effort);
        if (bound > any)
            fail_msg("%s, budget %zu, effort %d: bound %g, optimum %g", dag->name, b->bytes, effort,
                     bound, any);
        if (!isfinite(staged) || staged == 0)
            continue;
        tallies[effort].proven += bound / staged;
        tallies[effort].cases++;
    }
}

static void check_file(const char *name, tally *tallies)
{
    dag_case dag;
    FILE *file = open_data(name);
    while (dag_case_read(file, &dag)) {
        for (size_t i = 0; i < dag.n_budgets; i++)
            check_budget(&dag, &dag.budgets[i], tallies);
        remat_problem_release(&dag.problem);
    }
    fclose(file);
}

static void test_optima_of_small_graphs(void **state)
{
    (void)state;
    tally tallies[EFFORTS] = {{0}};
    check_file("dag_small.txt", tallies);
    assert_true(tallies[0].cases >= 50);
    assert_true(tallies[REMAT_EFFORT_DEFAULT].proven >= 0.65 * (double)tallies[0].cases);
}

static void test_optima_of_networks(void **state)
{
    (void)state;
    tally tallies[EFFORTS] = {{0}};
    check_file("dag_mid.txt", tallies);
    assert_true(tallies[0].cases >= 10);
    assert_true(tallies[REMAT_EFFORT_FAST].proven >= 0.65 * (double)tallies[0].cases);
    assert_true(tallies[REMAT_EFFORT_DEFAULT].proven >= 0.8 * (double)tallies[0].cases);
}

/* ---- Exhaustive search -----------------------------------------------------------------------*/

static size_t total_bytes(const remat_problem *p)
{
    size_t bytes = 1;
    for (size_t v = 0; v < p->values.count; v++)
        bytes += p->values.data[v].bytes;
    return bytes;
}

/* Returns false once the budget changes nothing any more. */
static bool compare_with_search(const remat_problem *p, uint64_t seed, size_t budget, tally *sum)
{
    double least = brute_force_replay_cost(p, budget);
    for (int effort = 0; effort < EFFORTS; effort++) {
        double bound = bound_of(p, budget, (remat_effort)effort);
        if (bound > least)
            fail_msg("problem %llu, budget %zu, effort %d: bound %g, optimum %g",
                     (unsigned long long)seed, budget, effort, bound, least);
        if (effort == REMAT_EFFORT_DEFAULT && least > 0 && isfinite(least)) {
            sum->proven += bound / least;
            sum->cases++;
        }
    }
    return least > 0;
}

static void test_never_above_the_optimum(void **state)
{
    (void)state;
    tally sum = {0, 0};
    for (uint64_t seed = 1; seed <= 120; seed++) {
        remat_problem p;
        tiny_problem_make(seed, &p);
        for (size_t budget = 3; budget <= total_bytes(&p); budget++)
            if (!compare_with_search(&p, seed, budget, &sum))
                break;
        remat_problem_release(&p);
    }
    assert_true(sum.cases >= 100);
    assert_true(sum.proven >= 0.5 * (double)sum.cases);
}

/* ---- Schedules of random tapes ---------------------------------------------------------------*/

static void check_runs(const remat_problem *p, const remat_runs *runs)
{
    remat_actions schedule = {0};
    remat_simulation simulation;
    assert_true(remat_schedule_complete(p, runs, &schedule));
    assert_true(remat_schedule_simulate(p, &schedule, &simulation));
    assert_null(simulation.fault);
    remat_vector_release(&p->allocator, &schedule);
    for (int effort = 0; effort < EFFORTS - 1; effort++) {
        double bound = bound_of(p, simulation.peak_bytes, (remat_effort)effort);
        if (!(bound <= simulation.replay_cost))
            fail_msg("bound %g for a peak of %zu bytes, replays for %g", bound,
                     simulation.peak_bytes, simulation.replay_cost);
    }
}

/* Values are lost at random and made again on demand, in both passes. */
static void make_random_runs(const remat_problem *p, uint64_t *state, remat_runs *runs)
{
    remat_remake remake;
    unsigned chance = (unsigned)test_random_below(state, 40);
    assert_true(remat_remake_create(p, runs, &remake));
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        for (uint32_t v = 0; v < p->values.count; v++)
            if (remat_remake_possible(&remake, v) && remake.maker[v] < t &&
                test_random_chance(state, chance))
                remake.present[v] = 0;
        assert_true(remat_remake_inputs(&remake, t) && remat_remake_run(&remake, t));
    }
    remat_remake_release(&remake);
}

static void check_problem(const remat_problem *p, uint64_t *state)
{
    remat_runs runs = {0};
    remat_ranges ranges = {0};
    const remat_family family = {.problem = p};
    assert_true(remat_keep_all_order(&family, 0, &runs, &ranges));
    check_runs(p, &runs);
    runs.count = 0;
    assert_true(remat_segments_order(&family, 0, &runs, &ranges));
    check_runs(p, &runs);
    runs.count = 0;
    assert_true(remat_sqrt_order(&family, 0, &runs, &ranges));
    check_runs(p, &runs);
    for (int i = 0; i < RANDOM_ORDERS; i++) {
        runs.count = 0;
        make_random_runs(p, state, &runs);
        check_runs(p, &runs);
    }
    remat_vector_release(&p->allocator, &runs);
    remat_vector_release(&p->allocator, &ranges);
}

static void test_never_above_a_schedule(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        remat_tape *tape = NULL;
        random_tape r;
        remat_derivation d;
        const remat_allocator allocator = remat_allocator_default();
        remat_exec_options options = REMAT_EXEC_OPTIONS_INIT;
        uint64_t random = seed;
        assert_int_equal(remat_tape_create(NULL, &tape), REMAT_OK);
        random_tape_init(&r, tape, seed);
        assert_int_equal(random_tape_record(&r), REMAT_OK);
        uint32_t loss = r.loss.id ? remat_tape_index(tape, r.loss) : REMAT_NONE;
        assert_int_equal(remat_derive(tape, loss, &options, &allocator, &d), REMAT_OK);
        check_problem(&d.problem, &random);
        remat_derivation_release(&d);
        random_tape_release(&r);
        remat_tape_destroy(tape);
    }
}

/* ---- Random networks -------------------------------------------------------------------------*/

static void test_never_above_a_schedule_of_a_network(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        remat_problem problem;
        uint64_t random = seed;
        dag_shape shape = {.n_statements = 1 + (uint32_t)seed, .odd = seed % 3 != 0};
        dag_random(&shape, seed, &problem);
        check_problem(&problem, &random);
        remat_problem_release(&problem);
    }
}

/* ---- Budgets, memory -------------------------------------------------------------------------*/

static void test_more_budget_lower_bound(void **state)
{
    (void)state;
    dag_case dag;
    FILE *file = open_data("dag_small.txt");
    while (dag_case_read(file, &dag)) {
        double last = INFINITY;
        for (size_t budget = 1; last > 0; budget++) {
            double bound = bound_of(&dag.problem, budget, REMAT_EFFORT_DEFAULT);
            if (bound > last * (1 + 1e-8))
                fail_msg("%s, budget %zu: %g after %g", dag.name, budget, bound, last);
            last = bound;
        }
        assert_true(bound_of(&dag.problem, SIZE_MAX, REMAT_EFFORT_DEFAULT) == 0);
        remat_problem_release(&dag.problem);
    }
    fclose(file);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    dag_case dag;
    FILE *file = open_data("dag_mid.txt");
    assert_true(dag_case_read(file, &dag));
    fclose(file);
    size_t budget = dag.budgets[0].bytes;
    double whole = bound_of(&dag.problem, budget, REMAT_EFFORT_DEFAULT), bound;
    remat_problem problem = dag.problem; /* shares the arrays; its own allocator */
    counting_allocator memory = {0};
    problem.allocator = counting_allocator_make(&memory);
    bool done = false;
    for (size_t i = 1; !done; i++) {
        memory.calls = 0;
        memory.fail_at = i;
        done = remat_bound_cut(&problem, budget, REMAT_EFFORT_DEFAULT, &bound);
        assert_int_equal(memory.live_blocks, 0);
        assert_int_equal(memory.wrong_sizes, 0);
        assert_true(done == (memory.calls < i));
        assert_true(bound <= whole);
    }
    assert_true(bound == whole);
    remat_problem_release(&dag.problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_optima_of_small_graphs),
        cmocka_unit_test(test_optima_of_networks),
        cmocka_unit_test(test_never_above_the_optimum),
        cmocka_unit_test(test_never_above_a_schedule),
        cmocka_unit_test(test_never_above_a_schedule_of_a_network),
        cmocka_unit_test(test_more_budget_lower_bound),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
