/* bound_search.c - the best multiplier for one moment, and branching beyond it. */
#include "plan/bound_cut.h"

#include <math.h>
#include <string.h>

#define ROOT_STEPS   24
#define BRANCH_STEPS 8
#define CLOSE        (1 - 1e-9) /* a bound this near to what is possible is as good */

/* A part of the choices of X: some tasks are in, some are out. */
typedef struct branch {
    double bound, m;
    uint32_t parent; /* REMAT_NONE: the root */
    uint32_t task;   /* node that is fixed; unused in the root */
    uint32_t next;   /* node to branch on; REMAT_NONE: nothing left to decide */
    signed char side;
    bool open;     /* worth branching on */
    bool replaced; /* by its two halves */
} branch;

typedef struct search {
    remat_bound_graph *graph;
    double beat;                /* the result is of no use unless it exceeds this */
    double climb_beat;          /* nor is a climb's */
    double incumbent;           /* least cost of a closed X that fits */
    double bound, m;            /* the best of the present climb */
    remat_bound_line low, high; /* K too large; K fits */
    bool has_low, has_high;
    unsigned char *low_set, *high_set, *set; /* per node */
    REMAT_VECTOR(branch) branches;
} search;

static void swap_sets(unsigned char **a, unsigned char **b)
{
    unsigned char *c = *a;
    *a = *b;
    *b = c;
}

static void take_line(search *s, remat_bound_line line)
{
    if (line.weight > (double)s->graph->room) {
        s->low = line;
        s->has_low = true;
        swap_sets(&s->low_set, &s->set);
    } else {
        s->high = line;
        s->has_high = true;
        swap_sets(&s->high_set, &s->set);
        if (line.cost < s->incumbent)
            s->incumbent = line.cost;
    }
}

/* Where the rising line reaches the cost that is known to be possible, or further out. */
static bool larger_multiplier(const search *s, double *m)
{
    double last = *m;
    *m = isfinite(s->incumbent)
             ? (s->incumbent - s->low.cost) / (s->low.weight - (double)s->graph->room)
             : 8 * last;
    return *m > last && isfinite(*m);
}

/* The multiplier where the two lines cross; false: no better bound can come. */
static bool next_multiplier(const search *s, double *m)
{
    if (!s->has_high)
        return larger_multiplier(s, m);
    if (!s->has_low)
        return *m > 0 && (*m = 0, true);
    *m = (s->high.cost - s->low.cost) / (s->low.weight - s->high.weight);
    double possible = s->low.cost + *m * (s->low.weight - (double)s->graph->room);
    return *m > 0 && possible > s->climb_beat && s->bound < possible * CLOSE;
}

static void climb(search *s, double m, int steps)
{
    while (steps-- > 0) {
        remat_bound_line line;
        double bound = remat_bound_graph_cut(s->graph, m, &line, s->set);
        if (bound > s->bound) {
            s->bound = bound;
            s->m = m;
        }
        take_line(s, line);
        if (s->bound >= s->incumbent * CLOSE || !next_multiplier(s, &m))
            return;
    }
}

/* The two ends, which need no flow: everything in D stays; everything is made again. */
static void begin_at_root(search *s)
{
    const remat_bound_graph *g = s->graph;
    remat_bound_line none = {0, 0}, all = {0, 0};
    for (size_t i = 0; i < g->nodes.count; i++) {
        none.weight += (double)g->nodes.data[i].supply;
        all.cost += g->nodes.data[i].cost;
        all.weight += (double)g->nodes.data[i].drain;
    }
    memset(s->set, 0, g->nodes.count);
    take_line(s, none);
    memset(s->set, 1, g->nodes.count);
    take_line(s, all);
}

/* ---- Branching -------------------------------------------------------------------------------*/

static void fix(search *s, uint32_t index)
{
    remat_bound_node *nodes = s->graph->nodes.data;
    for (size_t i = 0; i < s->graph->nodes.count; i++)
        nodes[i].fixed = 0;
    for (; index != REMAT_NONE; index = s->branches.data[index].parent)
        if (s->branches.data[index].parent != REMAT_NONE)
            nodes[s->branches.data[index].task].fixed = s->branches.data[index].side;
}

