/* chain_solution.h (internal to chain*.c) - the prepared chain, step functions and their tables.
 *
 * Stages are numbered from 0. For stages s..t (both included) with the input of s outside and the
 * gradient of t's output inside the bytes m:
 *   C(s, t, m)     least cost of their forward and backward work
 *   E(s, t, k, m)  the same when what t saves by its option k is there already (inside m)
 * Costs are counted in ticks, a power of two chosen so that no sum rounds: equal costs are equal
 * whatever the order of their sums. */
#ifndef REMAT_PLAN_CHAIN_SOLUTION_H
#define REMAT_PLAN_CHAIN_SOLUTION_H

#include "plan/chain.h"

typedef struct remat_chain_point {
    size_t bytes;
    uint64_t ticks;
} remat_chain_point;

/* More bytes than all there is: after the last point of every function stands a sentinel. */
#define REMAT_CHAIN_SENTINEL (SIZE_MAX / 2)

/* A step function of the bytes: points ascend in bytes and descend in ticks; below the first it is
 * infinite. */
typedef struct remat_chain_function {
    const remat_chain_point *points; /* [count] and the sentinel */
    uint32_t count;                  /* at least 1 once computed */
} remat_chain_function;

#define REMAT_CHAIN_NEVER UINT64_MAX /* infinite cost */

static inline uint64_t remat_chain_function_at(const remat_chain_function *f, size_t bytes)
{
    uint32_t low = 0, high = f->count; /* the first `low` points have at most `bytes` */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (f->points[middle].bytes <= bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? f->points[low - 1].ticks : REMAT_CHAIN_NEVER;
}

/* An option that no other of its stage beats in everything. */
typedef struct remat_chain_choice {
    uint64_t forward, backward; /* ticks */
    size_t saved, forward_extra, backward_extra;
    uint32_t option; /* of the caller's stage */
} remat_chain_choice;

/* Ascending in saved bytes, except that the n_holes that may stand over a hole come first. */
typedef struct remat_chain_work {
    uint64_t plain; /* ticks of the plain forward */
    size_t plain_extra;
    uint32_t first, n_choices, n_holes;
} remat_chain_work;

typedef struct remat_chain_block {
    remat_chain_point *points;
    size_t count, capacity;
} remat_chain_block;

struct remat_chain_solution {
    remat_allocator allocator;
    remat_chain_settings settings;
    uint32_t n;
    int exponent;           /* a tick is 2^exponent units of cost */
    uint64_t extra_limit;   /* settings.max_extra in ticks */
    remat_chain_work *work; /* [n] */
    REMAT_VECTOR(remat_chain_choice) choices;
    size_t *activation, *gradient; /* [n + 1] */
    uint64_t *once;                /* [n + 1] least ticks of running stages 0..i-1 once */
    uint32_t *interval;            /* [n (n + 1) / 2] number of interval (s, t); equal ones share */
    REMAT_VECTOR(uint32_t) first;  /* per interval: its C in functions; its E follow */
    REMAT_VECTOR(remat_chain_function) functions;
    REMAT_VECTOR(remat_chain_block) blocks; /* own the points */
    size_t n_points;
};

static inline const remat_chain_choice *remat_chain_choices(const remat_chain_solution *c,
                                                            uint32_t stage)
{
    return c->choices.data + c->work[stage].first;
}

static inline size_t remat_chain_interval_index(uint32_t s, uint32_t t)
{
    return (size_t)t * (t + 1u) / 2 + s;
}

/* What is to be solved: C(s, t), or E(s, t, choice `held` of t). */
typedef struct remat_chain_goal {
    uint32_t s, t;
    uint32_t held; /* REMAT_CHAIN_FREE: nothing of t is there yet */
} remat_chain_goal;
#define REMAT_CHAIN_FREE UINT32_MAX

static inline const remat_chain_function *remat_chain_find(const remat_chain_solution *c,
                                                           remat_chain_goal goal)
{
    uint32_t interval = c->interval[remat_chain_interval_index(goal.s, goal.t)];
    uint32_t offset = goal.held == REMAT_CHAIN_FREE ? 0 : 1 + goal.held;
    return &c->functions.data[c->first.data[interval] + offset];
}

typedef enum remat_chain_rule {
    REMAT_CHAIN_RULE_LAST,  /* s == t: forward that saves, then backward */
    REMAT_CHAIN_RULE_CLOSE, /* s == t, held: backward */
    REMAT_CHAIN_RULE_KEEP,  /* save s by `choice`; solve s+1..t; backward of s */
    REMAT_CHAIN_RULE_SPLIT, /* plain forward of s..at-1; solve at..t; solve s..at-1 */
    REMAT_CHAIN_RULE_HOLE   /* plain forward of s..at-1, save `at` by `choice`, drop its input;
                               solve at+1..t; solve s..at with `choice` held */
} remat_chain_rule;

/* One way to reach a goal: cost(m) = ticks + upper(m - shift) + lower(m) for m >= floor. */
typedef struct remat_chain_way {
    remat_chain_rule rule;
    uint32_t at, choice;
    uint64_t ticks;
    size_t floor, shift;
    const remat_chain_function *upper, *lower;
} remat_chain_way;

/* Walks all ways to reach a goal; intervals that are shorter have been solved. */
typedef struct remat_chain_walk {
    const remat_chain_solution *chain;
    remat_chain_goal goal;
    size_t held;    /* bytes there throughout: gradient of t's output, and what t saved */
    uint32_t at;    /* s: keep; then split and hole positions */
    uint32_t next;  /* of the ways at this position */
    uint64_t sweep; /* ticks of the plain forward of s..at-1 */
    size_t sweep_floor;
} remat_chain_walk;

void remat_chain_walk_begin(remat_chain_walk *walk, const remat_chain_solution *chain,
                            remat_chain_goal goal);
bool remat_chain_walk_next(remat_chain_walk *walk, remat_chain_way *way);

/* Checks the chain and fills all but the functions. */
remat_status remat_chain_prepare(remat_chain_solution *solution, const remat_chain *chain,
                                 remat_chain_fault *fault);
/* Numbers the intervals and makes room for their functions. False: out of memory. */
bool remat_chain_number_intervals(remat_chain_solution *solution);

/* The lower envelope of the ways seen so far. */
typedef struct remat_chain_envelope {
    const remat_allocator *allocator;
    size_t limit;     /* no points beyond it are wanted; less than REMAT_CHAIN_SENTINEL */
    uint64_t ceiling; /* nor above it; except the first point */
    REMAT_VECTOR(remat_chain_point) points, spare;
} remat_chain_envelope;

/* False: out of memory. */
bool remat_chain_envelope_add(remat_chain_envelope *envelope, const remat_chain_way *way);
/* Drops what is of no interest; leaves at most max_points (0: any number) by rounding bytes up. */
void remat_chain_envelope_finish(remat_chain_envelope *envelope, uint32_t max_points);

#endif
