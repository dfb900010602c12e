/* remake.h - replays on demand: makes absent inputs of a task again, their own inputs first. */
#ifndef REMAT_PLAN_REMAKE_H
#define REMAT_PLAN_REMAKE_H

#include "plan/schedule.h"

typedef struct remat_remake {
    const remat_problem *problem;
    remat_runs *runs;
    uint32_t *maker; /* per value: the forward task that makes it; REMAT_NONE for gradients */
    unsigned char *present; /* per value: 0 if it has to be made again before it is read */
    REMAT_VECTOR(uint32_t) stack;
} remat_remake;

/* All values are present. False: out of memory; release is safe then. */
bool remat_remake_create(const remat_problem *problem, remat_runs *runs, remat_remake *remake);
void remat_remake_release(remat_remake *remake);

/* True if the value can be made again. */
bool remat_remake_possible(const remat_remake *remake, uint32_t value);

/* Appends a task's run; what it writes is present. */
bool remat_remake_run(remat_remake *remake, uint32_t task);

/* Appends the replays that make all that `task` reads present. An absent value must be possible to
 * make. */
bool remat_remake_inputs(remat_remake *remake, uint32_t task);

#endif
