/* problem.h - what a strategy sees: tasks in the order of a step, and the values they read and
 * write. Pure arrays; nothing here knows tapes or operations.
 *
 * Tasks 0 .. n_forward-1 are forward tasks in statement order; the others belong to the backward
 * pass, in the one order in which they ever run. Only values that live in the arena appear: the
 * caller's memory (leaves, bound gradients) has no bytes here. Views are resolved to the value
 * whose memory they share. */
#ifndef REMAT_PLAN_PROBLEM_H
#define REMAT_PLAN_PROBLEM_H

#include <remat/plan.h>

#include "base/vector.h"

#define REMAT_NONE UINT32_MAX

typedef enum remat_task_kind {
    REMAT_TASK_FORWARD,
    REMAT_TASK_SEED,     /* writes the seed into a value's gradient */
    REMAT_TASK_ZERO,     /* writes zeros into a requested gradient that nothing contributes to */
    REMAT_TASK_BACKWARD, /* of a statement */
    REMAT_TASK_EMIT      /* adds a finished gradient to the caller's buffer */
} remat_task_kind;

/* Lists of a task end where those of the next task begin; a sentinel follows the last task. */
typedef struct remat_task {
    double cost;                /* seconds, estimated */
    size_t workspace_bytes;     /* as the arena holds it */
    size_t raw_workspace_bytes; /* as the task was promised */
    uint32_t statement;         /* its place on the tape; segments are ranges of these */
    uint32_t subject;           /* SEED, ZERO, EMIT: the tape value whose gradient it is */
    uint32_t reads, writes, reuses;
    uint8_t kind;
    bool replayable;
} remat_task;

typedef struct remat_write {
    uint32_t value;
    bool accumulate; /* adds to the value, which must be resident */
} remat_write;

/* If `from` is dropped right after the task, `to` may take over its memory. */
typedef struct remat_reuse {
    uint32_t from, to;
} remat_reuse;

typedef enum remat_value_class { REMAT_CLASS_ACTIVATION, REMAT_CLASS_GRADIENT } remat_value_class;

typedef struct remat_problem_value {
    size_t bytes;     /* as the arena holds it; of a tape: rounded up to REMAT_ALIGNMENT */
    size_t raw_bytes; /* of its elements */
    uint32_t origin;  /* tape value */
    uint8_t class;
    uint8_t policy; /* remat_policy; KEEP is expressed by pinned */
    bool pinned;    /* once made, stays to the end of the step */
} remat_problem_value;

/* Statements [first, end); parent's range contains it. Segment 0 is everything. */
typedef struct remat_segment_range {
    uint32_t parent, first, end;
} remat_segment_range;

typedef REMAT_VECTOR(remat_segment_range) remat_ranges;

struct remat_problem {
    remat_allocator allocator;
    bool retain; /* what is live between forward and backward pass stays to the end */
    uint32_t n_forward, n_tasks;
    uint32_t n_statements;
    REMAT_VECTOR(remat_task) tasks; /* n_tasks and the sentinel */
    REMAT_VECTOR(uint32_t) reads;   /* distinct values per task */
    REMAT_VECTOR(remat_write) writes;
    REMAT_VECTOR(remat_reuse) reuses;
    REMAT_VECTOR(remat_problem_value) values;
    remat_ranges segments; /* parents before children, in order of `first` */
    /* Of problems built by hand (plan.h) only. */
    REMAT_VECTOR(unsigned char) marks; /* per value: see builder.c */
    size_t total_bytes;
    double total_cost;
    char message[256];
};

static inline uint32_t remat_task_n_reads(const remat_problem *p, uint32_t t)
{
    return p->tasks.data[t + 1].reads - p->tasks.data[t].reads;
}
static inline uint32_t remat_task_n_writes(const remat_problem *p, uint32_t t)
{
    return p->tasks.data[t + 1].writes - p->tasks.data[t].writes;
}
static inline uint32_t remat_task_n_reuses(const remat_problem *p, uint32_t t)
{
    return p->tasks.data[t + 1].reuses - p->tasks.data[t].reuses;
}
static inline const uint32_t *remat_task_reads(const remat_problem *p, uint32_t t)
{
    return remat_vector_at(&p->reads, p->tasks.data[t].reads);
}
static inline const remat_write *remat_task_writes(const remat_problem *p, uint32_t t)
{
    return remat_vector_at(&p->writes, p->tasks.data[t].writes);
}
static inline const remat_reuse *remat_task_reuses(const remat_problem *p, uint32_t t)
{
    return remat_vector_at(&p->reuses, p->tasks.data[t].reuses);
}

/* Finds the innermost segment of statements in ascending order. All zero to start with. */
typedef struct remat_segment_cursor {
    uint32_t current;
    size_t next; /* first segment not yet begun */
} remat_segment_cursor;

uint32_t remat_segment_advance(remat_segment_cursor *cursor, const remat_segment_range *segments,
                               size_t n_segments, uint32_t statement);

void remat_problem_release(remat_problem *problem);

/* Before a problem built by hand is planned: a backward task belongs to the latest forward task
 * that it or a later backward task reads from, so that statements descend. More tasks may follow,
 * and another call. */
void remat_problem_complete(remat_problem *problem);

/* Segment 0 comes first, parents before children and around them, in order of `first`. */
bool remat_ranges_nest(const remat_ranges *ranges);

/* 64-bit hash of what decides whether a schedule is one for this problem: tasks, what they read and
 * write, values, marks. Costs and workspace have no part in it. */
uint64_t remat_problem_fingerprint(const remat_problem *problem);

/* True if the arrays are consistent: list bounds, ids, order of production, segment nesting. */
bool remat_problem_invariant(const remat_problem *problem);

#endif
