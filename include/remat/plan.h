/* plan.h - planning without a tape: for users with their own executor (a GPU code, an adjoint of a
 * time stepper, another framework), who only want to know what to keep, drop and compute again.
 *
 * Three ways to say what there is to do; take the first from below that fits:
 *
 *   a problem of tasks and values   remat_problem_*, remat_schedule_*: any network
 *   a chain of stages               remat_chain_*: each stage reads only what the one before it
 * made; the whole memory/time curve in one solve, exact in bytes n equal steps with s slots
 * remat_revolve_*, remat_mixed_*: closed forms, and the order as a stream that needs no memory for
 * the steps
 *
 * Nothing here executes or allocates the caller's data. Costs are any unit of time, finite and not
 * negative; sizes are bytes and are taken as they are. Where an allocator can be given, NULL stands
 * for the C library's.
 * Thread safety: an object is used by one thread at a time; a finished schedule and the solution of
 * a chain are immutable and may be shared freely. */
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
 *   - Backward tasks follow. Each runs once, in this order. They make gradients: values too.
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

/* The memory/time curve, as remat_plan_sweep(): points ascending in bytes (arena_bytes is the
 * peak), descending in extra cost, none beaten by another; the last is keep-all. Fills
 * points[0..capacity), evenly thinned if there are more; *count: how many were written.
 * options->budget_bytes is ignored. remat_sweep_write_svg() and _csv() draw it. Statuses as
 * remat_schedule_create(). */
remat_status remat_schedule_sweep(remat_problem *problem, const remat_schedule_options *options,
                                  remat_plan_point *points, size_t capacity, size_t *count);

/* ---- Chains of stages ------------------------------------------------------------------------*/

/* Model (Beaumont, Eyraud-Dubois et al., "rotor"; with options per stage as in Rockmate). Stage i
 * (0 .. n-1) turns activation i into activation i + 1; its backward turns the gradient of
 * activation i + 1 into that of activation i and needs activation i and what the stage saved.
 * A stage offers options of what to save; each option's saved bytes include activation i + 1.
 * Activation 0 and the gradient of activation n are there from the beginning; activation 0 stays.
 * Bytes in use during an operation: all that is kept (its inputs included), what it makes, and its
 * extra bytes. They never exceed the budget. Every backward runs once, in order.
 *
 * Two families of orders are searched:
 *   persistent  what is kept stays until the backward that consumes it (the optimum of rotor);
 *   with holes  besides, a stage's saved values may be kept while its input is dropped and later
 *               computed again. Never worse, often better.
 * Costs and bytes are not discretised: for every interval of stages the least cost is a step
 * function of the bytes, and sums and minima of step functions give that of a longer interval.
 * Time is cubic in the number of different stages; equal intervals are solved once, so a chain of
 * equal stages takes quadratic time.
 *
 * A solution does not refer to the chain it was made from. */
#define REMAT_CHAIN_MAX_STAGES  4096
#define REMAT_CHAIN_MAX_OPTIONS 256 /* of one stage */

/* One way to run a stage so that its backward can follow. Rotor's names in parentheses. */
typedef struct remat_chain_option {
    double forward_cost, backward_cost; /* (uf, ub) finite, not negative; any unit of time */
    size_t saved_bytes;                 /* (wabar) at least those of activation i + 1 */
    size_t forward_extra_bytes;         /* (of) besides what is kept and made */
    size_t backward_extra_bytes;        /* (ob) */
} remat_chain_option;

typedef struct remat_chain_stage {
    double forward_cost;        /* (uf) of the plain forward, which saves nothing but its result */
    size_t forward_extra_bytes; /* (of) of the plain forward */
    const remat_chain_option *options;
    uint32_t n_options; /* 1 .. REMAT_CHAIN_MAX_OPTIONS */
} remat_chain_stage;

