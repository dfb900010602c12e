/* Problems built by hand through plan.h: what is refused, and with which words; size and memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/counting_allocator.h"
#include "core/support/hand_problem.h"
#include "plan/problem.h"

/* ---- Refusals --------------------------------------------------------------------------------*/

static void refused(remat_problem *problem, hand_task_spec t, remat_status status,
                    const char *message)
{
    uint32_t number = 77, n_tasks = problem->n_tasks;
    const size_t n_reads = problem->reads.count, n_writes = problem->writes.count;
    assert_int_equal(hand_task(problem, t, &number), status);
    if (!strstr(remat_problem_message(problem), message))
        fail_msg("'%s' is not in '%s'", message, remat_problem_message(problem));
    assert_int_equal(number, 77);
    assert_int_equal(problem->n_tasks, n_tasks);
    assert_int_equal(problem->reads.count, n_reads);
    assert_int_equal(problem->writes.count, n_writes);
    assert_true(remat_problem_invariant(problem));
}

static void wrong_costs(remat_problem *problem)
{
    const double costs[] = {-1.0, -INFINITY, INFINITY, NAN};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        hand_task_spec t = hand_empty;
        t.cost = costs[i];
        refused(problem, t, REMAT_INVALID_ARGUMENT, "task 1: its cost is negative or not finite");
    }
}

static void wrong_tasks_are_refused_with_their_index(void **state)
{
    (void)state;
    remat_problem *problem = hand_problem();
    const uint32_t a = hand_value(problem, 10, false), b = hand_value(problem, 10, false);
    hand_forward(problem, HAND_NONE, a);
    wrong_costs(problem);

    hand_task_spec t = hand_empty;
    t.reads[0] = 5;
    refused(problem, t, REMAT_INVALID_ARGUMENT, "task 1: reads[0] is value 5, which was not added");
    t.reads[0] = a;
    t.reads[1] = b;
    refused(problem, t, REMAT_INVALID_ARGUMENT,
            "task 1: reads[1] is value 1, which no earlier task makes");
    t.reads[1] = a;
    refused(problem, t, REMAT_INVALID_ARGUMENT,
            "task 1: reads[1] is value 0, which the list names before");
    t = hand_empty;
    t.writes[0] = a;
    refused(problem, t, REMAT_INVALID_ARGUMENT,
            "task 1: writes[0] is value 0, which an earlier task makes");
    t.writes[0] = t.writes[1] = b;
    refused(problem, t, REMAT_INVALID_ARGUMENT,
            "task 1: writes[1] is value 1, which the list names before");
    t = hand_empty;
    t.reads[0] = t.writes[0] = b; /* the shortest cycle */
    refused(problem, t, REMAT_INVALID_ARGUMENT, "which no earlier task makes");
    t = hand_empty;
    t.adds[0] = a;
    refused(problem, t, REMAT_INVALID_ARGUMENT, "task 1: only backward tasks add");
    t.backward = true;
    refused(problem, t, REMAT_INVALID_ARGUMENT,
            "task 1: adds[0] is value 0, which a forward task makes");
    t.adds[0] = b;
    refused(problem, t, REMAT_INVALID_ARGUMENT,
            "task 1: adds[0] is value 1, which no earlier task makes");
    t.writes[0] = b;
    refused(problem, t, REMAT_INVALID_ARGUMENT, "adds[0] is value 1, which no earlier task makes");

    hand_backward(problem, HAND_NONE, a, b);
    refused(problem, hand_empty, REMAT_OUT_OF_ORDER, "task 2: forward tasks must be added before");
    remat_problem_destroy(problem);
}

/* A refused list leaves no marks: the same values in the right lists are taken. */
static void a_refusal_leaves_the_problem_as_it_was(void **state)
{
    (void)state;
    remat_problem *problem = hand_problem();
    uint32_t number;
    hand_value(problem, 1, false);
    hand_value(problem, 1, false);
    hand_value(problem, 1, false);
    hand_forward(problem, HAND_NONE, 0);
    hand_task_spec t = hand_empty;
    t.reads[0] = 0;
    t.reads[1] = 9;
    t.writes[0] = 1;
    refused(problem, t, REMAT_INVALID_ARGUMENT, "reads[1] is value 9");
    t.reads[1] = HAND_NONE;
    t.writes[1] = 0;
    refused(problem, t, REMAT_INVALID_ARGUMENT, "writes[1] is value 0");
    t.writes[1] = 2;
    assert_int_equal(hand_task(problem, t, &number), REMAT_OK);
    assert_int_equal(number, 1);
    remat_problem_destroy(problem);
}

static void sums_that_overflow_are_refused(void **state)
{
    (void)state;
    remat_problem *problem = hand_problem();
    uint32_t number = 77;
    hand_value(problem, SIZE_MAX - 10, false);
    assert_int_equal(remat_problem_add_value(problem, 11, false, &number), REMAT_OVERFLOW);
    assert_non_null(strstr(remat_problem_message(problem), "value 1: with its 11 bytes"));
    assert_int_equal(number, 77);
    hand_value(problem, 10, false);
    hand_task_spec t = hand_empty;
    t.workspace = 1;
    refused(problem, t, REMAT_OVERFLOW, "task 0: the sum");
    t = hand_empty;
    t.cost = 1e308;
    assert_int_equal(hand_task(problem, t, &number), REMAT_OK);
    refused(problem, t, REMAT_OVERFLOW, "task 1: the sum");
    remat_problem_destroy(problem);
}

