/* chain_prepare.c - from the caller's chain to the solver's: checks, costs in ticks, options that
 * are worth a try, numbers of equal intervals. */
#include "plan/chain_solution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TICKS_LIMIT_LOG2 52 /* sums of ticks stay exact as doubles */

typedef struct preparation {
    remat_chain_solution *solution;
    const remat_chain *chain;
    remat_chain_fault fault;
} preparation;

static remat_status refuse(preparation *p, remat_status status, const char *text, uint32_t index,
                           uint32_t option)
{
    p->fault = (remat_chain_fault){text, index, option};
    return status;
}

static bool is_cost(double cost)
{
    return cost >= 0 && cost <= 0x1p1000; /* false for NaN */
}

static remat_status check_stage(preparation *p, uint32_t i)
{
    const remat_chain_stage *stage = &p->chain->stages[i];
    if (!is_cost(stage->forward_cost))
        return refuse(p, REMAT_INVALID_ARGUMENT,
                      "the stage's forward cost is negative or no number", i, 0);
    if (stage->n_options < 1 || stage->n_options > REMAT_CHAIN_MAX_OPTIONS || !stage->options)
        return refuse(p, REMAT_INVALID_ARGUMENT, "the stage has no options, or too many", i, 0);
    for (uint32_t k = 0; k < stage->n_options; k++) {
        const remat_chain_option *option = &stage->options[k];
        if (!is_cost(option->forward_cost) || !is_cost(option->backward_cost))
            return refuse(p, REMAT_INVALID_ARGUMENT, "an option's cost is negative or no number", i,
                          k);
        if (option->saved_bytes < p->chain->activation_bytes[i + 1])
            return refuse(p, REMAT_INVALID_ARGUMENT,
                          "an option saves fewer bytes than the stage's result has", i, k);
    }
    return REMAT_OK;
}

static remat_status check_settings(preparation *p)
{
    const remat_chain_settings *settings = &p->solution->settings;
    if (settings->max_points == 1)
        return refuse(p, REMAT_INVALID_ARGUMENT, "max_points is 1", 0, 0);
    if (!(settings->max_extra >= 0))
        return refuse(p, REMAT_INVALID_ARGUMENT, "max_extra is negative or no number", 0, 0);
    return REMAT_OK;
}

static bool add_stage_bytes(const remat_chain_stage *stage, size_t *total)
{
    size_t saved = 0, forward = stage->forward_extra_bytes, backward = 0;
    for (uint32_t k = 0; k < stage->n_options; k++) {
        const remat_chain_option *option = &stage->options[k];
        saved = option->saved_bytes > saved ? option->saved_bytes : saved;
        forward = option->forward_extra_bytes > forward ? option->forward_extra_bytes : forward;
        backward =
            option->backward_extra_bytes > backward ? option->backward_extra_bytes : backward;
    }
    return remat_size_add(*total, saved, total) && remat_size_add(*total, forward, total) &&
           remat_size_add(*total, backward, total);
}

/* Everything there is, at once, can be counted; so no sum of the solver overflows or
 * reaches the sentinel. */
static remat_status check_bytes(preparation *p)
{
    const remat_chain *chain = p->chain;
    size_t total = 0;
    for (uint32_t i = 0; i <= chain->n_stages; i++) {
        if (!remat_size_add(total, chain->activation_bytes[i], &total) ||
            !remat_size_add(total, chain->gradient_bytes[i], &total) ||
            total > REMAT_CHAIN_SENTINEL / 2)
            return refuse(p, REMAT_OVERFLOW, "the sum of bytes overflows at the activation", i, 0);
        if (i < chain->n_stages &&
            (!add_stage_bytes(&chain->stages[i], &total) || total > REMAT_CHAIN_SENTINEL / 2))
            return refuse(p, REMAT_OVERFLOW, "the sum of bytes overflows at the stage", i, 0);
    }
    return REMAT_OK;
}

/* A bound on the cost of any order: a forward runs at most n times, a backward once. */
static remat_status choose_tick(preparation *p)
{
    double n = p->chain->n_stages, bound = 0;
    for (uint32_t i = 0; i < p->chain->n_stages; i++) {
        const remat_chain_stage *stage = &p->chain->stages[i];
        double forward = stage->forward_cost, backward = 0;
        for (uint32_t k = 0; k < stage->n_options; k++) {
            forward = fmax(forward, stage->options[k].forward_cost);
            backward = fmax(backward, stage->options[k].backward_cost);
        }
        bound += n * forward + backward;
        if (!is_cost(bound))
            return refuse(p, REMAT_OVERFLOW, "the sum of costs overflows at the stage", i, 0);
    }
    int exponent = 0;
    if (bound > 0)
        (void)frexp(bound, &exponent); /* bound < 2^exponent */
    p->solution->exponent = exponent - TICKS_LIMIT_LOG2;
    return REMAT_OK;
}

static uint64_t ticks(const remat_chain_solution *solution, double cost)
{
    return (uint64_t)nearbyint(ldexp(cost, -solution->exponent));
}

/* Where an option is chosen its forward and its backward run once each: only their sum matters. */
static bool is_beaten(const remat_chain_choice *a, const remat_chain_choice *by)
{
    return by->forward + by->backward <= a->forward + a->backward && by->saved <= a->saved &&
           by->forward_extra <= a->forward_extra && by->backward_extra <= a->backward_extra;
}

