/* lower.c - from a schedule to buffers with lifetimes. */
#include "plan/lower.h"

#include <string.h>

typedef struct lowering {
    const remat_problem *problem;
    const remat_actions *schedule;
    remat_buffers *buffers;
    remat_bindings *bindings;
    uint32_t *buffer_of; /* per value; REMAT_NONE: not resident */
} lowering;

static bool new_buffer(lowering *l, size_t bytes, size_t raw_bytes, size_t first, size_t last,
                       uint32_t *index)
{
    remat_buffer buffer = {bytes, raw_bytes, 0, (uint32_t)first, (uint32_t)last};
    *index = (uint32_t)l->buffers->count;
    return remat_vector_push(&l->problem->allocator, l->buffers, buffer);
}

static bool bind_writes(lowering *l, size_t at, uint32_t task)
{
    const remat_problem *p = l->problem;
    remat_reuse reuse = remat_schedule_reuse(p, l->schedule, at);
    uint32_t end = (uint32_t)(l->schedule->count - 1);
    for (uint32_t i = 0; i < remat_task_n_writes(p, task); i++) {
        uint32_t value = remat_task_writes(p, task)[i].value;
        uint32_t *buffer = &l->buffer_of[value];
        if (*buffer == REMAT_NONE && value == reuse.to) {
            *buffer = l->buffer_of[reuse.from];
            l->buffer_of[reuse.from] = REMAT_NONE; /* its drop releases nothing */
        } else if (*buffer == REMAT_NONE) {
            const remat_problem_value *v = &p->values.data[value];
            if (!new_buffer(l, v->bytes, v->raw_bytes, at, end, buffer))
                return false;
        }
        if (!remat_vector_push(&p->allocator, l->bindings, *buffer))
            return false;
    }
    return true;
}

static bool bind_workspace(lowering *l, size_t at, uint32_t task)
{
    const remat_task *t = &l->problem->tasks.data[task];
    uint32_t buffer;
    if (t->workspace_bytes == 0)
        return true;
    return new_buffer(l, t->workspace_bytes, t->raw_workspace_bytes, at, at, &buffer) &&
           remat_vector_push(&l->problem->allocator, l->bindings, buffer);
}

/* A dropped value's memory is free from the action after its last run on: the drops that follow a
 * run take effect at the run itself, so that buffers of one run never share memory by accident. */
static void release(lowering *l, size_t last_run, uint32_t value)
{
    uint32_t buffer = l->buffer_of[value];
    if (buffer != REMAT_NONE)
        l->buffers->data[buffer].last = (uint32_t)last_run;
    l->buffer_of[value] = REMAT_NONE;
}

bool remat_lower(const remat_problem *problem, const remat_actions *schedule,
                 remat_buffers *buffers, remat_bindings *bindings)
{
    lowering l = {problem, schedule, buffers, bindings, NULL};
    size_t n_values = problem->values.count, last_run = 0;
    l.buffer_of = remat_memory_allocate(&problem->allocator, n_values, sizeof(uint32_t));
    bool done = l.buffer_of && schedule->count < UINT32_MAX;
    if (done)
        memset(l.buffer_of, 0xFF, n_values * sizeof(uint32_t));
    buffers->count = bindings->count = 0;
    for (size_t i = 0; done && i < schedule->count; i++) {
        uint32_t id = remat_action_id(schedule->data[i]);
        if (remat_action_is_drop(schedule->data[i])) {
            release(&l, last_run, id);
            continue;
        }
        last_run = i;
        done = bind_writes(&l, i, id) && bind_workspace(&l, i, id);
    }
    remat_memory_release(&problem->allocator, l.buffer_of, n_values, sizeof(uint32_t));
    return done;
}
