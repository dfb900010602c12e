/* choose.c - the cheapest order of all strategies that fits a budget. */
#include "plan/choose.h"

#include "plan/bound.h"

/* Judging every order of a family is affordable up to so many orders times tasks; beyond, only
 * those near the budget are judged. */
#define JUDGE_ALL  300000
#define JUDGE_NEAR 8
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

/* Takes the candidate as the best if it fits and is cheaper; else releases it. */
static remat_status take_if_better(remat_choice *choice, remat_candidate *c, bool *fit)
{
    remat_status status = REMAT_OK;
    *fit = false;
    if (fits(choice, c->simulation.peak_bytes)) {
        status = pack(choice, c);
        *fit = status == REMAT_OK && fits(choice, c->arena_bytes);
    }
    if (*fit && is_cheaper(c, &choice->best)) {
        remat_candidate previous = choice->best;
        choice->best = *c;
        *c = previous;
    }
    remat_candidate_release(&choice->problem->allocator, c);
    return status;
}

/* ---- One family ------------------------------------------------------------------------------*/

/* First order worth judging: those before it need far more bytes than the budget. */
static size_t first_index(const remat_choice *choice, const remat_strategy_row *row,
                          const remat_family *family)
{
    if (!row->needs || family->count * choice->problem->n_tasks <= JUDGE_ALL)
        return 0;
    size_t low = 0, high = family->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (row->needs(family, middle) <= choice->budget_bytes)
            high = middle;
        else
            low = middle + 1;
    }
    return low > JUDGE_NEAR ? low - JUDGE_NEAR : 0;
}

/* No order fits: packs the smallest, so that the error can name it. */
static remat_status pack_smallest(remat_choice *choice, remat_strategy strategy,
                                  const remat_family *family, size_t index)
{
    remat_candidate c;
    remat_status status = judge(choice, strategy, family, index, &c);
    if (status == REMAT_OK)
        status = pack(choice, &c);
    remat_candidate_release(&choice->problem->allocator, &c);
    return status;
}

static remat_status search_family(remat_choice *choice, remat_strategy strategy,
                                  const remat_family *family)
{
    const remat_strategy_row *row = remat_strategy_find(strategy);
    bool all = family->count * choice->problem->n_tasks <= JUDGE_ALL, found = false;
    size_t smallest = family->count - 1, smallest_peak = SIZE_MAX;
    for (size_t i = first_index(choice, row, family); i < family->count && (all || !found); i++) {
        remat_candidate c;
        bool fit;
        remat_status status = judge(choice, strategy, family, i, &c);
        if (c.simulation.peak_bytes < smallest_peak) {
            smallest_peak = c.simulation.peak_bytes;
            smallest = i;
        }
        if (status == REMAT_OK && choice->best.made && !is_cheaper(&c, &choice->best)) {
            remat_candidate_release(&choice->problem->allocator, &c);
            found |= fits(choice, c.simulation.peak_bytes);
            continue;
        }
        if (status == REMAT_OK)
            status = take_if_better(choice, &c, &fit);
        else
            remat_candidate_release(&choice->problem->allocator, &c);
        if (status != REMAT_OK)
            return status;
        found |= fit;
    }
    if (!found && family->count > 0 && !choice->best.made)
        return pack_smallest(choice, strategy, family, smallest);
    return REMAT_OK;
}

/* The search is slow: where blocks have something to offer it needs to be asked for. */
static bool is_worth_a_search(const remat_choice *choice, remat_strategy strategy)
{
    return strategy != REMAT_STRATEGY_GREEDY || choice->strategy == REMAT_STRATEGY_GREEDY ||
           choice->effort == REMAT_EFFORT_THOROUGH || !choice->has_blocks;
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
    choice->has_blocks |= strategy == REMAT_STRATEGY_BLOCKS && family.count > 0;
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
    bool fit;
    remat_status status = judge(choice, REMAT_STRATEGY_KEEP_ALL, &family, 0, &c);
    if (status == REMAT_OK)
        status = pack(choice, &c);
    choice->keep_all_bytes = c.arena_bytes;
    choice->keep_all_peak = c.simulation.peak_bytes;
    if (status == REMAT_OK)
        return take_if_better(choice, &c, &fit);
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
        choice->has_blocks |= strategy == REMAT_STRATEGY_BLOCKS && family.count > 0;
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
