/* sqrt.c - about sqrt(n) segments over the whole tape, whatever the user marked: Chen, Xu, Zhang,
 * Guestrin, "Training deep nets with sublinear memory cost", 2016, algorithm 3. A segment ends
 * where the bytes that its backward needs exceed a limit; several limits are tried and the
 * smallest simulated peak wins. */
#include "plan/strategy/strategy.h"

#include <math.h>

typedef struct trial {
    const remat_problem *problem;
    size_t *weights; /* per forward task: bytes it makes that the backward pass reads */
    size_t total;
    remat_actions schedule;
    remat_ranges segments, best;
    size_t best_peak;
    double best_cost;
} trial;

static bool weigh(trial *s)
{
    const remat_problem *p = s->problem;
    unsigned char *read = remat_memory_allocate(&p->allocator, p->values.count, 1);
    if (!read)
        return false;
    for (uint32_t t = p->n_forward; t < p->n_tasks; t++)
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
            read[remat_task_reads(p, t)[i]] = 1;
    for (uint32_t t = 0; t < p->n_forward; t++)
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++) {
            uint32_t value = remat_task_writes(p, t)[i].value;
            if (read[value])
                s->weights[t] += p->values.data[value].bytes;
        }
    for (uint32_t t = 0; t < p->n_forward; t++)
        s->total += s->weights[t];
    remat_memory_release(&p->allocator, read, p->values.count, 1);
    return true;
}

/* Cuts after the task with which a segment's bytes reach the limit. */
static bool cut(trial *s, size_t limit)
{
    const remat_problem *p = s->problem;
    remat_segment_range whole = {0, 0, p->n_statements}, segment = {0, 0, 0};
    size_t bytes = 0;
    s->segments.count = 0;
    if (!remat_vector_push(&p->allocator, &s->segments, whole))
        return false;
    for (uint32_t t = 0; t < p->n_forward; t++) {
        bytes += s->weights[t];
        if (bytes < limit || s->weights[t] == 0)
            continue;
        segment.end = p->tasks.data[t].statement + 1;
        if (!remat_vector_push(&p->allocator, &s->segments, segment))
            return false;
        segment.first = segment.end;
        bytes = 0;
    }
    segment.end = p->n_statements;
    return segment.first == segment.end || remat_vector_push(&p->allocator, &s->segments, segment);
}

static bool judge(trial *s)
{
    const remat_problem *p = s->problem;
    remat_runs runs = {0};
    remat_simulation result;
    s->schedule.count = 0;
    bool done = remat_order_by_segments(p, s->segments.data, s->segments.count, &runs) &&
                remat_schedule_complete(p, &runs, &s->schedule) &&
                remat_schedule_simulate(p, &s->schedule, &result);
    remat_vector_release(&p->allocator, &runs);
    if (!done)
        return false;
    if (result.peak_bytes > s->best_peak ||
        (result.peak_bytes == s->best_peak && result.replay_cost >= s->best_cost))
        return true;
    s->best_peak = result.peak_bytes;
    s->best_cost = result.replay_cost;
    s->best.count = 0;
    if (!remat_vector_reserve(&p->allocator, &s->best, s->segments.count))
        return false;
    for (size_t i = 0; i < s->segments.count; i++)
        s->best.data[i] = s->segments.data[i];
    s->best.count = s->segments.count;
    return true;
}

static bool search(trial *s)
{
    /* Numbers of segments up to a few times sqrt(n), in steps that keep huge tapes affordable. */
    size_t n = s->problem->n_forward;
    size_t most = (size_t)(4.0 * sqrt((double)n)) + 2, part = n > 100000 ? 2 : 8;
    for (size_t k = 1; k <= most; k += k / part > 1 ? k / part : 1) {
        size_t limit = s->total / k + (s->total % k != 0);
        if (!cut(s, limit) || !judge(s))
            return false;
    }
    return true;
}

bool remat_sqrt_order(const remat_family *family, size_t index, remat_runs *runs,
                      remat_ranges *ranges)
{
    (void)index;
    const remat_problem *problem = family->problem;
    const remat_allocator *allocator = &problem->allocator;
    trial s = {.problem = problem, .best_peak = SIZE_MAX};
    s.weights = remat_memory_allocate(allocator, problem->n_forward, sizeof *s.weights);
    bool done = s.weights && weigh(&s) && search(&s) &&
                remat_order_by_segments(problem, s.best.data, s.best.count, runs);
    remat_memory_release(allocator, s.weights, problem->n_forward, sizeof *s.weights);
    remat_vector_release(allocator, &s.schedule);
    remat_vector_release(allocator, &s.segments);
    if (done)
        *ranges = s.best;
    else
        remat_vector_release(allocator, &s.best);
    return done;
}
