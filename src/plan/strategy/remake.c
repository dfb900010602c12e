/* remake.c - replays on demand. */
#include "plan/strategy/remake.h"

#include <string.h>

bool remat_remake_create(const remat_problem *problem, remat_runs *runs, remat_remake *remake)
{
    const remat_allocator *allocator = &problem->allocator;
    size_t n = problem->values.count;
    *remake = (remat_remake){.problem = problem, .runs = runs};
    remake->maker = remat_memory_allocate(allocator, n, sizeof *remake->maker);
    remake->present = remat_memory_allocate(allocator, n, 1);
    if (!remake->maker || !remake->present)
        return false;
    memset(remake->maker, 0xFF, n * sizeof *remake->maker);
    memset(remake->present, 1, n);
    for (uint32_t t = 0; t < problem->n_forward; t++)
        for (uint32_t i = 0; i < remat_task_n_writes(problem, t); i++)
            remake->maker[remat_task_writes(problem, t)[i].value] = t;
    return true;
}

void remat_remake_release(remat_remake *remake)
{
    const remat_allocator *allocator = &remake->problem->allocator;
    size_t n = remake->problem->values.count;
    remat_memory_release(allocator, remake->maker, n, sizeof *remake->maker);
    remat_memory_release(allocator, remake->present, n, 1);
    remat_vector_release(allocator, &remake->stack);
}

bool remat_remake_possible(const remat_remake *remake, uint32_t value)
{
    uint32_t maker = remake->maker[value];
    return maker != REMAT_NONE && remake->problem->tasks.data[maker].replayable;
}

bool remat_remake_run(remat_remake *remake, uint32_t task)
{
    for (uint32_t i = 0; i < remat_task_n_writes(remake->problem, task); i++)
        remake->present[remat_task_writes(remake->problem, task)[i].value] = 1;
    return remat_vector_push(&remake->problem->allocator, remake->runs, task);
}

static uint32_t first_absent_input(const remat_remake *remake, uint32_t task)
{
    const uint32_t *reads = remat_task_reads(remake->problem, task);
    for (uint32_t i = 0; i < remat_task_n_reads(remake->problem, task); i++)
        if (!remake->present[reads[i]])
            return reads[i];
    return REMAT_NONE;
}

bool remat_remake_inputs(remat_remake *remake, uint32_t task)
{
    remake->stack.count = 0;
    for (uint32_t t = task;;) {
        uint32_t absent = first_absent_input(remake, t);
        if (absent != REMAT_NONE) {
            if (!remat_vector_push(&remake->problem->allocator, &remake->stack, t))
                return false;
            t = remake->maker[absent];
            continue;
        }
        if (t == task)
            return true;
        if (!remat_remake_run(remake, t))
            return false;
        t = remake->stack.data[--remake->stack.count];
    }
}
