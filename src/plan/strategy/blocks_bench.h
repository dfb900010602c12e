/* blocks_bench.h - one block alone as a problem, on which its options are measured. */
#ifndef REMAT_PLAN_BLOCKS_BENCH_H
#define REMAT_PLAN_BLOCKS_BENCH_H

#include "plan/strategy/blocks.h"

/* A subset of the wanted values, before it is measured. */
typedef struct remat_subset {
    size_t bytes; /* saved */
    double cost;  /* of making the others again */
    size_t words;
} remat_subset;

/* The block alone as a problem: a task that brings its input, its forward tasks, a task that brings
 * the gradients from outside, its backward tasks, and one that takes the gradients that go on. */
typedef struct remat_bench {
    remat_blocks *blocks;
    const remat_block_range *range;
    uint32_t input;                /* global id; REMAT_NONE: none */
    remat_problem problem;         /* values in the block's own numbering */
    uint32_t *local;               /* per global value; REMAT_NONE: not in the block */
    REMAT_VECTOR(uint32_t) global; /* per local value */
    REMAT_VECTOR(uint32_t) wanted; /* local ids, in order of their making */
    REMAT_VECTOR(uint32_t) maker;  /* per wanted value: its task */
    REMAT_VECTOR(remat_subset) subsets;
    remat_runs runs;
    remat_actions schedule;
} remat_bench;

/* Makes a block the problem of the bench. last_use: per value, the last task that names it. */
bool remat_bench_build(remat_bench *b, uint32_t index, const uint32_t *last_use);

/* Lists what the block may save: values made inside, but the boundary, that its backward reads. */
bool remat_bench_find_wanted(remat_bench *b);

/* True if one of the blocks that were merged into this one hands the value on. */
bool remat_bench_is_fine_boundary(const remat_bench *b, uint32_t v);

/* Runs the block with a subset of the wanted values saved. */
bool remat_bench_measure(remat_bench *b, const uint64_t *words, remat_simulation *result);

/* Lists subsets worth a look; then leaves those that no other beats in bytes and cost. absent: room
 * for a byte per value. */
bool remat_bench_add_subsets(remat_bench *b, unsigned char *absent);
void remat_bench_thin_out(remat_bench *b);

#endif
