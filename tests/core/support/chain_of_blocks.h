/* chain_of_blocks.h - random problems that narrow to one value again and again. */
#ifndef TESTS_CORE_CHAIN_OF_BLOCKS_H
#define TESTS_CORE_CHAIN_OF_BLOCKS_H

#include "plan/problem.h"

/* A function of the seed; some blocks are alike. Made through plan.h. Released with
 * remat_problem_release(). */
void chain_of_blocks_make(uint64_t seed, uint32_t n_blocks, remat_problem *problem);

#endif