static void null_arguments_are_refused(void **state)
{
    (void)state;
    const remat_allocator broken = {0};
    remat_problem *problem = NULL;
    remat_schedule *schedule = NULL;
    remat_plan_point point;
    uint32_t number;
    size_t n;
    assert_int_equal(remat_problem_create(NULL, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_problem_create(&broken, &problem), REMAT_INVALID_ARGUMENT);
    problem = hand_problem();
    remat_task_spec spec = {.cost = 1, .n_reads = 1};
    assert_int_equal(remat_problem_add_value(NULL, 1, false, &number), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_problem_add_value(problem, 1, false, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_problem_add_forward(problem, NULL, &number), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_problem_add_forward(problem, &spec, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_problem_add_forward(problem, &spec, &number), REMAT_INVALID_ARGUMENT);
    assert_string_equal(remat_problem_message(problem), "task 0: the list of reads is NULL");
    assert_int_equal(remat_schedule_create(NULL, NULL, &schedule), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_schedule_create(problem, NULL, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_schedule_min_budget(problem, NULL, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_schedule_sweep(problem, NULL, NULL, 1, &n), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_schedule_sweep(problem, NULL, &point, 0, &n), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_schedule_sweep(problem, NULL, &point, 1, NULL), REMAT_INVALID_ARGUMENT);
    remat_problem_destroy(problem);
    remat_problem_destroy(NULL);
    remat_schedule_destroy(NULL);
    assert_int_equal(remat_schedule_length(NULL), 0);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    remat_problem *problem = hand_chain(3);
    const remat_schedule_options wrong[] = {{.strategy = REMAT_STRATEGY_COUNT},
                                            {.strategy = (remat_strategy)-1},
                                            {.effort = (remat_effort)9},
                                            {.time_limit_seconds = -1},
                                            {.time_limit_seconds = NAN}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        remat_schedule *schedule = NULL;
        remat_plan_point point;
        size_t n;
        assert_int_equal(remat_schedule_create(problem, &wrong[i], &schedule),
                         REMAT_INVALID_ARGUMENT);
        assert_int_equal(remat_schedule_sweep(problem, &wrong[i], &point, 1, &n),
                         REMAT_INVALID_ARGUMENT);
        assert_non_null(strstr(remat_problem_message(problem), "out of range"));
        assert_null(schedule);
    }
    remat_problem_destroy(problem);
}

/* ---- Size and memory -------------------------------------------------------------------------*/

static remat_status plan_with(const remat_allocator *allocator)
{
    remat_problem *problem = NULL;
    remat_schedule *schedule = NULL;
    remat_task_spec spec = REMAT_TASK_SPEC_INIT;
    uint32_t number;
    remat_status status = remat_problem_create(allocator, &problem);
    spec.cost = 1;
    for (uint32_t i = 0; i < 12 && status == REMAT_OK; i++) {
        const uint32_t before = i - 1;
        status = remat_problem_add_value(problem, 100, false, &number);
        spec.reads = &before;
        spec.n_reads = i > 0;
        spec.writes = &i;
        spec.n_writes = 1;
        if (status == REMAT_OK)
            status = remat_problem_add_forward(problem, &spec, &number);
    }
    for (uint32_t i = 12; i-- > 0 && status == REMAT_OK;) {
        spec = (remat_task_spec){.cost = 1, .reads = &i, .n_reads = 1};
        status = remat_problem_add_backward(problem, &spec, &number);
    }
    const remat_schedule_options options = {.budget_bytes = 500, .effort = REMAT_EFFORT_FAST};
    if (status == REMAT_OK)
        status = remat_schedule_create(problem, &options, &schedule);
    remat_schedule_destroy(schedule);
    remat_problem_destroy(problem);
    return status;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    counting_allocator counts = {0};
    const remat_allocator allocator = counting_allocator_make(&counts);
    assert_int_equal(plan_with(&allocator), REMAT_OK);
    for (size_t n = counts.calls; n > 0; n--) {
        counts = (counting_allocator){.fail_at = n};
        assert_int_equal(plan_with(&allocator), REMAT_OUT_OF_MEMORY);
        assert_int_equal(counts.live_blocks, 0);
        assert_int_equal(counts.wrong_sizes, 0);
    }
}

/* Long lists and many tasks take no more than linear time: 10^5 of each would show. */
static void sizes_are_no_trap(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    remat_problem *problem = hand_problem();
    uint32_t *all = test_malloc(MANY * sizeof *all), number;
    for (uint32_t i = 0; i < MANY; i++)
        all[i] = hand_value(problem, 1, false);
    remat_task_spec spec = REMAT_TASK_SPEC_INIT;
    spec.writes = all;
    spec.n_writes = MANY;
    assert_int_equal(remat_problem_add_forward(problem, &spec, &number), REMAT_OK);
    spec = (remat_task_spec)REMAT_TASK_SPEC_INIT;
    spec.reads = all;
    spec.n_reads = 1;
    for (uint32_t i = 0; i < MANY; i++, spec.reads++)
        assert_int_equal(remat_problem_add_backward(problem, &spec, &number), REMAT_OK);
    remat_schedule *schedule = NULL;
    assert_int_equal(remat_schedule_create(problem, NULL, &schedule), REMAT_OK);
    assert_int_equal(remat_schedule_length(schedule), 2 * MANY + 1);
    remat_schedule_destroy(schedule);
    test_free(all);
    remat_problem_destroy(problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_tasks_are_refused_with_their_index),
        cmocka_unit_test(a_refusal_leaves_the_problem_as_it_was),
        cmocka_unit_test(sums_that_overflow_are_refused),
        cmocka_unit_test(null_arguments_are_refused),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(sizes_are_no_trap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
