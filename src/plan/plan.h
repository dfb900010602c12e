/* plan.h (internal) - the finished plan, as exec and report read it. */
#ifndef REMAT_PLAN_PLAN_H
#define REMAT_PLAN_PLAN_H

#include <stdatomic.h>

#include "plan/derive.h"
#include "plan/lower.h"

struct remat_plan {
    remat_allocator allocator;
    atomic_uint references; /* the caller's, and one for each exec */
    remat_plan_summary summary;
    remat_plan_cost cost;
    size_t budget_bytes; /* 0: none */
    bool forward_only, retain, overwrite_gradients;
    remat_derivation derivation;
    remat_actions schedule;
    remat_buffers buffers;
    remat_bindings bindings;
    remat_ranges ranges; /* segments the strategy worked with; empty: the problem's */
    /* Copies of what reports show, so that the plan needs no tape. */
    const char **op_names; /* per statement */
    size_t n_statements;
    REMAT_VECTOR(char) text;
    REMAT_VECTOR(uint32_t) segment_names; /* offsets into text; REMAT_NONE: none */
};

/* Checks a request to plan; *loss_index is REMAT_NONE if only seeds are used. *options is replaced
 * by defaults if it is NULL. Failures set the tape's message. */
remat_status remat_plan_check_request(remat_tape *tape, remat_var loss,
                                      const remat_exec_options **options, uint32_t *loss_index);

/* Checks a request and derives its problem: a plan without a schedule. Options as above. */
remat_status remat_plan_begin(remat_tape *tape, remat_var loss, const remat_exec_options **options,
                              remat_plan **plan);

struct remat_choice;
/* Completes a plan that was begun, from the choice made for its problem and the status of choosing;
 * takes over choice->best. On failure the tape has a message and the caller destroys the plan. */
remat_status remat_plan_finish(remat_plan *plan, remat_tape *tape, struct remat_choice *choice,
                               remat_status status);

/* Sets the tape's message for a failed choice; returns status. */
remat_status remat_plan_report_failure(remat_tape *tape, const struct remat_choice *choice,
                                       remat_status status);

void remat_plan_retain(const remat_plan *plan);

#endif
