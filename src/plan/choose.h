/* choose.h - the cheapest order of all strategies that fits a budget. */
#ifndef REMAT_PLAN_CHOOSE_H
#define REMAT_PLAN_CHOOSE_H

#include "plan/lower.h"
#include "plan/strategy/strategy.h"

/* A schedule, judged and packed. */
typedef struct remat_candidate {
    remat_strategy strategy;
    bool made;
    remat_actions schedule;
    remat_buffers buffers;
    remat_bindings bindings;
    remat_ranges ranges;
    remat_simulation simulation;
    size_t arena_bytes;
} remat_candidate;

void remat_candidate_release(const remat_allocator *allocator, remat_candidate *candidate);

typedef struct remat_choice {
    const remat_problem *problem;
    remat_strategy strategy; /* what was asked for */
    remat_effort effort;
    double time_limit_seconds;
    size_t budget_bytes; /* 0: none */
    bool unpacked;       /* count live bytes only; no buffers, no arena */
    /* Results. */
    remat_candidate best;
    size_t smallest_bytes; /* the smallest arena that was found */
    size_t keep_all_bytes; /* arena of keep-all */
    size_t keep_all_peak;  /* live bytes of keep-all */
    const char *fault;     /* of REMAT_INTERNAL */
    bool covered;          /* by a strategy that makes a search needless */
} remat_choice;

/* REMAT_OK: best is made. REMAT_INFEASIBLE_BUDGET, REMAT_OUT_OF_MEMORY, REMAT_INTERNAL. The caller
 * releases best. */
remat_status remat_choose(remat_choice *choice);

/* Takes a schedule (with strategy and ranges) instead of searching for one; given is empty then.
 * As remat_choose(); REMAT_INVALID_ARGUMENT: the schedule is not valid, see choice->fault and
 * choice->best.simulation.at. */
remat_status remat_choose_given(remat_choice *choice, remat_candidate *given);

/* The certificate of the best: compared with schedules within the budget or, without one, within as
 * many bytes as it takes. False: out of memory. */
bool remat_choice_certify(const remat_choice *choice, remat_plan_cost *cost);

/* Calls visit for every order on offer of every strategy that applies, packed: all of the sweep. An
 * order may be left out if `most` orders of a family are enough. */
typedef remat_status remat_visit(void *context, const remat_candidate *candidate);
remat_status remat_choose_all(remat_choice *choice, size_t most, remat_visit *visit, void *context);

/* The curve of remat_plan_sweep(); releases best. Statuses as remat_choose(). */
remat_status remat_choose_curve(remat_choice *choice, remat_plan_point *points, size_t capacity,
                                size_t *count);

#endif
