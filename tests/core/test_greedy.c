/* test_greedy.c - the search for an order of runs against golden optima, and its promises on random
 * problems. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/counting_allocator.h"
#include "core/support/dag_cases.h"
#include "core/support/random_tape.h"
#include "plan/search.h"
#include "plan/strategy/greedy_search.h"

enum { GOLDEN_SMALL = 98, GOLDEN_MID = 11, RANDOM_PROBLEMS = 120 };

/* ---- Judging ---------------------------------------------------------------------------------*/

static remat_simulation simulate(const remat_problem *p, const remat_runs *runs)
{
    remat_actions schedule = {0};
    remat_simulation simulation;
    assert_true(remat_schedule_complete(p, runs, &schedule));
    assert_true(remat_schedule_simulate(p, &schedule, &simulation));
    assert_null(simulation.fault);
    remat_vector_release(&p->allocator, &schedule);
    return simulation;
}

/* True if an order is found, which has to be valid and to fit. */
static bool search(const remat_problem *p, size_t budget, remat_effort effort,
                   const remat_runs *start, remat_runs *runs, remat_simulation *simulation)
{
    bool feasible;
    runs->count = 0;
    assert_true(remat_order_greedy_from(p, budget, effort, 0, start, runs, &feasible));
    if (!feasible) {
        assert_int_equal(runs->count, 0);
        return false;
    }
    *simulation = simulate(p, runs);
    assert_true(simulation->peak_bytes <= budget);
    return true;
}

static size_t keep_all_peak(const remat_problem *p)
{
    remat_runs runs = {0};
    for (uint32_t t = 0; t < p->n_tasks; t++)
        assert_true(remat_vector_push(&p->allocator, &runs, t));
    size_t peak = simulate(p, &runs).peak_bytes;
    remat_vector_release(&p->allocator, &runs);
    return peak;
}

/* ---- Golden optima ---------------------------------------------------------------------------*/

typedef struct gaps {
    double sum, worst; /* in per cent of the optimum */
    size_t n, n_cases;
} gap_summary;

static void check_case(const dag_case *c, remat_effort effort, gap_summary *gaps)
{
    remat_runs runs = {0};
    for (size_t i = 0; i < c->n_budgets; i++) {
        const dag_budget *budget = &c->budgets[i];
        remat_simulation simulation;
        bool found = search(&c->problem, budget->bytes, effort, NULL, &runs, &simulation);
        gaps->n_cases++;
        if (budget->any == -1)
            assert_false(found);
        if (budget->staged < 0)
            continue;
        if (!found)
            fail_msg("%s: no order for %zu bytes", c->name, budget->bytes);
        double cost = simulation.cost + simulation.replay_cost;
        assert_true(simulation.cost == c->least_cost);
        assert_true(cost >= budget->any);
        double gap = 100 * (cost / budget->staged - 1);
        gaps->sum += gap;
        gaps->worst = gap > gaps->worst ? gap : gaps->worst;
        gaps->n++;
    }
    remat_vector_release(&c->problem.allocator, &runs);
}

static gap_summary check_golden(const char *path, remat_effort effort)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    gap_summary gaps = {0};
    dag_case c;
    while (dag_case_read(file, &c)) {
        check_case(&c, effort, &gaps);
        remat_problem_release(&c.problem);
    }
    fclose(file);
    return gaps;
}

static void small_dags_are_optimal(void **state)
{
    (void)state;
    gap_summary found = check_golden(REMAT_TEST_DATA "/dag_small.txt", REMAT_EFFORT_DEFAULT);
    assert_int_equal(found.n_cases, GOLDEN_SMALL);
    assert_true(found.sum / (double)found.n <= 0.05);
    assert_true(found.worst <= 1);
}

static void middle_dags_are_near_optimal(void **state)
{
    (void)state;
    gap_summary found = check_golden(REMAT_TEST_DATA "/dag_mid.txt", REMAT_EFFORT_DEFAULT);
    assert_int_equal(found.n_cases, GOLDEN_MID);
    assert_true(found.sum / (double)found.n <= 0.1);
    assert_true(found.worst <= 0.5);
}

static void fast_effort_is_near_optimal(void **state)
{
    (void)state;
    gap_summary small = check_golden(REMAT_TEST_DATA "/dag_small.txt", REMAT_EFFORT_FAST);
    assert_true(small.sum / (double)small.n <= 0.3);
    assert_true(small.worst <= 5);
    gap_summary middle = check_golden(REMAT_TEST_DATA "/dag_mid.txt", REMAT_EFFORT_FAST);
    assert_true(middle.sum / (double)middle.n <= 1);
}

/* ---- The evaluation tells what the simulator tells -------------------------------------------*/

static dag_shape random_shape(uint64_t *state)
{
    return (dag_shape){.n_statements = 1 + (uint32_t)test_random_below(state, 40),
                       .odd = test_random_chance(state, 70),
                       .retain = test_random_chance(state, 25),
                       .marks = test_random_chance(state, 25)};
}

