/* search.h - orders of runs found by search, for problems of any shape. */
#ifndef REMAT_PLAN_SEARCH_H
#define REMAT_PLAN_SEARCH_H

#include "plan/schedule.h"

/* Searches the order of runs whose schedule has a peak of at most budget_bytes and the least cost
 * of replays: greedy construction under many weightings, then local search on the sequence of
 * runs. A time limit > 0 ends the search early, at the best order so far, and makes the result
 * depend on the machine. Appends to `runs` if *feasible; that no order was found does not prove
 * that there is none. False: out of memory. */
bool remat_order_greedy(const remat_problem *problem, size_t budget_bytes, remat_effort effort,
                        double time_limit_seconds, remat_runs *runs, bool *feasible);

/* The same, starting from an order found earlier, say for a smaller budget: if `start` is feasible,
 * so is the result, and never dearer. */
bool remat_order_greedy_from(const remat_problem *problem, size_t budget_bytes, remat_effort effort,
                             double time_limit_seconds, const remat_runs *start, remat_runs *runs,
                             bool *feasible);

#endif