static int by_saved_bytes(const void *left, const void *right)
{
    const remat_chain_choice *a = left, *b = right;
    if (a->saved != b->saved)
        return a->saved < b->saved ? -1 : 1;
    return a->option < b->option ? -1 : a->option > b->option;
}

/* Moves `wanted` choices, spread evenly over all, to the front; both parts stay in order. */
static void bring_holes_forward(remat_chain_choice *choices, uint32_t n, uint32_t wanted)
{
    for (uint32_t i = 1; i < wanted; i++) {
        uint32_t from = i * (n - 1) / (wanted - 1);
        remat_chain_choice choice = choices[from];
        memmove(choices + i + 1, choices + i, (from - i) * sizeof *choices);
        choices[i] = choice;
    }
}

static bool prepare_choices(preparation *p, uint32_t i)
{
    remat_chain_solution *solution = p->solution;
    const remat_chain_stage *stage = &p->chain->stages[i];
    remat_chain_work *work = &solution->work[i];
    if (!remat_vector_reserve(&solution->allocator, &solution->choices, stage->n_options))
        return false;
    work->first = (uint32_t)solution->choices.count;
    remat_chain_choice *choices = solution->choices.data + work->first;
    for (uint32_t k = 0; k < stage->n_options; k++) {
        const remat_chain_option *o = &stage->options[k];
        choices[k] = (remat_chain_choice){
            ticks(solution, o->forward_cost), ticks(solution, o->backward_cost), o->saved_bytes,
            o->forward_extra_bytes,           o->backward_extra_bytes,           k};
    }
    qsort(choices, stage->n_options, sizeof *choices, by_saved_bytes);
    uint32_t n = 0;
    for (uint32_t k = 0; k < stage->n_options; k++) {
        bool beaten = false;
        for (uint32_t j = 0; j < n && !beaten; j++)
            beaten = is_beaten(&choices[k], &choices[j]);
        if (!beaten)
            choices[n++] = choices[k];
    }
    uint32_t most = solution->settings.hole_options;
    work->n_choices = n;
    work->n_holes = solution->settings.persistent ? 0 : most == 0 || most > n ? n : most;
    if (work->n_holes < n)
        bring_holes_forward(choices, n, work->n_holes);
    solution->choices.count += n;
    return true;
}

static uint64_t least_once(const remat_chain_solution *c, uint32_t stage)
{
    const remat_chain_choice *choices = remat_chain_choices(c, stage);
    uint64_t least = UINT64_MAX;
    for (uint32_t k = 0; k < c->work[stage].n_choices; k++) {
        uint64_t both = choices[k].forward + choices[k].backward;
        least = both < least ? both : least;
    }
    return least;
}

static bool allocate_arrays(remat_chain_solution *c)
{
    const remat_allocator *a = &c->allocator;
    size_t n = c->n;
    return (c->work = remat_memory_allocate(a, n, sizeof *c->work)) &&
           (c->activation = remat_memory_allocate(a, n + 1, sizeof *c->activation)) &&
           (c->gradient = remat_memory_allocate(a, n + 1, sizeof *c->gradient)) &&
           (c->once = remat_memory_allocate(a, n + 1, sizeof *c->once)) &&
           (c->interval = remat_memory_allocate(a, n * (n + 1) / 2, sizeof *c->interval));
}

static bool fill_arrays(preparation *p)
{
    remat_chain_solution *c = p->solution;
    memcpy(c->activation, p->chain->activation_bytes, (c->n + 1u) * sizeof *c->activation);
    memcpy(c->gradient, p->chain->gradient_bytes, (c->n + 1u) * sizeof *c->gradient);
    for (uint32_t i = 0; i < c->n; i++) {
        c->work[i].plain = ticks(c, p->chain->stages[i].forward_cost);
        c->work[i].plain_extra = p->chain->stages[i].forward_extra_bytes;
        if (!prepare_choices(p, i))
            return false;
        c->once[i + 1] = c->once[i] + least_once(c, i);
    }
    double extra = ldexp(c->settings.max_extra, -c->exponent);
    c->extra_limit = extra < 0x1p60 ? (uint64_t)extra + 1 : (uint64_t)1 << 60;
    return true;
}

static remat_status prepare(preparation *p)
{
    const remat_chain *chain = p->chain;
    uint32_t n = chain->n_stages;
    if (n < 1 || n > REMAT_CHAIN_MAX_STAGES)
        return refuse(p, REMAT_INVALID_ARGUMENT, "the chain has no stages, or too many", n, 0);
    if (!chain->stages || !chain->activation_bytes || !chain->gradient_bytes)
        return refuse(p, REMAT_INVALID_ARGUMENT, "an array of the chain is NULL", 0, 0);
    remat_status status = check_settings(p);
    for (uint32_t i = 0; status == REMAT_OK && i < n; i++)
        status = check_stage(p, i);
    if (status == REMAT_OK)
        status = check_bytes(p);
    if (status == REMAT_OK)
        status = choose_tick(p);
    if (status != REMAT_OK)
        return status;
    p->solution->n = n;
    return allocate_arrays(p->solution) && fill_arrays(p) ? REMAT_OK : REMAT_OUT_OF_MEMORY;
}

remat_status remat_chain_prepare(remat_chain_solution *solution, const remat_chain *chain,
                                 remat_chain_fault *fault)
{
    preparation p = {.solution = solution, .chain = chain};
    remat_status status = prepare(&p);
    if (fault)
        *fault = p.fault;
    return status;
}
