/* chain.h - the cheapest order of work for a chain of stages within a byte budget.
 *
 * Model (Beaumont, Eyraud-Dubois et al., "rotor"; with options per stage as in Rockmate). Stage i
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
 * All functions are pure; a solution does not refer to the chain it was made from, is immutable and
 * may be shared between threads. */
#ifndef REMAT_PLAN_CHAIN_H
#define REMAT_PLAN_CHAIN_H

#include <math.h>
#include <remat/remat.h>

#include "base/vector.h"

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

/* Why a chain was refused. */
typedef struct remat_chain_fault {
    const char *text; /* NULL: none */
    uint32_t index;   /* of the stage (or activation, if the text says so) */
    uint32_t option;  /* of the stage, if the text says so */
} remat_chain_fault;

typedef struct remat_chain_settings {
    bool holes;
    /* Most options of a stage that may be kept while its input is dropped, spread evenly from the
     * fewest saved bytes to the most; 0: all. Time grows with its square. */
    uint32_t hole_options;
    /* Most breakpoints of a step function, at least 2; 0: no limit, the result is exact. With a
     * limit the bytes needed are rounded up at every interval: costs are those of orders that fit,
     * but can be some percent above the least. The smallest feasible budget stays exact. */
    uint32_t max_points;
    /* What is of interest: budgets up to max_budget and costs up to max_extra above those of
     * running everything once. Within, the solution is exact. Outside it may be dearer than need be
     * (but true), and the smallest feasible budget is still exact. */
    size_t max_budget;
    double max_extra;
} remat_chain_settings;

#define REMAT_CHAIN_SETTINGS_INIT                                    \
    {                                                                \
        .holes = true, .max_budget = SIZE_MAX, .max_extra = INFINITY \
    }

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

void remat_chain_solution_release(remat_chain_solution *solution); /* NULL is accepted */

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

typedef struct remat_chain_statistics {
    size_t functions, points; /* step functions, and their breakpoints in all */
} remat_chain_statistics;
remat_chain_statistics remat_chain_solution_statistics(const remat_chain_solution *solution);

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

typedef REMAT_VECTOR(remat_chain_op) remat_chain_ops;

/* Replaces *ops by an order within the budget whose cost is remat_chain_cost; less than that may
 * come out where the solution is not exact. REMAT_INFEASIBLE_BUDGET, REMAT_OUT_OF_MEMORY: *ops is
 * empty but may own memory. The caller releases it with the same allocator. */
remat_status remat_chain_emit(const remat_chain_solution *solution, size_t budget_bytes,
                              const remat_allocator *allocator, remat_chain_ops *ops);

typedef struct remat_chain_replayed {
    const char *fault; /* NULL: the order is valid; else what is wrong, at operation `at` */
    size_t at;
    size_t peak_bytes;
    double cost;
    size_t forward_runs; /* more than n: replays */
} remat_chain_replayed;

/* The judge: executes the operations by the rules above, knowing nothing of how they were found.
 * The chain is one that remat_chain_solve accepts. False: out of memory. */
bool remat_chain_replay(const remat_allocator *allocator, const remat_chain *chain,
                        const remat_chain_op *ops, size_t n_ops, remat_chain_replayed *result);

#endif
