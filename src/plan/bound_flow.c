/* bound_flow.c - maximum flow by push-relabel. */
#include "plan/bound_flow.h"

#include <string.h>

static bool make_room(const remat_allocator *a, remat_flow *f, uint32_t n, size_t m)
{
    f->first.count = f->place.count = f->head.count = f->pair.count = f->room.count = 0;
    f->excess.count = f->drain.count = f->height.count = f->current.count = 0;
    f->queue.count = f->queued.count = 0;
    return remat_vector_reserve(a, &f->first, (size_t)n + 2) &&
           remat_vector_reserve(a, &f->place, m + 1) &&
           remat_vector_reserve(a, &f->head, 2 * m + 1) &&
           remat_vector_reserve(a, &f->pair, 2 * m + 1) &&
           remat_vector_reserve(a, &f->room, 2 * m + 1) &&
           remat_vector_reserve(a, &f->excess, (size_t)n + 1) &&
           remat_vector_reserve(a, &f->drain, (size_t)n + 1) &&
           remat_vector_reserve(a, &f->height, (size_t)n + 1) &&
           remat_vector_reserve(a, &f->current, (size_t)n + 1) &&
           remat_vector_reserve(a, &f->queue, (size_t)n + 1) &&
           remat_vector_reserve(a, &f->queued, (size_t)n + 1);
}

bool remat_flow_build(const remat_allocator *allocator, remat_flow *f, uint32_t n_nodes,
                      const remat_flow_arc *arcs, size_t n_arcs)
{
    if (n_arcs > UINT32_MAX / 2 - 1 || !make_room(allocator, f, n_nodes, n_arcs))
        return false;
    f->n_nodes = n_nodes;
    f->n_arcs = (uint32_t)n_arcs;
    uint32_t *first = f->first.data;
    memset(first, 0, ((size_t)n_nodes + 2) * sizeof *first);
    for (size_t i = 0; i < n_arcs; i++) {
        first[arcs[i].tail + 2]++;
        first[arcs[i].head + 2]++;
    }
    for (uint32_t u = 0; u < n_nodes; u++)
        first[u + 2] += first[u + 1];
    for (size_t i = 0; i < n_arcs; i++) { /* first[u + 1] advances to where u's arcs end */
        uint32_t a = first[arcs[i].tail + 1]++, b = first[arcs[i].head + 1]++;
        f->place.data[i] = a;
        f->head.data[a] = arcs[i].head;
        f->head.data[b] = arcs[i].tail;
        f->pair.data[a] = b;
        f->pair.data[b] = a;
    }
    return true;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Heights: 1 for a node that can drain, else 1 + the least over arcs with room; n + 1 if no drain
 * can be reached. Found backwards from the drains. */
static void measure_heights(remat_flow *f)
{
    f->steps += f->n_nodes + f->first.data[f->n_nodes];
    uint32_t n = f->n_nodes, n_queued = 0, *queue = f->queue.data, *height = f->height.data;
    for (uint32_t u = 0; u < n; u++) {
        f->current.data[u] = f->first.data[u];
        height[u] = f->drain.data[u] > 0 ? 1 : n + 1;
        if (height[u] == 1)
            queue[n_queued++] = u;
    }
    for (uint32_t i = 0; i < n_queued; i++) {
        uint32_t u = queue[i];
        for (uint32_t a = f->first.data[u]; a < f->first.data[u + 1]; a++) {
            uint32_t v = f->head.data[a];
            if (height[v] > n && f->room.data[f->pair.data[a]] > 0) {
                height[v] = height[u] + 1;
                queue[n_queued++] = v;
            }
        }
    }
}

/* A ring of the nodes that have excess and may yet reach a drain. */
typedef struct ring {
    remat_flow *flow;
    uint32_t head, count;
} ring;

static void activate(ring *r, uint32_t u)
{
    remat_flow *f = r->flow;
    if (f->queued.data[u] || f->excess.data[u] == 0 || f->height.data[u] > f->n_nodes)
        return;
    f->queued.data[u] = 1;
    uint32_t at = r->head + r->count++;
    f->queue.data[at >= f->n_nodes ? at - f->n_nodes : at] = u;
}

static uint32_t next_active(ring *r)
{
    uint32_t u = r->flow->queue.data[r->head];
    r->head = r->head + 1 == r->flow->n_nodes ? 0 : r->head + 1;
    r->count--;
    r->flow->queued.data[u] = 0;
    return u;
}

static void restart(ring *r)
{
    measure_heights(r->flow);
    r->head = r->count = 0;
    memset(r->flow->queued.data, 0, r->flow->n_nodes);
    for (uint32_t u = 0; u < r->flow->n_nodes; u++)
        activate(r, u);
}

static void push(ring *r, uint32_t u, uint32_t arc)
{
    remat_flow *f = r->flow;
    uint32_t v = f->head.data[arc];
    int64_t amount = least(f->excess.data[u], f->room.data[arc]);
    f->steps++;
    f->room.data[arc] -= amount;
    f->room.data[f->pair.data[arc]] += amount;
    f->excess.data[u] -= amount;
    f->excess.data[v] += amount;
    activate(r, v);
}

static void relabel(remat_flow *f, uint32_t u)
{
    uint32_t lowest = f->n_nodes;
    f->steps += 1 + f->first.data[u + 1] - f->first.data[u];
    for (uint32_t a = f->first.data[u]; a < f->first.data[u + 1]; a++)
        if (f->room.data[a] > 0 && f->height.data[f->head.data[a]] < lowest)
            lowest = f->height.data[f->head.data[a]];
    f->height.data[u] = lowest + 1;
    f->current.data[u] = f->first.data[u];
}

/* Rids a node of its excess, or raises it above all. Returns the number of relabels. */
static uint32_t discharge(ring *r, uint32_t u, int64_t *drained)
{
    remat_flow *f = r->flow;
    uint32_t relabels = 0;
    int64_t amount = least(f->excess.data[u], f->drain.data[u]);
    f->excess.data[u] -= amount;
    f->drain.data[u] -= amount;
    *drained += amount;
    while (f->excess.data[u] > 0 && f->height.data[u] <= f->n_nodes) {
        uint32_t a = f->current.data[u];
        if (a == f->first.data[u + 1]) {
            relabel(f, u);
            relabels++;
        } else if (f->room.data[a] > 0 && f->height.data[u] == f->height.data[f->head.data[a]] + 1)
            push(r, u, a);
        else
            f->current.data[u]++;
    }
    return relabels;
}

int64_t remat_flow_run(remat_flow *flow)
{
    ring r = {.flow = flow};
    int64_t drained = 0;
    uint32_t relabels = 0;
    restart(&r);
    while (r.count > 0) {
        relabels += discharge(&r, next_active(&r), &drained);
        if (relabels > flow->n_nodes) {
            relabels = 0;
            restart(&r);
        }
    }
    measure_heights(flow);
    return drained;
}

void remat_flow_release(const remat_allocator *allocator, remat_flow *f)
{
    remat_vector_release(allocator, &f->first);
    remat_vector_release(allocator, &f->place);
    remat_vector_release(allocator, &f->head);
    remat_vector_release(allocator, &f->pair);
    remat_vector_release(allocator, &f->room);
    remat_vector_release(allocator, &f->excess);
    remat_vector_release(allocator, &f->drain);
    remat_vector_release(allocator, &f->height);
    remat_vector_release(allocator, &f->current);
    remat_vector_release(allocator, &f->queue);
    remat_vector_release(allocator, &f->queued);
}
