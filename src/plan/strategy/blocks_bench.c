/* blocks_bench.c - one block alone as a problem. */
#include "plan/strategy/blocks_bench.h"

static uint32_t local_id(remat_bench *b, uint32_t global)
{
    if (b->local[global] == REMAT_NONE) {
        const remat_allocator *allocator = &b->problem.allocator;
        b->local[global] = (uint32_t)b->global.count;
        if (!remat_vector_push(allocator, &b->global, global) ||
            !remat_vector_push(allocator, &b->problem.values,
                               b->blocks->problem->values.data[global]))
            return REMAT_NONE;
    }
    return b->local[global];
}

static bool is_outside(const remat_bench *b, uint32_t v)
{
    const remat_problem *p = b->blocks->problem;
    if (p->values.data[v].class == REMAT_CLASS_GRADIENT)
        return p->values.data[v].pinned;
    return v != b->input && b->blocks->block_of[v] == REMAT_NONE;
}

static bool begin_task(remat_bench *b, const remat_task *like, uint8_t kind)
{
    remat_task task = like ? *like : (remat_task){0};
    task.kind = kind;
    task.reads = (uint32_t)b->problem.reads.count;
    task.writes = (uint32_t)b->problem.writes.count;
    task.reuses = (uint32_t)b->problem.reuses.count;
    return remat_vector_push(&b->problem.allocator, &b->problem.tasks, task);
}

static bool add_read(remat_bench *b, uint32_t v)
{
    uint32_t id = local_id(b, v);
    return id != REMAT_NONE && remat_vector_push(&b->problem.allocator, &b->problem.reads, id);
}

static bool add_write(remat_bench *b, uint32_t v, bool accumulate)
{
    remat_write write = {local_id(b, v), accumulate};
    return write.value != REMAT_NONE &&
           remat_vector_push(&b->problem.allocator, &b->problem.writes, write);
}

static bool copy_task(remat_bench *b, uint32_t t)
{
    const remat_problem *p = b->blocks->problem;
    if (!begin_task(b, &p->tasks.data[t], p->tasks.data[t].kind))
        return false;
    for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
        if (!is_outside(b, remat_task_reads(p, t)[i]) && !add_read(b, remat_task_reads(p, t)[i]))
            return false;
    for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++) {
        remat_write w = remat_task_writes(p, t)[i];
        if (!is_outside(b, w.value) && !add_write(b, w.value, w.accumulate))
            return false;
    }
    for (uint32_t i = 0; i < remat_task_n_reuses(p, t); i++) {
        remat_reuse r = remat_task_reuses(p, t)[i];
        if (is_outside(b, r.from) || is_outside(b, r.to))
            continue;
        r = (remat_reuse){local_id(b, r.from), local_id(b, r.to)};
        if (r.from == REMAT_NONE || r.to == REMAT_NONE ||
            !remat_vector_push(&b->problem.allocator, &b->problem.reuses, r))
            return false;
    }
    return true;
}

/* Gradients that the block's backward reads or adds to, but that an earlier backward wrote. */
static bool add_incoming(remat_bench *b)
{
    const remat_problem *p = b->blocks->problem;
    if (!begin_task(b, NULL, REMAT_TASK_SEED) ||
        (b->range->boundary != REMAT_NONE && !add_read(b, b->range->boundary)))
        return false;
    for (uint32_t t = b->range->first_backward; t < b->range->end_backward; t++) {
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++) {
            uint32_t v = remat_task_reads(p, t)[i];
            if (p->values.data[v].class == REMAT_CLASS_GRADIENT && !is_outside(b, v) &&
                b->local[v] == REMAT_NONE && !add_write(b, v, false))
                return false;
        }
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++) {
            remat_write w = remat_task_writes(p, t)[i];
            if (is_outside(b, w.value) || b->local[w.value] != REMAT_NONE)
                continue;
            if (w.accumulate ? !add_write(b, w.value, false) : local_id(b, w.value) == REMAT_NONE)
                return false;
        }
    }
    return true;
}

/* Gradients that the block's backward leaves for blocks before it. */
static bool add_outgoing(remat_bench *b, const uint32_t *last_use)
{
    if (!begin_task(b, NULL, REMAT_TASK_BACKWARD))
        return false;
    for (size_t i = 0; i < b->global.count; i++) {
        uint32_t v = b->global.data[i];
        if (b->problem.values.data[i].class == REMAT_CLASS_GRADIENT &&
            last_use[v] >= b->range->end_backward && !add_read(b, v))
            return false;
    }
    return true;
}

static void clear_bench(remat_bench *b)
{
    for (size_t i = 0; i < b->global.count; i++)
        b->local[b->global.data[i]] = REMAT_NONE;
    b->global.count = b->wanted.count = b->maker.count = b->subsets.count = 0;
    b->problem.tasks.count = b->problem.reads.count = b->problem.writes.count = 0;
    b->problem.reuses.count = b->problem.values.count = 0;
}

bool remat_bench_build(remat_bench *b, uint32_t index, const uint32_t *last_use)
{
    clear_bench(b);
    b->range = &b->blocks->blocks.data[index];
    b->input = index > 0 ? b->range[-1].boundary : REMAT_NONE;
    if (!begin_task(b, NULL, REMAT_TASK_FORWARD) ||
        (b->input != REMAT_NONE && !add_write(b, b->input, false)))
        return false;
    if (b->input != REMAT_NONE)
        b->problem.values.data[0].pinned = true; /* the chain solver accounts for the input */
    for (uint32_t t = b->range->first_forward; t < b->range->end_forward; t++)
        if (!copy_task(b, t))
            return false;
    b->problem.n_forward = (uint32_t)b->problem.tasks.count;
    if (!add_incoming(b))
        return false;
    for (uint32_t t = b->range->first_backward; t < b->range->end_backward; t++)
        if (!copy_task(b, t))
            return false;
    if (!add_outgoing(b, last_use))
        return false;
    b->problem.n_tasks = (uint32_t)b->problem.tasks.count;
    return begin_task(b, NULL, REMAT_TASK_BACKWARD); /* the sentinel */
}

/* True if one of the blocks that were merged into this one hands the value on. */
bool remat_bench_is_fine_boundary(const remat_bench *b, uint32_t v)
{
    const remat_blocks *fine = b->blocks->fine;
    return fine && fine->block_of[v] != REMAT_NONE &&
           fine->blocks.data[fine->block_of[v]].boundary == v;
}

/* Values made inside, but the boundary, that the block's backward reads. */
bool remat_bench_find_wanted(remat_bench *b)
{
    const remat_problem *p = &b->problem;
    unsigned char *read = remat_memory_allocate(&p->allocator, p->values.count, 1);
    bool done = read != NULL;
    for (uint32_t t = p->n_forward + 1; done && t < p->n_tasks; t++)
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
            read[remat_task_reads(p, t)[i]] = 1;
    for (uint32_t t = 1; done && t < p->n_forward; t++)
        for (uint32_t i = 0; done && i < remat_task_n_writes(p, t); i++) {
            uint32_t v = remat_task_writes(p, t)[i].value;
            if ((read[v] || remat_bench_is_fine_boundary(b, b->global.data[v])) &&
                b->global.data[v] != b->range->boundary &&
                p->values.data[v].policy != REMAT_POLICY_RECOMPUTE)
                done = remat_vector_push(&p->allocator, &b->wanted, v) &&
                       remat_vector_push(&p->allocator, &b->maker, t);
        }
    remat_memory_release(&p->allocator, read, p->values.count, 1);
    return done;
}
