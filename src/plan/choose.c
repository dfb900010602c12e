/* choose.c - the cheapest order of all strategies that fits a budget. */
#include "plan/choose.h"

#include "plan/bound.h"

#define FAST_BOUND 5000 /* tasks from which the certificate is computed with less effort */

void remat_candidate_release(const remat_allocator *allocator, remat_candidate *c)
{
    remat_vector_release(allocator, &c->schedule);
    remat_vector_release(allocator, &c->buffers);
    remat_vector_release(allocator, &c->bindings);
    remat_vector_release(allocator, &c->ranges);
    c->made = false;
}

static remat_status fail(remat_choice *choice, const char *fault)
{
    choice->fault = fault;
    return REMAT_INTERNAL;
}

/* Makes and simulates the order of a family. */
static remat_status judge(remat_choice *choice, remat_strategy strategy, const remat_family *family,
                          size_t index, remat_candidate *c)
{
    const remat_problem *problem = choice->problem;
    remat_runs runs = {0};
    *c = (remat_candidate){.strategy = strategy};
    bool done = remat_strategy_find(strategy)->order(family, index, &runs, &c->ranges) &&
                remat_schedule_complete(problem, &runs, &c->schedule) &&
                remat_schedule_simulate(problem, &c->schedule, &c->simulation);
    remat_vector_release(&problem->allocator, &runs);
    if (!done)
        return REMAT_OUT_OF_MEMORY;
    return c->simulation.fault ? fail(choice, c->simulation.fault) : REMAT_OK;
}

static remat_status pack(remat_choice *choice, remat_candidate *c)
{
    const remat_problem *problem = choice->problem;
    bool checked = true;
    if (choice->unpacked)
        c->arena_bytes = c->simulation.peak_bytes;
    else if (!remat_lower(problem, &c->schedule, &c->buffers, &c->bindings) ||
             !remat_layout(&problem->allocator, &c->buffers, c->simulation.peak_bytes,
                           &c->arena_bytes))
        return REMAT_OUT_OF_MEMORY;
    if (!choice->unpacked &&
        !remat_layout_check(&problem->allocator, &c->buffers, c->arena_bytes, &checked))
        return checked ? fail(choice, "buffers overlap") : REMAT_OUT_OF_MEMORY;
    c->made = true;
    if (c->arena_bytes < choice->smallest_bytes)
        choice->smallest_bytes = c->arena_bytes;
    return REMAT_OK;
}

static bool is_cheaper(const remat_candidate *a, const remat_candidate *b)
{
    if (!b->made)
        return true;
    if (a->simulation.replay_cost != b->simulation.replay_cost)
        return a->simulation.replay_cost < b->simulation.replay_cost;
    if (a->simulation.replays != b->simulation.replays)
        return a->simulation.replays < b->simulation.replays;
    return a->made && a->arena_bytes < b->arena_bytes;
}

static bool fits(const remat_choice *choice, size_t bytes)
{
    return choice->budget_bytes == 0 || bytes <= choice->budget_bytes;
}

/* Takes the candidate as the best, in exchange for the present one, if it fits and is cheaper. */
static remat_status take_if_better(remat_choice *choice, remat_candidate *c)
{
    remat_status status = REMAT_OK;
    if (!fits(choice, c->simulation.peak_bytes))
        return REMAT_OK;
    if (!c->made)
        status = pack(choice, c);
    if (status == REMAT_OK && fits(choice, c->arena_bytes) && is_cheaper(c, &choice->best)) {
        remat_candidate previous = choice->best;
        choice->best = *c;
        *c = previous;
    }
    return status;
}

/* ---- One family ------------------------------------------------------------------------------*/

/* Judges an order of the family and packs it, only to learn the size of its arena. */
static remat_status measure_arena(remat_choice *choice, remat_strategy strategy,
                                  const remat_family *family, size_t index)
{
    remat_candidate c;
    remat_status status = judge(choice, strategy, family, index, &c);
    if (status == REMAT_OK)
        status = pack(choice, &c);
    remat_candidate_release(&choice->problem->allocator, &c);
    return status;
}

/* No order fits: finds the smallest arena of all, so that the error can name it. Live bytes bound
 * an arena from below, so only orders with less of them than the smallest arena are packed. */
