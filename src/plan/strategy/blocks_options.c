/* blocks_options.c - what a block may save for its backward, and what each choice costs: measured
 * by the simulator on the block alone. Equal blocks are measured once. */
#include <string.h>

#include "base/hash.h"
#include "plan/strategy/blocks_bench.h"

static size_t excess(size_t peak, size_t counted)
{
    return peak > counted ? peak - counted : 0;
}

static bool add_option(remat_bench *b, uint32_t index, const remat_subset *s,
                       remat_block_type *type)
{
    remat_blocks *blocks = b->blocks;
    const remat_allocator *allocator = &b->problem.allocator;
    const size_t *activation = &blocks->activation_bytes.data[index];
    const size_t *gradient = &blocks->gradient_bytes.data[index];
    remat_simulation result;
    if (!remat_bench_measure(b, remat_vector_at(&blocks->words, s->words), &result))
        return false;
    double forward = 0.0;
    for (uint32_t t = 1; t < b->problem.n_forward; t++)
        forward += b->problem.tasks.data[t].cost;
    remat_chain_option option = {
        .forward_cost = forward,
        .backward_cost = result.cost - forward + result.replay_cost,
        .saved_bytes = s->bytes + activation[1],
        .forward_extra_bytes =
            excess(result.forward_peak_bytes, activation[0] + s->bytes + activation[1]),
        .backward_extra_bytes =
            excess(result.backward_peak_bytes,
                   activation[0] + s->bytes + activation[1] + gradient[1] + gradient[0]),
    };
    if (type->n_options == 0) { /* saves least: the plain forward */
        type->stage.forward_cost = forward;
        type->stage.forward_extra_bytes =
            excess(result.forward_peak_bytes, activation[0] + activation[1]);
    }
    type->n_options++;
    remat_block_option words = {s->words};
    return remat_vector_push(allocator, &blocks->chain_options, option) &&
           remat_vector_push(allocator, &blocks->options, words);
}

static bool make_type(remat_bench *b, uint32_t index)
{
    remat_blocks *blocks = b->blocks;
    const remat_allocator *allocator = &b->problem.allocator;
    remat_block_type type = {.example = index,
                             .n_wanted = (uint32_t)b->wanted.count,
                             .first_option = (uint32_t)blocks->options.count};
    unsigned char *absent = remat_memory_allocate(allocator, b->problem.values.count, 1);
    bool done = absent && remat_bench_add_subsets(b, absent);
    remat_memory_release(allocator, absent, b->problem.values.count, 1);
    if (!done)
        return false;
    remat_bench_thin_out(b);
    for (size_t i = 0; done && i < b->subsets.count; i++)
        done = add_option(b, index, &b->subsets.data[i], &type);
    return done && remat_vector_push(allocator, &blocks->types, type);
}

/* Everything about the block that its options depend on, in its own numbering. */
static uint64_t signature(const remat_bench *b, const size_t *activation, const size_t *gradient)
{
    const remat_problem *p = &b->problem;
    uint64_t hash = remat_hash_word(p->n_forward, p->n_tasks);
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        const remat_task *task = &p->tasks.data[t];
        hash = remat_hash_bytes(hash, &task->cost, sizeof task->cost);
        hash = remat_hash_word(hash, task->workspace_bytes);
        hash = remat_hash_word(hash, (uint64_t)task[1].reads << 32 | task[1].writes);
        hash = remat_hash_word(hash, (uint64_t)task[1].reuses << 1 | task->replayable);
    }
    for (size_t i = 0; i < p->reads.count; i++)
        hash = remat_hash_word(hash, p->reads.data[i]);
    for (size_t i = 0; i < p->writes.count; i++)
        hash = remat_hash_word(hash, (uint64_t)p->writes.data[i].value << 1 |
                                         p->writes.data[i].accumulate);
    for (size_t i = 0; i < p->reuses.count; i++)
        hash = remat_hash_word(hash, (uint64_t)p->reuses.data[i].from << 32 | p->reuses.data[i].to);
    for (size_t i = 0; i < p->values.count; i++)
        hash = remat_hash_word(hash, p->values.data[i].bytes << 2 | p->values.data[i].policy);
    hash = remat_hash_word(hash, activation[0] + 3 * activation[1]);
    hash = remat_hash_word(hash, gradient[0] + 3 * gradient[1]);
    return remat_hash_word(hash, b->range->boundary != REMAT_NONE ? b->local[b->range->boundary]
                                                                  : REMAT_NONE);
}

static bool sort_block(remat_bench *b, uint32_t index, uint64_t *signatures,
                       const uint32_t *last_use)
{
    remat_blocks *blocks = b->blocks;
    if (!remat_bench_build(b, index, last_use) || !remat_bench_find_wanted(b))
        return false;
    for (size_t w = 0; w < b->wanted.count; w++)
        blocks->wanted_bit[b->global.data[b->wanted.data[w]]] = (uint32_t)w;
    uint64_t mine =
        signature(b, &blocks->activation_bytes.data[index], &blocks->gradient_bytes.data[index]);
    for (size_t type = 0; type < blocks->types.count; type++)
        if (signatures[type] == mine) {
            blocks->blocks.data[index].type = (uint32_t)type;
            return true;
        }
    signatures[blocks->types.count] = mine;
    blocks->blocks.data[index].type = (uint32_t)blocks->types.count;
    return make_type(b, index);
}

static void find_last_uses(const remat_problem *p, uint32_t *last_use)
{
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
            last_use[remat_task_reads(p, t)[i]] = t;
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++)
            last_use[remat_task_writes(p, t)[i].value] = t;
    }
}

bool remat_blocks_enumerate(remat_blocks *blocks)
{
    const remat_problem *p = blocks->problem;
    const remat_allocator *allocator = &p->allocator;
    size_t n = p->values.count, n_blocks = blocks->blocks.count;
    remat_bench b = {.blocks = blocks, .problem = {.allocator = *allocator}};
    uint32_t *last_use = remat_memory_allocate(allocator, n, sizeof *last_use);
    uint64_t *signatures = remat_memory_allocate(allocator, n_blocks, sizeof *signatures);
    b.local = remat_memory_allocate(allocator, n, sizeof *b.local);
    bool done = last_use && signatures && b.local;
    if (done) {
        memset(b.local, 0xFF, n * sizeof *b.local);
        find_last_uses(p, last_use);
    }
    for (uint32_t i = 0; done && i < n_blocks; i++)
        done = sort_block(&b, i, signatures, last_use);
    remat_memory_release(allocator, last_use, n, sizeof *last_use);
    remat_memory_release(allocator, signatures, n_blocks, sizeof *signatures);
    remat_memory_release(allocator, b.local, n, sizeof *b.local);
    remat_vector_release(allocator, &b.global);
    remat_vector_release(allocator, &b.wanted);
    remat_vector_release(allocator, &b.maker);
    remat_vector_release(allocator, &b.subsets);
    remat_vector_release(allocator, &b.runs);
    remat_vector_release(allocator, &b.schedule);
    remat_problem_release(&b.problem);
    return done;
}
