/* blocks.c - from blocks with options to orders of runs, by the chain solver. */
#include "plan/strategy/blocks.h"

#include <string.h>

#include "plan/strategy/remake.h"
#include "plan/strategy/strategy.h"

#define MOST_BLOCKS 96
#define MOST_POINTS 1024 /* of a step function */

/* Orders on offer: as many as can be judged in about a tenth of a second, within limits. */
#define MOST_ORDERS  192
#define LEAST_ORDERS 4
#define JUDGED_TASKS 600000 /* orders times tasks */

/* Forward tasks up to which a network is always searched besides, and from which never. */
#define ALWAYS_SEARCHED 30
#define NEVER_SEARCHED  5000

static bool solve(remat_blocks *blocks, size_t max_bytes)
{
    const remat_allocator *allocator = &blocks->problem->allocator;
    size_t n = blocks->blocks.count;
    remat_chain_stage *stages = remat_memory_allocate(allocator, n, sizeof *stages);
    if (!stages)
        return false;
    for (size_t b = 0; b < n; b++) {
        const remat_block_type *type = &blocks->types.data[blocks->blocks.data[b].type];
        stages[b] = type->stage;
        stages[b].options = blocks->chain_options.data + type->first_option;
        stages[b].n_options = type->n_options;
    }
    remat_chain chain = {(uint32_t)n, stages, blocks->activation_bytes.data,
                         blocks->gradient_bytes.data};
    remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
    settings.max_points = MOST_POINTS;
    settings.hole_options = 1; /* more gain nothing that can be seen on transformers */
    settings.max_budget = max_bytes;
    remat_status status = remat_chain_solve(allocator, &chain, &settings, &blocks->solution, NULL);
    remat_memory_release(allocator, stages, n, sizeof *stages);
    return status != REMAT_OUT_OF_MEMORY; /* refused otherwise: there is no solution then */
}

/* Too many blocks: they keep their options, and neighbours become one block that combines them. */
static bool merge(remat_blocks *blocks, bool *applies)
{
    const remat_problem *problem = blocks->problem;
    remat_blocks *fine = remat_memory_allocate(&problem->allocator, 1, sizeof *fine);
    if (!fine)
        return false;
    *fine = *blocks;
    *blocks = (remat_blocks){.problem = problem, .fine = fine};
    return remat_blocks_enumerate(fine) && remat_blocks_cut(blocks, MOST_BLOCKS, applies);
}

bool remat_blocks_create(const remat_problem *problem, size_t max_bytes, remat_blocks *blocks,
                         bool *applies)
{
    *blocks = (remat_blocks){.problem = problem};
    if (!remat_blocks_cut(blocks, SIZE_MAX, applies))
        return false;
    if (*applies && blocks->blocks.count > MOST_BLOCKS && !merge(blocks, applies))
        return false;
    if (!*applies)
        return true;
    size_t for_chain = max_bytes > blocks->base_bytes ? max_bytes - blocks->base_bytes : 0;
    if (!remat_blocks_enumerate(blocks) || !solve(blocks, for_chain))
        return false;
    *applies = blocks->solution != NULL;
    return true;
}

static void release(remat_blocks *blocks)
{
    const remat_allocator *allocator = &blocks->problem->allocator;
    size_t n = blocks->problem->values.count;
    remat_vector_release(allocator, &blocks->blocks);
    remat_vector_release(allocator, &blocks->types);
    remat_vector_release(allocator, &blocks->options);
    remat_vector_release(allocator, &blocks->chain_options);
    remat_vector_release(allocator, &blocks->words);
    remat_vector_release(allocator, &blocks->activation_bytes);
    remat_vector_release(allocator, &blocks->gradient_bytes);
    remat_memory_release(allocator, blocks->block_of, n, sizeof *blocks->block_of);
    remat_memory_release(allocator, blocks->wanted_bit, n, sizeof *blocks->wanted_bit);
    remat_chain_solution_destroy(blocks->solution);
    blocks->solution = NULL;
}

void remat_blocks_release(remat_blocks *blocks)
{
    if (blocks->fine)
        release(blocks->fine);
    remat_memory_release(&blocks->problem->allocator, blocks->fine, 1, sizeof *blocks->fine);
    blocks->fine = NULL;
    release(blocks);
}

size_t remat_blocks_count(const remat_blocks *blocks)
{
    if (!blocks->solution)
        return 0;
    size_t n = remat_chain_curve_count(blocks->solution);
    size_t most = JUDGED_TASKS / ((size_t)blocks->problem->n_tasks + 1);
    most = most < LEAST_ORDERS ? LEAST_ORDERS : most > MOST_ORDERS ? MOST_ORDERS : most;
    return n < most ? n : most;
}

/* Points of the curve, evenly thinned; the first and the last are on offer. */
static size_t budget_of_order(const remat_blocks *blocks, size_t index)
{
    size_t n = remat_chain_curve_count(blocks->solution), count = remat_blocks_count(blocks);
    size_t point = count > 1 ? (count - 1 - index) * (n - 1) / (count - 1) : n - 1;
    return remat_chain_curve(blocks->solution, point).budget_bytes;
}

/* ---- Runs ------------------------------------------------------------------------------------*/

typedef struct emission {
    const remat_blocks *blocks;
    remat_remake remake;
    unsigned char *ran; /* per block: its forward tasks have run before */
} emission;

