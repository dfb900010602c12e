/* blocks_cut.c - where a single activation crosses from one part of the forward pass to the next.
 */
#include <string.h>

#include "base/hash.h"
#include "plan/strategy/blocks.h"

typedef struct cutter {
    remat_blocks *blocks;
    const remat_problem *problem;
    uint32_t *maker;       /* per value; REMAT_NONE: no forward task, or always there */
    uint32_t *last_read;   /* per value: last forward task that reads it, or its maker */
    unsigned char *useful; /* per value: the backward pass reads it */
} cutter;

/* Values that stay once they are made; their bytes come off the budget. */
static bool is_always_there(const remat_problem *p, uint32_t value, uint32_t maker)
{
    return p->values.data[value].pinned || !p->tasks.data[maker].replayable;
}

static void find_spans(cutter *c)
{
    const remat_problem *p = c->problem;
    memset(c->maker, 0xFF, p->values.count * sizeof *c->maker);
    for (uint32_t t = 0; t < p->n_forward; t++) {
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++) {
            uint32_t v = remat_task_writes(p, t)[i].value;
            if (is_always_there(p, v, t)) {
                c->blocks->base_bytes += p->values.data[v].bytes;
                continue;
            }
            c->maker[v] = c->last_read[v] = t;
        }
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
            c->last_read[remat_task_reads(p, t)[i]] = t;
    }
    for (uint32_t v = 0; v < p->values.count; v++)
        if (p->values.data[v].class == REMAT_CLASS_GRADIENT && p->values.data[v].pinned)
            c->blocks->base_bytes += p->values.data[v].bytes;
}

/* What no backward reads is not worth keeping: what is made of it is kept instead. */
static void find_useful(cutter *c)
{
    const remat_problem *p = c->problem;
    for (uint32_t t = p->n_forward; t < p->n_tasks; t++)
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
            c->useful[remat_task_reads(p, t)[i]] = 1;
}

/* Ends a block wherever exactly one value crosses, and the block makes it, and it is useful. Values
 * that cross at a position are counted by how many are open: made, and not yet read for the last
 * time. */
static bool cut_forward(cutter *c)
{
    const remat_problem *p = c->problem;
    const remat_allocator *allocator = &p->allocator;
    remat_block_range block = {.boundary = REMAT_NONE};
    size_t open = 0;
    uint64_t sum = 0; /* of the ids of open values: the id itself if only one is open */
    for (uint32_t t = 0; t < p->n_forward; t++) {
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++) {
            uint32_t v = remat_task_writes(p, t)[i].value;
            if (c->maker[v] == REMAT_NONE)
                continue;
            c->blocks->block_of[v] = (uint32_t)c->blocks->blocks.count;
            if (c->last_read[v] > t)
                open++, sum += v;
        }
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++) {
            uint32_t v = remat_task_reads(p, t)[i];
            if (c->maker[v] != REMAT_NONE && c->last_read[v] == t)
                open--, sum -= v;
        }
        if (open != 1 || c->maker[sum] < block.first_forward || !c->useful[sum] ||
            t + 1 == p->n_forward)
            continue;
        block.end_forward = t + 1;
        block.boundary = (uint32_t)sum;
        if (!remat_vector_push(allocator, &c->blocks->blocks, block))
            return false;
        block = (remat_block_range){.first_forward = t + 1, .boundary = REMAT_NONE};
    }
    block.end_forward = p->n_forward;
    return remat_vector_push(allocator, &c->blocks->blocks, block);
}

/* Very long chains are coarsened: neighbours become one block. */
static void merge_blocks(cutter *c, size_t most)
{
    remat_blocks *blocks = c->blocks;
    size_t n = blocks->blocks.count, part = n / most + (n % most != 0), merged = 0;
    if (part <= 1)
        return;
    for (size_t b = 0; b < n; b += part) {
        size_t last = b + part < n ? b + part - 1 : n - 1;
        remat_block_range block = blocks->blocks.data[b];
        block.end_forward = blocks->blocks.data[last].end_forward;
        block.boundary = blocks->blocks.data[last].boundary;
        blocks->blocks.data[merged++] = block;
    }
    blocks->blocks.count = merged;
    for (size_t v = 0; v < c->problem->values.count; v++)
        if (blocks->block_of[v] != REMAT_NONE)
            blocks->block_of[v] /= (uint32_t)part;
}

/* Backward tasks belong to the block of their statement, which descends. */
static void cut_backward(cutter *c)
{
    const remat_problem *p = c->problem;
    uint32_t t = p->n_forward;
    for (size_t b = c->blocks->blocks.count; b-- > 0;) {
        remat_block_range *block = &c->blocks->blocks.data[b];
        uint32_t first_statement = p->tasks.data[block->first_forward].statement;
        block->first_backward = t;
        while (t < p->n_tasks && (b == 0 || p->tasks.data[t].statement >= first_statement))
            t++;
        block->end_backward = t;
    }
}

