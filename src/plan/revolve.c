/* revolve.c - closed forms of binomial checkpointing, and the order as a stream of actions. */
#include <remat/plan.h>

#include "base/memory.h"

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint64_t remat_revolve_beta(uint64_t s, uint64_t r)
{
    uint64_t small = s < r ? s : r, large = s < r ? r : s, value = 1;
    /* Each factor at least doubles the value while i <= large, so 64 of them reach the end. */
    for (uint64_t i = 1; i <= small; i++) {
        if (large > UINT64_MAX - i)
            return UINT64_MAX;
        /* value * (large + i) / i is whole; without what value and i share, i divides the sum. */
        uint64_t shared = greatest_divisor(value, i);
        uint64_t factor = (large + i) / (i / shared);
        value /= shared;
        if (value > UINT64_MAX / factor)
            return UINT64_MAX;
        value *= factor;
    }
    return value;
}

uint64_t remat_revolve_repetitions(uint64_t n, uint64_t s)
{
    if (n <= 1)
        return 0;
    if (s == 0)
        return UINT64_MAX;
    uint64_t low = 0, high = n - 1; /* beta(s, low) < n <= beta(s, high) */
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (remat_revolve_beta(s, middle) >= n)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* n (n - 1) / 2, what one slot takes. */
static uint64_t triangle(uint64_t n, uint64_t *high)
{
    uint64_t a = n % 2 ? n : n / 2, b = n % 2 ? (n - 1) / 2 : n - 1;
    uint64_t a_high = a >> 32, a_low = a & UINT32_MAX, b_high = b >> 32, b_low = b & UINT32_MAX;
    uint64_t middle = a_high * b_low + (a_low * b_low >> 32); /* cannot overflow */
    uint64_t other = a_low * b_high + (middle & UINT32_MAX);
    *high = a_high * b_high + (middle >> 32) + (other >> 32);
    return a * b;
}

/* r n - beta(s + 1, r - 1) for 1 < s < n - 1. */
static bool closed_form(uint64_t n, uint64_t s, uint64_t *extra)
{
    uint64_t r = remat_revolve_repetitions(n, s), less = remat_revolve_beta(s + 1, r - 1);
    if (r > UINT64_MAX / n || less == UINT64_MAX)
        return false;
    *extra = r * n - less;
    return true;
}

remat_status remat_revolve_extra_forward(uint64_t n, uint64_t s, uint64_t *extra, uint64_t *high)
{
    uint64_t upper = 0;
    if (!extra)
        return REMAT_INVALID_ARGUMENT;
    *extra = 0;
    if (high)
        *high = 0;
    if (n <= 1)
        return REMAT_OK;
    if (s == 0)
        return REMAT_INFEASIBLE_BUDGET;
    if (s == 1)
        *extra = triangle(n, &upper);
    else if (s >= n - 1)
        *extra = n - 1;
    else if (!closed_form(n, s, extra))
        return REMAT_OVERFLOW;
    if (high)
        *high = upper;
    else if (upper) {
        *extra = 0;
        return REMAT_OVERFLOW;
    }
    return REMAT_OK;
}

uint64_t remat_revolve_steps_advanced(uint64_t n, uint64_t s, uint64_t i)
{
    if (n == 0 || (n > 1 && s == 0))
        return 0;
    uint64_t r = remat_revolve_repetitions(n, s);
    if (i > r)
        return 0;
    uint64_t most = i < r ? remat_revolve_beta(s, i) : n;
    return i ? most - remat_revolve_beta(s, i - 1) : most;
}

/* ---- The order -------------------------------------------------------------------------------*/

/* A checkpoint of state `begin`; it serves steps begin .. end-1, where `end` is the iterator's for
 * the last checkpoint. k = s - depth slots are left for that, its own included. */
typedef struct checkpoint {
    uint64_t begin;
    uint64_t r;     /* least with beta(k, r) >= end - begin, or more: brought up to date on use */
    uint64_t below; /* beta(k, r - 1) */
} checkpoint;

typedef enum phase { PHASE_DECIDE, PHASE_STORE, PHASE_ADJOINT } phase;

struct remat_revolve {
    remat_allocator allocator;
    phase phase;
    bool has_state; /* the working state is that of the last checkpoint */
    uint64_t slots, depth, end;
    checkpoint next; /* what PHASE_STORE stores */
    checkpoint *checkpoints;
};

/* With the number of steps that are left, r falls: beta(k, r - 2) = beta(k, r - 1) (r - 1) /
 * (k + r - 1). With one slot, r grows with n and the product would overflow; there r = n - 1. */
static void update(checkpoint *c, uint64_t k, uint64_t n)
{
    if (k == 1) {
        c->below = c->r = n - 1;
        return;
    }
    while (n <= c->below) {
        c->r--;
        c->below = c->below * c->r / (k + c->r);
    }
}

static remat_revolve_action split(remat_revolve *v)
{
    checkpoint *top = &v->checkpoints[v->depth - 1];
    uint64_t k = v->slots - (v->depth - 1), n = v->end - top->begin;
    update(top, k, n);
    /* Any m within [beta(k, r-2), beta(k, r-1)] such that n - m is within [beta(k-1, r-1),
     * beta(k-1, r)] is optimal; this is the largest. */
    uint64_t least_rest = top->below * k / (k + top->r - 1); /* beta(k - 1, r - 1) */
    uint64_t m = n - least_rest < top->below ? n - least_rest : top->below;
    uint64_t middle = top->begin + m;
    v->next = (checkpoint){middle, top->r, least_rest};
    v->phase = v->end - middle == 1 ? PHASE_ADJOINT : PHASE_STORE;
    return (remat_revolve_action){REMAT_REVOLVE_ADVANCE, 0, top->begin, middle};
}

static remat_revolve_action decide(remat_revolve *v)
{
    uint32_t slot = (uint32_t)(v->depth - 1);
    uint64_t begin = v->checkpoints[slot].begin;
    if (!v->has_state) {
        v->has_state = true;
        return (remat_revolve_action){REMAT_REVOLVE_RESTORE, slot, begin, begin};
    }
    if (v->end - begin > 1)
        return split(v);
    v->depth--;
    v->phase = PHASE_ADJOINT;
    return (remat_revolve_action){REMAT_REVOLVE_FREE, slot, begin, begin};
}

bool remat_revolve_next(remat_revolve *v, remat_revolve_action *action)
{
    switch (v->phase) {
    case PHASE_DECIDE:
        if (v->end == 0)
            return false;
        *action = decide(v);
        return true;
    case PHASE_STORE:
        *action = (remat_revolve_action){REMAT_REVOLVE_STORE, (uint32_t)v->depth, v->next.begin,
                                         v->next.begin};
        v->checkpoints[v->depth++] = v->next;
        v->has_state = true;
        break;
    case PHASE_ADJOINT:
        v->end--;
        *action = (remat_revolve_action){REMAT_REVOLVE_ADJOINT, 0, v->end, v->end};
        v->has_state = false;
        break;
    }
    v->phase = PHASE_DECIDE;
    return true;
}

remat_status remat_revolve_create(const remat_allocator *allocator, uint64_t n, uint64_t s,
                                  remat_revolve **revolve)
{
    if (!revolve)
        return REMAT_INVALID_ARGUMENT;
    *revolve = NULL;
    if (n > REMAT_REVOLVE_MAX_STEPS || !remat_allocator_is_valid(allocator))
        return REMAT_INVALID_ARGUMENT;
    if (n > 1 && s == 0)
        return REMAT_INFEASIBLE_BUDGET;
    uint64_t slots = s < n ? s : n;
    slots = slots < REMAT_REVOLVE_MAX_SLOTS ? slots : REMAT_REVOLVE_MAX_SLOTS;
    const remat_allocator a = remat_allocator_or_default(allocator);
    remat_revolve *v = remat_memory_allocate(&a, 1, sizeof *v);
    if (!v)
        return REMAT_OUT_OF_MEMORY;
    *v = (remat_revolve){.allocator = a, .slots = slots, .end = n};
    v->checkpoints = remat_memory_allocate(&a, (size_t)slots, sizeof *v->checkpoints);
    if (!v->checkpoints) {
        remat_revolve_destroy(v);
        return REMAT_OUT_OF_MEMORY;
    }
    if (n == 1)
        v->phase = PHASE_ADJOINT;
    if (n > 1) {
        uint64_t r = remat_revolve_repetitions(n, slots);
        v->next = (checkpoint){0, r, remat_revolve_beta(slots, r - 1)};
        v->phase = PHASE_STORE;
    }
    *revolve = v;
    return REMAT_OK;
}

void remat_revolve_destroy(remat_revolve *v)
{
    if (!v)
        return;
    remat_allocator allocator = v->allocator;
    remat_memory_release(&allocator, v->checkpoints, (size_t)v->slots, sizeof *v->checkpoints);
    remat_memory_release(&allocator, v, 1, sizeof *v);
}
