/* naive_walk.c - see naive_walk.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/support/naive_walk.h"

typedef struct walker {
    const remat_problem *problem;
    const remat_schedule *schedule;
    unsigned char *resident, *ran;
    uint32_t next_forward, next_backward;
    naive_walk result;
} walker;

static bool is_dropped_next(const walker *w, size_t at, uint32_t value)
{
    for (size_t i = at + 1; i < remat_schedule_length(w->schedule); i++) {
        remat_schedule_action action = remat_schedule_at(w->schedule, i);
        if (action.kind == REMAT_ACTION_RUN)
            return false;
        if (action.id == value)
            return true;
    }
    return false;
}

/* Bytes that a result takes over from an operand that dies with the task. */
static size_t handed_over(const walker *w, size_t at, uint32_t task)
{
    const remat_reuse *reuses = remat_task_reuses(w->problem, task);
    for (uint32_t i = 0; i < remat_task_n_reuses(w->problem, task); i++)
        if (is_dropped_next(w, at, reuses[i].from))
            return w->resident[reuses[i].to] ? 0 : w->problem->values.data[reuses[i].to].bytes;
    return 0;
}

static void count_run(walker *w, uint32_t task, bool replay)
{
    const remat_problem *p = w->problem;
    assert_true(replay == (w->ran[task] != 0));
    if (replay) {
        assert_true(task < p->n_forward && p->tasks.data[task].replayable);
        w->result.replays++;
        w->result.replay_cost += p->tasks.data[task].cost;
    } else if (task < p->n_forward) {
        assert_int_equal(task, w->next_forward++);
    } else {
        assert_int_equal(task, p->n_forward + w->next_backward++);
    }
    w->ran[task] = 1;
}

static void run(walker *w, size_t at, uint32_t task)
{
    const remat_problem *p = w->problem;
    size_t bytes = p->tasks.data[task].workspace_bytes;
    for (uint32_t i = 0; i < remat_task_n_reads(p, task); i++)
        assert_true(w->resident[remat_task_reads(p, task)[i]]);
    size_t saved = handed_over(w, at, task);
    for (uint32_t i = 0; i < remat_task_n_writes(p, task); i++) {
        remat_write write = remat_task_writes(p, task)[i];
        assert_true(!write.accumulate || w->resident[write.value]);
        w->resident[write.value] = 1;
    }
    for (size_t v = 0; v < p->values.count; v++)
        bytes += w->resident[v] ? p->values.data[v].bytes : 0;
    bytes -= saved;
    if (bytes > w->result.peak_bytes)
        w->result.peak_bytes = bytes;
}

naive_walk naive_walk_schedule(const remat_problem *problem, const remat_schedule *schedule)
{
    walker w = {.problem = problem, .schedule = schedule};
    w.resident = test_calloc(problem->values.count + 1, 1);
    w.ran = test_calloc((size_t)problem->n_tasks + 1, 1);
    for (size_t i = 0; i < remat_schedule_length(schedule); i++) {
        remat_schedule_action action = remat_schedule_at(schedule, i);
        if (action.kind == REMAT_ACTION_RUN) {
            count_run(&w, action.id, action.replay);
            run(&w, i, action.id);
        } else {
            assert_true(w.resident[action.id] && !problem->values.data[action.id].pinned);
            w.resident[action.id] = 0;
        }
    }
    assert_int_equal(w.next_forward, problem->n_forward);
    assert_int_equal(w.next_forward + w.next_backward, problem->n_tasks);
    test_free(w.resident);
    test_free(w.ran);
    return w.result;
}
