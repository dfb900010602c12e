/* revolve.h - optimal orders for a chain of n equal steps with s slots for states.
 *
 * Step i (0 .. n-1) turns state i into state i + 1. Its adjoint needs the taped run of the step,
 * made immediately before it from state i; adjoints run from n-1 down to 0. One working state is
 * free; s counts all other states, that of state 0 included (Griewank and Walther 2000, algorithm
 * 799 "revolve"). What is minimised is the number of plain steps, those that are not taped. With
 * beta(s, r) = binomial(s + r, s) and r the least with beta(s, r) >= n it is
 * r n - beta(s + 1, r - 1).
 *
 * Actions come one at a time from an iterator: constant time for each, memory for min(s, n)
 * checkpoints, nothing for the steps. Pure functions; an iterator is for one thread at a time. */
#ifndef REMAT_PLAN_REVOLVE_H
#define REMAT_PLAN_REVOLVE_H

#include <remat/remat.h>

/* Of the schedules; the closed forms take any uint64_t. */
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

#endif
