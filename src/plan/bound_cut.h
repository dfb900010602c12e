/* bound_cut.h (internal to bound*.c) - the cut bound and its proof.
 *
 * Setting. A value is MADE if exactly one write of a forward task makes it, and FREE if besides
 * that task is replayable and the value not pinned. Fix a moment: the first run of a task t. Some
 * things are sure whatever the schedule does:
 *   sure(t)   forward tasks 0 .. sure(t) have run by the end of t: t itself if t is a forward task;
 *             else the latest maker of anything that backward tasks up to t read. (Forward tasks
 *             beyond it may have their first run before or after t.)
 *   later     tasks that first run after t: forward tasks beyond t if t is one, and backward tasks
 *             u with sure(u) >= t; backward tasks beyond t if t is one.
 *   held      values that are resident while t runs: gradients between their first write and last
 *             use in the backward pass, since nothing makes them again; pinned values that are
 *             made; values of tasks that must not be replayed and that a later task reads.
 * Let K be the values that are resident while t runs and still after the DROPs that follow it. All
 * that t reads or writes, and all that is held, is resident while t runs, so with
 *   base = bytes of held values and of what t reads or writes, workspace, less what t can save
 *   w(v) = 0 if v is in base, else the bytes of v
 * a peak of at most B gives   w(K) <= B - base   (*).
 * In place: the hand-over saves bytes(to), at most once per task, and only if `from` is dropped
 * right after, that is, `from` is not in K. If only one `from` can be meant, base deducts the
 * saving and w(from) = bytes(from) = bytes(to) instead of 0; if several, base deducts the largest
 * saving. A `from` that is held beyond t is never dropped there and saves nothing. So (*) holds.
 *
 * Replays. Let D be the made values that a later task reads (a value whose maker is beyond sure(t)
 * may be one of them). Let X be the forward tasks that run (again) after t. If v is in D but not in
 * K, its maker is in X. If p is in X, each value that p reads is in K, or its maker is in X too: it
 * was there while p ran, and it was either there all the time since t or made after t. A run of p
 * after t is a replay if p <= sure(t). Each task of X counts once. Hence, with cost'(p) = cost(p)
 * if p <= sure(t), else 0:
 *   replay cost >= min { cost'(X) : X closed over K as said, w(K) <= B - base }.
 * A value of a task that must not be replayed can be in K only, unless its maker may have its first
 * run after t. Values of several writers are left out (as if they cost no bytes and are always
 * there), which only lowers the minimum. A task with several results is one member of X.
 *
 * Relaxation. For a multiplier m >= 0 the minimum is at least
 *   L(m) = min { cost'(X) + m w(K) } - m (B - base),   K = (D + what X reads) - what X makes,
 * a minimum cut: supply of task p: m w(its values in D); drain of p: cost'(p); a node for each
 * value v outside D that some p may have to read, with arcs p -> v (unlimited) and v -> maker(v)
 * (m w(v)); X = source side. L is concave and piecewise linear: every cut found is a line above it,
 * and the crossing of the best rising and the best falling line is the next m. Each L(m) is a valid
 * bound, whether or not the search for m has ended, and the crossing tells what is still possible.
 *
 * Branching. The minimum over X splits into "p in X" and "p not in X"; the smaller of the bounds
 * of the two halves is valid again. That closes the gap between relaxation and minimum.
 *
 * Bounds of several moments are alternatives, not terms of a sum: what is replayed after the later
 * one counts for both.
 *
 * Rounding. Capacities are integers: costs and m w(v) scaled by a power of two and rounded down.
 * A flow that respects them is at most the minimum cut in exact numbers; m (B - base) is rounded
 * up. Thus the bound stays valid in floating point. */
#ifndef REMAT_PLAN_BOUND_CUT_H
#define REMAT_PLAN_BOUND_CUT_H

#include "plan/bound_flow.h"
#include "plan/problem.h"

enum {
    REMAT_BOUND_LEFT_OUT, /* several writers, or none */
    REMAT_BOUND_FREE,     /* made by a replayable forward task, not pinned */
    REMAT_BOUND_ONCE,     /* made by a forward task, pinned or not replayable */
    REMAT_BOUND_GRADIENT  /* made in the backward pass */
};

typedef struct remat_bound_value {
    uint32_t maker;                       /* forward task; first writer of a gradient */
    uint32_t last_forward, last_backward; /* readers; 0: none (nobody reads before it is made) */
    uint32_t held_forward;                /* ONCE: held at forward tasks maker .. held_forward */
    uint32_t held_from, held_to;          /* and at these backward tasks; from > to: at none */
    uint8_t kind;
} remat_bound_value;

