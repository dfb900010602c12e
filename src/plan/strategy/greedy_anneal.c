/* greedy_anneal.c - simulated annealing on sequences of runs. Sequences over the budget are allowed
 * at a price per byte, which rises while the search is over the budget and falls while it is not:
 * so it walks along the border, where the good ones are. */
#include <math.h>

#include "plan/strategy/greedy_search.h"

/* Costs are in units of the mean cost of a replay, bytes in units of the mean value. */
#define CYCLES       4 /* each starts from the best sequence so far */
#define HOT          0.3
#define COLD         0.01
#define FIRST_PRICE  1.0
#define LEAST_PRICE  0.05
#define MOST_PRICE   1000.0
#define PRICE_STEP   1.001
#define EXCESS_SHARE 0.3 /* of the sum over all runs, beside the largest */

typedef struct anneal {
    remat_greedy *g;
    remat_runs current, trial;
    remat_greedy_score now; /* of `current` */
    double price, heat;
} anneal;

static double energy(const anneal *a, const remat_greedy_score *s)
{
    const remat_greedy *g = a->g;
    double over = s->peak_bytes > g->budget ? (double)(s->peak_bytes - g->budget) : 0;
    return s->cost / g->mean_cost + a->price * (over + EXCESS_SHARE * s->excess) / g->mean_bytes;
}

static bool accepts(anneal *a, const remat_greedy_score *next)
{
    if (a->now.lawful && !next->lawful)
        return false;
    double rise = energy(a, next) - energy(a, &a->now);
    return rise <= 0 || remat_greedy_uniform(a->g) < exp(-rise / a->heat);
}

static void adapt_price(anneal *a)
{
    if (a->now.peak_bytes > a->g->budget)
        a->price = fmin(a->price * PRICE_STEP, MOST_PRICE);
    else
        a->price = fmax(a->price / PRICE_STEP, LEAST_PRICE);
}

/* One move, taken or not. False: out of memory. */
static bool try_move(anneal *a, remat_runs *best, remat_greedy_score *best_score)
{
    remat_greedy *g = a->g;
    if (!remat_greedy_copy(g, &a->current, &a->trial) || !remat_greedy_move(g, &a->trial, &a->now))
        return false;
    remat_greedy_score next = remat_greedy_evaluate(g, &a->trial, false);
    if (accepts(a, &next)) {
        if (next.n_needed < a->trial.count)
            next = remat_greedy_evaluate(g, &a->trial, true);
        remat_greedy_swap(&a->current, &a->trial);
        a->now = next;
        if (remat_greedy_better(g, &next, best_score)) {
            *best_score = next;
            if (!remat_greedy_copy(g, &a->current, best))
                return false;
        }
    }
    adapt_price(a);
    return true;
}

static bool run_cycle(anneal *a, uint64_t work, remat_runs *best, remat_greedy_score *score)
{
    remat_greedy *g = a->g;
    uint64_t start = g->work;
    if (!remat_greedy_copy(g, best, &a->current))
        return false;
    a->now = *score;
    for (uint32_t k = 0; g->work - start < work; k++) {
        if (k % 32 == 0) {
            if (remat_greedy_out_of_time(g))
                return true;
            a->heat = HOT * pow(COLD / HOT, (double)(g->work - start) / (double)work);
        }
        if (!try_move(a, best, score))
            return false;
    }
    return true;
}

bool remat_greedy_anneal(remat_greedy *g, uint64_t work, remat_runs *best,
                         remat_greedy_score *score)
{
    anneal a = {.g = g, .price = FIRST_PRICE};
    bool done = true;
    for (int cycle = 0; cycle < CYCLES && done; cycle++)
        done = run_cycle(&a, work / CYCLES, best, score);
    remat_vector_release(&g->problem->allocator, &a.current);
    remat_vector_release(&g->problem->allocator, &a.trial);
    return done;
}
