/* bound.h - a lower bound on the cost of replays within a byte budget: the certificate of a plan.
 * The bound and its proof: bound_cut.h. */
#ifndef REMAT_PLAN_BOUND_H
#define REMAT_PLAN_BOUND_H

#include "plan/problem.h"

/* *bound: no schedule whose peak of live bytes is at most budget_bytes has a replay cost below it;
 * INFINITY: there is no such schedule. Holds for every schedule that remat_schedule_simulate()
 * accepts, in whatever order it replays. Reuses join values of equal bytes, costs are finite and
 * not negative. Deterministic; near-linear in the problem with REMAT_EFFORT_FAST. Each value is
 * valid, but since the search is limited, more effort or a larger budget may give a slightly
 * smaller or larger one than expected. False: out of memory. */
bool remat_bound_cut(const remat_problem *problem, size_t budget_bytes, remat_effort effort,
                     double *bound);

#endif
