/* schedule.c - from an order of runs to a schedule: prune needless replays, insert drops. */
#include "plan/schedule.h"

#include <string.h>

typedef struct completion {
    const remat_problem *problem;
    const remat_runs *runs;
    remat_actions *schedule;
    unsigned char *first;  /* per run: the first one of its task */
    unsigned char *needed; /* per value: a later run reads it before it is made again */
    unsigned char *stays;  /* per value: pinned, or retained */
} completion;

static bool is_needed(const completion *c, uint32_t task)
{
    const remat_write *writes = remat_task_writes(c->problem, task);
    for (uint32_t i = 0; i < remat_task_n_writes(c->problem, task); i++)
        if (c->needed[writes[i].value])
            return true;
    return false;
}

static bool drop_if_last(completion *c, uint32_t value)
{
    if (c->needed[value] || c->stays[value])
        return true;
    c->needed[value] = 2; /* dropped once even if the task names it twice */
    return remat_vector_push(&c->problem->allocator, c->schedule, value << 1 | 1);
}

/* Emits, in reverse, the drops after a run and then the run itself; updates needed. */
static bool emit_reversed(completion *c, uint32_t task)
{
    const remat_problem *p = c->problem;
    const uint32_t *reads = remat_task_reads(p, task);
    const remat_write *writes = remat_task_writes(p, task);
    uint32_t n_reads = remat_task_n_reads(p, task), n_writes = remat_task_n_writes(p, task);
    for (uint32_t i = n_writes; i-- > 0;)
        if (!drop_if_last(c, writes[i].value))
            return false;
    for (uint32_t i = n_reads; i-- > 0;)
        if (!drop_if_last(c, reads[i]))
            return false;
    for (uint32_t i = 0; i < n_writes; i++)
        c->needed[writes[i].value] = writes[i].accumulate;
    for (uint32_t i = 0; i < n_reads; i++)
        c->needed[reads[i]] = !c->stays[reads[i]];
    for (uint32_t i = 0; i < n_writes; i++)
        if (c->stays[writes[i].value])
            c->needed[writes[i].value] = 0;
    return remat_vector_push(&p->allocator, c->schedule, task << 1);
}

/* One sweep from the end. With `until_seam` it stops where the forward pass ends. */
static bool sweep(completion *c, bool until_seam)
{
    c->schedule->count = 0;
    memset(c->needed, 0, c->problem->values.count);
    for (size_t i = c->runs->count; i-- > 0;) {
        uint32_t task = c->runs->data[i];
        bool forward = task < c->problem->n_forward;
        if (until_seam && forward && c->first[i])
            return true;
        if (forward && !c->first[i] && !is_needed(c, task))
            continue;
        if (!emit_reversed(c, task))
            return false;
    }
    return true;
}

static void find_first_runs(completion *c, unsigned char *seen)
{
    for (size_t i = 0; i < c->runs->count; i++) {
        uint32_t task = c->runs->data[i];
        c->first[i] = !seen[task];
        seen[task] = 1;
    }
}

static void reverse(remat_actions *schedule)
{
    for (size_t i = 0, j = schedule->count; i + 1 < j; i++) {
        remat_action action = schedule->data[i];
        schedule->data[i] = schedule->data[--j];
        schedule->data[j] = action;
    }
}

static bool complete(completion *c)
{
    for (size_t v = 0; v < c->problem->values.count; v++)
        c->stays[v] = c->problem->values.data[v].pinned;
    if (c->problem->retain) {
        if (!sweep(c, true))
            return false;
        for (size_t v = 0; v < c->problem->values.count; v++)
            c->stays[v] |= c->needed[v] == 1;
    }
    if (!sweep(c, false))
        return false;
    reverse(c->schedule);
    return true;
}

bool remat_schedule_complete(const remat_problem *problem, const remat_runs *runs,
                             remat_actions *schedule)
{
    const remat_allocator *allocator = &problem->allocator;
    size_t n_values = problem->values.count;
    completion c = {problem, runs, schedule, NULL, NULL, NULL};
    c.first = remat_memory_allocate(allocator, runs->count, 1);
    c.needed = remat_memory_allocate(allocator, n_values, 1);
    c.stays = remat_memory_allocate(allocator, n_values, 1);
    unsigned char *seen = remat_memory_allocate(allocator, problem->n_tasks, 1);
    bool done = c.first && c.needed && c.stays && seen;
    if (done) {
        find_first_runs(&c, seen);
        done = complete(&c);
    }
    remat_memory_release(allocator, c.first, runs->count, 1);
    remat_memory_release(allocator, c.needed, n_values, 1);
    remat_memory_release(allocator, c.stays, n_values, 1);
    remat_memory_release(allocator, seen, problem->n_tasks, 1);
    return done;
}

remat_reuse remat_schedule_reuse(const remat_problem *problem, const remat_actions *schedule,
                                 size_t at)
{
    uint32_t task = remat_action_id(schedule->data[at]);
    const remat_reuse *reuses = remat_task_reuses(problem, task);
    for (uint32_t i = 0; i < remat_task_n_reuses(problem, task); i++)
        for (size_t k = at + 1; k < schedule->count && remat_action_is_drop(schedule->data[k]); k++)
            if (remat_action_id(schedule->data[k]) == reuses[i].from)
                return reuses[i];
    return (remat_reuse){REMAT_NONE, REMAT_NONE};
}
