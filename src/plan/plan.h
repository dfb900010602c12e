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
    bool forward_only, retain, overwrite_gradients;
    remat_derivation derivation;
    remat_schedule schedule;
    remat_buffers buffers;
    remat_bindings bindings;
    remat_ranges ranges; /* segments the strategy worked with; empty: the problem's */
    /* Copies of what reports show, so that the plan needs no tape. */
    const char **op_names; /* per statement */
    size_t n_statements;
    REMAT_VECTOR(char) text;
    REMAT_VECTOR(uint32_t) segment_names; /* offsets into text; REMAT_NONE: none */
};

void remat_plan_retain(const remat_plan *plan);

#endif
