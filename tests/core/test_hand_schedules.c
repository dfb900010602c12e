/* Schedules of problems built by hand: what a schedule is, budgets, the curve, values that stay,
 * tasks that run once, gradients that are added to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/hand_problem.h"
#include "core/support/naive_walk.h"

/* ---- Schedules -------------------------------------------------------------------------------*/

static remat_schedule *schedule_within(remat_problem *problem, size_t budget)
{
    const remat_schedule_options options = {.budget_bytes = budget};
    remat_schedule *schedule = NULL;
    remat_schedule_summary summary;
    assert_int_equal(remat_schedule_create(problem, &options, &schedule), REMAT_OK);
    remat_schedule_summarize(schedule, &summary);
    naive_walk walked = naive_walk_schedule(problem, schedule);
    assert_int_equal(walked.peak_bytes, summary.peak_bytes);
    assert_int_equal(walked.replays, summary.replays);
    assert_true(walked.replay_cost == summary.cost.extra);
    assert_true(budget == 0 || summary.peak_bytes <= budget);
    assert_true(summary.cost.bound <= summary.cost.extra && summary.cost.gap >= 0);
    return schedule;
}

static void keep_all_by_hand(void **state)
{
    (void)state;
    remat_problem *problem = hand_chain(2);
    /* run 0, run 1, backward of 1: a0 a1 g1; backward of 0: a0 g1 g0 */
    remat_schedule *schedule = schedule_within(problem, 0);
    const remat_schedule_action expected[] = {
        {REMAT_ACTION_RUN, 0, false},  {REMAT_ACTION_RUN, 1, false}, {REMAT_ACTION_RUN, 2, false},
        {REMAT_ACTION_DROP, 2, false}, {REMAT_ACTION_RUN, 3, false},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        remat_schedule_action action = remat_schedule_at(schedule, i);
        assert_int_equal(action.kind, expected[i].kind);
        assert_int_equal(action.id, expected[i].id);
        assert_false(action.replay);
    }
    remat_schedule_summary summary;
    remat_schedule_summarize(schedule, &summary);
    assert_int_equal(summary.peak_bytes, 250);
    assert_int_equal(summary.keep_all_peak_bytes, 250);
    assert_true(summary.cost.step == 6 && summary.cost.extra == 0 && summary.cost.gap == 0);
    remat_problem_destroy(problem);
    assert_int_equal(remat_schedule_at(schedule, 0).id, 0); /* keeps nothing of the problem */
    remat_schedule_destroy(schedule);
}

static void every_budget_is_kept_and_more_is_never_slower(void **state)
{
    (void)state;
    remat_problem *problem = hand_chain(12);
    size_t smallest;
    double before = INFINITY;
    assert_int_equal(remat_schedule_min_budget(problem, NULL, &smallest), REMAT_OK);
    for (size_t budget = smallest; budget <= 1300; budget += 10) {
        remat_schedule_summary summary;
        remat_schedule *schedule = schedule_within(problem, budget);
        remat_schedule_summarize(schedule, &summary);
        assert_true(summary.cost.extra <= before);
        before = summary.cost.extra;
        remat_schedule_destroy(schedule);
    }
    assert_true(before == 0);
    remat_problem_destroy(problem);
}

static void a_budget_that_is_too_small_names_the_smallest(void **state)
{
    (void)state;
    remat_problem *problem = hand_chain(12);
    size_t smallest;
    char expected[96];
    remat_schedule *schedule = NULL;
    assert_int_equal(remat_schedule_min_budget(problem, NULL, &smallest), REMAT_OK);
    const remat_schedule_options options = {.budget_bytes = smallest - 1};
    assert_int_equal(remat_schedule_create(problem, &options, &schedule), REMAT_INFEASIBLE_BUDGET);
    snprintf(expected, sizeof expected, "smallest budget found is %zu bytes; %zu were given",
             smallest, smallest - 1);
    assert_non_null(strstr(remat_problem_message(problem), expected));
    assert_null(schedule);
    remat_schedule_destroy(schedule_within(problem, smallest));
    remat_problem_destroy(problem);
}

