/* chain.c - solves a chain: tables of step functions, from short intervals to long ones. */
#include "plan/chain_solution.h"

#include <math.h>
#include <string.h>

#define BLOCK_POINTS ((size_t)1 << 15)

/* Room for n points that never moves; NULL: out of memory. */
static remat_chain_point *take_points(remat_chain_solution *c, size_t n)
{
    remat_chain_block *last = c->blocks.count ? &c->blocks.data[c->blocks.count - 1] : NULL;
    if (!last || last->capacity - last->count < n) {
        remat_chain_block block = {NULL, 0, n > BLOCK_POINTS ? n : BLOCK_POINTS};
        if (!remat_vector_reserve(&c->allocator, &c->blocks, 1))
            return NULL;
        block.points = c->allocator.reallocate(c->allocator.context, NULL, 0,
                                               block.capacity * sizeof *block.points);
        if (!block.points)
            return NULL;
        last = &c->blocks.data[c->blocks.count++];
        *last = block;
    }
    remat_chain_point *points = last->points + last->count;
    last->count += n;
    return points;
}

/* Points with a higher cost than this cannot be part of an order of interest. */
static uint64_t ceiling(const remat_chain_solution *c, remat_chain_goal goal)
{
    if (goal.held == REMAT_CHAIN_FREE)
        return c->once[goal.t + 1] - c->once[goal.s] + c->extra_limit;
    uint64_t backward = remat_chain_choices(c, goal.t)[goal.held].backward;
    return c->once[goal.t] - c->once[goal.s] + backward + c->extra_limit;
}

static bool solve_goal(remat_chain_solution *c, remat_chain_goal goal,
                       remat_chain_envelope *envelope)
{
    remat_chain_walk walk;
    remat_chain_way way;
    envelope->points.count = 0;
    envelope->ceiling = ceiling(c, goal);
    remat_chain_walk_begin(&walk, c, goal);
    while (remat_chain_walk_next(&walk, &way))
        if (!remat_chain_envelope_add(envelope, &way))
            return false;
    remat_chain_envelope_finish(envelope, c->settings.max_points);
    size_t n = envelope->points.count;
    remat_chain_point *points = take_points(c, n + 1);
    if (!points)
        return false;
    memcpy(points, envelope->points.data, n * sizeof *points);
    points[n] = (remat_chain_point){REMAT_CHAIN_SENTINEL, 0};
    uint32_t interval = c->interval[remat_chain_interval_index(goal.s, goal.t)];
    uint32_t offset = goal.held == REMAT_CHAIN_FREE ? 0 : 1 + goal.held;
    c->n_points += n;
    c->functions.data[c->first.data[interval] + offset] =
        (remat_chain_function){points, (uint32_t)n};
    return true;
}

/* C and all E of an interval, unless an equal one has been solved. */
static bool solve_interval(remat_chain_solution *c, uint32_t s, uint32_t t,
                           remat_chain_envelope *envelope)
{
    remat_chain_goal goal = {s, t, REMAT_CHAIN_FREE};
    if (remat_chain_find(c, goal)->points)
        return true;
    uint32_t n_holes = t + 1 < c->n ? c->work[t].n_holes : 0;
    bool done = solve_goal(c, goal, envelope);
    for (goal.held = 0; done && goal.held < n_holes; goal.held++)
        done = solve_goal(c, goal, envelope);
    return done;
}

/* In an order that solves what an interval needs first, and finds half of it in the cache: that
 * which ends at the same stage. */
static bool solve_intervals(remat_chain_solution *c)
{
    size_t outside = c->activation[0], budget = c->settings.max_budget;
    remat_chain_envelope envelope = {.allocator = &c->allocator};
    envelope.limit = budget > outside ? budget - outside : 0;
    if (envelope.limit >= REMAT_CHAIN_SENTINEL)
        envelope.limit = REMAT_CHAIN_SENTINEL - 1;
    bool done = true;
    for (uint32_t t = 0; done && t < c->n; t++)
        for (uint32_t s = t + 1; done && s-- > 0;)
            done = solve_interval(c, s, t, &envelope);
    remat_vector_release(&c->allocator, &envelope.points);
    remat_vector_release(&c->allocator, &envelope.spare);
    return done;
}

static remat_status solve(remat_chain_solution *c, const remat_chain *chain,
                          remat_chain_fault *fault)
{
    remat_status status = remat_chain_prepare(c, chain, fault);
    if (status != REMAT_OK)
        return status;
    return remat_chain_number_intervals(c) && solve_intervals(c) ? REMAT_OK : REMAT_OUT_OF_MEMORY;
}

/* A limit of 0 stands for none in what the caller gives; from here on there is always one. */
static remat_chain_settings explicit_limits(const remat_chain_settings *given)
{
    remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
    if (given)
        settings = *given;
    if (settings.max_budget == 0)
        settings.max_budget = SIZE_MAX;
    if (settings.max_extra == 0.0)
        settings.max_extra = INFINITY;
    return settings;
}

