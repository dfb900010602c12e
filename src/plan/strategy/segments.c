/* segments.c - drop and replay what checkpoint_segment() marked, nested to any depth.
 *
 * A value belongs to the innermost segment that contains the statement that makes it and all that
 * read it. When the backward pass enters a segment, the tasks that make the segment's own values
 * are replayed, unless the segment was the last one to run in the pass over its parent: then its
 * values are still there. What crosses the segment's edge belongs to an outer segment and is not
 * made again. Replays that turn out to be needless are pruned by remat_schedule_complete(). */
#include "plan/strategy/remake.h"
#include "plan/strategy/strategy.h"

#include <string.h>

typedef struct walk {
    const remat_problem *problem;
    const remat_segment_range *segments; /* [0] is everything */
    size_t n_segments;
    remat_remake remake;
    uint32_t *owner;             /* per value: its segment */
    uint32_t *segment_of;        /* per task: innermost segment */
    uint32_t *task_from;         /* per statement: first forward task at or after it */
    unsigned char *fresh;        /* per segment: no child was entered since it last ran */
    REMAT_VECTOR(uint32_t) path; /* segments on the way in */
} walk;

/* ---- Which segment owns a value --------------------------------------------------------------*/

static void find_segments_of_tasks(walk *w)
{
    const remat_problem *p = w->problem;
    remat_segment_cursor cursor = {0, 0};
    for (uint32_t t = 0; t < p->n_forward; t++)
        w->segment_of[t] =
            remat_segment_advance(&cursor, w->segments, w->n_segments, p->tasks.data[t].statement);
    size_t next = w->n_segments;
    for (uint32_t t = p->n_forward; t < p->n_tasks; t++) {
        uint32_t statement = p->tasks.data[t].statement;
        /* Statements descend: a linear search for the innermost segment amortises. */
        while (next > 1 && w->segments[next - 1].first > statement)
            next--;
        uint32_t current = next > 1 ? (uint32_t)(next - 1) : 0;
        while (current != 0 && statement >= w->segments[current].end)
            current = w->segments[current].parent;
        w->segment_of[t] = current;
    }
}

static bool contains(const walk *w, uint32_t segment, uint32_t statement)
{
    return statement >= w->segments[segment].first && statement < w->segments[segment].end;
}

static void widen_owner(walk *w, uint32_t value, uint32_t statement)
{
    while (w->owner[value] != 0 && !contains(w, w->owner[value], statement))
        w->owner[value] = w->segments[w->owner[value]].parent;
}

static void find_owners(walk *w)
{
    const remat_problem *p = w->problem;
    for (uint32_t t = 0; t < p->n_forward; t++)
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++)
            w->owner[remat_task_writes(p, t)[i].value] = w->segment_of[t];
    for (uint32_t t = 0; t < p->n_tasks; t++)
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
            widen_owner(w, remat_task_reads(p, t)[i], p->tasks.data[t].statement);
}

static void index_tasks(walk *w)
{
    const remat_problem *p = w->problem;
    uint32_t t = 0;
    for (uint32_t s = 0; s <= p->n_statements; s++) {
        while (t < p->n_forward && p->tasks.data[t].statement < s)
            t++;
        w->task_from[s] = t;
    }
}

/* ---- Runs ------------------------------------------------------------------------------------*/

/* True if the task makes a value that is lost when the segment is dropped. */
static bool makes_own_value(const walk *w, uint32_t segment, uint32_t task)
{
    const remat_write *writes = remat_task_writes(w->problem, task);
    for (uint32_t i = 0; i < remat_task_n_writes(w->problem, task); i++) {
        uint32_t owner = w->owner[writes[i].value];
        if (owner != 0 && w->segments[owner].first >= w->segments[segment].first &&
            w->segments[owner].end <= w->segments[segment].end && owner >= segment)
            return true;
    }
    return false;
}

static bool replay_segment(walk *w, uint32_t segment)
{
    const remat_problem *p = w->problem;
    uint32_t end = w->task_from[w->segments[segment].end];
    for (uint32_t t = w->task_from[w->segments[segment].first]; t < end; t++) {
        if (!p->tasks.data[t].replayable || !makes_own_value(w, segment, t))
            continue;
        if (!remat_remake_inputs(&w->remake, t) || !remat_remake_run(&w->remake, t))
            return false;
    }
    return true;
}

