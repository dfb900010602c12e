/* test_schedule_budget.c - the promises of remat_schedule_create() under budgets, over random
 * problems without a tape: irregular graphs, chains of random blocks, and tiny ones whose optimum
 * is found by exhaustive search. REMAT_TEST_PROBLEMS sets their number, REMAT_TEST_FIRST_PROBLEM
 * the first one (a failure names it). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/brute_force.h"
#include "core/support/chain_of_blocks.h"
#include "core/support/dag_cases.h"
#include "core/support/naive_walk.h"
#include "core/support/subject.h"

enum { BUDGETS = 10 };

typedef struct subject_problem {
    remat_problem p;
    remat_schedule_options options;
    uint64_t seed, state;
    size_t keep_all_bytes, least_bytes;
    size_t keep_all_replays; /* of marked values */
    double keep_all_cost;
} subject_problem;

#define check(s, budget, condition) check_that((s), (budget), (condition), #condition, __LINE__)

static void check_that(const subject_problem *s, size_t budget, bool condition, const char *text,
                       int line)
{
    if (!condition)
        fail_msg("line %d: problem %llu, budget %zu of %zu to %zu: %s", line,
                 (unsigned long long)s->seed, budget, s->least_bytes, s->keep_all_bytes, text);
}

/* ---- One schedule ----------------------------------------------------------------------------*/

static bool same_schedules(const remat_schedule *a, const remat_schedule *b)
{
    bool same = remat_schedule_length(a) == remat_schedule_length(b);
    for (size_t i = 0; same && i < remat_schedule_length(a); i++) {
        remat_schedule_action x = remat_schedule_at(a, i), y = remat_schedule_at(b, i);
        same = x.kind == y.kind && x.id == y.id && x.replay == y.replay;
    }
    return same;
}

/* A replay cost that was summed in another order. */
static bool is_about(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (1 + fabs(a));
}

static void check_summary(const subject_problem *s, size_t budget, const remat_schedule *schedule)
{
    remat_schedule_summary m;
    remat_schedule_summarize(schedule, &m);
    naive_walk walked = naive_walk_schedule(&s->p, schedule);
    check(s, budget, walked.peak_bytes == m.peak_bytes && walked.replays == m.replays);
    check(s, budget, is_about(walked.replay_cost, m.cost.extra));
    check(s, budget, budget == 0 || m.peak_bytes <= budget);
    check(s, budget, m.cost.bound >= 0 && m.cost.bound <= m.cost.extra && m.cost.gap >= 0);
}

/* The smallest budget in the message of a refusal. */
static size_t named_bytes(const subject_problem *s)
{
    const char *text = strstr(remat_problem_message(&s->p), "is ");
    assert_non_null(text);
    return (size_t)strtoull(text + 3, NULL, 10);
}

/* Extra cost; INFINITY: refused. */
static double plan(subject_problem *s, size_t budget, remat_plan_cost *cost)
{
    remat_schedule *schedule = NULL, *again = NULL;
    s->options.budget_bytes = budget;
    remat_status status = remat_schedule_create(&s->p, &s->options, &schedule);
    if (status == REMAT_INFEASIBLE_BUDGET) {
        check(s, budget, schedule == NULL && named_bytes(s) > budget);
        return INFINITY;
    }
    check(s, budget, status == REMAT_OK);
    check_summary(s, budget, schedule);
    check(s, budget, remat_schedule_create(&s->p, &s->options, &again) == REMAT_OK);
    check(s, budget, same_schedules(schedule, again));
    remat_schedule_summary m;
    remat_schedule_summarize(schedule, &m);
    remat_schedule_destroy(schedule);
    remat_schedule_destroy(again);
    *cost = m.cost;
    return m.cost.extra;
}

/* ---- Many budgets ----------------------------------------------------------------------------*/

static void measure_keep_all(subject_problem *s)
{
    remat_schedule *schedule = NULL;
    remat_schedule_summary m;
    remat_schedule_options options = {.strategy = REMAT_STRATEGY_KEEP_ALL};
    assert_int_equal(remat_schedule_create(&s->p, &options, &schedule), REMAT_OK);
    check_summary(s, 0, schedule);
    remat_schedule_summarize(schedule, &m);
    remat_schedule_destroy(schedule);
    s->keep_all_bytes = m.peak_bytes;
    s->keep_all_cost = m.cost.extra;
    s->keep_all_replays = m.replays;
    assert_int_equal(remat_schedule_min_budget(&s->p, &s->options, &s->least_bytes), REMAT_OK);
    check(s, 0, s->least_bytes <= s->keep_all_bytes);
}