static remat_status find_smallest(remat_choice *choice, remat_strategy strategy,
                                  const remat_family *family, size_t *peaks)
{
    for (size_t k = 0; k < family->count; k++) {
        size_t least = 0;
        for (size_t i = 1; i < family->count; i++)
            if (peaks[i] < peaks[least])
                least = i;
        if (peaks[least] >= choice->smallest_bytes)
            break;
        peaks[least] = SIZE_MAX; /* done */
        remat_status status = measure_arena(choice, strategy, family, least);
        if (status != REMAT_OK)
            return status;
    }
    return REMAT_OK;
}

/* Judges every order, whatever the budget: what a budget can choose from is part of what a larger
 * one can, so more budget never costs more time. */
static remat_status search_family(remat_choice *choice, remat_strategy strategy,
                                  const remat_family *family)
{
    const remat_allocator *allocator = &choice->problem->allocator;
    size_t *peaks = remat_memory_allocate(allocator, family->count, sizeof *peaks);
    remat_status status = peaks ? REMAT_OK : REMAT_OUT_OF_MEMORY;
    for (size_t i = 0; i < family->count && status == REMAT_OK; i++) {
        remat_candidate c;
        status = judge(choice, strategy, family, i, &c);
        peaks[i] = c.simulation.peak_bytes;
        if (status == REMAT_OK && is_cheaper(&c, &choice->best))
            status = take_if_better(choice, &c);
        remat_candidate_release(allocator, &c);
    }
    if (status == REMAT_OK && !choice->best.made)
        status = find_smallest(choice, strategy, family, peaks);
    remat_memory_release(allocator, peaks, family->count, sizeof *peaks);
    return status;
}

/* The search is slow: where another strategy covers the problem it needs to be asked for. */
static bool is_worth_a_search(const remat_choice *choice, remat_strategy strategy)
{
    return strategy != REMAT_STRATEGY_GREEDY || choice->strategy == REMAT_STRATEGY_GREEDY ||
           choice->effort == REMAT_EFFORT_THOROUGH || !choice->covered;
}

static remat_status open_and_search(remat_choice *choice, remat_strategy strategy)
{
    if (!is_worth_a_search(choice, strategy))
        return REMAT_OK;
    const remat_search_limits limits = {choice->keep_all_peak, choice->effort,
                                        choice->time_limit_seconds};
    remat_family family;
    if (!remat_family_open(strategy, choice->problem, &limits, &family))
        return REMAT_OUT_OF_MEMORY;
    choice->covered |= family.covers;
    remat_status status = family.count > 0 ? search_family(choice, strategy, &family) : REMAT_OK;
    remat_family_close(strategy, &family);
    return status;
}

/* ---- All of them -----------------------------------------------------------------------------*/

/* Keep-all is the measure of every other order, and the answer if it fits. */
static remat_status measure_keep_all(remat_choice *choice)
{
    const remat_family family = {.problem = choice->problem, .count = 1};
    remat_candidate c;
    remat_status status = judge(choice, REMAT_STRATEGY_KEEP_ALL, &family, 0, &c);
    if (status == REMAT_OK)
        status = pack(choice, &c);
    choice->keep_all_bytes = c.arena_bytes;
    choice->keep_all_peak = c.simulation.peak_bytes;
    if (status == REMAT_OK)
        status = take_if_better(choice, &c);
    remat_candidate_release(&choice->problem->allocator, &c);
    return status;
}

/* A replaying strategy that was asked for without a budget, or by segments, replaces keep-all if it
 * saves memory. */
static remat_status replace_keep_all(remat_choice *choice, remat_strategy strategy)
{
    const remat_search_limits limits = {choice->keep_all_peak, choice->effort,
                                        choice->time_limit_seconds};
    remat_family family;
    if (!remat_family_open(strategy, choice->problem, &limits, &family))
        return REMAT_OUT_OF_MEMORY;
    remat_status status = REMAT_OK;
    if (family.count == 1) {
        remat_candidate c;
        status = judge(choice, strategy, &family, 0, &c);
        if (status == REMAT_OK)
            status = pack(choice, &c);
        if (status == REMAT_OK && c.arena_bytes < choice->keep_all_bytes) {
            remat_candidate previous = choice->best;
            choice->best = c;
            c = previous;
        }
        remat_candidate_release(&choice->problem->allocator, &c);
    }
    remat_family_close(strategy, &family);
    return status;
}

