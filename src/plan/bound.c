/* bound.c - the cut bound: at which moments to cut, and how hard to try. */
#include "plan/bound.h"

#include <math.h>
#include <stdlib.h>

#include "plan/bound_cut.h"

#define LEAST_FLOWS 200         /* fewer branches are not worth it */
#define ROUNDING    (1 - 1e-12) /* sums of costs differ by the order of their terms */

/* What an effort allows. */
typedef struct allowance {
    uint64_t visits;    /* of values, when moments are compared by a rough estimate */
    uint64_t cutting;   /* steps of flows for cuts */
    uint64_t branching; /* and for branching */
    size_t cuts;        /* moments */
} allowance;

static const allowance allowances[] = {
    [REMAT_EFFORT_DEFAULT] = {400000, 1500000, 1000000, 24},
    [REMAT_EFFORT_FAST] = {100000, 300000, 0, 4},
    [REMAT_EFFORT_THOROUGH] = {4000000, 30000000, 30000000, 256},
};

typedef struct candidate {
    uint32_t t;
    double promise;
    remat_bound_result result;
} candidate;

typedef struct cheap_value {
    double density; /* cost to make it again per byte */
    uint32_t value;
} cheap_value;

typedef struct bounding {
    const remat_problem *problem;
    size_t budget;
    const allowance *allowed;
    remat_bound_facts facts;
    remat_bound_graph graph;
    REMAT_VECTOR(cheap_value) cheap; /* FREE values, cheapest bytes first */
    REMAT_VECTOR(candidate) candidates;
    double bound;
} bounding;

/* ---- Choosing moments ------------------------------------------------------------------------*/

static int by_density(const void *a, const void *b)
{
    const cheap_value *x = a, *y = b;
    if (x->density != y->density)
        return x->density < y->density ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

static int by_promise(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->promise != y->promise)
        return x->promise > y->promise ? -1 : 1;
    return x->t < y->t ? -1 : x->t > y->t;
}

static bool sort_values(bounding *b)
{
    const remat_problem *p = b->problem;
    for (uint32_t v = 0; v < p->values.count; v++) {
        size_t bytes = p->values.data[v].bytes;
        if (b->facts.values[v].kind != REMAT_BOUND_FREE || bytes == 0)
            continue;
        double cost = p->tasks.data[b->facts.values[v].maker].cost;
        cheap_value cheap = {cost / (double)bytes, v};
        if (!remat_vector_push(&p->allocator, &b->cheap, cheap))
            return false;
    }
    if (b->cheap.count > 0)
        qsort(b->cheap.data, b->cheap.count, sizeof *b->cheap.data, by_density);
    return true;
}

/* Bytes of what later tasks read that must go at task t. */
static size_t shortage(const bounding *b, uint32_t t)
{
    const remat_bound_moment *m = &b->facts.moments[t];
    size_t bytes = m->base + m->wanted;
    return bytes > b->budget ? bytes - b->budget : 0;
}

/* The cost of making the cheapest values again, without what they are made from. */
static double promise(const bounding *b, uint32_t t)
{
    double missing = (double)shortage(b, t), cost = 0;
    for (size_t i = 0; i < b->cheap.count && missing > 0; i++) {
        const cheap_value *c = &b->cheap.data[i];
        if (!remat_bound_is_wanted(&b->facts, &b->facts.values[c->value], t))
            continue;
        double bytes = (double)b->problem->values.data[c->value].bytes;
        cost += c->density * (bytes < missing ? bytes : missing);
        missing -= bytes;
    }
    return cost;
}

