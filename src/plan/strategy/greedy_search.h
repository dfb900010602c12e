/* greedy_search.h - what the parts of the search for an order of runs share.
 *
 * The search works on sequences: the tasks in their order, and replays among them. Any such
 * sequence is valid as long as a replay comes after the task's first run: a read takes the value
 * from its last making before it, and a value is resident from its making to its last reader. So
 * moves are free to insert, delete and shift replays, and only bytes and cost tell good from bad.
 */
#ifndef REMAT_PLAN_GREEDY_SEARCH_H
#define REMAT_PLAN_GREEDY_SEARCH_H

#include "base/hash.h"
#include "plan/search.h"

#define REMAT_GREEDY_REPLAY 0x80000000u /* set in items of a sequence that are replays */

static inline bool remat_greedy_is_replay(uint32_t item)
{
    return item & REMAT_GREEDY_REPLAY;
}
static inline uint32_t remat_greedy_task(uint32_t item)
{
    return item & ~REMAT_GREEDY_REPLAY;
}

/* What a sequence is worth. */
typedef struct remat_greedy_score {
    double cost;   /* of replays that are needed */
    double excess; /* sum over runs of the bytes above the budget */
    size_t peak_bytes;
    uint32_t peak_at;  /* position of a run at the peak */
    uint32_t n_needed; /* runs that remain when needless replays are taken out */
    bool lawful;       /* RECOMPUTE values are absent where the forward pass ends */
} remat_greedy_score;

/* Facts about a problem that constructions use. */
typedef struct remat_greedy_index {
    uint32_t *use_at, *uses; /* per value: the tasks that read it, ascending */
    uint32_t *reach;         /* per value: the last task that may need it, by way of replays too */
    uint32_t *due_at, *due;  /* per task: values with that reach that cannot be made again */
} remat_greedy_index;

/* What the evaluation reads of a task, close together. Plain: one value made, nothing pinned,
 * accumulated or taking over memory. */
typedef struct remat_greedy_facts {
    double cost;
    size_t workspace_bytes;
    uint32_t first_read, end_read; /* in the problem's reads */
    uint32_t made;
    bool plain;
} remat_greedy_facts;

typedef struct remat_greedy {
    const remat_problem *problem;
    size_t budget;
    remat_greedy_index index;
    uint32_t *maker;           /* per value: the replayable task that makes it, or REMAT_NONE */
    remat_greedy_facts *facts; /* per task */
    size_t *bytes;             /* per value */
    unsigned char *needed;     /* per value; between calls 1 if pinned, else 0 */
    unsigned char *stays;      /* per value: pinned or, within a call, retained */
    uint32_t *stamp;           /* per value: equal to `now` if marked */
    uint32_t *task_stamp;      /* per task, likewise */
    uint32_t now;
    size_t pinned_bytes;
    double mean_cost;     /* of replayable tasks */
    double mean_bytes;    /* of values */
    uint64_t draws;       /* random numbers so far */
    uint64_t work;        /* steps done; the measure of effort */
    double deadline;      /* 0: none */
    remat_runs recompute; /* values with that policy */
    remat_runs closure;   /* tasks that one move inserts */
} remat_greedy;

bool remat_greedy_index_create(const remat_problem *problem, const uint32_t *maker,
                               remat_greedy_index *index);
void remat_greedy_index_release(const remat_problem *problem, remat_greedy_index *index);

/* Release also after a failure. */
bool remat_greedy_create(const remat_problem *problem, size_t budget_bytes, remat_greedy *g);
void remat_greedy_release(remat_greedy *g);
double remat_greedy_seconds(void);
bool remat_greedy_out_of_time(const remat_greedy *g);

/* In [0, n); n > 0. The stream is a function of the number of draws. */
static inline uint32_t remat_greedy_below(remat_greedy *g, uint32_t n)
{
    return (uint32_t)(((remat_hash_word(0, ++g->draws) >> 32) * n) >> 32);
}
/* In [0, 1). */
static inline double remat_greedy_uniform(remat_greedy *g)
{
    return (double)(remat_hash_word(0, ++g->draws) >> 11) * 0x1p-53;
}

/* ---- Sequences -------------------------------------------------------------------------------*/

bool remat_greedy_copy(const remat_greedy *g, const remat_runs *from, remat_runs *to);
void remat_greedy_swap(remat_runs *a, remat_runs *b);

/* Judges a sequence; with `compact` takes its needless replays out. */
remat_greedy_score remat_greedy_evaluate(remat_greedy *g, remat_runs *sequence, bool compact);

static inline bool remat_greedy_feasible(const remat_greedy *g, const remat_greedy_score *score)
{
    return score->lawful && score->peak_bytes <= g->budget;
}

/* Feasible before not, then cheaper (or closer to the budget). */
bool remat_greedy_better(const remat_greedy *g, const remat_greedy_score *a,
                         const remat_greedy_score *b);

/* What counts in the choice of the value to drop: exponents, and the size of random factors. */
typedef struct remat_greedy_weights {
    double cost, bytes, distance;
    double noise;    /* 0: none; else log of the ratio of the largest to the smallest factor */
    bool last_first; /* dropped inputs are made again in reverse order */
    uint64_t seed;
} remat_greedy_weights;

/* Constructs a sequence, which may exceed the budget where nothing is left to drop. *built is
 * false if it grew too long. False: out of memory. */
bool remat_greedy_build(remat_greedy *g, const remat_greedy_weights *weights, remat_runs *sequence,
                        bool *built);

/* Changes the sequence at random; `score` is the sequence's. False: out of memory. */
bool remat_greedy_move(remat_greedy *g, remat_runs *sequence, const remat_greedy_score *score);

/* Improves `best` (any sequence, with its score) by annealing with some `work` steps. False: out
 * of memory. */
bool remat_greedy_anneal(remat_greedy *g, uint64_t work, remat_runs *best,
                         remat_greedy_score *score);

#endif
