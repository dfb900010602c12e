/* greedy_evaluate.c - cost and bytes of a sequence of runs, in one sweep from its end. Tells the
 * same as completing and simulating the sequence, several times faster. */
#include <string.h>

#include "plan/strategy/greedy_search.h"

/* Of a value, at a place in the sequence: values that stay are NEEDED everywhere. */
enum { NOT_NEEDED, NEEDED, DROPPED };

/* ---- Steps over any task ---------------------------------------------------------------------*/

static bool is_needed(const remat_greedy *g, uint32_t task)
{
    const remat_write *writes = remat_task_writes(g->problem, task);
    for (uint32_t i = 0; i < remat_task_n_writes(g->problem, task); i++)
        if (g->needed[writes[i].value] && !g->stays[writes[i].value])
            return true;
    return false;
}

/* Bytes of a value that is dropped right after the run; 0 if it is not, or was counted. */
static size_t drop(remat_greedy *g, uint32_t value)
{
    if (g->needed[value])
        return 0;
    g->needed[value] = DROPPED;
    return g->bytes[value];
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
            return replay && g->stays[reuses[i].to] ? 0 : g->bytes[reuses[i].to];
    return 0;
}

/* Steps back over what a task makes: *live is what is resident after it, then before it. */
static void unmake(remat_greedy *g, remat_write write, bool replay, size_t *live)
{
    unsigned char *needed = &g->needed[write.value];
    if (write.accumulate) {
        if (*needed == DROPPED)
            *live += g->bytes[write.value];
        *needed = NEEDED;
    } else if (g->stays[write.value]) {
        *live -= replay ? 0 : g->bytes[write.value];
    } else {
        *live -= *needed == NEEDED ? g->bytes[write.value] : 0;
        *needed = NOT_NEEDED;
    }
}

static void step_back(remat_greedy *g, uint32_t task, bool replay, size_t *live)
{
    const remat_problem *p = g->problem;
    for (uint32_t i = 0; i < remat_task_n_writes(p, task); i++)
        unmake(g, remat_task_writes(p, task)[i], replay, live);
    for (uint32_t i = 0; i < remat_task_n_reads(p, task); i++) {
        uint32_t value = remat_task_reads(p, task)[i];
        if (g->needed[value] == NEEDED)
            continue;
        *live += g->bytes[value];
        g->needed[value] = NEEDED;
    }
}

/* Bytes in use while the task runs. */
static size_t run_any(remat_greedy *g, uint32_t task, bool replay, size_t *live)
{
    size_t bytes = *live + dropped_after(g, task) + g->facts[task].workspace_bytes;
    bytes -= reused(g, task, replay);
    step_back(g, task, replay, live);
    return bytes;
}

/* The same for a plain task. What it reads and makes is resident while it runs. */
static size_t run_plain(remat_greedy *g, const remat_greedy_facts *facts, size_t *live)
{
    unsigned char *needed = g->needed;
    const uint32_t *reads = g->problem->reads.data;
    size_t bytes = *live + (needed[facts->made] ? 0 : g->bytes[facts->made]);
    needed[facts->made] = NOT_NEEDED;
    for (uint32_t i = facts->first_read; i < facts->end_read; i++) {
        bytes += needed[reads[i]] ? 0 : g->bytes[reads[i]];
        needed[reads[i]] = NEEDED;
    }
    *live = bytes - g->bytes[facts->made];
    return bytes + facts->workspace_bytes;
}

/* ---- The seam between forward and backward pass ----------------------------------------------*/

/* False if a value that has to be made again is still there. */
static bool seam_is_lawful(const remat_greedy *g)
{
    for (size_t i = 0; i < g->recompute.count; i++)
        if (g->needed[g->recompute.data[i]])
            return false;
    return true;
}

/* With retain: from the end to the seam; what is live there stays. */
static size_t find_retained(remat_greedy *g, const remat_runs *sequence)
{
    size_t live = g->pinned_bytes, bytes = g->pinned_bytes;
    for (size_t i = sequence->count; i-- > 0;) {
        uint32_t task = remat_greedy_task(sequence->data[i]);
        bool replay = remat_greedy_is_replay(sequence->data[i]);
        if (!replay && task < g->problem->n_forward)
            break;
        if (!replay || is_needed(g, task))
            run_any(g, task, replay, &live);
    }
    for (size_t v = 0; v < g->problem->values.count; v++)
        if (g->needed[v] && !g->stays[v]) {
            g->stays[v] = 2;
            bytes += g->bytes[v];
        }
    return bytes;
}

static void forget_retained(remat_greedy *g)
{
    for (size_t v = 0; v < g->problem->values.count; v++)
        g->stays[v] = g->needed[v] = g->stays[v] & 1;
}

/* ---- The sweep -------------------------------------------------------------------------------*/

static void take_out(remat_runs *sequence, size_t first, remat_greedy_score *score)
{
    size_t n = sequence->count - first;
    memmove(sequence->data, sequence->data + first, n * sizeof *sequence->data);
    sequence->count = n;
    score->peak_at -= (uint32_t)first;
}

static void count_run(const remat_greedy *g, remat_greedy_score *score, size_t bytes, size_t at)
{
    score->n_needed++;
    if (bytes > score->peak_bytes) {
        score->peak_bytes = bytes;
        score->peak_at = (uint32_t)at;
    }
    if (bytes > g->budget)
        score->excess += (double)(bytes - g->budget);
}

remat_greedy_score remat_greedy_evaluate(remat_greedy *g, remat_runs *sequence, bool compact)
{
    const remat_problem *p = g->problem;
    remat_greedy_score score = {.lawful = true};
    size_t live = p->retain ? find_retained(g, sequence) : g->pinned_bytes;
    size_t kept = sequence->count;
    for (size_t i = sequence->count; i-- > 0;) {
        uint32_t item = sequence->data[i], task = remat_greedy_task(item);
        const remat_greedy_facts *facts = &g->facts[task];
        bool replay = remat_greedy_is_replay(item);
        if (replay) {
            if (facts->plain ? !g->needed[facts->made] : !is_needed(g, task))
                continue;
            score.cost += facts->cost;
        }
        if (compact)
            sequence->data[--kept] = item;
        if (item + 1 == p->n_forward && p->n_forward < p->n_tasks)
            score.lawful = seam_is_lawful(g);
        size_t bytes = facts->plain ? run_plain(g, facts, &live) : run_any(g, task, replay, &live);
        count_run(g, &score, bytes, compact ? kept : i);
    }
    g->work += sequence->count;
    if (compact)
        take_out(sequence, kept, &score);
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
