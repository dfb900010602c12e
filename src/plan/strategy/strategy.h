/* strategy.h - an algorithm that turns a problem into orders of runs. One file and one row of
 * strategies.c each; completing, judging, lowering and packing are common to all.
 *
 * A strategy offers a family of orders: one (keep-all, segments, sqrt) or many, from cheap to
 * small. What it offers does not depend on the budget, and all of it is judged: that is why more
 * budget never plans slower.
 */
#ifndef REMAT_PLAN_STRATEGY_H
#define REMAT_PLAN_STRATEGY_H

#include "plan/schedule.h"
#include "plan/search.h"

typedef struct remat_search_limits {
    size_t max_bytes; /* peak of keep-all: more is of no interest */
    remat_effort effort;
    double time_limit_seconds; /* 0: none */
} remat_search_limits;

typedef struct remat_family {
    const remat_problem *problem;
    void *state;  /* the strategy's own */
    size_t count; /* orders on offer, about cheapest first; 0: nothing to offer here */
    bool covers;  /* so good that a search of another kind is not worth its time */
} remat_family;

typedef struct remat_strategy_row {
    const char *name;
    /* Fills state and count; NULL: one order, no state. False: out of memory; nothing to close. */
    bool (*open)(remat_family *family, const remat_search_limits *limits);
    /* Appends the runs of one order; and to ranges the segments it worked with, if they are not the
     * problem's own (for reports). False: out of memory. */
    bool (*order)(const remat_family *family, size_t index, remat_runs *runs, remat_ranges *ranges);
    void (*close)(remat_family *family);
} remat_strategy_row;

/* Row of every strategy but AUTO; NULL for AUTO and unknown values. */
const remat_strategy_row *remat_strategy_find(remat_strategy strategy);

bool remat_family_open(remat_strategy strategy, const remat_problem *problem,
                       const remat_search_limits *limits, remat_family *family);
void remat_family_close(remat_strategy strategy, remat_family *family);

bool remat_keep_all_order(const remat_family *family, size_t index, remat_runs *runs,
                          remat_ranges *ranges);

bool remat_segments_open(remat_family *family, const remat_search_limits *limits);
bool remat_segments_order(const remat_family *family, size_t index, remat_runs *runs,
                          remat_ranges *ranges);

bool remat_sqrt_order(const remat_family *family, size_t index, remat_runs *runs,
                      remat_ranges *ranges);

bool remat_blocks_open(remat_family *family, const remat_search_limits *limits);
bool remat_blocks_family_order(const remat_family *family, size_t index, remat_runs *runs,
                               remat_ranges *ranges);
void remat_blocks_close(remat_family *family);

bool remat_greedy_open(remat_family *family, const remat_search_limits *limits);
bool remat_greedy_order(const remat_family *family, size_t index, remat_runs *runs,
                        remat_ranges *ranges);
void remat_greedy_close(remat_family *family);

/* The order of runs for given segments: each is replayed when its backward comes, except the one
 * whose backward comes next. */
bool remat_order_by_segments(const remat_problem *problem, const remat_segment_range *segments,
                             size_t n_segments, remat_runs *runs);

#endif
