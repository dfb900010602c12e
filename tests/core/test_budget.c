/* test_budget.c - the promises of plans under a budget, over random tapes: fifty budgets from the
 * smallest to none, each trained a step and compared bit by bit with keep-all; the smallest budget;
 * the curve. REMAT_TEST_TAPES sets their number, REMAT_TEST_FIRST_TAPE the first one (a failure
 * names it). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/subject.h"

enum { BUDGETS = 50, POINTS = 256, FEW_POINTS = 5 };

typedef struct curve {
    remat_plan_point points[POINTS];
    size_t count;
} curve;

static remat_exec_options options_for(const subject *s, size_t budget)
{
    remat_exec_options o = subject_options(REMAT_STRATEGY_AUTO);
    o.budget_bytes = budget;
    o.effort = s->r.seed % 64 ? REMAT_EFFORT_FAST : REMAT_EFFORT_DEFAULT;
    return o;
}

static size_t least_budget(subject *s)
{
    remat_exec_options o = options_for(s, SIZE_MAX); /* ignored */
    size_t least = SIZE_MAX;
    expect(s, remat_plan_min_budget(s->r.tape, s->r.loss, &o, &least) == REMAT_OK);
    expect(s, least <= s->keep_all_bytes);
    return least;
}

/* ---- One plan --------------------------------------------------------------------------------*/

static bool same_plans(const remat_plan *a, const remat_plan *b)
{
    bool same = a->schedule.count == b->schedule.count && a->buffers.count == b->buffers.count &&
                memcmp(&a->cost, &b->cost, sizeof a->cost) == 0;
    for (size_t i = 0; same && i < a->schedule.count; i++)
        same = a->schedule.data[i] == b->schedule.data[i];
    for (size_t i = 0; same && i < a->buffers.count; i++)
        same = a->buffers.data[i].offset == b->buffers.data[i].offset;
    return same;
}

static remat_plan_cost cost_of(subject *s, remat_strategy strategy, size_t budget)
{
    remat_plan_cost cost;
    remat_exec_options o = options_for(s, budget);
    o.strategy = strategy;
    remat_plan *plan = subject_plan(s, &o);
    remat_plan_get_cost(plan, &cost);
    remat_plan_destroy(plan);
    return cost;
}

/* Plans twice and trains a step. */
static remat_plan_cost check_budget(subject *s, size_t budget)
{
    remat_plan_cost cost;
    remat_exec *exec = NULL;
    remat_exec_options o = options_for(s, budget);
    snprintf(s->what, sizeof s->what, "budget %zu of %zu", budget, s->keep_all_bytes);
    o.poison = test_random_chance(&s->state, 50);
    o.verify_replay = test_random_chance(&s->state, 50);
    remat_plan *plan = subject_plan(s, &o), *again = subject_plan(s, &o); /* within the budget */
    expect(s, same_plans(plan, again));
    expect(s, remat_exec_create_with_plan(s->r.tape, plan, &o, &exec) == REMAT_OK);
    subject_step(s, exec, &o); /* planned peak = measured peak */
    expect(s, outcome_same_bits(&s->got, &s->keep_all));
    remat_plan_get_cost(plan, &cost);
    expect(s, cost.bound >= 0 && cost.bound <= cost.extra && cost.gap >= 0);
    expect(s, plan->summary.replays > 0 || cost.extra == 0);
    remat_exec_destroy(exec);
    remat_plan_destroy(again);
    remat_plan_destroy(plan);
    return cost;
}

/* ---- Fifty budgets ---------------------------------------------------------------------------*/

/* Returns how many budgets need replays. */
static size_t check_budgets(subject *s, size_t least)
{
    double slower = INFINITY, keep_all = cost_of(s, REMAT_STRATEGY_KEEP_ALL, 0).extra;
    size_t span = s->keep_all_bytes - least, replaying = 0;
    for (size_t i = 0; i < BUDGETS; i++) {
        size_t budget = i + 1 == BUDGETS ? SIZE_MAX
                        : i + 2 == BUDGETS
                            ? s->keep_all_bytes
                            : least + span / (BUDGETS - 2) * i + test_random_below(&s->state, 2);
        if (budget == 0) /* means none */
            continue;
        remat_plan_cost cost = check_budget(s, budget);
        expect(s, cost.extra <= slower); /* more budget never costs more time */
        slower = cost.extra;
        replaying += cost.extra > 0;
        expect(s, budget < s->keep_all_bytes || cost.extra <= keep_all);
    }
    return replaying;
}

