/* problem.c - life, invariant and fingerprint of a planning problem. */
#include "plan/problem.h"

#include "base/hash.h"

void remat_problem_release(remat_problem *problem)
{
    const remat_allocator allocator = problem->allocator;
    if (!allocator.reallocate)
        return;
    remat_vector_release(&allocator, &problem->tasks);
    remat_vector_release(&allocator, &problem->reads);
    remat_vector_release(&allocator, &problem->writes);
    remat_vector_release(&allocator, &problem->reuses);
    remat_vector_release(&allocator, &problem->values);
    remat_vector_release(&allocator, &problem->segments);
    remat_vector_release(&allocator, &problem->marks);
}

uint32_t remat_segment_advance(remat_segment_cursor *cursor, const remat_segment_range *segments,
                               size_t n_segments, uint32_t statement)
{
    while (cursor->current != 0 && statement >= segments[cursor->current].end)
        cursor->current = segments[cursor->current].parent;
    if (cursor->next == 0)
        cursor->next = 1; /* segment 0 is always open */
    for (; cursor->next < n_segments && segments[cursor->next].first <= statement; cursor->next++)
        if (statement < segments[cursor->next].end)
            cursor->current = (uint32_t)cursor->next;
    return cursor->current;
}

static bool lists_are_in_bounds(const remat_problem *p)
{
    if (p->n_forward > p->n_tasks || p->tasks.count != (size_t)p->n_tasks + 1)
        return false;
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        const remat_task *task = &p->tasks.data[t];
        if (task[1].reads < task->reads || task[1].writes < task->writes ||
            task[1].reuses < task->reuses || task->statement > p->n_statements)
            return false;
        if ((task->kind == REMAT_TASK_FORWARD) != (t < p->n_forward) ||
            (task->replayable && t >= p->n_forward))
            return false;
    }
    const remat_task *end = &p->tasks.data[p->n_tasks];
    return end->reads == p->reads.count && end->writes == p->writes.count &&
           end->reuses == p->reuses.count;
}

static bool ids_are_valid(const remat_problem *p)
{
    for (size_t i = 0; i < p->reads.count; i++)
        if (p->reads.data[i] >= p->values.count)
            return false;
    for (size_t i = 0; i < p->writes.count; i++)
        if (p->writes.data[i].value >= p->values.count)
            return false;
    for (size_t i = 0; i < p->reuses.count; i++)
        if (p->reuses.data[i].from >= p->values.count || p->reuses.data[i].to >= p->values.count)
            return false;
    return true;
}

bool remat_ranges_nest(const remat_ranges *ranges)
{
    for (size_t i = 1; i < ranges->count; i++) {
        const remat_segment_range *s = &ranges->data[i];
        if (s->parent >= i || s->first > s->end || s->first < s[-1].first)
            return false;
        const remat_segment_range *parent = &ranges->data[s->parent];
        if (s->first < parent->first || s->end > parent->end)
            return false;
    }
    return ranges->count > 0;
}

bool remat_problem_invariant(const remat_problem *problem)
{
    return lists_are_in_bounds(problem) && ids_are_valid(problem) &&
           remat_ranges_nest(&problem->segments);
}

static uint64_t hash_task(const remat_problem *p, uint64_t hash, uint32_t t)
{
    const remat_task *task = &p->tasks.data[t];
    hash = remat_hash_word(hash, (uint64_t)task->statement << 32 | task->subject);
    hash = remat_hash_word(hash, (uint64_t)task->kind << 1 | task->replayable);
    for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
        hash = remat_hash_word(hash, remat_task_reads(p, t)[i]);
    for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++) {
        remat_write write = remat_task_writes(p, t)[i];
        hash = remat_hash_word(hash, (uint64_t)write.value << 1 | write.accumulate);
    }
    for (uint32_t i = 0; i < remat_task_n_reuses(p, t); i++) {
        remat_reuse reuse = remat_task_reuses(p, t)[i];
        hash = remat_hash_word(hash, (uint64_t)reuse.from << 32 | reuse.to);
    }
    return hash;
}

uint64_t remat_problem_fingerprint(const remat_problem *problem)
{
    uint64_t hash = remat_hash_word(problem->retain, problem->n_forward);
    for (uint32_t t = 0; t < problem->n_tasks; t++)
        hash = hash_task(problem, hash, t);
    for (size_t v = 0; v < problem->values.count; v++) {
        const remat_problem_value *value = &problem->values.data[v];
        hash = remat_hash_word(hash, (uint64_t)value->raw_bytes);
        hash = remat_hash_word(hash, (uint64_t)value->class << 16 | (uint64_t)value->policy << 8 |
                                         value->pinned);
    }
    return hash;
}