/* From each of several equal ranges of tasks the one with the greatest shortage. */
static bool gather(bounding *b)
{
    uint64_t n_tasks = b->problem->n_tasks;
    uint64_t n_ranges = b->allowed->visits / (b->cheap.count + 1) + 16;
    n_ranges = n_ranges < n_tasks ? n_ranges : n_tasks;
    for (uint64_t i = 0; i < n_ranges; i++) {
        uint32_t best = REMAT_NONE;
        for (uint64_t t = i * n_tasks / n_ranges; t < (i + 1) * n_tasks / n_ranges; t++)
            if (shortage(b, (uint32_t)t) > 0 &&
                (best == REMAT_NONE || shortage(b, (uint32_t)t) > shortage(b, best)))
                best = (uint32_t)t;
        if (best == REMAT_NONE)
            continue;
        candidate c = {.t = best, .promise = promise(b, best)};
        if (!remat_vector_push(&b->problem->allocator, &b->candidates, c))
            return false;
    }
    if (b->candidates.count > 0)
        qsort(b->candidates.data, b->candidates.count, sizeof *b->candidates.data, by_promise);
    return true;
}

/* ---- Cutting ---------------------------------------------------------------------------------*/

static bool cut(bounding *b, candidate *c, uint64_t steps)
{
    if (!remat_bound_graph_build(&b->graph, c->t, b->budget) ||
        !remat_bound_search(&b->graph, b->bound, steps, &c->result))
        return false;
    if (c->result.bound > b->bound)
        b->bound = c->result.bound;
    return true;
}

static bool cut_most_promising(bounding *b)
{
    size_t done = 0;
    for (; done < b->candidates.count && done < b->allowed->cuts; done++) {
        if (done >= 2 && b->graph.flow.steps >= b->allowed->cutting)
            break;
        if (!cut(b, &b->candidates.data[done], 0))
            return false;
        b->candidates.data[done].promise = b->candidates.data[done].result.bound;
    }
    b->candidates.count = done;
    if (done > 0)
        qsort(b->candidates.data, done, sizeof *b->candidates.data, by_promise);
    return true;
}

/* Pays where many flows can be afforded. */
static bool branch_on_best(bounding *b)
{
    uint64_t end = b->graph.flow.steps + b->allowed->branching;
    uint64_t size = b->graph.flow.n_nodes + (uint64_t)2 * b->graph.flow.n_arcs;
    if (size * LEAST_FLOWS > b->allowed->branching)
        return true;
    for (size_t i = 0; i < b->candidates.count && b->graph.flow.steps < end; i++) {
        candidate *c = &b->candidates.data[i];
        if (c->result.possible > b->bound && !cut(b, c, (end - b->graph.flow.steps + 1) / 2))
            return false;
    }
    return true;
}

/* Sums of all bytes do not overflow, nor do those of costs. */
static bool sums_are_sound(const remat_problem *p)
{
    size_t bytes = 0;
    for (size_t v = 0; v < p->values.count; v++)
        if (!remat_size_add(bytes, p->values.data[v].bytes, &bytes))
            return false;
    double cost = 0;
    for (uint32_t t = 0; t < p->n_forward; t++)
        cost += p->tasks.data[t].cost;
    return bytes < SIZE_MAX / 4 && isfinite(cost);
}

/* A task that does not fit, whatever else is dropped. */
static bool some_task_is_too_large(const bounding *b)
{
    for (uint32_t t = 0; t < b->problem->n_tasks; t++)
        if (b->facts.moments[t].base > b->budget)
            return true;
    return false;
}

static bool find_bound(bounding *b)
{
    if (!remat_bound_facts_find(b->problem, &b->facts))
        return false;
    if (some_task_is_too_large(b)) {
        b->bound = INFINITY;
        return true;
    }
    return sort_values(b) && gather(b) && remat_bound_graph_init(&b->facts, &b->graph) &&
           cut_most_promising(b) && branch_on_best(b);
}

bool remat_bound_cut(const remat_problem *problem, size_t budget_bytes, remat_effort effort,
                     double *bound)
{
    *bound = 0;
    if (!sums_are_sound(problem))
        return true;
    bounding b = {.problem = problem, .budget = budget_bytes, .allowed = &allowances[effort]};
    b.graph.facts = &b.facts;
    bool done = find_bound(&b);
    *bound = b.bound * ROUNDING;
    remat_bound_graph_release(&b.graph);
    remat_bound_facts_release(&b.facts);
    remat_vector_release(&problem->allocator, &b.cheap);
    remat_vector_release(&problem->allocator, &b.candidates);
    return done;
}