/* ---- The smallest budget ---------------------------------------------------------------------*/

/* "... needs %.1f MB (%zu bytes) ..." */
static size_t named_bytes(const subject *s)
{
    const char *text = strchr(remat_tape_message(s->r.tape), '(');
    expect(s, text != NULL);
    return (size_t)strtoull(text + 1, NULL, 10);
}

static void check_too_small(subject *s, size_t least)
{
    const size_t budgets[] = {1, least / 2, least - 1};
    for (size_t i = 0; i < 3; i++) {
        remat_plan *plan = NULL;
        remat_exec_options o = options_for(s, budgets[i]);
        if (budgets[i] == 0 || budgets[i] >= least)
            continue;
        snprintf(s->what, sizeof s->what, "budget %zu, least %zu", budgets[i], least);
        expect(s, remat_plan_create(s->r.tape, s->r.loss, &o, &plan) == REMAT_INFEASIBLE_BUDGET);
        expect(s, plan == NULL && named_bytes(s) == least);
    }
}

/* ---- The curve -------------------------------------------------------------------------------*/

static void take_curve(subject *s, size_t capacity, curve *c)
{
    remat_exec_options o = options_for(s, 1); /* ignored */
    expect(s,
           remat_plan_sweep(s->r.tape, s->r.loss, &o, c->points, capacity, &c->count) == REMAT_OK);
    expect(s, c->count > 0 && c->count <= capacity);
    for (size_t i = 0; i < c->count; i++) {
        const remat_plan_point *p = &c->points[i];
        expect(s, p->bound >= 0 && p->bound <= p->extra_cost);
        expect(s, i == 0 || p->arena_bytes > p[-1].arena_bytes);
        expect(s, i == 0 || p->extra_cost < p[-1].extra_cost);
    }
}

static void check_curve(subject *s, size_t least)
{
    curve all, few;
    strcpy(s->what, "the curve");
    take_curve(s, POINTS, &all);
    take_curve(s, FEW_POINTS, &few);
    const remat_plan_point *last = &all.points[all.count - 1];
    expect(s, all.points[0].arena_bytes >= least && last->arena_bytes <= s->keep_all_bytes);
    expect(s, last->extra_cost <= cost_of(s, REMAT_STRATEGY_AUTO, SIZE_MAX).extra);
    expect(s, few.points[few.count - 1].arena_bytes == last->arena_bytes);
    for (size_t i = 0; i < all.count; i++)
        if (all.points[i].arena_bytes > 0)
            expect(s, cost_of(s, REMAT_STRATEGY_AUTO, all.points[i].arena_bytes).extra <=
                          all.points[i].extra_cost);
}

/* ---- All tapes -------------------------------------------------------------------------------*/

static size_t check_tape(uint64_t seed)
{
    static subject s; /* large */
    subject_prepare(&s, seed);
    strcpy(s.what, "the smallest budget");
    size_t least = least_budget(&s);
    check_too_small(&s, least);
    size_t replaying = check_budgets(&s, least);
    check_curve(&s, least);
    subject_release(&s);
    return replaying;
}

static void plans_keep_their_budgets(void **state)
{
    (void)state;
    size_t first = test_number_from_environment("REMAT_TEST_FIRST_TAPE", 1);
    size_t n = test_number_from_environment("REMAT_TEST_TAPES", 160), replaying = 0;
    for (size_t seed = first; seed < first + n; seed++)
        replaying += check_tape(seed);
    print_message("%zu tapes, %zu budgets with replays\n", n, replaying);
    assert_true(n < 100 || replaying > 5 * n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans_keep_their_budgets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
