/* bound_graph.c - the network whose minimum cut bounds the replays after one moment. */
#include "plan/bound_cut.h"

#include <math.h>

#define IN_BASE UINT32_MAX       /* resident at no extra bytes */
#define WANTED  (UINT32_MAX - 1) /* in D: part of its maker's supply */

bool remat_bound_graph_init(const remat_bound_facts *facts, remat_bound_graph *g)
{
    const remat_problem *p = facts->problem;
    size_t n_tasks = p->n_forward, n_values = p->values.count;
    *g = (remat_bound_graph){.facts = facts};
    g->task_node = remat_memory_allocate(&p->allocator, n_tasks, sizeof *g->task_node);
    g->task_stamp = remat_memory_allocate(&p->allocator, n_tasks, sizeof *g->task_stamp);
    g->value_node = remat_memory_allocate(&p->allocator, n_values, sizeof *g->value_node);
    g->value_stamp = remat_memory_allocate(&p->allocator, n_values, sizeof *g->value_stamp);
    return g->task_node && g->task_stamp && g->value_node && g->value_stamp;
}

void remat_bound_graph_release(remat_bound_graph *g)
{
    const remat_problem *p = g->facts->problem;
    const remat_allocator *a = &p->allocator;
    size_t n_tasks = p->n_forward, n_values = p->values.count;
    remat_memory_release(a, g->task_node, n_tasks, sizeof *g->task_node);
    remat_memory_release(a, g->task_stamp, n_tasks, sizeof *g->task_stamp);
    remat_memory_release(a, g->value_node, n_values, sizeof *g->value_node);
    remat_memory_release(a, g->value_stamp, n_values, sizeof *g->value_stamp);
    remat_vector_release(a, &g->nodes);
    remat_vector_release(a, &g->arcs);
    remat_vector_release(a, &g->weights);
    remat_flow_release(a, &g->flow);
}

/* ---- Building --------------------------------------------------------------------------------*/

static void mark(remat_bound_graph *g, uint32_t value, uint32_t node)
{
    g->value_stamp[value] = g->stamp;
    g->value_node[value] = node;
}

static void mark_base(remat_bound_graph *g)
{
    const remat_problem *p = g->facts->problem;
    for (uint32_t i = 0; i < remat_task_n_reads(p, g->t); i++)
        mark(g, remat_task_reads(p, g->t)[i], IN_BASE);
    for (uint32_t i = 0; i < remat_task_n_writes(p, g->t); i++)
        mark(g, remat_task_writes(p, g->t)[i].value, IN_BASE);
    uint32_t from = g->facts->moments[g->t].from;
    if (from != REMAT_NONE)
        g->value_stamp[from] = 0;
}

/* `from` too costs its bytes: those that its hand-over saves. */
static size_t weight_of(const remat_bound_graph *g, uint32_t value)
{
    return g->facts->problem->values.data[value].bytes;
}

/* Always there at no extra bytes, or left out. */
static bool is_at_hand(const remat_bound_graph *g, uint32_t value)
{
    const remat_bound_value *v = &g->facts->values[value];
    if (v->kind == REMAT_BOUND_LEFT_OUT || v->kind == REMAT_BOUND_GRADIENT)
        return true;
    bool marked = g->value_stamp[value] == g->stamp;
    return (marked && g->value_node[value] == IN_BASE) || remat_bound_is_held(g->facts, v, g->t) ||
           weight_of(g, value) == 0;
}

static bool add_node(remat_bound_graph *g, remat_bound_node node, uint32_t *index)
{
    *index = (uint32_t)g->nodes.count;
    return g->nodes.count < WANTED &&
           remat_vector_push(&g->facts->problem->allocator, &g->nodes, node);
}

static bool add_arc(remat_bound_graph *g, uint32_t tail, uint32_t head, size_t weight)
{
    const remat_allocator *a = &g->facts->problem->allocator;
    remat_flow_arc arc = {tail, head};
    return remat_vector_push(a, &g->arcs, arc) && remat_vector_push(a, &g->weights, weight);
}

static bool need_task(remat_bound_graph *g, uint32_t task, uint32_t *node)
{
    if (g->task_stamp[task] == g->stamp) {
        *node = g->task_node[task];
        return true;
    }
    remat_bound_node new_node = {.task = task};
    if (task < g->facts->moments[g->t].sure)
        new_node.cost = g->facts->problem->tasks.data[task].cost;
    g->task_stamp[task] = g->stamp;
    return add_node(g, new_node, &g->task_node[task]) && (*node = g->task_node[task], true);
}

static bool add_wanted(remat_bound_graph *g)
{
    const remat_bound_facts *f = g->facts;
    for (uint32_t v = 0; v < f->problem->values.count; v++) {
        if (!remat_bound_is_wanted(f, &f->values[v], g->t) || is_at_hand(g, v))
            continue;
        uint32_t node;
        if (!need_task(g, f->values[v].maker, &node))
            return false;
        g->nodes.data[node].supply += weight_of(g, v);
        mark(g, v, WANTED);
    }
    return true;
}

/* A node for a value outside D, and the way to keep it or to make it again. */
static bool add_value(remat_bound_graph *g, uint32_t value, uint32_t *node)
{
    const remat_bound_value *v = &g->facts->values[value];
    remat_bound_node new_node = {.task = REMAT_NONE};
    size_t weight = weight_of(g, value);
    bool once = v->kind == REMAT_BOUND_ONCE && v->maker < g->facts->moments[g->t].sure &&
                !g->facts->problem->tasks.data[v->maker].replayable;
    if (once)
        new_node.drain = weight;
    if (!add_node(g, new_node, node))
        return false;
    mark(g, value, *node);
    uint32_t maker;
    return once || (need_task(g, v->maker, &maker) && add_arc(g, *node, maker, weight));
}