/* The dearest task that the cuts on the two sides disagree about. */
static uint32_t find_next(const search *s)
{
    const remat_bound_node *nodes = s->graph->nodes.data;
    uint32_t best = REMAT_NONE;
    for (uint32_t i = 0; i < s->graph->nodes.count; i++) {
        bool low = s->has_low && s->low_set[i], high = !s->has_high || s->high_set[i];
        if (low == high || nodes[i].fixed || nodes[i].task == REMAT_NONE)
            continue;
        if (best == REMAT_NONE || nodes[i].cost > nodes[best].cost)
            best = i;
    }
    return best;
}

static bool add_branch(search *s, branch b)
{
    uint32_t index = (uint32_t)s->branches.count;
    if (!remat_vector_push(&s->graph->facts->problem->allocator, &s->branches, b))
        return false;
    fix(s, index);
    s->has_low = s->has_high = false;
    s->bound = b.bound;
    s->m = b.m;
    climb(s, b.m, BRANCH_STEPS);
    branch *added = &s->branches.data[index];
    added->bound = s->bound;
    added->m = s->m;
    added->next = find_next(s);
    added->open = s->bound < s->incumbent * CLOSE && added->next != REMAT_NONE;
    return true;
}

static double least_bound(search *s, uint32_t *open)
{
    double least = s->incumbent, least_open = INFINITY;
    s->graph->flow.steps += s->branches.count;
    *open = REMAT_NONE;
    for (uint32_t i = 0; i < s->branches.count; i++) {
        const branch *b = &s->branches.data[i];
        if (!b->replaced && b->bound < least)
            least = b->bound;
        if (b->open && !b->replaced && b->bound < least_open) {
            least_open = b->bound;
            *open = i;
        }
    }
    return least;
}

static bool branch_out(search *s, uint64_t steps, double *bound)
{
    uint64_t end = s->graph->flow.steps + steps;
    branch root = {.bound = s->bound, .m = s->m, .parent = REMAT_NONE, .next = find_next(s)};
    root.open = root.next != REMAT_NONE;
    s->branches.count = 0;
    if (!remat_vector_push(&s->graph->facts->problem->allocator, &s->branches, root))
        return false;
    for (;;) {
        uint32_t open;
        double least = least_bound(s, &open);
        *bound = least > *bound ? least : *bound;
        if (open == REMAT_NONE || least >= s->incumbent * CLOSE || s->incumbent <= s->beat ||
            s->graph->flow.steps >= end)
            return true;
        branch parent = s->branches.data[open];
        s->branches.data[open].replaced = true;
        for (int side = -1; side <= 1; side += 2) {
            branch half = {.bound = parent.bound, .m = parent.m, .parent = open};
            half.task = parent.next;
            half.side = (signed char)side;
            if (!add_branch(s, half))
                return false;
        }
    }
}

static bool search_moment(search *s, uint64_t steps, remat_bound_result *result)
{
    begin_at_root(s);
    double m = 1;
    if (!s->has_low) {
        *result = (remat_bound_result){0, 0}; /* everything can stay */
        return true;
    }
    if (!s->has_high && remat_bound_graph_least_weight(s->graph) > s->graph->room) {
        *result = (remat_bound_result){INFINITY, INFINITY};
        return true;
    }
    if (!s->has_high)
        m = s->graph->facts->total_cost / (1 + s->low.weight);
    if (!s->has_high || next_multiplier(s, &m))
        climb(s, m, ROOT_STEPS);
    *result = (remat_bound_result){s->bound, s->incumbent};
    return steps == 0 || s->bound >= s->incumbent * CLOSE || branch_out(s, steps, &result->bound);
}

bool remat_bound_search(remat_bound_graph *graph, double beat, uint64_t steps,
                        remat_bound_result *result)
{
    const remat_allocator *a = &graph->facts->problem->allocator;
    size_t n = graph->nodes.count;
    search s = {.graph = graph, .beat = beat, .incumbent = INFINITY};
    s.climb_beat = steps == 0 ? beat : 0; /* a weak bound at the root may grow by branching */
    s.low_set = remat_memory_allocate(a, n, 1);
    s.high_set = remat_memory_allocate(a, n, 1);
    s.set = remat_memory_allocate(a, n, 1);
    bool done = s.low_set && s.high_set && s.set && search_moment(&s, steps, result);
    remat_memory_release(a, s.low_set, n, 1);
    remat_memory_release(a, s.high_set, n, 1);
    remat_memory_release(a, s.set, n, 1);
    remat_vector_release(a, &s.branches);
    return done;
}
