/* mixed.c - mixed checkpointing: the table of optima, and the order as a stream of actions. */
#include <remat/plan.h>

#include "base/memory.h"

#define INFINITE ((int32_t)1 << 30) /* p <= n (n + 1) / 2 < 2^29.1; two of them stay below 2^31 */

/* What occupies slot number `depth`. */
typedef struct holding {
    uint32_t step; /* state or tape */
    bool is_tape;
} holding;

typedef enum phase { PHASE_WORK, PHASE_ADVANCE, PHASE_RETURN, PHASE_FREE } phase;

struct remat_mixed {
    remat_allocator allocator;
    uint32_t n, slots;
    int32_t *table;    /* [slots + 1][n + 1] p(m, k) at k (n + 1) + m */
    holding *holdings; /* [slots] */
    phase phase;
    uint32_t depth, begin, end; /* the working state is `begin`; end-1 is the next adjoint */
    uint32_t middle;            /* PHASE_ADVANCE: to here */
};

/* The least of m + with_state[m] + rest[n - m]. */
static int32_t least_split(const int32_t *with_state, const int32_t *rest, int32_t n)
{
    int32_t best = INFINITE;
    for (int32_t m = 1; m < n; m++) {
        int32_t cost = m + with_state[m] + rest[n - m];
        best = cost < best ? cost : best;
    }
    return best;
}

static const int32_t *row(const remat_mixed *v, uint32_t slots)
{
    return v->table + (size_t)slots * (v->n + 1u);
}

static void fill_table(remat_mixed *v)
{
    int32_t n = (int32_t)v->n;
    for (int32_t m = 1; m <= n; m++)
        v->table[m] = m == 1 ? 1 : INFINITE;
    for (uint32_t k = 1; k <= v->slots; k++) {
        const int32_t *before = row(v, k - 1);
        int32_t *p = v->table + (size_t)k * (v->n + 1u);
        p[1] = 1;
        for (int32_t m = 2; m <= n; m++) {
            int32_t taped = 1 + before[m - 1], split = INFINITE;
            if (taped > m) /* else nothing is run twice */
                split = least_split(p, before, m);
            p[m] = taped < split ? taped : split;
        }
    }
}

static remat_revolve_action make(remat_revolve_kind kind, uint32_t slot, uint32_t step,
                                 uint32_t end)
{
    return (remat_revolve_action){kind, slot, step, end};
}

/* Fills the next slot with a state or a tape, whichever the optimum does; tapes if both. */
static remat_revolve_action fill_slot(remat_mixed *v)
{
    uint32_t slot = v->depth++, begin = v->begin, n = v->end - begin, left = v->slots - slot;
    const int32_t *p = row(v, left), *rest = row(v, left - 1);
    if (p[n] == 1 + rest[n - 1]) {
        v->holdings[slot] = (holding){begin, true};
        v->begin = begin + 1;
        return make(REMAT_REVOLVE_TAPE, slot, begin, begin + 1);
    }
    uint32_t m = 1;
    while ((int32_t)m + p[m] + rest[n - m] != p[n])
        m++;
    v->holdings[slot] = (holding){begin, false};
    v->middle = begin + m;
    v->phase = PHASE_ADVANCE;
    return make(REMAT_REVOLVE_STORE, slot, begin, begin);
}

static remat_revolve_action work(remat_mixed *v)
{
    if (v->end - v->begin > 1)
        return fill_slot(v);
    v->end--;
    v->phase = PHASE_RETURN;
    return make(REMAT_REVOLVE_ADJOINT, 0, v->end, v->end);
}

/* The adjoint of `end` is done: goes on with what the last slot holds. */
static remat_revolve_action come_back(remat_mixed *v)
{
    uint32_t slot = v->depth - 1;
    holding last = v->holdings[slot];
    if (last.is_tape) {
        v->depth--;
        v->end--;
        return make(REMAT_REVOLVE_ADJOINT_TAPED, slot, last.step, last.step);
    }
    v->begin = last.step;
    v->phase = PHASE_FREE;
    return make(REMAT_REVOLVE_RESTORE, slot, last.step, last.step);
}

bool remat_mixed_next(remat_mixed *v, remat_revolve_action *action)
{
    if (v->end == 0)
        return false;
    switch (v->phase) {
    case PHASE_WORK:
        *action = work(v);
        break;
    case PHASE_ADVANCE:
        *action = make(REMAT_REVOLVE_ADVANCE, 0, v->begin, v->middle);
        v->begin = v->middle;
        v->phase = PHASE_WORK;
        break;
    case PHASE_RETURN:
        *action = come_back(v);
        break;
    case PHASE_FREE:
        v->depth--;
        *action = make(REMAT_REVOLVE_FREE, v->depth, v->begin, v->begin);
        v->phase = PHASE_WORK;
        break;
    }
    return true;
}

remat_status remat_mixed_create(const remat_allocator *allocator, uint64_t n, uint64_t s,
                                remat_mixed **mixed)
{
    if (!mixed)
        return REMAT_INVALID_ARGUMENT;
    *mixed = NULL;
    if (n > REMAT_MIXED_MAX_STEPS || !remat_allocator_is_valid(allocator))
        return REMAT_INVALID_ARGUMENT;
    if (n > 1 && s == 0)
        return REMAT_INFEASIBLE_BUDGET;
    uint64_t most = n ? n - 1 : 0;
    const remat_allocator a = remat_allocator_or_default(allocator);
    remat_mixed *v = remat_memory_allocate(&a, 1, sizeof *v);
    if (!v)
        return REMAT_OUT_OF_MEMORY;
    v->allocator = a;
    v->n = v->end = (uint32_t)n;
    v->slots = (uint32_t)(s < most ? s : most);
    size_t n_entries = (v->slots + (size_t)1) * (v->n + (size_t)1);
    v->table = remat_memory_allocate(&a, n_entries, sizeof *v->table);
    v->holdings = remat_memory_allocate(&a, v->slots, sizeof *v->holdings);
    if (!v->table || !v->holdings) {
        remat_mixed_destroy(v);
        return REMAT_OUT_OF_MEMORY;
    }
    fill_table(v);
    *mixed = v;
    return REMAT_OK;
}

uint64_t remat_mixed_total_forward(const remat_mixed *v)
{
    return (uint64_t)row(v, v->slots)[v->n];
}

void remat_mixed_destroy(remat_mixed *v)
{
    if (!v)
        return;
    remat_allocator allocator = v->allocator;
    size_t n_entries = (v->slots + (size_t)1) * (v->n + (size_t)1);
    remat_memory_release(&allocator, v->table, n_entries, sizeof *v->table);
    remat_memory_release(&allocator, v->holdings, v->slots, sizeof *v->holdings);
    remat_memory_release(&allocator, v, 1, sizeof *v);
}
