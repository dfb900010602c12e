/* sweep.c - the smallest budget, and the whole memory/time curve. */
#include <stdlib.h>

#include "plan/bound.h"
#include "plan/choose.h"
#include "plan/plan.h"

#define ORDERS_PER_FAMILY 64

typedef struct sweep {
    const remat_allocator *allocator;
    REMAT_VECTOR(remat_plan_point) points;
} sweep;

static remat_choice choice_for(const remat_problem *problem, const remat_exec_options *options)
{
    return (remat_choice){.problem = problem,
                          .strategy = options->strategy,
                          .effort = options->effort,
                          .time_limit_seconds = options->time_limit_seconds};
}

/* Checks the request and derives the problem; the caller releases the derivation. */
static remat_status prepare(remat_tape *tape, remat_var loss, const remat_exec_options **options,
                            remat_allocator *allocator, remat_derivation *derivation)
{
    uint32_t index = REMAT_NONE;
    remat_status status = remat_plan_check_request(tape, loss, options, &index);
    if (status != REMAT_OK)
        return status;
    *allocator = (*options)->allocator ? *(*options)->allocator : tape->allocator;
    return remat_derive(tape, index, *options, allocator, derivation);
}

remat_status remat_plan_min_budget(remat_tape *tape, remat_var loss,
                                   const remat_exec_options *options, size_t *budget_bytes)
{
    remat_allocator allocator;
    remat_derivation derivation;
    if (!tape || !budget_bytes)
        return REMAT_INVALID_ARGUMENT;
    remat_status status = prepare(tape, loss, &options, &allocator, &derivation);
    if (status != REMAT_OK)
        return status;
    remat_choice choice = choice_for(&derivation.problem, options);
    choice.budget_bytes = 1; /* nothing fits: every strategy shows its smallest */
    status = remat_choose(&choice);
    if (status == REMAT_OK || status == REMAT_INFEASIBLE_BUDGET) {
        *budget_bytes = choice.smallest_bytes;
        status = REMAT_OK;
    } else {
        status = remat_plan_report_failure(tape, &choice, status);
    }
    remat_candidate_release(&allocator, &choice.best);
    remat_derivation_release(&derivation);
    return status;
}

/* ---- The curve -------------------------------------------------------------------------------*/

static remat_status add_point(void *context, const remat_candidate *c)
{
    sweep *s = context;
    remat_plan_point point = {.arena_bytes = c->arena_bytes,
                              .extra_cost = c->simulation.replay_cost,
                              .replays = c->simulation.replays,
                              .strategy = c->strategy};
    return remat_vector_push(s->allocator, &s->points, point) ? REMAT_OK : REMAT_OUT_OF_MEMORY;
}

static int compare_points(const void *a, const void *b)
{
    const remat_plan_point *x = a, *y = b;
    if (x->arena_bytes != y->arena_bytes)
        return x->arena_bytes < y->arena_bytes ? -1 : 1;
    if (x->extra_cost != y->extra_cost)
        return x->extra_cost < y->extra_cost ? -1 : 1;
    return (x->strategy > y->strategy) - (x->strategy < y->strategy);
}

static void leave_unbeaten(sweep *s)
{
    remat_plan_point *points = s->points.data;
    size_t n = 0;
    qsort(points, s->points.count, sizeof *points, compare_points);
    for (size_t i = 0; i < s->points.count; i++)
        if (n == 0 || points[i].extra_cost < points[n - 1].extra_cost)
            points[n++] = points[i];
    s->points.count = n;
}

static bool hand_out(const sweep *s, const remat_problem *problem, remat_plan_point *points,
                     size_t capacity, size_t *count)
{
    size_t n = s->points.count;
    *count = n < capacity ? n : capacity;
    for (size_t k = 0; k < *count; k++) {
        size_t index = *count > 1 ? k * (n - 1) / (*count - 1) : n - 1;
        points[k] = s->points.data[index];
        if (points[k].extra_cost > 0.0 &&
            !remat_bound_cut(problem, points[k].arena_bytes, REMAT_EFFORT_FAST, &points[k].bound))
            return false;
        if (points[k].bound > points[k].extra_cost)
            points[k].bound = points[k].extra_cost;
    }
    return true;
}

remat_status remat_choose_curve(remat_choice *choice, remat_plan_point *points, size_t capacity,
                                size_t *count)
{
    const remat_allocator *allocator = &choice->problem->allocator;
    sweep s = {.allocator = allocator};
    remat_status status = remat_choose_all(choice, ORDERS_PER_FAMILY, add_point, &s);
    if (status == REMAT_OK) {
        leave_unbeaten(&s);
        if (!hand_out(&s, choice->problem, points, capacity, count))
            status = REMAT_OUT_OF_MEMORY;
    }
    remat_vector_release(allocator, &s.points);
    remat_candidate_release(allocator, &choice->best);
    return status;
}

remat_status remat_plan_sweep(remat_tape *tape, remat_var loss, const remat_exec_options *options,
                              remat_plan_point *points, size_t capacity, size_t *count)
{
    remat_allocator allocator;
    remat_derivation derivation;
    if (!tape || !count || !points || capacity == 0)
        return REMAT_INVALID_ARGUMENT;
    remat_status status = prepare(tape, loss, &options, &allocator, &derivation);
    if (status != REMAT_OK)
        return status;
    remat_choice choice = choice_for(&derivation.problem, options);
    status = remat_choose_curve(&choice, points, capacity, count);
    if (status != REMAT_OK)
        status = remat_plan_report_failure(tape, &choice, status);
    remat_derivation_release(&derivation);
    return status;
}