/* Tasks in order, and before each some replays of tasks that ran. */
static void random_sequence(const remat_problem *p, uint64_t *state, remat_runs *sequence)
{
    sequence->count = 0;
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        for (size_t n = test_random_below(state, 4); n > 0 && t > 0; n--) {
            uint32_t ran = t < p->n_forward ? t : p->n_forward;
            uint32_t task = (uint32_t)test_random_below(state, ran);
            if (p->tasks.data[task].replayable)
                assert_true(remat_vector_push(&p->allocator, sequence, task | REMAT_GREEDY_REPLAY));
        }
        assert_true(remat_vector_push(&p->allocator, sequence, t));
    }
}

/* The scores of a sequence, with and without compacting it, are the simulator's. */
static void check_evaluation(const remat_problem *p, remat_greedy *g, remat_runs *sequence)
{
    remat_runs runs = {0};
    assert_true(remat_greedy_copy(g, sequence, &runs));
    for (size_t i = 0; i < runs.count; i++)
        runs.data[i] = remat_greedy_task(runs.data[i]);
    remat_simulation simulation = simulate(p, &runs);
    for (int compact = 0; compact < 2; compact++) {
        remat_greedy_score score = remat_greedy_evaluate(g, sequence, compact);
        assert_int_equal(score.peak_bytes, simulation.peak_bytes);
        assert_true(score.cost == simulation.replay_cost);
        assert_int_equal(score.n_needed, p->n_tasks + simulation.replays);
        assert_true(!compact || score.n_needed == sequence->count);
        assert_true(score.peak_at < sequence->count);
    }
    remat_vector_release(&p->allocator, &runs);
}

static void evaluation_equals_simulation(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (uint64_t i = 0; i < 10 * RANDOM_PROBLEMS; i++) {
        dag_shape shape = random_shape(&random);
        remat_problem problem;
        remat_greedy g;
        remat_runs sequence = {0};
        dag_random(&shape, i, &problem);
        random_sequence(&problem, &random, &sequence);
        assert_true(remat_greedy_create(&problem, 0, &g));
        check_evaluation(&problem, &g, &sequence);
        check_evaluation(&problem, &g, &sequence); /* now compact */
        remat_greedy_release(&g);
        remat_vector_release(&problem.allocator, &sequence);
        remat_problem_release(&problem);
    }
}

/* ---- Promises on random problems -------------------------------------------------------------*/

/* RECOMPUTE values that can be made again are, between the end of the forward pass and the first
 * task that reads them then. */
static void check_marks(const remat_problem *p, const remat_runs *runs)
{
    bool *absent = test_calloc(p->values.count + 1, sizeof *absent);
    for (uint32_t t = 0; t < p->n_forward; t++)
        for (uint32_t i = 0; p->tasks.data[t].replayable && i < remat_task_n_writes(p, t); i++) {
            uint32_t v = remat_task_writes(p, t)[i].value;
            absent[v] =
                p->values.data[v].policy == REMAT_POLICY_RECOMPUTE && !p->values.data[v].pinned;
        }
    size_t i = 0;
    while (runs->data[i] != p->n_forward - 1)
        i++;
    while (++i < runs->count) {
        uint32_t t = runs->data[i];
        for (uint32_t k = 0; k < remat_task_n_reads(p, t); k++)
            assert_false(absent[remat_task_reads(p, t)[k]]);
        for (uint32_t k = 0; k < remat_task_n_writes(p, t); k++)
            absent[remat_task_writes(p, t)[k].value] = false;
    }
    test_free(absent);
}

static void same_runs(const remat_runs *a, const remat_runs *b)
{
    assert_int_equal(a->count, b->count);
    if (a->count > 0)
        assert_memory_equal(a->data, b->data, a->count * sizeof *a->data);
}

/* Budgets that grow: each search starts from the order before, and never does worse. */
static void check_budgets(const remat_problem *p, size_t keep_all)
{
    remat_runs runs = {0}, before = {0}, again = {0};
    remat_simulation simulation, last = {0}, same;
    bool had = false;
    for (size_t percent = 40; percent <= 100; percent += 15) {
        size_t budget = keep_all * percent / 100;
        bool found = search(p, budget, REMAT_EFFORT_FAST, had ? &before : NULL, &runs, &simulation);
        assert_true(found || !had);
        if (!found)
            continue;
        assert_true(!had || simulation.replay_cost <= last.replay_cost);
        assert_true(search(p, budget, REMAT_EFFORT_FAST, had ? &before : NULL, &again, &same));
        same_runs(&runs, &again);
        check_marks(p, &runs);
        had = true;
        last = simulation;
        remat_runs swap = before;
        before = runs;
        runs = swap;
    }
    remat_vector_release(&p->allocator, &runs);
    remat_vector_release(&p->allocator, &before);
    remat_vector_release(&p->allocator, &again);
}