/* Runs a block forward. option: what is saved of it; NULL: nothing but its boundary. */
static bool run_forward(emission *e, uint32_t index, const remat_block_option *option)
{
    const remat_problem *p = e->blocks->problem;
    const remat_block_range *block = &e->blocks->blocks.data[index];
    for (uint32_t t = block->first_forward; t < block->end_forward; t++) {
        if (e->ran[index] && !p->tasks.data[t].replayable)
            continue;
        if (!remat_remake_run(&e->remake, t))
            return false;
    }
    e->ran[index] = 1;
    for (uint32_t t = block->first_forward; t < block->end_forward; t++)
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++) {
            uint32_t v = remat_task_writes(p, t)[i].value;
            uint32_t bit = e->blocks->wanted_bit[v];
            if (e->blocks->block_of[v] == REMAT_NONE || v == block->boundary)
                continue;
            e->remake.present[v] =
                option && bit != REMAT_NONE &&
                (e->blocks->words.data[option->saved + bit / 64] >> (bit % 64) & 1);
        }
    return true;
}

static bool run_backward(emission *e, uint32_t index)
{
    const remat_block_range *block = &e->blocks->blocks.data[index];
    for (uint32_t t = block->first_backward; t < block->end_backward; t++)
        if (!remat_remake_inputs(&e->remake, t) || !remat_remake_run(&e->remake, t))
            return false;
    return true;
}

static bool run_op(emission *e, remat_chain_op op)
{
    const remat_blocks *blocks = e->blocks;
    switch ((remat_chain_op_kind)op.kind) {
    case REMAT_CHAIN_MOVE:
    case REMAT_CHAIN_STORE:
        return run_forward(e, op.index, NULL);
    case REMAT_CHAIN_SAVE: {
        const remat_block_type *type = &blocks->types.data[blocks->blocks.data[op.index].type];
        return run_forward(e, op.index, &blocks->options.data[type->first_option + op.option]);
    }
    case REMAT_CHAIN_BACKWARD:
        return run_backward(e, op.index);
    case REMAT_CHAIN_DROP:
        break; /* drops follow from the order of runs */
    }
    return true;
}

bool remat_blocks_order(const remat_blocks *blocks, size_t index, remat_runs *runs)
{
    const remat_allocator *allocator = &blocks->problem->allocator;
    size_t n = blocks->blocks.count;
    emission e = {.blocks = blocks};
    remat_chain_ops ops = {0};
    size_t budget = budget_of_order(blocks, index);
    bool done = remat_chain_emit(blocks->solution, budget, allocator, &ops) == REMAT_OK;
    done = remat_remake_create(blocks->problem, runs, &e.remake) && done;
    e.ran = remat_memory_allocate(allocator, n, 1);
    done = done && e.ran;
    for (size_t i = 0; done && i < ops.count; i++)
        done = run_op(&e, ops.data[i]);
    remat_memory_release(allocator, e.ran, n, 1);
    remat_remake_release(&e.remake);
    remat_vector_release(allocator, &ops);
    return done;
}

/* ---- The family ------------------------------------------------------------------------------*/

/* The chain solver always keeps what crosses between blocks it stores, so it cannot promise that a
 * value marked with remat_recompute() is absent; other strategies can. */
static bool has_marks(const remat_problem *problem)
{
    for (size_t v = 0; v < problem->values.count; v++)
        if (problem->values.data[v].policy == REMAT_POLICY_RECOMPUTE)
            return true;
    return false;
}

/* A search takes milliseconds for tens of tasks, tenths of a second for hundreds, and minutes for
 * millions. It is worth them where blocks had to be merged, which loses a few percent, and where
 * one block is most of the network: long skips, several values that cross everywhere. */
static bool covers(const remat_blocks *blocks)
{
    size_t n_forward = blocks->problem->n_forward, largest = 0;
    for (size_t b = 0; b < blocks->blocks.count; b++) {
        const remat_block_range *block = &blocks->blocks.data[b];
        size_t tasks = block->end_forward - block->first_forward;
        largest = tasks > largest ? tasks : largest;
    }
    if (n_forward <= ALWAYS_SEARCHED || n_forward >= NEVER_SEARCHED)
        return n_forward >= NEVER_SEARCHED;
    return !blocks->fine && largest <= n_forward / 2;
}

bool remat_blocks_open(remat_family *family, const remat_search_limits *limits)
{
    const remat_allocator *allocator = &family->problem->allocator;
    bool applies = false;
    family->count = 0;
    const bool fast = limits->effort == REMAT_EFFORT_FAST; /* a search would not be */
    if (has_marks(family->problem)) {
        family->covers = fast;
        return true;
    }
    family->state = remat_memory_allocate(allocator, 1, sizeof(remat_blocks));
    if (!family->state)
        return false;
    if (!remat_blocks_create(family->problem, limits->max_bytes, family->state, &applies)) {
        remat_blocks_close(family);
        return false;
    }
    if (applies) {
        const remat_blocks *blocks = family->state;
        family->count = remat_blocks_count(blocks);
        family->covers = fast || covers(blocks);
    }
    return true;
}

bool remat_blocks_family_order(const remat_family *family, size_t index, remat_runs *runs,
                               remat_ranges *ranges)
{
    (void)ranges;
    return remat_blocks_order(family->state, index, runs);
}

void remat_blocks_close(remat_family *family)
{
    if (!family->state)
        return;
    remat_blocks_release(family->state);
    remat_memory_release(&family->problem->allocator, family->state, 1, sizeof(remat_blocks));
}
