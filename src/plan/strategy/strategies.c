/* strategies.c - the table of strategies. */
#include "plan/strategy/strategy.h"

static const remat_strategy_row rows[REMAT_STRATEGY_COUNT] = {
    [REMAT_STRATEGY_AUTO] = {"auto", NULL, NULL},
    [REMAT_STRATEGY_KEEP_ALL] = {"keep-all", NULL, remat_strategy_keep_all},
    [REMAT_STRATEGY_SEGMENTS] = {"segments", remat_strategy_segments_applies,
                                 remat_strategy_segments},
    [REMAT_STRATEGY_SQRT] = {"sqrt", NULL, remat_strategy_sqrt},
};

const remat_strategy_row *remat_strategy_find(remat_strategy strategy)
{
    if ((int)strategy < 0 || strategy >= REMAT_STRATEGY_COUNT || !rows[strategy].order)
        return NULL;
    return &rows[strategy];
}

const char *remat_strategy_name(remat_strategy strategy)
{
    if ((int)strategy < 0 || strategy >= REMAT_STRATEGY_COUNT)
        return "unknown";
    return rows[strategy].name;
}
