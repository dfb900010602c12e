/* test_invariants.c - the promises of the library over thousands of random tapes, under every
 * strategy, budget and debug mode. REMAT_TEST_TAPES sets their number, REMAT_TEST_FIRST_TAPE the
 * first one (a failure names it). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/subject.h"

/* Thorough searches are for few. */
static remat_effort effort_for(const subject *s)
{
    return s->r.seed % 1000 == 0 ? REMAT_EFFORT_DEFAULT : REMAT_EFFORT_FAST;
}

/* ---- Modes -----------------------------------------------------------------------------------*/

static size_t run_with(subject *s, const remat_exec_options *o)
{
    remat_exec *exec = NULL;
    remat_plan *plan = subject_plan(s, o);
    expect(s, remat_exec_create_with_plan(s->r.tape, plan, o, &exec) == REMAT_OK);
    subject_steps(s, exec, o);
    remat_exec_destroy(exec);
    if (!o->separate_buffers && test_random_chance(&s->state, 40))
        subject_steps_in_own_arena(s, plan, *o);
    size_t replays = plan->summary.replays;
    remat_plan_destroy(plan);
    return replays;
}

/* Number of replays in a step, summed over all ways to run it. */
static size_t check_strategies(subject *s)
{
    size_t replays = 0;
    for (int i = 0; i < REMAT_STRATEGY_COUNT; i++) {
        if (i == REMAT_STRATEGY_GREEDY && s->r.seed % 200 != 0)
            continue; /* it searches at any effort */
        remat_exec_options o = subject_options((remat_strategy)i);
        o.effort = effort_for(s);
        snprintf(s->what, sizeof s->what, "strategy %s", remat_strategy_name(o.strategy));
        replays += run_with(s, &o);
        o.retain = test_random_chance(&s->state, 40);
        o.poison = test_random_chance(&s->state, 50);
        o.separate_buffers = test_random_chance(&s->state, 30);
        o.verify_replay = test_random_chance(&s->state, 50);
        o.overwrite_gradients = test_random_chance(&s->state, 50);
        o.gradient_ready = test_random_chance(&s->state, 50) ? subject_ready : NULL;
        o.gradient_ready_context = s;
        snprintf(s->what, sizeof s->what, "strategy %s%s%s%s%s%s%s",
                 remat_strategy_name(o.strategy), o.retain ? " retain" : "",
                 o.poison ? " poison" : "", o.separate_buffers ? " separate" : "",
                 o.verify_replay ? " verify" : "", o.overwrite_gradients ? " overwrite" : "",
                 o.gradient_ready ? " ready" : "");
        replays += run_with(s, &o);
    }
    return replays;
}

/* ---- Budgets ---------------------------------------------------------------------------------*/

/* "... needs %.1f MB (%zu bytes) ..." */
static size_t smallest_in_message(const subject *s)
{
    const char *text = strchr(remat_tape_message(s->r.tape), '(');
    expect(s, text != NULL);
    return (size_t)strtoull(text + 1, NULL, 10);
}

/* Plans and runs with a budget, or with the smallest one that the error names: *budget. Returns the
 * cost of the replays. */
static double check_budget(subject *s, remat_strategy strategy, size_t *budget)
{
    remat_exec_options o = subject_options(strategy);
    o.effort = effort_for(s);
    remat_plan *plan = NULL;
    remat_plan_summary m;
    o.budget_bytes = *budget;
    snprintf(s->what, sizeof s->what, "strategy %s, budget %zu of %zu",
             remat_strategy_name(strategy), *budget, s->keep_all_bytes);
    remat_status status = remat_plan_create(s->r.tape, s->r.loss, &o, &plan);
    if (status != REMAT_OK) {
        expect(s, status == REMAT_INFEASIBLE_BUDGET);
        expect(s, remat_tape_status(s->r.tape) == REMAT_OK);
        o.budget_bytes = smallest_in_message(s);
        expect(s, o.budget_bytes > *budget);
        *budget = o.budget_bytes;
    } else {
        remat_plan_destroy(plan);
    }
    plan = subject_plan(s, &o);
    remat_plan_summarize(plan, &m);
    remat_exec *exec = NULL;
    expect(s, remat_exec_create_with_plan(s->r.tape, plan, &o, &exec) == REMAT_OK);
    subject_step(s, exec, &o);
    expect(s, outcome_same_bits(&s->got, &s->keep_all));
    remat_exec_destroy(exec);
    remat_plan_destroy(plan);
    return m.replay_cost;
}

