/* bound_flow.h - maximum flow in a network whose nodes have supplies and drains. */
#ifndef REMAT_PLAN_BOUND_FLOW_H
#define REMAT_PLAN_BOUND_FLOW_H

#include "base/vector.h"

/* More than any flow may amount to; sums of two do not overflow. */
#define REMAT_FLOW_UNLIMITED (INT64_MAX / 4)

typedef struct remat_flow_arc {
    uint32_t tail, head;
} remat_flow_arc;

/* A network. Arc i of those given to build has its room (what it can still carry) at
 * room[place[i]]; that of its reverse is at room[pair[place[i]]]. All zero is empty. */
typedef struct remat_flow {
    uint32_t n_nodes, n_arcs;
    uint64_t steps;               /* nodes and arcs that all runs so far have looked at */
    REMAT_VECTOR(uint32_t) first; /* [n_nodes + 1] where the arcs of a node begin, reverses too */
    REMAT_VECTOR(uint32_t) place; /* [n_arcs] */
    REMAT_VECTOR(uint32_t) head, pair; /* [2 n_arcs] */
    REMAT_VECTOR(int64_t) room;        /* [2 n_arcs] */
    REMAT_VECTOR(int64_t) excess;      /* [n_nodes] not yet drained; initially the supply */
    REMAT_VECTOR(int64_t) drain;       /* [n_nodes] what it can still swallow */
    REMAT_VECTOR(uint32_t) height, current, queue; /* [n_nodes] */
    REMAT_VECTOR(unsigned char) queued;            /* [n_nodes] */
} remat_flow;

/* Replaces the network; keeps and grows its memory. False: out of memory. */
bool remat_flow_build(const remat_allocator *allocator, remat_flow *flow, uint32_t n_nodes,
                      const remat_flow_arc *arcs, size_t n_arcs);

/* Moves as much as possible from supplies to drains; returns how much. The caller has set room,
 * excess and drain; supplies and drains sum up to less than REMAT_FLOW_UNLIMITED each, not counting
 * those that are UNLIMITED and cannot be used up. Push-relabel (Goldberg and Tarjan, 1988), first
 * in first out, heights made exact at the beginning and after every n relabels. */
int64_t remat_flow_run(remat_flow *flow);

/* After a run: true if the node is on the source side of a minimum cut, the largest one. */
static inline bool remat_flow_on_source_side(const remat_flow *flow, uint32_t node)
{
    return flow->height.data[node] > flow->n_nodes;
}

void remat_flow_release(const remat_allocator *allocator, remat_flow *flow);

#endif