static remat_status solve_within(const remat_allocator *allocator, const remat_chain *chain,
                                 const remat_chain_settings *settings,
                                 remat_chain_solution **solution, remat_chain_fault *fault)
{
    if (fault)
        *fault = (remat_chain_fault){0};
    if (!solution)
        return REMAT_INVALID_ARGUMENT;
    *solution = NULL;
    if (!chain || !remat_allocator_is_valid(allocator))
        return REMAT_INVALID_ARGUMENT;
    const remat_allocator a = remat_allocator_or_default(allocator);
    remat_chain_solution *c = remat_memory_allocate(&a, 1, sizeof *c);
    if (!c)
        return REMAT_OUT_OF_MEMORY;
    c->allocator = a;
    c->settings = *settings;
    remat_status status = solve(c, chain, fault);
    if (status == REMAT_OK)
        *solution = c;
    else
        remat_chain_solution_destroy(c);
    return status;
}

remat_status remat_chain_solve(const remat_allocator *allocator, const remat_chain *chain,
                               const remat_chain_settings *settings,
                               remat_chain_solution **solution, remat_chain_fault *fault)
{
    remat_chain_settings limits = explicit_limits(settings);
    return solve_within(allocator, chain, &limits, solution, fault);
}

remat_status remat_chain_solve_for(const remat_allocator *allocator, const remat_chain *chain,
                                   const remat_chain_settings *settings, size_t budget,
                                   remat_chain_solution **solution, remat_chain_fault *fault)
{
    remat_chain_settings narrow = explicit_limits(settings);
    const bool holes = !narrow.persistent;
    narrow.max_budget = budget;
    narrow.persistent = true;
    remat_status status = solve_within(allocator, chain, &narrow, solution, fault);
    if (status != REMAT_OK || !holes)
        return status;
    double extra = remat_chain_cost(*solution, budget) - remat_chain_least_cost(*solution);
    remat_chain_solution_destroy(*solution);
    narrow.persistent = false;
    narrow.max_extra = extra < narrow.max_extra ? extra : narrow.max_extra;
    return solve_within(allocator, chain, &narrow, solution, fault);
}

void remat_chain_solution_destroy(remat_chain_solution *c)
{
    if (!c)
        return;
    remat_allocator a = c->allocator;
    size_t n = c->n;
    remat_memory_release(&a, c->work, n, sizeof *c->work);
    remat_memory_release(&a, c->activation, n + 1, sizeof *c->activation);
    remat_memory_release(&a, c->gradient, n + 1, sizeof *c->gradient);
    remat_memory_release(&a, c->once, n + 1, sizeof *c->once);
    remat_memory_release(&a, c->interval, n * (n + 1) / 2, sizeof *c->interval);
    for (size_t i = 0; i < c->blocks.count; i++)
        remat_memory_release(&a, c->blocks.data[i].points, c->blocks.data[i].capacity,
                             sizeof *c->blocks.data[i].points);
    remat_vector_release(&a, &c->blocks);
    remat_vector_release(&a, &c->functions);
    remat_vector_release(&a, &c->first);
    remat_vector_release(&a, &c->choices);
    remat_memory_release(&a, c, 1, sizeof *c);
}

static const remat_chain_function *whole(const remat_chain_solution *c)
{
    return remat_chain_find(c, (remat_chain_goal){0, c->n - 1, REMAT_CHAIN_FREE});
}

static double cost_of(const remat_chain_solution *c, uint64_t ticks)
{
    return ldexp((double)ticks, c->exponent);
}

double remat_chain_cost(const remat_chain_solution *c, size_t budget)
{
    if (budget < c->activation[0])
        return INFINITY;
    uint64_t ticks = remat_chain_function_at(whole(c), budget - c->activation[0]);
    return ticks == REMAT_CHAIN_NEVER ? INFINITY : cost_of(c, ticks);
}

size_t remat_chain_min_budget(const remat_chain_solution *c)
{
    return whole(c)->points[0].bytes + c->activation[0];
}

double remat_chain_least_cost(const remat_chain_solution *c)
{
    return cost_of(c, c->once[c->n]);
}

size_t remat_chain_curve_count(const remat_chain_solution *c)
{
    return whole(c)->count;
}

remat_chain_breakpoint remat_chain_curve(const remat_chain_solution *c, size_t i)
{
    remat_chain_point point = whole(c)->points[i];
    return (remat_chain_breakpoint){point.bytes + c->activation[0], cost_of(c, point.ticks)};
}

remat_chain_statistics remat_chain_solution_statistics(const remat_chain_solution *c)
{
    return (remat_chain_statistics){c->functions.count, c->n_points};
}
