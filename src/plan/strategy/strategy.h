/* strategy.h - an algorithm that turns a problem into an order of runs. One file and one row of
 * strategies.c each; completing, judging, lowering and packing are common to all. */
#ifndef REMAT_PLAN_STRATEGY_H
#define REMAT_PLAN_STRATEGY_H

#include "plan/schedule.h"

typedef struct remat_strategy_row {
    const char *name;
    /* False if the strategy has nothing to offer for this problem. NULL: always applies. */
    bool (*applies)(const remat_problem *problem);
    /* Appends runs; and to ranges the segments it worked with, if they are not the problem's own
     * (for reports). False: out of memory. */
    bool (*order)(const remat_problem *problem, remat_runs *runs, remat_ranges *ranges);
} remat_strategy_row;

/* Row of every strategy but AUTO; NULL for AUTO and unknown values. */
const remat_strategy_row *remat_strategy_find(remat_strategy strategy);

bool remat_strategy_keep_all(const remat_problem *problem, remat_runs *runs, remat_ranges *ranges);
bool remat_strategy_segments(const remat_problem *problem, remat_runs *runs, remat_ranges *ranges);
bool remat_strategy_segments_applies(const remat_problem *problem);
bool remat_strategy_sqrt(const remat_problem *problem, remat_runs *runs, remat_ranges *ranges);

/* The order of runs for given segments: each is replayed when its backward comes, except the one
 * whose backward comes next. */
bool remat_order_by_segments(const remat_problem *problem, const remat_segment_range *segments,
                             size_t n_segments, remat_runs *runs);

#endif