static void check_budgets(subject *s)
{
    size_t smallest = 1, budget = s->keep_all_bytes / 4;
    double slower = check_budget(s, REMAT_STRATEGY_AUTO, &smallest);
    for (int i = 0; i < 3; i++, budget += test_random_below(&s->state, s->keep_all_bytes / 2 + 1)) {
        size_t used = budget ? budget : 1;
        double cost = check_budget(s, REMAT_STRATEGY_AUTO, &used);
        expect(s, used >= smallest && (used == budget || used == smallest)); /* one smallest */
        expect(s, cost <= slower); /* more budget never plans slower */
        slower = cost;
    }
    size_t all = s->keep_all_bytes, half = s->keep_all_bytes / 2 + 1, any = SIZE_MAX;
    if (all > 0)
        expect(s, check_budget(s, REMAT_STRATEGY_KEEP_ALL, &all) >= 0 && all == s->keep_all_bytes);
    check_budget(s, REMAT_STRATEGY_SQRT, &half);
    expect(s, check_budget(s, REMAT_STRATEGY_AUTO, &any) <= slower && any == SIZE_MAX);
}

/* ---- Forward only ----------------------------------------------------------------------------*/

static void check_forward_only(subject *s)
{
    remat_exec *exec = NULL;
    remat_exec_options o = subject_options(REMAT_STRATEGY_AUTO);
    const void *data;
    o.forward_only = true;
    o.poison = true;
    if (!s->r.loss.id)
        return;
    strcpy(s->what, "forward only");
    expect(s, remat_exec_create(s->r.tape, s->r.loss, &o, &exec) == REMAT_OK);
    memset(s->r.effects, 0, sizeof s->r.effects);
    expect(s, remat_exec_step(exec) == REMAT_OK);
    subject_expect_effects(s, 1);
    subject_expect_peak(s, exec, &o);
    expect(s, remat_exec_backward(exec) == REMAT_OUT_OF_ORDER);
    expect(s, remat_exec_value(exec, s->r.loss, &data) == REMAT_OK);
    uint32_t loss = remat_tape_index(s->r.tape, s->r.loss);
    expect(s, memcmp(data, s->keep_all.bytes, s->first.values[loss].bytes) == 0);
    expect(s, remat_exec_plan(exec)->summary.live_bytes <= s->keep_all_live_bytes);
    remat_exec_destroy(exec);
}

/* ---- All tapes -------------------------------------------------------------------------------*/

typedef struct totals {
    size_t tapes, with_noise, active, replays, with_effects;
} totals;

static void check_tape(uint64_t seed, totals *all)
{
    static subject s; /* large */
    subject_prepare(&s, seed);
    size_t replays = check_strategies(&s);
    if (seed % 2 == 0)
        check_budgets(&s);
    check_forward_only(&s);
    double activity = outcome_activity(&s.r, &s.keep_all);
    strcpy(s.what, "results");
    expect(&s, activity >= 0 || s.keep_all.count == 0);
    all->tapes++;
    all->with_noise += s.r.has_noise;
    all->active += activity > 0.25;
    all->replays += replays;
    all->with_effects += s.r.n_effects > 0;
    subject_release(&s);
}

static void random_tapes_keep_the_invariants(void **state)
{
    (void)state;
    totals all = {0};
    size_t first = test_number_from_environment("REMAT_TEST_FIRST_TAPE", 1);
    size_t n = test_number_from_environment("REMAT_TEST_TAPES", 2000);
    for (size_t seed = first; seed < first + n; seed++)
        check_tape(seed, &all);
    print_message("%zu tapes, %zu with noise, %zu with effects, %zu active, %zu replays\n",
                  all.tapes, all.with_noise, all.with_effects, all.active, all.replays);
    if (n < 100)
        return;
    assert_true(all.with_noise > n / 4 && all.with_effects > n / 4);
    assert_true(all.active > n / 2 && all.replays > n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_tapes_keep_the_invariants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
