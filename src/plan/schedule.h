/* schedule.h - what a step does, as a list of actions RUN task and DROP value.
 *
 * A strategy only decides the order of runs: every forward task once in order, the backward tasks
 * in order, and replays of forward tasks in between. Everything else follows: a value is dropped
 * after the last use before it is made again, and replays that nobody needs are taken out. */
#ifndef REMAT_PLAN_SCHEDULE_H
#define REMAT_PLAN_SCHEDULE_H

#include "plan/problem.h"

typedef REMAT_VECTOR(uint32_t) remat_runs; /* tasks */

/* Even: RUN of task action / 2. Odd: DROP of value action / 2. */
typedef uint32_t remat_action;
typedef REMAT_VECTOR(remat_action) remat_actions;

static inline bool remat_action_is_drop(remat_action action)
{
    return action & 1;
}
static inline uint32_t remat_action_id(remat_action action)
{
    return action >> 1;
}

/* Turns an order of runs into a schedule. False: out of memory. */
bool remat_schedule_complete(const remat_problem *problem, const remat_runs *runs,
                             remat_actions *schedule);

/* The hand-over of memory at the RUN at schedule position `at`: the first reuse of the task whose
 * `from` is dropped by the DROPs that follow directly. {REMAT_NONE, REMAT_NONE} if there is none.
 */
remat_reuse remat_schedule_reuse(const remat_problem *problem, const remat_actions *schedule,
                                 size_t at);

/* What the simulator finds out about a schedule. */
typedef struct remat_simulation {
    const char *fault; /* NULL: the schedule is valid; else what is wrong, at action `at` */
    size_t at;
    size_t peak_bytes; /* of live values and workspace, each rounded up to REMAT_ALIGNMENT */
    size_t peak_at;    /* the RUN at the peak */
    size_t forward_peak_bytes, backward_peak_bytes; /* before and from the first backward task on */
    double cost, replay_cost;
    size_t forward_runs, replays, backward_runs;
} remat_simulation;

/* The bytes in use while the RUN at schedule position `at` executes, by kind, without rounding;
 * alignment is the sum of all roundings. The five add up to the simulated bytes at that RUN. */
typedef struct remat_breakdown {
    size_t first_run, replayed; /* activations */
    size_t gradients, workspace, alignment;
} remat_breakdown;

/* The schedule is valid. False: out of memory. */
bool remat_schedule_breakdown(const remat_problem *problem, const remat_actions *schedule,
                              size_t at, remat_breakdown *breakdown);

/* The judge of order, liveness, peak and cost for every strategy. False: out of memory. */
bool remat_schedule_simulate(const remat_problem *problem, const remat_actions *schedule,
                             remat_simulation *simulation);

#endif
