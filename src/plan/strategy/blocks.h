/* blocks.h - networks that narrow to one value again and again: transformers, residual stacks,
 * plain chains. The forward pass is cut where a single activation crosses; what lies between two
 * cuts is a block with a choice of what to save for its backward; the chain solver finds the
 * cheapest combination for every number of bytes at once. */
#ifndef REMAT_PLAN_BLOCKS_H
#define REMAT_PLAN_BLOCKS_H

#include "plan/chain.h"
#include "plan/schedule.h"

/* One block: forward tasks [first_forward, end_forward), backward tasks likewise. */
typedef struct remat_block_range {
    uint32_t first_forward, end_forward;
    uint32_t first_backward, end_backward;
    uint32_t boundary; /* the value that crosses to the next block; REMAT_NONE after the last */
    uint32_t type;     /* blocks of one type are equal but for the names of tasks and values */
} remat_block_range;

/* A choice of saved values: bit w stands for wanted value w of the block's type. */
typedef struct remat_block_option {
    size_t saved; /* offset of its words in remat_blocks.words */
} remat_block_option;

typedef struct remat_block_type {
    uint32_t example;  /* a block of this type */
    uint32_t n_wanted; /* values made inside that the block's backward may read */
    uint32_t first_option, n_options;
    remat_chain_stage stage;
} remat_block_type;

typedef struct remat_blocks {
    const remat_problem *problem;
    struct remat_blocks *fine; /* what merged blocks were merged from; NULL: they are not merged */
    REMAT_VECTOR(remat_block_range) blocks;
    REMAT_VECTOR(remat_block_type) types;
    REMAT_VECTOR(remat_block_option) options;
    REMAT_VECTOR(remat_chain_option) chain_options; /* parallel to options */
    REMAT_VECTOR(uint64_t) words;
    uint32_t *block_of;   /* per activation: the block that makes it; REMAT_NONE: always there */
    uint32_t *wanted_bit; /* per activation: its number among the block's wanted values, or NONE */
    size_t base_bytes;    /* of what is always there: pinned, made by what must not be replayed */
    REMAT_VECTOR(size_t) activation_bytes;
    REMAT_VECTOR(size_t) gradient_bytes;
    remat_chain_solution *solution;
} remat_blocks;

/* Cuts, enumerates options and solves. *applies is false if the network has no such shape. False:
 * out of memory. Release in every case. */
bool remat_blocks_create(const remat_problem *problem, size_t max_bytes, remat_blocks *blocks,
                         bool *applies);
void remat_blocks_release(remat_blocks *blocks);

/* Number of orders on offer, cheapest first, and the runs of one of them (appended). */
size_t remat_blocks_count(const remat_blocks *blocks);
bool remat_blocks_order(const remat_blocks *blocks, size_t index, remat_runs *runs);

/* Parts of the above. At most `most` blocks: neighbours are merged. */
bool remat_blocks_cut(remat_blocks *blocks, size_t most, bool *applies);
bool remat_blocks_enumerate(remat_blocks *blocks);

#endif