static bool add_reads(remat_bound_graph *g, uint32_t node)
{
    const remat_problem *p = g->facts->problem;
    uint32_t task = g->nodes.data[node].task;
    for (uint32_t i = 0; i < remat_task_n_reads(p, task); i++) {
        uint32_t value = remat_task_reads(p, task)[i], value_node;
        if (is_at_hand(g, value))
            continue;
        if (g->value_stamp[value] != g->stamp) {
            if (!add_value(g, value, &value_node))
                return false;
        } else {
            value_node = g->value_node[value];
            if (value_node == WANTED)
                continue;
        }
        if (!add_arc(g, node, value_node, SIZE_MAX))
            return false;
    }
    return true;
}

/* Costs take up to `limit`; that many nodes may have capacities of twice that. */
static void choose_scale(remat_bound_graph *g)
{
    int nodes_exponent, cost_exponent;
    frexp((double)g->nodes.count + 1, &nodes_exponent);
    frexp(g->facts->total_cost, &cost_exponent);
    if (cost_exponent < -900)
        cost_exponent = -900; /* the scale stays finite */
    g->limit = ldexp(1, 57 - nodes_exponent);
    g->scale = ldexp(1, 57 - nodes_exponent - cost_exponent);
}

bool remat_bound_graph_build(remat_bound_graph *g, uint32_t t, size_t budget_bytes)
{
    g->t = t;
    g->stamp++;
    g->room = budget_bytes - g->facts->moments[t].base;
    g->nodes.count = g->arcs.count = g->weights.count = 0;
    mark_base(g);
    if (!add_wanted(g))
        return false;
    for (uint32_t node = 0; node < g->nodes.count; node++)
        if (g->nodes.data[node].task != REMAT_NONE && !add_reads(g, node))
            return false;
    choose_scale(g);
    return remat_flow_build(&g->facts->problem->allocator, &g->flow, (uint32_t)g->nodes.count,
                            g->arcs.data, g->arcs.count);
}

/* ---- Cutting ---------------------------------------------------------------------------------*/

/* weight * unit rounded down, errors of conversion and product included. */
static int64_t capacity(const remat_bound_graph *g, size_t weight, double unit)
{
    double product = (double)weight * unit * (1 - 0x1p-50);
    return (int64_t)(product < 2 * g->limit ? product : 2 * g->limit);
}

static int64_t run_flow(remat_bound_graph *g, double unit, double scale)
{
    remat_flow *f = &g->flow;
    for (size_t i = 0; i < g->nodes.count; i++) {
        const remat_bound_node *node = &g->nodes.data[i];
        f->drain.data[i] = (int64_t)(node->cost * scale) + capacity(g, node->drain, unit);
        f->excess.data[i] = node->fixed < 0 ? 0 : capacity(g, node->supply, unit);
        if (node->fixed > 0)
            f->excess.data[i] = (int64_t)(4 * g->limit);
        else if (node->fixed < 0)
            f->drain.data[i] = REMAT_FLOW_UNLIMITED;
    }
    for (size_t i = 0; i < g->arcs.count; i++) {
        uint32_t place = f->place.data[i];
        size_t weight = g->weights.data[i];
        f->room.data[place] = weight == SIZE_MAX ? REMAT_FLOW_UNLIMITED : capacity(g, weight, unit);
        f->room.data[f->pair.data[place]] = 0;
    }
    return remat_flow_run(f);
}

/* Cost of X and bytes of K. */
static remat_bound_line read_cut(const remat_bound_graph *g, unsigned char *set)
{
    remat_bound_line line = {0, 0};
    for (uint32_t i = 0; i < g->nodes.count; i++) {
        const remat_bound_node *node = &g->nodes.data[i];
        set[i] = remat_flow_on_source_side(&g->flow, i);
        if (set[i]) {
            line.cost += node->cost;
            line.weight += (double)node->drain;
        } else {
            line.weight += (double)node->supply;
        }
    }
    for (size_t i = 0; i < g->arcs.count; i++)
        if (g->weights.data[i] != SIZE_MAX && set[g->arcs.data[i].tail] &&
            !set[g->arcs.data[i].head])
            line.weight += (double)g->weights.data[i];
    return line;
}

/* m times the bytes of K that are certain, less what may be in K. Rounded down. The former are not
 * in the network, whose capacities are limited. */
static double certain_part(const remat_bound_graph *g, double m)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->nodes.count; i++)
        if (g->nodes.data[i].fixed < 0)
            kept += g->nodes.data[i].supply;
    if (kept > g->room)
        return m * (double)(kept - g->room) * (1 - 0x1p-50);
    return -(m * (double)(g->room - kept) * (1 + 0x1p-50));
}

double remat_bound_graph_cut(remat_bound_graph *g, double m, remat_bound_line *line,
                             unsigned char *set)
{
    double flow = (double)run_flow(g, m * g->scale, g->scale) / g->scale;
    *line = read_cut(g, set);
    return flow * (1 - 0x1p-50) + certain_part(g, m);
}

size_t remat_bound_graph_least_weight(remat_bound_graph *g)
{
    double sum = 0;
    for (size_t i = 0; i < g->nodes.count; i++)
        sum += (double)g->nodes.data[i].supply + (double)g->nodes.data[i].drain;
    for (size_t i = 0; i < g->arcs.count; i++)
        sum += g->weights.data[i] == SIZE_MAX ? 0 : (double)g->weights.data[i];
    int exponent;
    frexp(sum, &exponent);
    double unit = ldexp(g->limit, -exponent);
    double weight = (double)run_flow(g, unit, 0) / unit;
    return (size_t)ceil(weight * (1 - 0x1p-40));
}
