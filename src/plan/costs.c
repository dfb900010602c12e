/* costs.c - seconds of each statement that replace the estimates of planning. */
#include "plan/costs.h"

#include <math.h>

#include "base/memory.h"
#include "tape/tape.h"

remat_costs *remat_costs_allocate(const remat_allocator *allocator, uint64_t fingerprint,
                                  size_t n_statements)
{
    remat_costs *costs = remat_memory_allocate(allocator, 1, sizeof *costs);
    if (!costs)
        return NULL;
    costs->allocator = *allocator;
    costs->fingerprint = fingerprint;
    costs->n_statements = n_statements;
    costs->forward = remat_memory_allocate(allocator, n_statements, sizeof *costs->forward);
    costs->backward = remat_memory_allocate(allocator, n_statements, sizeof *costs->backward);
    if (!costs->forward || !costs->backward) {
        remat_costs_destroy(costs);
        return NULL;
    }
    for (size_t i = 0; i < n_statements; i++)
        costs->forward[i] = costs->backward[i] = NAN;
    return costs;
}

/* Copies; a NULL array leaves all unknown. Index of the first value that is no cost; n if none. */
static size_t copy_seconds(const double *from, size_t n, double *to)
{
    for (size_t i = 0; from && i < n; i++) {
        if (from[i] < 0.0 || isinf(from[i]))
            return i;
        to[i] = from[i];
    }
    return n;
}

remat_status remat_costs_create(remat_tape *tape, const double *forward_seconds,
                                const double *backward_seconds, size_t n, remat_costs **costs)
{
    if (!tape || !costs)
        return REMAT_INVALID_ARGUMENT;
    if (tape->status != REMAT_OK)
        return tape->status;
    if (n != tape->statements.count)
        return remat_tape_complain(tape, REMAT_INVALID_ARGUMENT,
                                   "costs of %zu statements were given; the tape has %zu", n,
                                   tape->statements.count);
    remat_costs *made = remat_costs_allocate(&tape->allocator, remat_tape_fingerprint(tape), n);
    if (!made)
        return remat_tape_complain(tape, REMAT_OUT_OF_MEMORY, "out of memory for costs");
    size_t wrong = copy_seconds(forward_seconds, n, made->forward);
    if (wrong == n)
        wrong = copy_seconds(backward_seconds, n, made->backward);
    if (wrong < n) {
        remat_costs_destroy(made);
        return remat_tape_complain(tape, REMAT_INVALID_ARGUMENT,
                                   "the cost of statement %zu is negative or infinite", wrong);
    }
    *costs = made;
    return REMAT_OK;
}

void remat_costs_destroy(remat_costs *costs)
{
    if (!costs)
        return;
    const remat_allocator allocator = costs->allocator;
    size_t n = costs->n_statements;
    remat_memory_release(&allocator, costs->forward, n, sizeof *costs->forward);
    remat_memory_release(&allocator, costs->backward, n, sizeof *costs->backward);
    remat_memory_release(&allocator, costs, 1, sizeof *costs);
}

remat_status remat_costs_get(const remat_costs *costs, size_t statement, double *forward_seconds,
                             double *backward_seconds)
{
    if (!costs || statement >= costs->n_statements || !forward_seconds || !backward_seconds)
        return REMAT_INVALID_ARGUMENT;
    *forward_seconds = costs->forward[statement];
    *backward_seconds = costs->backward[statement];
    return REMAT_OK;
}
