/* greedy_family.c - the search as a family: orders for a fixed ladder of budgets, each found from
 * the one below it, so that a larger budget never has a dearer order. */
#include "plan/strategy/strategy.h"

#define MOST_LEVELS 16

typedef struct ladder {
    remat_runs runs[MOST_LEVELS]; /* descending budgets */
} ladder;

/* No schedule needs less than its most demanding task and what has to stay. */
static size_t least_bytes(const remat_problem *p)
{
    size_t least = 0;
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        size_t bytes = p->tasks.data[t].workspace_bytes;
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
            bytes += p->values.data[remat_task_reads(p, t)[i]].bytes;
        if (bytes > least)
            least = bytes;
    }
    return least > 0 ? least : 1;
}

/* One search is within a few percent of what ten times the work finds: more levels are worth more
 * than more work at each. */
static int level_count(const remat_problem *problem, remat_effort effort)
{
    if (problem->n_tasks > 100000)
        return 3;
    if (problem->n_tasks > 1000 || effort == REMAT_EFFORT_FAST)
        return 12;
    return MOST_LEVELS;
}

static bool climb(remat_family *family, const remat_search_limits *limits)
{
    const remat_problem *problem = family->problem;
    ladder *l = family->state;
    double low = (double)least_bytes(problem), high = (double)limits->max_bytes;
    int levels = level_count(problem, limits->effort);
    remat_effort effort =
        limits->effort == REMAT_EFFORT_THOROUGH ? REMAT_EFFORT_DEFAULT : REMAT_EFFORT_FAST;
    const remat_runs *below = NULL;
    for (int level = 0; level < levels && high > low; level++) {
        /* Small budgets, where much is replayed, are closer together. */
        double share = (level + 0.5) / levels;
        size_t budget = (size_t)(low + (high - low) * share * share);
        remat_runs *runs = &l->runs[levels - 1 - level];
        double time_limit = limits->time_limit_seconds / levels;
        bool feasible = false;
        bool done = below
                        ? remat_order_greedy_from(problem, budget, effort, time_limit, below, runs,
                                                  &feasible)
                        : remat_order_greedy(problem, budget, effort, time_limit, runs, &feasible);
        if (!done)
            return false;
        if (feasible)
            below = runs;
    }
    /* Levels below the first feasible one are empty and come last. */
    while (family->count < (size_t)levels && l->runs[family->count].count > 0)
        family->count++;
    return true;
}

bool remat_greedy_open(remat_family *family, const remat_search_limits *limits)
{
    family->count = 0;
    family->state = remat_memory_allocate(&family->problem->allocator, 1, sizeof(ladder));
    if (!family->state)
        return false;
    if (climb(family, limits))
        return true;
    remat_greedy_close(family);
    return false;
}

bool remat_greedy_order(const remat_family *family, size_t index, remat_runs *runs,
                        remat_ranges *ranges)
{
    const ladder *l = family->state;
    (void)ranges;
    if (!remat_vector_reserve(&family->problem->allocator, runs, l->runs[index].count))
        return false;
    for (size_t i = 0; i < l->runs[index].count; i++)
        runs->data[runs->count++] = l->runs[index].data[i];
    return true;
}

void remat_greedy_close(remat_family *family)
{
    const remat_allocator *allocator = &family->problem->allocator;
    ladder *l = family->state;
    for (int level = 0; l && level < MOST_LEVELS; level++)
        remat_vector_release(allocator, &l->runs[level]);
    remat_memory_release(allocator, l, 1, sizeof *l);
}