static void random_problems_keep_promises(void **state)
{
    (void)state;
    uint64_t random = 2;
    for (uint64_t i = 0; i < RANDOM_PROBLEMS; i++) {
        dag_shape shape = random_shape(&random);
        remat_problem problem;
        dag_random(&shape, 1000 + i, &problem);
        check_budgets(&problem, keep_all_peak(&problem));
        remat_problem_release(&problem);
    }
}

static void more_effort_is_never_worse(void **state)
{
    (void)state;
    const dag_shape shape = {.n_statements = 30, .odd = true};
    for (uint64_t seed = 0; seed < 8; seed++) {
        remat_problem problem;
        remat_runs runs = {0};
        remat_simulation fast, more;
        dag_random(&shape, seed, &problem);
        size_t budget = keep_all_peak(&problem) * 65 / 100;
        if (search(&problem, budget, REMAT_EFFORT_FAST, NULL, &runs, &fast)) {
            assert_true(search(&problem, budget, REMAT_EFFORT_DEFAULT, NULL, &runs, &more));
            assert_true(more.replay_cost <= fast.replay_cost);
        }
        remat_vector_release(&problem.allocator, &runs);
        remat_problem_release(&problem);
    }
}

static void keep_all_replays_nothing(void **state)
{
    (void)state;
    const dag_shape shape = {.n_statements = 30, .odd = true};
    remat_problem problem;
    dag_random(&shape, 7, &problem);
    remat_runs runs = {0};
    remat_simulation simulation;
    size_t peak = keep_all_peak(&problem);
    assert_true(search(&problem, peak, REMAT_EFFORT_DEFAULT, NULL, &runs, &simulation));
    assert_int_equal(simulation.replays, 0);
    assert_false(search(&problem, 0, REMAT_EFFORT_DEFAULT, NULL, &runs, &simulation));
    remat_vector_release(&problem.allocator, &runs);
    remat_problem_release(&problem);
}

static void large_problems_fit(void **state)
{
    (void)state;
    static const uint32_t STATEMENTS[] = {150, 500, 5000};
    for (size_t i = 0; i < 3; i++) {
        const dag_shape shape = {.n_statements = STATEMENTS[i]};
        remat_problem problem;
        remat_runs runs = {0};
        remat_simulation simulation;
        dag_random(&shape, i, &problem);
        size_t peak = keep_all_peak(&problem);
        assert_true(search(&problem, peak * 6 / 10, REMAT_EFFORT_FAST, NULL, &runs, &simulation));
        assert_true(simulation.replay_cost < 0.15 * simulation.cost);
        remat_vector_release(&problem.allocator, &runs);
        remat_problem_release(&problem);
    }
}

static void time_limit_ends_search(void **state)
{
    (void)state;
    const dag_shape shape = {.n_statements = 60};
    remat_problem problem;
    remat_runs runs = {0};
    bool feasible;
    dag_random(&shape, 3, &problem);
    size_t budget = keep_all_peak(&problem) * 7 / 10;
    assert_true(
        remat_order_greedy(&problem, budget, REMAT_EFFORT_THOROUGH, 1e-9, &runs, &feasible));
    assert_true(feasible);
    assert_true(simulate(&problem, &runs).peak_bytes <= budget);
    remat_vector_release(&problem.allocator, &runs);
    remat_problem_release(&problem);
}

/* ---- Memory that runs out --------------------------------------------------------------------*/

static void no_memory_no_leak(void **state)
{
    (void)state;
    const dag_shape shape = {.n_statements = 12, .odd = true, .marks = true};
    remat_problem problem;
    dag_random(&shape, 5, &problem);
    size_t budget = keep_all_peak(&problem) * 8 / 10;
    remat_allocator own = problem.allocator;
    bool done = false;
    for (size_t fail_at = 1; !done; fail_at++) {
        counting_allocator counter = {.fail_at = fail_at};
        problem.allocator = counting_allocator_make(&counter);
        remat_runs runs = {0};
        bool feasible;
        done = remat_order_greedy(&problem, budget, REMAT_EFFORT_FAST, 0, &runs, &feasible);
        assert_true(done || (!feasible && runs.count == 0));
        assert_int_equal(done, counter.calls < fail_at);
        remat_vector_release(&problem.allocator, &runs);
        assert_int_equal(counter.live_blocks, 0);
        assert_int_equal(counter.wrong_sizes, 0);
    }
    problem.allocator = own;
    remat_problem_release(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_dags_are_optimal),
        cmocka_unit_test(middle_dags_are_near_optimal),
        cmocka_unit_test(fast_effort_is_near_optimal),
        cmocka_unit_test(evaluation_equals_simulation),
        cmocka_unit_test(random_problems_keep_promises),
        cmocka_unit_test(more_effort_is_never_worse),
        cmocka_unit_test(keep_all_replays_nothing),
        cmocka_unit_test(large_problems_fit),
        cmocka_unit_test(time_limit_ends_search),
        cmocka_unit_test(no_memory_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