static void the_curve_holds_what_the_budgets_give(void **state)
{
    (void)state;
    remat_problem *problem = hand_chain(12);
    remat_plan_point points[64];
    size_t n = 0, smallest;
    assert_int_equal(remat_schedule_sweep(problem, NULL, points, 64, &n), REMAT_OK);
    assert_int_equal(remat_schedule_min_budget(problem, NULL, &smallest), REMAT_OK);
    assert_int_equal(points[0].arena_bytes, smallest);
    assert_true(n > 5 && points[n - 1].extra_cost == 0);
    for (size_t i = 0; i < n; i++) {
        remat_schedule_summary summary;
        remat_schedule *schedule = schedule_within(problem, points[i].arena_bytes);
        remat_schedule_summarize(schedule, &summary);
        assert_true(summary.cost.extra <= points[i].extra_cost);
        assert_true(points[i].bound <= points[i].extra_cost);
        assert_true(i == 0 || points[i].extra_cost < points[i - 1].extra_cost);
        remat_schedule_destroy(schedule);
    }
    assert_int_equal(remat_schedule_sweep(problem, NULL, points, 3, &n), REMAT_OK);
    assert_int_equal(n, 3);
    remat_problem_destroy(problem);
}

/* A value that stays may not be dropped, and a hand_task_spec that runs once keeps its result:
 * naive_walk fails otherwise. The smallest budget shows that it counts. */
static void values_that_stay_count(void **state)
{
    (void)state;
    size_t smallest[3];
    for (int kind = 0; kind < 3; kind++) {
        remat_problem *problem = hand_problem();
        for (int i = 0; i < 6; i++)
            hand_value(problem, 100, kind == 1 && i == 0);
        for (uint32_t i = 0; i < 6; i++) {
            uint32_t number;
            hand_task_spec t = hand_empty;
            t.once = kind == 2 && i == 0;
            t.reads[0] = i ? i - 1 : HAND_NONE;
            t.writes[0] = i;
            assert_int_equal(hand_task(problem, t, &number), REMAT_OK);
        }
        for (uint32_t i = 6; i-- > 0;)
            hand_backward(problem, HAND_NONE, i, HAND_NONE);
        assert_int_equal(remat_schedule_min_budget(problem, NULL, &smallest[kind]), REMAT_OK);
        remat_schedule_destroy(schedule_within(problem, smallest[kind]));
        remat_problem_destroy(problem);
    }
    assert_int_equal(smallest[0], 200); /* from the first stage on, two at a time */
    assert_int_equal(smallest[1], 300);
    assert_int_equal(smallest[2], 300);
}

static void gradients_are_written_once_and_added_to(void **state)
{
    (void)state;
    remat_problem *problem = hand_problem();
    uint32_t number;
    const uint32_t a = hand_value(problem, 10, false), g = hand_value(problem, 20, true);
    hand_forward(problem, HAND_NONE, a);
    hand_backward(problem, HAND_NONE, a, g);
    hand_task_spec t = hand_empty;
    t.backward = true;
    t.reads[0] = a;
    t.adds[0] = g;
    assert_int_equal(hand_task(problem, t, &number), REMAT_OK);
    remat_schedule *schedule = schedule_within(problem, 30);
    for (size_t i = 0; i < remat_schedule_length(schedule); i++) {
        remat_schedule_action action = remat_schedule_at(schedule, i);
        assert_false(action.kind == REMAT_ACTION_DROP && action.id == g);
    }
    remat_schedule_destroy(schedule);
    remat_problem_destroy(problem);
}

static void a_problem_may_grow_after_it_was_planned(void **state)
{
    (void)state;
    remat_problem *problem = hand_chain(4);
    remat_schedule_destroy(schedule_within(problem, 0));
    hand_backward(problem, 1, 6, HAND_NONE); /* reads the last activation again, at the very end */
    remat_schedule_destroy(schedule_within(problem, 0));
    size_t smallest;
    assert_int_equal(remat_schedule_min_budget(problem, NULL, &smallest), REMAT_OK);
    remat_schedule_destroy(schedule_within(problem, smallest));
    remat_problem_destroy(problem);
}

static void an_empty_problem_has_an_empty_schedule(void **state)
{
    (void)state;
    remat_problem *problem = hand_problem();
    remat_schedule *schedule = schedule_within(problem, 0);
    assert_int_equal(remat_schedule_length(schedule), 0);
    remat_schedule_destroy(schedule);
    schedule = schedule_within(problem, 1);
    remat_schedule_destroy(schedule);
    remat_problem_destroy(problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keep_all_by_hand),
        cmocka_unit_test(every_budget_is_kept_and_more_is_never_slower),
        cmocka_unit_test(a_budget_that_is_too_small_names_the_smallest),
        cmocka_unit_test(the_curve_holds_what_the_budgets_give),
        cmocka_unit_test(values_that_stay_count),
        cmocka_unit_test(gradients_are_written_once_and_added_to),
        cmocka_unit_test(a_problem_may_grow_after_it_was_planned),
        cmocka_unit_test(an_empty_problem_has_an_empty_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
