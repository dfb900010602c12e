/* keep_all.c - nothing is replayed, except values that the user marked with remat_recompute(). */
#include "plan/strategy/strategy.h"

bool remat_keep_all_order(const remat_family *family, size_t index, remat_runs *runs,
                          remat_ranges *ranges)
{
    (void)index, (void)ranges;
    return remat_order_by_segments(family->problem, NULL, 0, runs);
}
