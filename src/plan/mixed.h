/* mixed.h - optimal orders for a chain of n equal steps whose s slots hold a state or a tape.
 *
 * As revolve.h, but a slot may also hold the tape of one step, of the size of a state, and a taped
 * run advances the working state (Maddison 2024, "mixed" schedules). State 0 starts as the working
 * state and takes a slot only if it is stored. What is minimised is p(n, s), all forward runs:
 *   p(1, s) = 1, p(n, 0) infinite for n > 1, else the least of 1 + p(n - 1, s - 1) [tape one step]
 *   and m + p(n - m, s - 1) + p(m, s) for 1 <= m < n [store, advance m steps].
 * p(n, s) = n if n <= s + 1. No closed form is known to us: a table of min(s, n - 1) n entries is
 * filled in n^2 min(s, n - 1) / 2 steps. */
#ifndef REMAT_PLAN_MIXED_H
#define REMAT_PLAN_MIXED_H

#include "plan/revolve.h"

#define REMAT_MIXED_MAX_STEPS ((uint64_t)1 << 15)

typedef struct remat_mixed remat_mixed;

/* As remat_revolve_create; n at most REMAT_MIXED_MAX_STEPS. */
remat_status remat_mixed_create(const remat_allocator *allocator, uint64_t n, uint64_t s,
                                remat_mixed **mixed);
uint64_t remat_mixed_total_forward(const remat_mixed *mixed);            /* p(n, s); 0 for n = 0 */
bool remat_mixed_next(remat_mixed *mixed, remat_revolve_action *action); /* false: the end */
void remat_mixed_destroy(remat_mixed *mixed);                            /* or NULL */

#endif
