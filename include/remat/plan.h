/* plan.h - planning without a tape: for users with their own executor (a GPU code, an adjoint of a
 * time stepper, another framework), who only want to know what to keep, drop and compute again.
 *
 *   a problem of tasks and values   remat_problem_*, remat_schedule_*: any network
 *
 * Nothing here executes or allocates the caller's data. Costs are any unit of time, finite and not
 * negative; sizes are bytes and are taken as they are.
 * Thread safety: an object is used by one thread at a time; a finished schedule is immutable and
 * may be shared freely. */
#ifndef REMAT_PLAN_H
#define REMAT_PLAN_H

#include <remat/remat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Problems: tasks and values --------------------------------------------------------------*/

/* A step of training as tasks in the order in which they would run if nothing were dropped.
 *   - Forward tasks come first. They make values and may be run again (replayed) at any later time
 *     when their inputs are in memory.
 *   - Backward tasks follow. Each runs once, in this order. They make gradients, which are values
 * too.
 *   - A value is written by one forward task, or by backward tasks: the first of these writes it,
 *     the others add to it.
 * While a task runs its inputs, its results and its workspace are in memory together. What the
 * caller holds anyway (parameters, inputs of the network, their gradients) is left out. */
typedef struct remat_problem remat_problem;

/* allocator NULL: the C library's. REMAT_INVALID_ARGUMENT, REMAT_OUT_OF_MEMORY. */
remat_status remat_problem_create(const remat_allocator *allocator, remat_problem **problem);
void remat_problem_destroy(remat_problem *problem);

/* What was wrong with the last call that failed; "" if none did. Names the index. */
const char *remat_problem_message(const remat_problem *problem);

/* Declares a value of so many bytes. keep: it stays in memory from its first making to the end of
 * the step. *value: its number, from 0. REMAT_OVERFLOW: the sum of all bytes exceeds SIZE_MAX. */
remat_status remat_problem_add_value(remat_problem *problem, size_t bytes, bool keep,
                                     uint32_t *value);

typedef struct remat_task_spec {
    double cost;
    size_t workspace_bytes;
    const uint32_t *reads; /* values, each once */
    size_t n_reads;
    const uint32_t *writes; /* values this task makes */
    size_t n_writes;
    const uint32_t *adds; /* values this task adds to; backward tasks only */
    size_t n_adds;
    bool once; /* a forward task that must not be replayed (a side effect) */
} remat_task_spec;
#define REMAT_TASK_SPEC_INIT REMAT_ZERO_INIT

/* Appends a task; *task is its number, from 0, over both kinds. Refused, with the problem unchanged
 * and a message that names the index: REMAT_INVALID_ARGUMENT: a value that was not declared, is
 * read or added to before a task makes it (there are no cycles in an order of execution), or is
 * written twice; a cost that is negative or not finite. REMAT_OUT_OF_ORDER: a forward task after a
 * backward task. REMAT_OVERFLOW: sums of bytes or costs. */
remat_status remat_problem_add_forward(remat_problem *problem, const remat_task_spec *spec,
                                       uint32_t *task);
remat_status remat_problem_add_backward(remat_problem *problem, const remat_task_spec *spec,
                                        uint32_t *task);

/* ---- Schedules -------------------------------------------------------------------------------*/

typedef struct remat_schedule_options {
    size_t budget_bytes;     /* the most bytes in memory at any time; 0: no limit */
    remat_strategy strategy; /* SEGMENTS needs a tape and offers nothing here */
    remat_effort effort;
    double time_limit_seconds; /* 0: none */
} remat_schedule_options;
#define REMAT_SCHEDULE_OPTIONS_INIT REMAT_ZERO_INIT

/* What to do, in order: RUN a task, or DROP a value (free its memory). Immutable; keeps nothing of
 * the problem. */
typedef struct remat_schedule remat_schedule;

typedef enum remat_action_kind { REMAT_ACTION_RUN, REMAT_ACTION_DROP } remat_action_kind;
typedef struct remat_schedule_action {
    remat_action_kind kind;
    uint32_t id; /* task or value */
    bool replay; /* a forward task that has run before */
} remat_schedule_action;

/* Finds the cheapest schedule within the budget. options NULL: defaults. REMAT_INFEASIBLE_BUDGET:
 * the problem's message names the smallest budget found. REMAT_INVALID_ARGUMENT,
 * REMAT_OUT_OF_MEMORY. */
remat_status remat_schedule_create(remat_problem *problem, const remat_schedule_options *options,
                                   remat_schedule **schedule);
void remat_schedule_destroy(remat_schedule *schedule);

size_t remat_schedule_length(const remat_schedule *schedule);
/* Action i of 0 .. length - 1. */
remat_schedule_action remat_schedule_at(const remat_schedule *schedule, size_t i);

typedef struct remat_schedule_summary {
    remat_strategy strategy;
    size_t peak_bytes;          /* largest sum of bytes in memory */
    size_t keep_all_peak_bytes; /* the same if nothing is replayed */
    size_t replays;
    remat_plan_cost cost; /* in the problem's unit */
} remat_schedule_summary;
void remat_schedule_summarize(const remat_schedule *schedule, remat_schedule_summary *summary);

/* The smallest budget for which remat_schedule_create() succeeds with these options. */
remat_status remat_schedule_min_budget(remat_problem *problem,
                                       const remat_schedule_options *options, size_t *budget_bytes);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_PLAN_H */