typedef struct remat_chain {
    uint32_t n_stages;               /* 1 .. REMAT_CHAIN_MAX_STAGES */
    const remat_chain_stage *stages; /* [n] */
    const size_t *activation_bytes;  /* (wa) [n + 1] */
    const size_t *gradient_bytes;    /* (wd) [n + 1], of the gradient of activation i */
} remat_chain;

/* The arrays of rotor, for a chain with one option per stage. */
typedef struct remat_chain_arrays {
    uint32_t n_stages;
    const double *uf, *ub; /* [n] costs of forward and backward */
    const size_t *wa;      /* [n + 1] bytes of the activations */
    const size_t *wabar;   /* [n] bytes that a stage saves, activation i + 1 included */
    const size_t *wd;      /* [n + 1] bytes of the gradients; NULL: as wa */
    const size_t *of, *ob; /* [n] extra bytes of forward and backward; NULL: none. In publications
                              ob contains the gradient that is made; here it does not. */
} remat_chain_arrays;

/* Copies the arrays into a chain of its own. Numbers are checked when it is solved.
 * REMAT_INVALID_ARGUMENT: no stages or more than REMAT_CHAIN_MAX_STAGES, an array is NULL.
 * REMAT_OUT_OF_MEMORY. */
remat_status remat_chain_create(const remat_allocator *allocator, const remat_chain_arrays *arrays,
                                remat_chain **chain);
void remat_chain_destroy(remat_chain *chain); /* made by remat_chain_create(), or NULL */

/* Why a chain was refused. */
typedef struct remat_chain_fault {
    const char *text; /* NULL: none */
    uint32_t index;   /* of the stage (or activation, if the text says so) */
    uint32_t option;  /* of the stage, if the text says so */
} remat_chain_fault;

typedef struct remat_chain_settings {
    bool persistent; /* search the first family only, without holes */
    /* Most options of a stage that may be kept while its input is dropped, spread evenly from the
     * fewest saved bytes to the most; 0: all. Time grows with its square. */
    uint32_t hole_options;
    /* Most breakpoints of a step function, at least 2; 0: no limit, the result is exact. With a
     * limit the bytes needed are rounded up at every interval: costs are those of orders that fit,
     * but can be some percent above the least. The smallest feasible budget stays exact. */
    uint32_t max_points;
    /* What is of interest: budgets up to max_budget, and costs up to max_extra above those of
     * running everything once; 0: all. Within, the solution is exact. Outside it may be dearer than
     * need be (but true), and the smallest feasible budget is still exact. */
    size_t max_budget;
    double max_extra;
} remat_chain_settings;
#define REMAT_CHAIN_SETTINGS_INIT REMAT_ZERO_INIT

/* Immutable. */
typedef struct remat_chain_solution remat_chain_solution;

/* REMAT_INVALID_ARGUMENT or REMAT_OVERFLOW (a sum of bytes or costs): *fault says what and where,
 * if fault is not NULL. REMAT_OUT_OF_MEMORY. On failure *solution is NULL. settings NULL: as INIT.
 */
remat_status remat_chain_solve(const remat_allocator *allocator, const remat_chain *chain,
                               const remat_chain_settings *settings,
                               remat_chain_solution **solution, remat_chain_fault *fault);

/* The same when a single budget is of interest, in less time: with holes, the persistent optimum is
 * found first and bounds max_extra. settings->max_budget is taken as `budget_bytes`. The solution's
 * cost and order at that budget are those of remat_chain_solve; if nothing fits, its
 * remat_chain_min_budget says what would. */
remat_status remat_chain_solve_for(const remat_allocator *allocator, const remat_chain *chain,
                                   const remat_chain_settings *settings, size_t budget_bytes,
                                   remat_chain_solution **solution, remat_chain_fault *fault);

void remat_chain_solution_destroy(remat_chain_solution *solution); /* or NULL */

/* Least cost within the budget; INFINITY if nothing fits. Costs are held to a relative 2^-52 of
 * n times the chain's total, so integers of usual size stay exact. */