/* Enters the segments from the current one's child down to `target`, outermost first. */
static bool enter(walk *w, uint32_t from, uint32_t target)
{
    w->path.count = 0;
    for (uint32_t s = target; s != from; s = w->segments[s].parent)
        if (!remat_vector_push(&w->problem->allocator, &w->path, s))
            return false;
    while (w->path.count > 0) {
        uint32_t segment = w->path.data[--w->path.count];
        uint32_t parent = w->segments[segment].parent;
        if (!w->fresh[parent] && !replay_segment(w, segment))
            return false;
        w->fresh[parent] = 0;
        w->fresh[segment] = 1;
    }
    return true;
}

/* The innermost segment that contains both. */
static uint32_t common_segment(const walk *w, uint32_t current, uint32_t target)
{
    while (current != 0 && !(contains(w, current, w->segments[target].first) && target >= current))
        current = w->segments[current].parent;
    return current;
}

/* What the user marked with remat_recompute() is absent after the forward pass. */
static void mark_absent(walk *w)
{
    for (uint32_t v = 0; v < w->problem->values.count; v++)
        if (w->problem->values.data[v].policy == REMAT_POLICY_RECOMPUTE &&
            remat_remake_possible(&w->remake, v))
            w->remake.present[v] = 0;
}

static bool walk_backward(walk *w)
{
    const remat_problem *p = w->problem;
    uint32_t current = 0;
    w->fresh[0] = 1;
    for (uint32_t t = p->n_forward; t < p->n_tasks; t++) {
        uint32_t target = w->segment_of[t];
        if (target != current) {
            uint32_t common = common_segment(w, current, target);
            if (!enter(w, common, target))
                return false;
            current = target;
        }
        if (!remat_remake_inputs(&w->remake, t) || !remat_remake_run(&w->remake, t))
            return false;
    }
    return true;
}

static bool allocate(walk *w)
{
    const remat_problem *p = w->problem;
    const remat_allocator *a = &p->allocator;
    w->owner = remat_memory_allocate(a, p->values.count, sizeof *w->owner);
    w->segment_of = remat_memory_allocate(a, p->n_tasks, sizeof *w->segment_of);
    w->task_from = remat_memory_allocate(a, (size_t)p->n_statements + 1, sizeof *w->task_from);
    w->fresh = remat_memory_allocate(a, w->n_segments, 1);
    return w->owner && w->segment_of && w->task_from && w->fresh;
}

static void release(walk *w)
{
    const remat_problem *p = w->problem;
    const remat_allocator *a = &p->allocator;
    remat_memory_release(a, w->owner, p->values.count, sizeof *w->owner);
    remat_memory_release(a, w->segment_of, p->n_tasks, sizeof *w->segment_of);
    remat_memory_release(a, w->task_from, (size_t)p->n_statements + 1, sizeof *w->task_from);
    remat_memory_release(a, w->fresh, w->n_segments, 1);
    remat_vector_release(a, &w->path);
    remat_remake_release(&w->remake);
}

bool remat_order_by_segments(const remat_problem *problem, const remat_segment_range *segments,
                             size_t n_segments, remat_runs *runs)
{
    const remat_segment_range whole = {0, 0, problem->n_statements};
    walk w = {.problem = problem, .segments = segments, .n_segments = n_segments};
    if (n_segments == 0) {
        w.segments = &whole;
        w.n_segments = 1;
    }
    bool done = remat_remake_create(problem, runs, &w.remake) && allocate(&w);
    if (done) {
        find_segments_of_tasks(&w);
        find_owners(&w);
        index_tasks(&w);
        for (uint32_t t = 0; t < problem->n_forward && done; t++)
            done = remat_remake_run(&w.remake, t);
        mark_absent(&w);
        done = done && walk_backward(&w);
    }
    release(&w);
    return done;
}

bool remat_segments_open(remat_family *family, const remat_search_limits *limits)
{
    (void)limits;
    family->count = family->problem->segments.count > 1; /* segment 0 is the whole tape */
    return true;
}

bool remat_segments_order(const remat_family *family, size_t index, remat_runs *runs,
                          remat_ranges *ranges)
{
    const remat_ranges *segments = &family->problem->segments;
    (void)index, (void)ranges;
    return remat_order_by_segments(family->problem, segments->data, segments->count, runs);
}
