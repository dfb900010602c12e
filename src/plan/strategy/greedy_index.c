/* greedy_index.c - who uses a value, and how long it may be needed. */
#include <string.h>

#include "plan/strategy/greedy_search.h"

static void find_uses(const remat_problem *p, remat_greedy_index *index, uint32_t *next)
{
    size_t n_values = p->values.count;
    for (size_t i = 0; i < p->reads.count; i++)
        index->use_at[p->reads.data[i] + 1]++;
    for (size_t v = 0; v < n_values; v++)
        index->use_at[v + 1] += index->use_at[v];
    memcpy(next, index->use_at, n_values * sizeof *next);
    for (uint32_t t = 0; t < p->n_tasks; t++)
        for (uint32_t k = 0; k < remat_task_n_reads(p, t); k++)
            index->uses[next[remat_task_reads(p, t)[k]]++] = t;
}

static void extend(uint32_t *reach, uint32_t to)
{
    if (to > *reach)
        *reach = to;
}

/* What a replayable task reads may be needed as long as what it makes. */
static void find_reach(const remat_problem *p, const uint32_t *maker, uint32_t *reach)
{
    for (uint32_t t = p->n_tasks; t-- > 0;) {
        uint32_t needed_until = t;
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++) {
            uint32_t value = remat_task_writes(p, t)[i].value;
            extend(&reach[value], t);
            if (maker[value] == t)
                extend(&needed_until, reach[value]);
        }
        for (uint32_t k = 0; k < remat_task_n_reads(p, t); k++)
            extend(&reach[remat_task_reads(p, t)[k]], needed_until);
    }
}

/* Sorts the values that cannot be made again by their reach. */
static void find_due(const remat_problem *p, const uint32_t *maker, const uint32_t *reach,
                     remat_greedy_index *index)
{
    for (size_t v = 0; v < p->values.count; v++)
        if (maker[v] == REMAT_NONE)
            index->due_at[reach[v]]++;
    for (uint32_t t = 0; t < p->n_tasks; t++)
        index->due_at[t + 1] += index->due_at[t];
    for (uint32_t v = (uint32_t)p->values.count; v-- > 0;)
        if (maker[v] == REMAT_NONE)
            index->due[--index->due_at[reach[v]]] = v;
}

bool remat_greedy_index_create(const remat_problem *p, const uint32_t *maker,
                               remat_greedy_index *index)
{
    const remat_allocator *a = &p->allocator;
    size_t n = p->values.count;
    index->use_at = remat_memory_allocate(a, n + 1, sizeof *index->use_at);
    index->uses = remat_memory_allocate(a, p->reads.count, sizeof *index->uses);
    index->reach = remat_memory_allocate(a, n, sizeof *index->reach);
    index->due_at = remat_memory_allocate(a, (size_t)p->n_tasks + 1, sizeof *index->due_at);
    index->due = remat_memory_allocate(a, n, sizeof *index->due);
    uint32_t *next = remat_memory_allocate(a, n, sizeof *next);
    bool done = index->use_at && index->uses && index->reach && index->due_at && index->due && next;
    if (done) {
        find_uses(p, index, next);
        find_reach(p, maker, index->reach);
        find_due(p, maker, index->reach, index);
    }
    remat_memory_release(a, next, n, sizeof *next);
    return done;
}

void remat_greedy_index_release(const remat_problem *p, remat_greedy_index *index)
{
    const remat_allocator *a = &p->allocator;
    size_t n = p->values.count;
    remat_memory_release(a, index->use_at, n + 1, sizeof *index->use_at);
    remat_memory_release(a, index->uses, p->reads.count, sizeof *index->uses);
    remat_memory_release(a, index->reach, n, sizeof *index->reach);
    remat_memory_release(a, index->due_at, (size_t)p->n_tasks + 1, sizeof *index->due_at);
    remat_memory_release(a, index->due, n, sizeof *index->due);
}
