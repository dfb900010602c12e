/* brute_force.h - the least cost of replays by looking at every schedule, for tiny problems; and
 * random tiny problems. Knows nothing of strategies, completion and bounds. */
#ifndef TESTS_CORE_BRUTE_FORCE_H
#define TESTS_CORE_BRUTE_FORCE_H

#include "plan/problem.h"

enum { TINY_VALUES = 12 };

/* The least replay cost within the budget; INFINITY: no schedule. At most TINY_VALUES values and 7
 * tasks of each pass; costs are small integers. */
double brute_force_replay_cost(const remat_problem *problem, size_t budget_bytes);

/* A function of the seed: several results, hand-over of memory, workspace, pinned values, tasks
 * that run once, gradients with several contributions. Released with remat_problem_release(). */
void tiny_problem_make(uint64_t seed, remat_problem *problem);

#endif
