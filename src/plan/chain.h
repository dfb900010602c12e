/* chain.h - what the library and its tests know of the chain solver besides <remat/plan.h>. */
#ifndef REMAT_PLAN_CHAIN_H
#define REMAT_PLAN_CHAIN_H

#include <remat/plan.h>

#include "base/vector.h"

typedef struct remat_chain_statistics {
    size_t functions, points; /* step functions, and their breakpoints in all */
} remat_chain_statistics;
remat_chain_statistics remat_chain_solution_statistics(const remat_chain_solution *solution);

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
