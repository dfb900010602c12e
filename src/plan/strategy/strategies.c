/* strategies.c - the table of strategies. */
#include "plan/strategy/strategy.h"

static const remat_strategy_row rows[REMAT_STRATEGY_COUNT] = {
    [REMAT_STRATEGY_AUTO] = {.name = "auto"},
    [REMAT_STRATEGY_KEEP_ALL] = {.name = "keep-all", .order = remat_keep_all_order},
    [REMAT_STRATEGY_SEGMENTS] = {.name = "segments",
                                 .open = remat_segments_open,
                                 .order = remat_segments_order},
    [REMAT_STRATEGY_SQRT] = {.name = "sqrt", .order = remat_sqrt_order},
    [REMAT_STRATEGY_BLOCKS] = {.name = "blocks",
                               .open = remat_blocks_open,
                               .order = remat_blocks_family_order,
                               .close = remat_blocks_close},
    [REMAT_STRATEGY_GREEDY] = {.name = "greedy",
                               .open = remat_greedy_open,
                               .order = remat_greedy_order,
                               .close = remat_greedy_close},
};

static bool is_known(remat_strategy strategy)
{
    return (int)strategy >= 0 && strategy < REMAT_STRATEGY_COUNT;
}

const remat_strategy_row *remat_strategy_find(remat_strategy strategy)
{
    return is_known(strategy) && rows[strategy].order ? &rows[strategy] : NULL;
}

const char *remat_strategy_name(remat_strategy strategy)
{
    return is_known(strategy) ? rows[strategy].name : "unknown";
}

bool remat_family_open(remat_strategy strategy, const remat_problem *problem,
                       const remat_search_limits *limits, remat_family *family)
{
    *family = (remat_family){.problem = problem, .count = 1};
    return !rows[strategy].open || rows[strategy].open(family, limits);
}

void remat_family_close(remat_strategy strategy, remat_family *family)
{
    if (rows[strategy].close)
        rows[strategy].close(family);
    family->state = NULL;
    family->count = 0;
}
