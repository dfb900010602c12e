/* keep_all.c - nothing is replayed, except values that the user marked with remat_recompute(). */
#include "plan/strategy/strategy.h"

bool remat_strategy_keep_all(const remat_problem *problem, remat_runs *runs, remat_ranges *ranges)
{
    (void)ranges;
    return remat_order_by_segments(problem, NULL, 0, runs);
}
