/* outcome.c - see outcome.h. */
#include "core/support/outcome.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void append(outcome *o, const void *data, size_t bytes)
{
    if (o->capacity - o->count < bytes) {
        o->capacity = 2 * o->capacity + bytes;
        o->bytes = realloc(o->bytes, o->capacity);
        fake_require(o->bytes);
    }
    if (data)
        memcpy(o->bytes + o->count, data, bytes);
    else
        memset(o->bytes + o->count, 0, bytes);
    o->count += bytes;
}

static remat_tensor numbers_of(const random_tape *r, const void *data, size_t bytes, int64_t *dim)
{
    *dim = (int64_t)(bytes / remat_dtype_bytes(r->dtype));
    return (remat_tensor){(void *)(uintptr_t)data, dim, 1, r->dtype};
}

void outcome_fill_gradients(const random_tape *r, double constant)
{
    for (size_t i = 0; i < r->n_gradients; i++) {
        int64_t n;
        if (!r->gradients[i].buffer)
            continue;
        remat_tensor t = numbers_of(r, r->gradients[i].buffer, r->gradients[i].bytes, &n);
        for (int64_t k = 0; k < n; k++)
            fake_put(&t, k, constant);
    }
}

static size_t bytes_of(const random_tape *r, remat_var v)
{
    return remat_tape_bytes(r->tape, remat_tape_index(r->tape, v));
}

bool outcome_collect(outcome *o, const random_tape *r, remat_exec *exec)
{
    const void *data;
    o->count = 0;
    if (r->loss.id) {
        if (remat_exec_value(exec, r->loss, &data) != REMAT_OK)
            return false;
        append(o, data, bytes_of(r, r->loss));
    }
    for (size_t i = 0; i < r->n_kept; i++) {
        if (remat_exec_value(exec, r->kept[i], &data) != REMAT_OK)
            return false;
        append(o, data, bytes_of(r, r->kept[i]));
    }
    for (size_t i = 0; i < r->n_gradients; i++) {
        if (remat_exec_gradient(exec, r->gradients[i].v, &data) != REMAT_OK)
            return false;
        if (r->gradients[i].buffer && data != r->gradients[i].buffer)
            return false;
        append(o, data, r->gradients[i].bytes);
    }
    return true;
}

void outcome_expect(outcome *o, const random_tape *r, const reference *ref)
{
    o->count = 0;
    if (r->loss.id)
        append(o, reference_data(ref, r->loss), bytes_of(r, r->loss));
    for (size_t i = 0; i < r->n_kept; i++)
        append(o, reference_data(ref, r->kept[i]), bytes_of(r, r->kept[i]));
    for (size_t i = 0; i < r->n_gradients; i++)
        append(o, reference_gradient(ref, r->gradients[i].v), r->gradients[i].bytes);
}

void outcome_release(outcome *o)
{
    free(o->bytes);
    *o = (outcome){0};
}

bool outcome_same_bits(const outcome *a, const outcome *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->bytes, b->bytes, a->count) == 0);
}

bool outcome_same_numbers(const random_tape *r, const outcome *a, const outcome *b)
{
    int64_t n, m;
    remat_tensor x = numbers_of(r, a->bytes, a->count, &n);
    remat_tensor y = numbers_of(r, b->bytes, b->count, &m);
    bool same = n == m;
    for (int64_t i = 0; same && i < n; i++)
        same = fake_get(&x, i) == fake_get(&y, i);
    return same;
}

double outcome_activity(const random_tape *r, const outcome *o)
{
    int64_t n, active = 0;
    remat_tensor t = numbers_of(r, o->bytes, o->count, &n);
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(fake_get(&t, i)))
            return -1;
        active += fake_get(&t, i) != 0;
    }
    return n ? (double)active / (double)n : 0;
}
