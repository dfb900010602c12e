/* costs.h - seconds of each statement that replace the estimates of planning. */
#ifndef REMAT_PLAN_COSTS_H
#define REMAT_PLAN_COSTS_H

#include <remat/remat.h>

struct remat_costs {
    remat_allocator allocator;
    uint64_t fingerprint; /* of the tape */
    size_t n_statements;
    double *forward, *backward; /* seconds; NaN: not known */
};

/* All unknown. NULL: out of memory. */
remat_costs *remat_costs_allocate(const remat_allocator *allocator, uint64_t fingerprint,
                                  size_t n_statements);

#endif
