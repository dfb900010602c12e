/* simulate.c - the judge of every schedule: order, liveness, exact peak, cost, replays. */
#include "plan/schedule.h"

enum {
    RESIDENT = 1,
    HANDED_OVER, /* its memory is another value's now; its drop follows */
    HELD         /* a repeated backward pass reads it: it must not be dropped */
};

typedef struct simulator {
    const remat_problem *problem;
    const remat_actions *schedule;
    remat_simulation *result;
    unsigned char *resident; /* per value: RESIDENT, HANDED_OVER, HELD; 0: not */
    unsigned char *ran;      /* per task */
    size_t live_bytes;
    uint32_t next_forward, next_backward; /* tasks whose first run comes next */
    bool holds;                           /* what is resident now has to stay */
} simulator;

static void fault(simulator *s, size_t at, const char *what)
{
    if (!s->result->fault) {
        s->result->fault = what;
        s->result->at = at;
    }
}

static void check_order(simulator *s, size_t at, uint32_t task)
{
    bool forward = task < s->problem->n_forward;
    if (task >= s->problem->n_tasks) {
        fault(s, at, "a task does not exist");
    } else if (!forward) {
        if (task != s->next_backward++)
            fault(s, at, "a backward task runs out of order");
    } else if (!s->ran[task]) {
        if (task != s->next_forward++)
            fault(s, at, "a forward task runs out of order");
        if (s->next_backward != s->problem->n_forward)
            fault(s, at, "a forward task runs for the first time in the backward pass");
    } else if (!s->problem->tasks.data[task].replayable) {
        fault(s, at, "a task that must not be replayed runs again");
    }
}

static void count_run(simulator *s, uint32_t task)
{
    remat_simulation *r = s->result;
    double cost = s->problem->tasks.data[task].cost;
    if (task >= s->problem->n_forward) {
        r->backward_runs++;
        r->cost += cost;
    } else if (!s->ran[task]) {
        r->forward_runs++;
        r->cost += cost;
    } else {
        r->replays++;
        r->replay_cost += cost;
    }
    s->ran[task] = 1;
}

static void run(simulator *s, size_t at, uint32_t task)
{
    const remat_problem *p = s->problem;
    for (uint32_t i = 0; i < remat_task_n_reads(p, task); i++)
        if (!s->resident[remat_task_reads(p, task)[i]])
            fault(s, at, "a task reads a value that is not resident");
    remat_reuse reuse = remat_schedule_reuse(p, s->schedule, at);
    for (uint32_t i = 0; i < remat_task_n_writes(p, task); i++) {
        remat_write write = remat_task_writes(p, task)[i];
        if (write.accumulate && !s->resident[write.value])
            fault(s, at, "a task adds to a value that is not resident");
        if (s->resident[write.value])
            continue;
        s->resident[write.value] = RESIDENT;
        if (write.value == reuse.to && s->resident[reuse.from] == RESIDENT)
            s->resident[reuse.from] = HANDED_OVER;
        else
            s->live_bytes += p->values.data[write.value].bytes;
    }
    size_t bytes = s->live_bytes + p->tasks.data[task].workspace_bytes;
    size_t *phase = s->next_backward == p->n_forward ? &s->result->forward_peak_bytes
                                                     : &s->result->backward_peak_bytes;
    *phase = bytes > *phase ? bytes : *phase;
    if (bytes > s->result->peak_bytes) {
        s->result->peak_bytes = bytes;
        s->result->peak_at = at;
    }
    count_run(s, task);
}

/* With retain, the backward pass begins again with what is there when the first one begins. */
static void hold(simulator *s)
{
    s->holds = true;
    for (size_t v = 0; v < s->problem->values.count; v++)
        if (s->resident[v])
            s->resident[v] = HELD;
}

static void drop(simulator *s, size_t at, uint32_t value)
{
    if (value >= s->problem->values.count || !s->resident[value]) {
        fault(s, at, "a value is dropped that is not resident");
        return;
    }
    if (s->problem->values.data[value].pinned)
        fault(s, at, "a value is dropped that has to stay");
    if (s->resident[value] == HELD)
        fault(s, at, "a value is dropped that a repeated backward pass reads");
    if (s->resident[value] == RESIDENT)
        s->live_bytes -= s->problem->values.data[value].bytes;
    s->resident[value] = 0;
}

bool remat_schedule_simulate(const remat_problem *problem, const remat_actions *schedule,
                             remat_simulation *simulation)
{
    const remat_allocator *allocator = &problem->allocator;
    *simulation = (remat_simulation){0};
    simulator s = {.problem = problem, .schedule = schedule, .result = simulation};
    s.next_backward = problem->n_forward;
    s.resident = remat_memory_allocate(allocator, problem->values.count, 1);
    s.ran = remat_memory_allocate(allocator, problem->n_tasks, 1);
    bool done = s.resident && s.ran;
    for (size_t i = 0; done && i < schedule->count && !simulation->fault; i++) {
        uint32_t id = remat_action_id(schedule->data[i]);
        if (remat_action_is_drop(schedule->data[i])) {
            drop(&s, i, id);
            continue;
        }
        if (problem->retain && s.next_forward == problem->n_forward && !s.holds)
            hold(&s);
        check_order(&s, i, id);
        if (!simulation->fault)
            run(&s, i, id);
    }
    if (done && (s.next_forward != problem->n_forward || s.next_backward != problem->n_tasks))
        fault(&s, schedule->count, "a task never runs");
    remat_memory_release(allocator, s.resident, problem->values.count, 1);
    remat_memory_release(allocator, s.ran, problem->n_tasks, 1);
    return done;
}
