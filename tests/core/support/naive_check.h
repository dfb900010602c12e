/* naive_check.h - judges a schedule the slow and simple way, from the words of problem.h and
 * schedule.h alone: own bookkeeping of blocks of memory, added up anew at every action. */
#ifndef TESTS_CORE_NAIVE_CHECK_H
#define TESTS_CORE_NAIVE_CHECK_H

#include "plan/schedule.h"

typedef struct naive_verdict {
    bool valid;
    size_t fault_at; /* action that is wrong; the number of actions if something is missing */
    size_t peak_bytes, peak_at;
    double cost, replay_cost;
    size_t forward_runs, replays, backward_runs;
} naive_verdict;

naive_verdict naive_check(const remat_problem *problem, const remat_actions *actions);

#endif
