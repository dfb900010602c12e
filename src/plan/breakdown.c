/* breakdown.c - what the bytes in use at one moment of a schedule consist of. */
#include "plan/schedule.h"

enum { ABSENT, FIRST, REPLAYED };

typedef struct state {
    const remat_problem *problem;
    unsigned char *held; /* per value */
    unsigned char *ran;  /* per task */
} state;

static void run(state *s, const remat_schedule *schedule, size_t at)
{
    uint32_t task = remat_action_id(schedule->data[at]);
    for (uint32_t i = 0; i < remat_task_n_writes(s->problem, task); i++) {
        uint32_t value = remat_task_writes(s->problem, task)[i].value;
        if (s->held[value] == ABSENT)
            s->held[value] = s->ran[task] ? REPLAYED : FIRST;
    }
    s->ran[task] = 1;
}

/* The value whose memory the RUN at `at` hands over to a result that has none yet. */
static uint32_t handed_over(const state *s, const remat_schedule *schedule, size_t at)
{
    remat_reuse reuse = remat_schedule_reuse(s->problem, schedule, at);
    return reuse.to != REMAT_NONE && s->held[reuse.to] == ABSENT ? reuse.from : REMAT_NONE;
}

/* At `at` itself memory that is handed over counts once, for the result. */
static void add_up(const state *s, const remat_schedule *schedule, size_t at, uint32_t handed,
                   remat_breakdown *b)
{
    const remat_problem *p = s->problem;
    const remat_task *task = &p->tasks.data[remat_action_id(schedule->data[at])];
    *b = (remat_breakdown){.workspace = task->raw_workspace_bytes,
                           .alignment = task->workspace_bytes - task->raw_workspace_bytes};
    for (uint32_t v = 0; v < p->values.count; v++) {
        const remat_problem_value *value = &p->values.data[v];
        if (s->held[v] == ABSENT || v == handed)
            continue;
        if (value->class == REMAT_CLASS_GRADIENT)
            b->gradients += value->raw_bytes;
        else if (s->held[v] == REPLAYED)
            b->replayed += value->raw_bytes;
        else
            b->first_run += value->raw_bytes;
        b->alignment += value->bytes - value->raw_bytes;
    }
}

bool remat_schedule_breakdown(const remat_problem *problem, const remat_schedule *schedule,
                              size_t at, remat_breakdown *breakdown)
{
    const remat_allocator *allocator = &problem->allocator;
    state s = {problem, NULL, NULL};
    s.held = remat_memory_allocate(allocator, problem->values.count, 1);
    s.ran = remat_memory_allocate(allocator, problem->n_tasks, 1);
    bool done = s.held && s.ran;
    *breakdown = (remat_breakdown){0};
    for (size_t i = 0; done && i < at && i < schedule->count; i++) {
        if (remat_action_is_drop(schedule->data[i]))
            s.held[remat_action_id(schedule->data[i])] = ABSENT;
        else
            run(&s, schedule, i);
    }
    if (done && at < schedule->count) {
        uint32_t handed = handed_over(&s, schedule, at);
        run(&s, schedule, at);
        add_up(&s, schedule, at, handed, breakdown);
    }
    remat_memory_release(allocator, s.held, problem->values.count, 1);
    remat_memory_release(allocator, s.ran, problem->n_tasks, 1);
    return done;
}
