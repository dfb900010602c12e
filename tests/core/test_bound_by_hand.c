/* test_bound_by_hand.c - the lower bound on problems small enough to solve in one's head. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "plan/bound.h"

/* ---- Problems --------------------------------------------------------------------------------*/

/* Adds a value; returns its number. */
static uint32_t value(remat_problem *p, size_t bytes)
{
    remat_problem_value v = {.bytes = bytes, .raw_bytes = bytes};
    assert_true(remat_vector_push(&p->allocator, &p->values, v));
    return (uint32_t)p->values.count - 1;
}

static void read_by_last(remat_problem *p, uint32_t v)
{
    assert_true(remat_vector_push(&p->allocator, &p->reads, v));
}

static void written_by_last(remat_problem *p, uint32_t v)
{
    remat_write write = {v, false};
    assert_true(remat_vector_push(&p->allocator, &p->writes, write));
}

static void reused_by_last(remat_problem *p, uint32_t from, uint32_t to)
{
    remat_reuse reuse = {from, to};
    assert_true(remat_vector_push(&p->allocator, &p->reuses, reuse));
}

static void task(remat_problem *p, remat_task_kind kind, double cost, size_t workspace)
{
    bool forward = kind == REMAT_TASK_FORWARD;
    remat_task t = {.cost = cost,
                    .workspace_bytes = workspace,
                    .reads = (uint32_t)p->reads.count,
                    .writes = (uint32_t)p->writes.count,
                    .reuses = (uint32_t)p->reuses.count,
                    .kind = (uint8_t)kind,
                    .replayable = forward};
    assert_true(remat_vector_push(&p->allocator, &p->tasks, t));
    p->n_forward += forward;
}

static void end_tasks(remat_problem *p)
{
    remat_segment_range all = {0};
    p->n_tasks = (uint32_t)p->tasks.count;
    task(p, REMAT_TASK_BACKWARD, 0, 0);
    assert_true(remat_vector_push(&p->allocator, &p->segments, all));
    assert_true(remat_problem_invariant(p));
}

/* a -> b -> c of 10 bytes each for 2, 3 and 4; backward reads c, then b, then a. */
static remat_problem chain_of_three(bool in_place)
{
    remat_problem p = {.allocator = remat_allocator_default()};
    for (uint32_t i = 0; i < 3; i++) {
        task(&p, REMAT_TASK_FORWARD, 2 + i, 0);
        if (i > 0)
            read_by_last(&p, i - 1);
        written_by_last(&p, value(&p, 10));
        if (i > 0 && in_place)
            reused_by_last(&p, i - 1, i);
    }
    for (uint32_t i = 3; i-- > 0;) {
        task(&p, REMAT_TASK_BACKWARD, 1, 0);
        read_by_last(&p, i);
    }
    end_tasks(&p);
    return p;
}

static void assert_bound(const remat_problem *p, size_t budget, double expected)
{
    double bound = NAN;
    assert_true(remat_bound_cut(p, budget, REMAT_EFFORT_DEFAULT, &bound));
    if (isinf(expected) ? bound != expected : fabs(bound - expected) > 1e-9 * expected)
        fail_msg("budget %zu: bound %.17g instead of %g", budget, bound, expected);
}

/* ---- Bounds ----------------------------------------------------------------------------------*/

static void test_chain(void **state)
{
    (void)state;
    remat_problem p = chain_of_three(false);
    assert_bound(&p, 30, 0);
    assert_bound(&p, 29, 2); /* a */
    assert_bound(&p, 20, 2);
    assert_bound(&p, 19, INFINITY); /* a and b while b is made */
    remat_problem_release(&p);
    p = chain_of_three(true);
    assert_bound(&p, 19, 5); /* a and b */
    assert_bound(&p, 10, 5);
    assert_bound(&p, 9, INFINITY);
    remat_problem_release(&p);
}

static void test_values_that_stay(void **state)
{
    (void)state;
    remat_problem p = chain_of_three(false);
    p.tasks.data[0].replayable = false;
    assert_bound(&p, 30, 0);
    assert_bound(&p, 29, INFINITY); /* a and b while c is made */
    remat_problem_release(&p);
    p = chain_of_three(true);
    p.tasks.data[0].replayable = false;
    assert_bound(&p, 29, 3); /* b gives its memory to c */
    remat_problem_release(&p);
    p = chain_of_three(true);
    p.values.data[0].pinned = true;
    assert_bound(&p, 20, 3);
    assert_bound(&p, 19, INFINITY); /* a does not hand its memory to b */
    remat_problem_release(&p);
}

/* x (and y) -> z, in place; then z is read, then `last`. */
static remat_problem hand_over(bool two, size_t workspace, bool read_last, uint32_t last)
{
    remat_problem p = {.allocator = remat_allocator_default()};
    for (uint32_t i = 0; i < 1U + two; i++) {
        task(&p, REMAT_TASK_FORWARD, 2, 0);
        written_by_last(&p, value(&p, 10));
    }
    task(&p, REMAT_TASK_FORWARD, 3, workspace);
    uint32_t z = value(&p, 10);
    for (uint32_t i = 0; i < z; i++) {
        read_by_last(&p, i);
        reused_by_last(&p, i, z);
    }
    written_by_last(&p, z);
    task(&p, REMAT_TASK_BACKWARD, 1, 0);
    read_by_last(&p, z);
    if (read_last) {
        task(&p, REMAT_TASK_BACKWARD, 1, 0);
        read_by_last(&p, last);
    }
    end_tasks(&p);
    return p;
}

