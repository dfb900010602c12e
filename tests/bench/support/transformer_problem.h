/* transformer_problem.h - a planning problem shaped like a GPT: no tape, no kernels. */
#ifndef TESTS_BENCH_TRANSFORMER_PROBLEM_H
#define TESTS_BENCH_TRANSFORMER_PROBLEM_H

#include "plan/problem.h"

/* `blocks` blocks of 11 forward tasks and the loss (3 more), with their backward: sequences of
 * `length` positions of `width` channels in f32, width / 64 heads. False: out of memory. */
bool bench_transformer_problem(uint32_t blocks, uint32_t length, uint32_t width,
                               remat_problem *problem);

#endif
