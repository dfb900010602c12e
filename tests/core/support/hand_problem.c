/* hand_problem.c - see hand_problem.h. */
#include "core/support/hand_problem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

remat_problem *hand_problem(void)
{
    remat_problem *problem = NULL;
    assert_int_equal(remat_problem_create(NULL, &problem), REMAT_OK);
    assert_string_equal(remat_problem_message(problem), "");
    return problem;
}

uint32_t hand_value(remat_problem *problem, size_t bytes, bool keep)
{
    uint32_t number = UINT32_MAX;
    assert_int_equal(remat_problem_add_value(problem, bytes, keep, &number), REMAT_OK);
    return number;
}

static size_t count(const uint32_t *list)
{
    return (size_t)(list[0] != HAND_NONE) + (size_t)(list[0] != HAND_NONE && list[1] != HAND_NONE);
}

remat_status hand_task(remat_problem *problem, hand_task_spec t, uint32_t *number)
{
    remat_task_spec spec = REMAT_TASK_SPEC_INIT;
    spec.cost = t.cost;
    spec.workspace_bytes = t.workspace;
    spec.once = t.once;
    spec.reads = t.reads;
    spec.n_reads = count(t.reads);
    spec.writes = t.writes;
    spec.n_writes = count(t.writes);
    spec.adds = t.adds;
    spec.n_adds = count(t.adds);
    return t.backward ? remat_problem_add_backward(problem, &spec, number)
                      : remat_problem_add_forward(problem, &spec, number);
}

const hand_task_spec hand_empty = {.cost = 1,
                                   .reads = {HAND_NONE, HAND_NONE},
                                   .writes = {HAND_NONE, HAND_NONE},
                                   .adds = {HAND_NONE, HAND_NONE}};

void hand_forward(remat_problem *problem, uint32_t from, uint32_t to)
{
    uint32_t number;
    hand_task_spec t = hand_empty;
    t.reads[0] = from;
    t.writes[0] = to;
    assert_int_equal(hand_task(problem, t, &number), REMAT_OK);
}

void hand_backward(remat_problem *problem, uint32_t gradient, uint32_t from, uint32_t to)
{
    uint32_t number;
    hand_task_spec t = hand_empty;
    t.backward = true;
    t.cost = 2;
    t.reads[0] = gradient == HAND_NONE ? from : gradient;
    t.reads[1] = gradient == HAND_NONE ? HAND_NONE : from;
    t.writes[0] = to;
    assert_int_equal(hand_task(problem, t, &number), REMAT_OK);
}

remat_problem *hand_chain(uint32_t n)
{
    remat_problem *problem = hand_problem();
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(hand_value(problem, 100, false), 2 * i);
        assert_int_equal(hand_value(problem, 50, false), 2 * i + 1);
    }
    for (uint32_t i = 0; i < n; i++)
        hand_forward(problem, i ? 2 * i - 2 : HAND_NONE, 2 * i);
    for (uint32_t i = n; i-- > 0;)
        hand_backward(problem, i + 1 < n ? 2 * i + 3 : HAND_NONE, 2 * i, 2 * i + 1);
    return problem;
}