remat_status remat_choose(remat_choice *choice)
{
    remat_strategy asked = choice->strategy;
    bool one_order = asked == REMAT_STRATEGY_SEGMENTS || asked == REMAT_STRATEGY_SQRT;
    size_t budget = choice->budget_bytes;
    choice->smallest_bytes = SIZE_MAX;
    if (one_order)
        choice->budget_bytes = 0; /* compared below */
    remat_status status = measure_keep_all(choice);
    if (asked == REMAT_STRATEGY_AUTO && budget == 0)
        asked = REMAT_STRATEGY_SEGMENTS;
    if (status == REMAT_OK && (one_order || budget == 0) && asked != REMAT_STRATEGY_KEEP_ALL)
        status = replace_keep_all(choice, asked);
    choice->budget_bytes = budget;
    for (int s = REMAT_STRATEGY_KEEP_ALL + 1; s < REMAT_STRATEGY_COUNT && budget > 0; s++) {
        bool wanted = asked == REMAT_STRATEGY_AUTO || (!one_order && asked == (remat_strategy)s);
        if (status == REMAT_OK && wanted &&
            !(choice->best.made && choice->best.simulation.replays == 0))
            status = open_and_search(choice, (remat_strategy)s);
    }
    if (status != REMAT_OK)
        return status;
    return choice->best.made && fits(choice, choice->best.arena_bytes) ? REMAT_OK
                                                                       : REMAT_INFEASIBLE_BUDGET;
}

remat_status remat_choose_given(remat_choice *choice, remat_candidate *given)
{
    const remat_problem *problem = choice->problem;
    choice->smallest_bytes = SIZE_MAX;
    remat_status status = measure_keep_all(choice);
    remat_candidate_release(&problem->allocator, &choice->best);
    choice->best = *given;
    *given = (remat_candidate){0};
    remat_candidate *best = &choice->best;
    if (status == REMAT_OK && !remat_schedule_simulate(problem, &best->schedule, &best->simulation))
        status = REMAT_OUT_OF_MEMORY;
    if (status == REMAT_OK && best->simulation.fault) {
        choice->fault = best->simulation.fault;
        return REMAT_INVALID_ARGUMENT;
    }
    if (status == REMAT_OK)
        status = pack(choice, best);
    if (status == REMAT_OK && !fits(choice, best->arena_bytes))
        status = REMAT_INFEASIBLE_BUDGET;
    return status;
}

bool remat_choice_certify(const remat_choice *choice, remat_plan_cost *cost)
{
    const remat_candidate *best = &choice->best;
    size_t limit = choice->budget_bytes ? choice->budget_bytes : best->arena_bytes;
    remat_effort effort =
        choice->problem->n_tasks > FAST_BOUND ? REMAT_EFFORT_FAST : choice->effort;
    *cost = (remat_plan_cost){.step = best->simulation.cost, .extra = best->simulation.replay_cost};
    if (cost->extra > 0.0 && !remat_bound_cut(choice->problem, limit, effort, &cost->bound))
        return false;
    if (cost->bound > cost->extra) /* equal but for rounding */
        cost->bound = cost->extra;
    if (cost->step + cost->bound > 0.0)
        cost->gap = (cost->step + cost->extra) / (cost->step + cost->bound) - 1.0;
    return true;
}

remat_status remat_choose_all(remat_choice *choice, size_t most, remat_visit *visit, void *context)
{
    choice->smallest_bytes = SIZE_MAX;
    remat_status status = measure_keep_all(choice);
    if (status == REMAT_OK)
        status = visit(context, &choice->best);
    const remat_search_limits limits = {choice->keep_all_peak, choice->effort,
                                        choice->time_limit_seconds};
    for (int s = REMAT_STRATEGY_KEEP_ALL + 1; s < REMAT_STRATEGY_COUNT && status == REMAT_OK; s++) {
        remat_strategy strategy = (remat_strategy)s;
        remat_family family;
        if ((choice->strategy != REMAT_STRATEGY_AUTO && choice->strategy != strategy) ||
            !is_worth_a_search(choice, strategy))
            continue;
        if (!remat_family_open(strategy, choice->problem, &limits, &family))
            return REMAT_OUT_OF_MEMORY;
        choice->covered |= family.covers;
        size_t n = family.count < most ? family.count : most;
        for (size_t k = 0; k < n && status == REMAT_OK; k++) {
            size_t index = n > 1 ? k * (family.count - 1) / (n - 1) : family.count - 1;
            remat_candidate c;
            status = judge(choice, strategy, &family, index, &c);
            if (status == REMAT_OK)
                status = pack(choice, &c);
            if (status == REMAT_OK)
                status = visit(context, &c);
            remat_candidate_release(&choice->problem->allocator, &c);
        }
        remat_family_close(strategy, &family);
    }
    return status;
}