/* A block's backward reads only what the block makes, its input, and what is always there. */
static bool is_chain(const cutter *c)
{
    const remat_problem *p = c->problem;
    for (size_t b = 0; b < c->blocks->blocks.count; b++) {
        const remat_block_range *block = &c->blocks->blocks.data[b];
        uint32_t input = b > 0 ? block[-1].boundary : REMAT_NONE;
        for (uint32_t t = block->first_backward; t < block->end_backward; t++)
            for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++) {
                uint32_t v = remat_task_reads(p, t)[i];
                if (c->maker[v] != REMAT_NONE && v != input && c->blocks->block_of[v] != b)
                    return false;
            }
    }
    return true;
}

/* Bytes of gradients that cross from one block's backward to the next one's. */
static bool sum_gradients(cutter *c)
{
    const remat_problem *p = c->problem;
    size_t n = c->blocks->blocks.count;
    uint32_t *first = c->maker, *last = c->last_read; /* free by now */
    for (uint32_t v = 0; v < p->values.count; v++)
        first[v] = REMAT_NONE;
    for (size_t b = n; b-- > 0;)
        for (uint32_t t = c->blocks->blocks.data[b].first_backward;
             t < c->blocks->blocks.data[b].end_backward; t++) {
            for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++) {
                uint32_t v = remat_task_writes(p, t)[i].value;
                first[v] = first[v] == REMAT_NONE ? (uint32_t)b : first[v];
                last[v] = (uint32_t)b;
            }
            for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
                last[remat_task_reads(p, t)[i]] = (uint32_t)b;
        }
    if (!remat_vector_reserve(&p->allocator, &c->blocks->gradient_bytes, n + 1))
        return false;
    c->blocks->gradient_bytes.count = n + 1;
    memset(c->blocks->gradient_bytes.data, 0, (n + 1) * sizeof(size_t));
    for (uint32_t v = 0; v < p->values.count; v++)
        if (first[v] != REMAT_NONE && !p->values.data[v].pinned)
            for (uint32_t b = first[v]; b > last[v]; b--)
                c->blocks->gradient_bytes.data[b] += p->values.data[v].bytes;
    return true;
}

static bool list_activations(cutter *c)
{
    const remat_problem *p = c->problem;
    remat_blocks *blocks = c->blocks;
    if (!remat_vector_push(&p->allocator, &blocks->activation_bytes, 0))
        return false;
    for (size_t b = 0; b < blocks->blocks.count; b++) {
        uint32_t v = blocks->blocks.data[b].boundary;
        size_t bytes = v == REMAT_NONE ? 0 : p->values.data[v].bytes;
        if (!remat_vector_push(&p->allocator, &blocks->activation_bytes, bytes))
            return false;
    }
    return true;
}

bool remat_blocks_cut(remat_blocks *blocks, size_t most, bool *applies)
{
    const remat_problem *p = blocks->problem;
    const remat_allocator *allocator = &p->allocator;
    size_t n = p->values.count;
    cutter c = {.blocks = blocks, .problem = p};
    c.maker = remat_memory_allocate(allocator, n, sizeof *c.maker);
    c.last_read = remat_memory_allocate(allocator, n, sizeof *c.last_read);
    blocks->block_of = remat_memory_allocate(allocator, n, sizeof *blocks->block_of);
    blocks->wanted_bit = remat_memory_allocate(allocator, n, sizeof *blocks->wanted_bit);
    c.useful = remat_memory_allocate(allocator, n, sizeof *c.useful);
    bool done = c.maker && c.last_read && c.useful && blocks->block_of && blocks->wanted_bit;
    *applies = false;
    if (done && p->n_forward > 0) {
        memset(blocks->block_of, 0xFF, n * sizeof *blocks->block_of);
        memset(blocks->wanted_bit, 0xFF, n * sizeof *blocks->wanted_bit);
        find_spans(&c);
        find_useful(&c);
        done = cut_forward(&c);
    }
    if (done && blocks->blocks.count == 1) { /* no useful value is alone: any will do */
        memset(c.useful, 1, n);
        blocks->blocks.count = 0;
        done = cut_forward(&c);
    }
    if (done && blocks->blocks.count > 1) {
        merge_blocks(&c, most);
        cut_backward(&c);
        *applies = is_chain(&c);
        done = list_activations(&c) && sum_gradients(&c);
    }
    remat_memory_release(allocator, c.maker, n, sizeof *c.maker);
    remat_memory_release(allocator, c.last_read, n, sizeof *c.last_read);
    remat_memory_release(allocator, c.useful, n, sizeof *c.useful);
    return done;
}