static void test_hand_over(void **state)
{
    (void)state;
    remat_problem p = hand_over(false, 0, false, 0);
    assert_bound(&p, 10, 0); /* nobody misses x */
    assert_bound(&p, 9, INFINITY);
    remat_problem_release(&p);
    p = hand_over(false, 5, true, 0);
    assert_bound(&p, 25, 0);
    assert_bound(&p, 24, 2); /* x gives its memory away, though x and z fit later */
    p.values.data[0].pinned = true;
    assert_bound(&p, 25, 0);
    assert_bound(&p, 24, INFINITY); /* x stays */
    remat_problem_release(&p);
    p = hand_over(true, 0, true, 1);
    assert_bound(&p, 20, 0); /* x gives its memory away, y stays */
    assert_bound(&p, 19, INFINITY);
    remat_problem_release(&p);
}

/* Values of several writers prove nothing, except where they are used. */
static void test_several_writers(void **state)
{
    (void)state;
    remat_problem p = {.allocator = remat_allocator_default()};
    task(&p, REMAT_TASK_FORWARD, 1, 0);
    written_by_last(&p, value(&p, 10));
    task(&p, REMAT_TASK_FORWARD, 1, 0); /* reads what it adds to */
    read_by_last(&p, 0);
    written_by_last(&p, 0);
    p.writes.data[1].accumulate = true;
    uint32_t gradient = value(&p, 8);
    for (size_t i = 0; i < 2; i++) { /* made, read; other work; made afresh, read */
        task(&p, REMAT_TASK_BACKWARD, 1, 0);
        written_by_last(&p, gradient);
        task(&p, REMAT_TASK_BACKWARD, 1, 0);
        read_by_last(&p, gradient);
        task(&p, REMAT_TASK_BACKWARD, 1, 10);
    }
    end_tasks(&p);
    assert_bound(&p, 10, 0);
    assert_bound(&p, 9, INFINITY);
    remat_problem_release(&p);
}

/* Two results that only go together cost their task once; half a task does not help. */
static void test_two_results(void **state)
{
    (void)state;
    remat_problem p = {.allocator = remat_allocator_default()};
    task(&p, REMAT_TASK_FORWARD, 4, 0);
    written_by_last(&p, value(&p, 5));
    written_by_last(&p, value(&p, 5));
    task(&p, REMAT_TASK_FORWARD, 1, 0);
    read_by_last(&p, 0);
    written_by_last(&p, value(&p, 1));
    task(&p, REMAT_TASK_BACKWARD, 1, 10);
    read_by_last(&p, 2);
    task(&p, REMAT_TASK_BACKWARD, 1, 0);
    read_by_last(&p, 0);
    read_by_last(&p, 1);
    end_tasks(&p);
    assert_bound(&p, 21, 0);
    assert_bound(&p, 12, 4);
    double relaxed = NAN; /* 9 of 10 bytes */
    assert_true(remat_bound_cut(&p, 12, REMAT_EFFORT_FAST, &relaxed));
    assert_true(fabs(relaxed - 3.6) < 1e-9);
    remat_problem_release(&p);
}

/* The first run of a forward task may wait until a backward task is through: no replay. */
static void test_first_run_after_backward(void **state)
{
    (void)state;
    remat_problem p = {.allocator = remat_allocator_default()};
    for (uint32_t i = 0; i < 2; i++) {
        task(&p, REMAT_TASK_FORWARD, 5, 0);
        written_by_last(&p, value(&p, 10));
    }
    for (uint32_t i = 0; i < 2; i++) {
        task(&p, REMAT_TASK_BACKWARD, 1, 0);
        read_by_last(&p, i);
    }
    end_tasks(&p);
    assert_bound(&p, 10, 0);
    remat_problem_release(&p);
}

/* Gradients that are needed later take their share of the budget. */
static void test_gradients_stay(void **state)
{
    (void)state;
    remat_problem p = {.allocator = remat_allocator_default()};
    task(&p, REMAT_TASK_FORWARD, 2, 0);
    written_by_last(&p, value(&p, 10));
    task(&p, REMAT_TASK_FORWARD, 3, 0);
    read_by_last(&p, 0);
    written_by_last(&p, value(&p, 10));
    task(&p, REMAT_TASK_BACKWARD, 1, 0); /* makes a gradient for the last task */
    written_by_last(&p, value(&p, 8));
    task(&p, REMAT_TASK_BACKWARD, 1, 0);
    read_by_last(&p, 1);
    task(&p, REMAT_TASK_BACKWARD, 1, 0);
    read_by_last(&p, 0);
    read_by_last(&p, 2);
    end_tasks(&p);
    assert_bound(&p, 28, 0);
    assert_bound(&p, 27, 2);
    remat_problem_release(&p);
}

/* Sums that overflow prove nothing, and no tasks need nothing. */
static void test_extremes(void **state)
{
    (void)state;
    remat_problem p = chain_of_three(false);
    for (size_t v = 0; v < 3; v++)
        p.values.data[v].bytes = SIZE_MAX / 2;
    assert_bound(&p, 10, 0);
    remat_problem_release(&p);
    p = chain_of_three(false);
    for (size_t t = 0; t < 6; t++)
        p.tasks.data[t].cost = 1e300;
    assert_bound(&p, 20, 1e300);
    for (size_t t = 0; t < 6; t++)
        p.tasks.data[t].cost = 0;
    assert_bound(&p, 20, 0);
    remat_problem_release(&p);
    p = (remat_problem){.allocator = remat_allocator_default()};
    end_tasks(&p);
    assert_bound(&p, 0, 0);
    remat_problem_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),          cmocka_unit_test(test_values_that_stay),
        cmocka_unit_test(test_hand_over),      cmocka_unit_test(test_several_writers),
        cmocka_unit_test(test_two_results),    cmocka_unit_test(test_first_run_after_backward),
        cmocka_unit_test(test_gradients_stay), cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