typedef struct remat_bound_moment {
    size_t base;   /* saturates at SIZE_MAX */
    size_t wanted; /* bytes that are not in base of FREE values that later tasks read */
    uint32_t sure; /* + 1; 0: no forward task has surely run */
    uint32_t from; /* value that t reads, but base does not include: its memory may go on */
} remat_bound_moment;

/* What holds for a problem whatever the budget. */
typedef struct remat_bound_facts {
    const remat_problem *problem;
    remat_bound_value *values;   /* [values.count] */
    remat_bound_moment *moments; /* [n_tasks] */
    double total_cost;           /* of the forward tasks */
} remat_bound_facts;

/* False: out of memory; release anyway. */
bool remat_bound_facts_find(const remat_problem *problem, remat_bound_facts *facts);
void remat_bound_facts_release(remat_bound_facts *facts);

/* The value is held while t runs. */
static inline bool remat_bound_is_held(const remat_bound_facts *facts, const remat_bound_value *v,
                                       uint32_t t)
{
    if (v->kind < REMAT_BOUND_ONCE)
        return false;
    if (t < facts->problem->n_forward)
        return v->kind == REMAT_BOUND_ONCE && v->maker <= t && t <= v->held_forward;
    return v->held_from <= t && t <= v->held_to;
}

/* A forward-made value that exists by the end of t and that a later task reads. */
static inline bool remat_bound_is_wanted(const remat_bound_facts *facts, const remat_bound_value *v,
                                         uint32_t t)
{
    if (v->kind == REMAT_BOUND_LEFT_OUT || v->kind == REMAT_BOUND_GRADIENT)
        return false;
    if (t >= facts->problem->n_forward)
        return v->last_backward > t;
    return v->maker <= t &&
           (v->last_forward > t || (v->last_backward && facts->moments[v->last_backward].sure > t));
}

/* ---- One moment ------------------------------------------------------------------------------*/

typedef struct remat_bound_node {
    uint32_t task;     /* REMAT_NONE: a value */
    double cost;       /* cost' of the task */
    size_t supply;     /* w of what the task makes and later tasks read */
    size_t drain;      /* w of a value that cannot be made again */
    signed char fixed; /* 1: the task is in X; -1: it is not */
} remat_bound_node;

typedef REMAT_VECTOR(unsigned char) remat_bound_set; /* per node: in X */

/* The network of the minimum cut. All zero is empty; memory is kept from moment to moment. */
typedef struct remat_bound_graph {
    const remat_bound_facts *facts;
    uint32_t t, stamp;
    size_t room;  /* budget less base */
    double scale; /* power of two */
    double limit; /* of scaled capacities */
    REMAT_VECTOR(remat_bound_node) nodes;
    REMAT_VECTOR(remat_flow_arc) arcs;
    REMAT_VECTOR(size_t) weights;     /* per arc: w; SIZE_MAX: unlimited */
    uint32_t *task_node, *value_node; /* valid where the stamp is `stamp` */
    uint32_t *task_stamp, *value_stamp;
    remat_flow flow;
} remat_bound_graph;

/* What a cut says: for every m, L(m) <= cost + m (weight - room). */
typedef struct remat_bound_line {
    double cost, weight;
} remat_bound_line;

/* False: out of memory; release anyway. */
bool remat_bound_graph_init(const remat_bound_facts *facts, remat_bound_graph *graph);
void remat_bound_graph_release(remat_bound_graph *graph);

/* The network of the first run of t; base <= budget. False: out of memory. */
bool remat_bound_graph_build(remat_bound_graph *graph, uint32_t t, size_t budget_bytes);

/* A minimum cut for costs and m times the bytes. Returns a valid bound on the replay cost; *line
 * and *set (one byte per node) describe the cut. */
double remat_bound_graph_cut(remat_bound_graph *graph, double m, remat_bound_line *line,
                             unsigned char *set);

/* The bytes that K has at least. */
size_t remat_bound_graph_least_weight(remat_bound_graph *graph);

typedef struct remat_bound_result {
    double bound;    /* valid; INFINITY: no schedule exists */
    double possible; /* no more work on this moment can raise the bound above this */
} remat_bound_result;

/* Searches for the best multiplier, then branches for about `steps` of flows (0: not at all). Gives
 * up when the result cannot exceed `beat`. False: out of memory. */
bool remat_bound_search(remat_bound_graph *graph, double beat, uint64_t steps,
                        remat_bound_result *result);

#endif