static void check_least(subject_problem *s)
{
    remat_plan_cost cost;
    const size_t below[] = {1, s->least_bytes / 2, s->least_bytes - 1};
    for (size_t i = 0; i < 3; i++) {
        if (below[i] == 0 || below[i] >= s->least_bytes)
            continue;
        check(s, below[i], isinf(plan(s, below[i], &cost)));
        check(s, below[i], named_bytes(s) == s->least_bytes);
    }
}

static int compare_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Returns the number of budgets under which something is replayed. */
static size_t check_problem(subject_problem *s)
{
    size_t budgets[BUDGETS + 4], replaying = 0;
    double slower = INFINITY;
    remat_plan_cost cost;
    measure_keep_all(s);
    check_least(s);
    size_t span = s->keep_all_bytes - s->least_bytes;
    for (size_t i = 0; i < BUDGETS; i++)
        budgets[i] = s->least_bytes + test_random_below(&s->state, span + 1);
    budgets[BUDGETS] = s->least_bytes;
    budgets[BUDGETS + 1] = s->keep_all_bytes;
    budgets[BUDGETS + 2] = s->keep_all_bytes + 1;
    budgets[BUDGETS + 3] = SIZE_MAX;
    qsort(budgets, BUDGETS + 4, sizeof *budgets, compare_sizes);
    for (size_t i = 0; i < BUDGETS + 4; i++) {
        if (budgets[i] == 0) /* means no budget */
            continue;
        double extra = plan(s, budgets[i], &cost);
        check(s, budgets[i], isfinite(extra) && extra <= slower);
        check(s, budgets[i], budgets[i] < s->keep_all_bytes || extra <= s->keep_all_cost);
        slower = extra;
        replaying += extra > 0;
    }
    return replaying;
}

/* ---- Random problems -------------------------------------------------------------------------*/

static void make(uint64_t seed, subject_problem *s)
{
    *s = (subject_problem){.seed = seed, .state = seed};
    bool graph = test_random_chance(&s->state, 40);
    dag_shape shape = {.n_statements = 1 + (uint32_t)test_random_below(&s->state, 30),
                       .odd = test_random_chance(&s->state, 60),
                       .retain = test_random_chance(&s->state, 10),
                       .marks = test_random_chance(&s->state, 15)};
    uint32_t blocks = 2 + (uint32_t)test_random_below(&s->state, 12);
    if (graph)
        dag_random(&shape, seed, &s->p);
    else
        chain_of_blocks_make(seed, blocks, &s->p);
    if (test_random_chance(&s->state, 95)) /* else it takes minutes */
        s->options.effort = REMAT_EFFORT_FAST;
}

static void random_problems_keep_the_promises(void **state)
{
    (void)state;
    size_t first = test_number_from_environment("REMAT_TEST_FIRST_PROBLEM", 1);
    size_t n = test_number_from_environment("REMAT_TEST_PROBLEMS", 250), replaying = 0;
    for (size_t seed = first; seed < first + n; seed++) {
        subject_problem s;
        make(seed, &s);
        replaying += check_problem(&s);
        remat_problem_release(&s.p);
    }
    assert_true(n < 100 || replaying > n);
}

/* ---- Tiny problems ---------------------------------------------------------------------------*/

static void check_tiny(subject_problem *s, size_t budget)
{
    remat_plan_cost cost;
    double extra = plan(s, budget, &cost);
    double least = brute_force_replay_cost(&s->p, budget);
    check(s, budget, extra >= least);
    check(s, budget, isinf(extra) || cost.bound <= least);
}

static void tiny_problems_are_never_below_the_optimum(void **state)
{
    (void)state;
    for (uint64_t seed = 1001; seed <= 1080; seed++) {
        subject_problem s = {.seed = seed};
        tiny_problem_make(seed, &s.p);
        measure_keep_all(&s);
        for (size_t budget = s.least_bytes > 2 ? s.least_bytes - 2 : 1; budget < s.keep_all_bytes;
             budget++)
            check_tiny(&s, budget);
        remat_problem_release(&s.p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems_keep_the_promises),
        cmocka_unit_test(tiny_problems_are_never_below_the_optimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