double remat_chain_cost(const remat_chain_solution *solution, size_t budget_bytes);

/* The smallest budget that is feasible within the family searched. */
size_t remat_chain_min_budget(const remat_chain_solution *solution);

/* The cost of running everything once with each stage's cheapest option. */
double remat_chain_least_cost(const remat_chain_solution *solution);

/* One breakpoint: from this budget on (up to the next one) the least cost is this. */
typedef struct remat_chain_breakpoint {
    size_t budget_bytes;
    double cost;
} remat_chain_breakpoint;

/* All breakpoints, ascending in budget, descending in cost. */
size_t remat_chain_curve_count(const remat_chain_solution *solution);
remat_chain_breakpoint remat_chain_curve(const remat_chain_solution *solution, size_t i);

typedef enum remat_chain_op_kind {
    REMAT_CHAIN_MOVE,     /* plain forward of stage `index`; drops its input activation (Fnone) */
    REMAT_CHAIN_STORE,    /* plain forward of stage `index`; keeps its input (Fck) */
    REMAT_CHAIN_SAVE,     /* forward of stage `index` with `option`, keeps its input (Fall) */
    REMAT_CHAIN_BACKWARD, /* of stage `index`; frees what it saved, its input, its gradient (B) */
    REMAT_CHAIN_DROP      /* frees activation `index` */
} remat_chain_op_kind;

typedef struct remat_chain_op {
    uint8_t kind;
    uint16_t option; /* of SAVE and the BACKWARD that belongs to it; else 0 */
    uint32_t index;
} remat_chain_op;

/* Begins all zero. */
typedef struct remat_chain_ops {
    remat_chain_op *data;
    size_t count, capacity;
} remat_chain_ops;

/* Replaces *ops by an order within the budget whose cost is remat_chain_cost; less than that may
 * come out where the solution is not exact. REMAT_INFEASIBLE_BUDGET, REMAT_OUT_OF_MEMORY,
 * REMAT_INVALID_ARGUMENT: *ops is empty but may own memory. The caller releases it, with the same
 * allocator. */
remat_status remat_chain_emit(const remat_chain_solution *solution, size_t budget_bytes,
                              const remat_allocator *allocator, remat_chain_ops *ops);
void remat_chain_ops_release(const remat_allocator *allocator, remat_chain_ops *ops);

/* ---- Equal steps -----------------------------------------------------------------------------*/

/* Optimal orders for n equal steps with s slots for states. Step i (0 .. n-1) turns state i into
 * state i + 1. Its adjoint needs the taped run of the step, made immediately before it from state
 * i; adjoints run from n-1 down to 0. One working state is free; s counts all other states, that of
 * state 0 included (Griewank and Walther 2000, algorithm 799 "revolve"). What is minimised is the
 * number of plain steps, those that are not taped. With beta(s, r) = binomial(s + r, s) and r the
 * least with beta(s, r) >= n it is r n - beta(s + 1, r - 1).
 *
 * Actions come one at a time from an iterator: constant time for each, memory for min(s, n)
 * checkpoints, nothing for the steps. */

/* Limits of the orders; the closed forms take any uint64_t. */
#define REMAT_REVOLVE_MAX_STEPS ((uint64_t)1 << 40)
#define REMAT_REVOLVE_MAX_SLOTS ((uint64_t)1 << 20) /* more are not used */

/* binomial(s + r, s); UINT64_MAX if that or more. */
uint64_t remat_revolve_beta(uint64_t s, uint64_t r);

/* The least r with beta(s, r) >= n: no step is advanced more than r times. 0 for n <= 1; for s = 0
 * and n > 1, where there is none, UINT64_MAX. */
uint64_t remat_revolve_repetitions(uint64_t n, uint64_t s);

