/* naive_walk.h - follows a schedule action by action, as a user's executor would; knows nothing of
 * how schedules are simulated. */
#ifndef TESTS_CORE_NAIVE_WALK_H
#define TESTS_CORE_NAIVE_WALK_H

#include "plan/problem.h"

typedef struct naive_walk {
    size_t peak_bytes, replays;
    double replay_cost;
} naive_walk;

/* Fails the test if a task lacks an input, runs out of order, or if a value that stays is dropped.
 */
naive_walk naive_walk_schedule(const remat_problem *problem, const remat_schedule *schedule);

#endif
