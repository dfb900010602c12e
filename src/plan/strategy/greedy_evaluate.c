/* greedy_evaluate.c - cost and bytes of a sequence of runs, in one sweep from its end. Tells the
 * same as completing and simulating the sequence, several times faster. */
#include "plan/strategy/greedy_search.h"

#include <string.h>

enum { NOT_NEEDED, NEEDED, DROPPED };

static size_t value_bytes(const remat_greedy *g, uint32_t value)
{
    return g->problem->values.data[value].bytes;
}

static bool is_needed(const remat_greedy *g, uint32_t task)
{
    const remat_write *writes = remat_task_writes(g->problem, task);
    for (uint32_t i = 0; i < remat_task_n_writes(g->problem, task); i++)
        if (g->needed[writes[i].value])
            return true;
    return false;
}

/* Bytes of a value that is dropped right after the run; 0 if it is not, or was counted. */
static size_t drop(remat_greedy *g, uint32_t value)
{
    if (g->needed[value] || g->stays[value])
        return 0;
    g->needed[value] = DROPPED;
    return value_bytes(g, value);
}

static size_t dropped_after(remat_greedy *g, uint32_t task)
{
    const remat_problem *p = g->problem;
    size_t bytes = 0;
    for (uint32_t i = 0; i < remat_task_n_writes(p, task); i++)
        bytes += drop(g, remat_task_writes(p, task)[i].value);
    for (uint32_t i = 0; i < remat_task_n_reads(p, task); i++)
        bytes += drop(g, remat_task_reads(p, task)[i]);
    return bytes;
}

/* Bytes saved because a result takes over the memory of a value dropped after the run. */
static size_t reused(const remat_greedy *g, uint32_t task, bool replay)
{
    const remat_reuse *reuses = remat_task_reuses(g->problem, task);
    for (uint32_t i = 0; i < remat_task_n_reuses(g->problem, task); i++)
        if (g->needed[reuses[i].from] == DROPPED)
            return replay && g->stays[reuses[i].to] ? 0 : value_bytes(g, reuses[i].to);
    return 0;
}

/* Steps back over a run: *live is what is resident after it, then before it. */
static void step_back(remat_greedy *g, uint32_t task, bool replay, size_t *live)
{
    const remat_problem *p = g->problem;
    for (uint32_t i = 0; i < remat_task_n_writes(p, task); i++) {
        remat_write write = remat_task_writes(p, task)[i];
        unsigned char *needed = &g->needed[write.value];
        bool resident = *needed == NEEDED || (g->stays[write.value] && !replay);
        if (write.accumulate) {
            if (*needed == DROPPED)
                *live += value_bytes(g, write.value);
            *needed = g->stays[write.value] ? NOT_NEEDED : NEEDED;
        } else {
            if (resident)
                *live -= value_bytes(g, write.value);
            *needed = NOT_NEEDED;
        }
    }
    for (uint32_t i = 0; i < remat_task_n_reads(p, task); i++) {
        uint32_t value = remat_task_reads(p, task)[i];
        if (g->stays[value] || g->needed[value] == NEEDED)
            continue;
        *live += value_bytes(g, value);
        g->needed[value] = NEEDED;
    }
}

/* Where the forward pass ends: false if a value that has to be made again is still there. */
static bool seam_is_lawful(const remat_greedy *g)
{
    for (size_t i = 0; i < g->recompute.count; i++)
        if (g->needed[g->recompute.data[i]] == NEEDED || g->stays[g->recompute.data[i]])
            return false;
    return true;
}

/* From the end to the seam between forward and backward pass: what is live there stays. */
static size_t find_retained(remat_greedy *g, const remat_runs *sequence)
{
    size_t live = g->pinned_bytes, n_values = g->problem->values.count;
    for (size_t i = sequence->count; i-- > 0;) {
        uint32_t task = remat_greedy_task(sequence->data[i]);
        bool replay = remat_greedy_is_replay(sequence->data[i]);
        if (!replay && task < g->problem->n_forward)
            break;
        if (replay && !is_needed(g, task))
            continue;
        dropped_after(g, task);
        step_back(g, task, replay, &live);
    }
    size_t bytes = g->pinned_bytes;
    for (size_t v = 0; v < n_values; v++)
        if (g->needed[v] == NEEDED && !g->stays[v]) {
            g->stays[v] = 2;
            bytes += g->problem->values.data[v].bytes;
        }
    memset(g->needed, 0, n_values);
    return bytes;
}

static void forget_retained(remat_greedy *g)
{
    for (size_t v = 0; v < g->problem->values.count; v++)
        g->stays[v] &= 1;
}

static void take_out(remat_runs *sequence, size_t first)
{
    size_t n = sequence->count - first;
    memmove(sequence->data, sequence->data + first, n * sizeof *sequence->data);
    sequence->count = n;
}

/* Adds a run, which needs `live` bytes after it, to the score. */
static void count_run(remat_greedy *g, remat_greedy_score *score, uint32_t item, size_t live,
                      size_t at)
{
    uint32_t task = remat_greedy_task(item);
    const remat_task *t = &g->problem->tasks.data[task];
    bool replay = remat_greedy_is_replay(item);
    size_t bytes = live + dropped_after(g, task) + t->workspace_bytes;
    if (t[0].reuses != t[1].reuses)
        bytes -= reused(g, task, replay);
    if (bytes > score->peak_bytes) {
        score->peak_bytes = bytes;
        score->peak_at = (uint32_t)at;
    }
    if (bytes > g->budget)
        score->excess += (double)(bytes - g->budget);
    if (replay)
        score->cost += t->cost;
    score->n_needed++;
}

remat_greedy_score remat_greedy_evaluate(remat_greedy *g, remat_runs *sequence, bool compact)
{
    const remat_problem *p = g->problem;
    remat_greedy_score score = {.lawful = true};
    size_t live = p->retain ? find_retained(g, sequence) : g->pinned_bytes;
    size_t kept = sequence->count;
    for (size_t i = sequence->count; i-- > 0;) {
        uint32_t item = sequence->data[i], task = remat_greedy_task(item);
        bool replay = remat_greedy_is_replay(item);
        if (replay && !is_needed(g, task))
            continue;
        if (compact)
            sequence->data[--kept] = item;
        if (item + 1 == p->n_forward && p->n_forward < p->n_tasks)
            score.lawful = seam_is_lawful(g);
        count_run(g, &score, item, live, compact ? kept : i);
        step_back(g, task, replay, &live);
    }
    g->work += sequence->count;
    if (compact) {
        take_out(sequence, kept);
        score.peak_at -= (uint32_t)kept;
    }
    if (p->retain)
        forget_retained(g);
    return score;
}

bool remat_greedy_better(const remat_greedy *g, const remat_greedy_score *a,
                         const remat_greedy_score *b)
{
    bool a_fits = remat_greedy_feasible(g, a), b_fits = remat_greedy_feasible(g, b);
    if (a_fits != b_fits)
        return a_fits;
    if (!a_fits && a->lawful != b->lawful)
        return a->lawful;
    if (!a_fits && a->peak_bytes != b->peak_bytes)
        return a->peak_bytes < b->peak_bytes;
    return a->cost < b->cost;
}