/* The least number of plain steps, high 2^64 + extra. high NULL: REMAT_OVERFLOW if it is not 0;
 * for n <= REMAT_REVOLVE_MAX_STEPS that takes a single slot. REMAT_OVERFLOW also if the closed form
 * of two or more slots exceeds 64 bits. REMAT_INFEASIBLE_BUDGET: n > 1 and no slot. On failure both
 * are 0. */
remat_status remat_revolve_extra_forward(uint64_t n, uint64_t s, uint64_t *extra, uint64_t *high);

/* How many of the n steps are advanced exactly i times in an optimal order; 0 if there is none. */
uint64_t remat_revolve_steps_advanced(uint64_t n, uint64_t s, uint64_t i);

typedef enum remat_revolve_kind {
    REMAT_REVOLVE_ADVANCE, /* plain steps: the working state `step` becomes state `end` */
    REMAT_REVOLVE_STORE,   /* copies the working state, which is `step`, into `slot` */
    REMAT_REVOLVE_RESTORE, /* copies state `step` from `slot` to the working state */
    REMAT_REVOLVE_FREE,    /* state `step` in `slot` is not needed any more */
    REMAT_REVOLVE_ADJOINT, /* tapes step `step` from the working state, then runs its adjoint; the
                              working state is spent */
    /* Mixed orders only: */
    REMAT_REVOLVE_TAPE,         /* tapes step `step` into `slot`; the working state is `end` now */
    REMAT_REVOLVE_ADJOINT_TAPED /* adjoint of `step` from the tape in `slot`, which is free then */
} remat_revolve_kind;

typedef struct remat_revolve_action {
    remat_revolve_kind kind;
    uint32_t slot; /* 0 .. s-1 */
    uint64_t step, end;
} remat_revolve_action;

typedef struct remat_revolve remat_revolve;

/* An optimal order, action by action; state 0 is the working state at first. n = 0 has no actions.
 * REMAT_INFEASIBLE_BUDGET: n > 1 and no slot. REMAT_INVALID_ARGUMENT: n exceeds
 * REMAT_REVOLVE_MAX_STEPS. REMAT_OUT_OF_MEMORY. On failure *revolve is NULL. */
remat_status remat_revolve_create(const remat_allocator *allocator, uint64_t n, uint64_t s,
                                  remat_revolve **revolve);
bool remat_revolve_next(remat_revolve *revolve, remat_revolve_action *action); /* false: the end */
void remat_revolve_destroy(remat_revolve *revolve);                            /* or NULL */

/* Mixed orders: as above, but a slot may also hold the tape of one step, of the size of a state,
 * and a taped run advances the working state (Maddison 2024, "mixed" schedules). State 0 starts as
 * the working state and takes a slot only if it is stored. What is minimised is p(n, s), all
 * forward runs:
 *   p(1, s) = 1, p(n, 0) infinite for n > 1, else the least of 1 + p(n - 1, s - 1) [tape one step]
 *   and m + p(n - m, s - 1) + p(m, s) for 1 <= m < n [store, advance m steps].
 * p(n, s) = n if n <= s + 1. No closed form is known to us: a table of min(s, n - 1) n entries is
 * filled in n^2 min(s, n - 1) / 2 steps. */
#define REMAT_MIXED_MAX_STEPS ((uint64_t)1 << 15)

typedef struct remat_mixed remat_mixed;

/* As remat_revolve_create; n at most REMAT_MIXED_MAX_STEPS. */
remat_status remat_mixed_create(const remat_allocator *allocator, uint64_t n, uint64_t s,
                                remat_mixed **mixed);
uint64_t remat_mixed_total_forward(const remat_mixed *mixed);            /* p(n, s); 0 for n = 0 */
bool remat_mixed_next(remat_mixed *mixed, remat_revolve_action *action); /* false: the end */
void remat_mixed_destroy(remat_mixed *mixed);                            /* or NULL */

#ifdef __cplusplus
}
#endif

#endif /* REMAT_PLAN_H */
