/* walk.c - what the bytes in use at each moment of a schedule consist of. */
#include "plan/walk.h"

size_t remat_breakdown_total(const remat_breakdown *bytes)
{
    return bytes->first_run + bytes->replayed + bytes->gradients + bytes->workspace +
           bytes->alignment;
}

bool remat_walk_open(remat_walk *walk, const remat_problem *problem, const remat_actions *schedule)
{
    *walk = (remat_walk){.problem = problem, .schedule = schedule};
    walk->held = remat_memory_allocate(&problem->allocator, problem->values.count, 1);
    walk->ran = remat_memory_allocate(&problem->allocator, problem->n_tasks, 1);
    return walk->held && walk->ran;
}

void remat_walk_close(remat_walk *walk)
{
    const remat_problem *p = walk->problem;
    remat_memory_release(&p->allocator, walk->held, p->values.count, 1);
    remat_memory_release(&p->allocator, walk->ran, p->n_tasks, 1);
}

/* The sum that a value's bytes belong to. */
static size_t *sum_of(remat_walk *walk, uint32_t value)
{
    if (walk->problem->values.data[value].class == REMAT_CLASS_GRADIENT)
        return &walk->bytes.gradients;
    return walk->held[value] & REMAT_HELD_REPLAYED ? &walk->bytes.replayed : &walk->bytes.first_run;
}

static void enter(remat_walk *walk, uint32_t value)
{
    const remat_problem_value *v = &walk->problem->values.data[value];
    *sum_of(walk, value) += v->raw_bytes;
    walk->bytes.alignment += v->bytes - v->raw_bytes;
}

static void leave(remat_walk *walk, uint32_t value)
{
    const remat_problem_value *v = &walk->problem->values.data[value];
    *sum_of(walk, value) -= v->raw_bytes;
    walk->bytes.alignment -= v->bytes - v->raw_bytes;
}

static void enter_workspace(remat_walk *walk)
{
    const remat_task *task = &walk->problem->tasks.data[walk->task];
    walk->bytes.workspace = task->raw_workspace_bytes;
    walk->bytes.alignment += task->workspace_bytes - task->raw_workspace_bytes;
}

static void leave_workspace(remat_walk *walk)
{
    const remat_task *task = &walk->problem->tasks.data[walk->task];
    walk->bytes.workspace = 0;
    walk->bytes.alignment -= task->workspace_bytes - task->raw_workspace_bytes;
}

/* Memory that is handed over counts once, for the result. */
static void run(remat_walk *walk)
{
    const remat_problem *p = walk->problem;
    bool again = walk->phase == REMAT_PHASE_REPLAY;
    remat_reuse reuse = remat_schedule_reuse(p, walk->schedule, walk->at);
    for (uint32_t i = 0; i < remat_task_n_writes(p, walk->task); i++) {
        uint32_t value = remat_task_writes(p, walk->task)[i].value;
        if (walk->held[value])
            continue;
        walk->held[value] = again ? REMAT_HELD_REPLAYED : REMAT_HELD_FIRST;
        enter(walk, value);
        if (value != reuse.to)
            continue;
        leave(walk, reuse.from);
        walk->held[reuse.from] |= REMAT_HELD_IN_RESULT;
    }
    enter_workspace(walk);
    walk->ran[walk->task] = 1;
}

static void drop(remat_walk *walk, uint32_t value)
{
    if (!(walk->held[value] & REMAT_HELD_IN_RESULT))
        leave(walk, value);
    walk->held[value] = 0;
}

static remat_phase phase_of(const remat_walk *walk)
{
    if (walk->task >= walk->problem->n_forward)
        return REMAT_PHASE_BACKWARD;
    return walk->ran[walk->task] ? REMAT_PHASE_REPLAY : REMAT_PHASE_FORWARD;
}

bool remat_walk_next(remat_walk *walk)
{
    if (walk->next > 0)
        leave_workspace(walk);
    for (; walk->next < walk->schedule->count; walk->next++) {
        remat_action action = walk->schedule->data[walk->next];
        if (remat_action_is_drop(action)) {
            drop(walk, remat_action_id(action));
            continue;
        }
        walk->at = walk->next++;
        walk->task = remat_action_id(action);
        walk->phase = phase_of(walk);
        run(walk);
        return true;
    }
    return false;
}

bool remat_schedule_breakdown(const remat_problem *problem, const remat_actions *schedule,
                              size_t at, remat_breakdown *breakdown)
{
    remat_walk walk;
    bool done = remat_walk_open(&walk, problem, schedule);
    *breakdown = (remat_breakdown){0};
    while (done && remat_walk_next(&walk))
        if (walk.at == at) {
            *breakdown = walk.bytes;
            break;
        }
    remat_walk_close(&walk);
    return done;
}
