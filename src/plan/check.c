/* check.c - the last look at a layout, written apart from it: sweeps over time and verifies that
 * buffers in use at once are disjoint in memory. */
#include "plan/lower.h"

#include <stdlib.h>
#include <string.h>

static int compare_words(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

typedef struct checker {
    const remat_buffer *buffers;
    uint32_t *active; /* buffers in use, in order of offset */
    size_t n_active;
} checker;

/* Position of the first active buffer at or above an offset. */
static size_t position(const checker *c, size_t offset)
{
    size_t low = 0, high = c->n_active;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->buffers[c->active[middle]].offset >= offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool enter(checker *c, uint32_t index)
{
    const remat_buffer *b = &c->buffers[index];
    size_t at = position(c, b->offset);
    if (at < c->n_active && c->buffers[c->active[at]].offset < b->offset + b->bytes)
        return false;
    if (at > 0) {
        const remat_buffer *below = &c->buffers[c->active[at - 1]];
        if (below->offset + below->bytes > b->offset)
            return false;
    }
    memmove(&c->active[at + 1], &c->active[at], (c->n_active - at) * sizeof c->active[0]);
    c->active[at] = index;
    c->n_active++;
    return true;
}

static void leave(checker *c, uint32_t index)
{
    size_t at = position(c, c->buffers[index].offset);
    memmove(&c->active[at], &c->active[at + 1], (c->n_active - at - 1) * sizeof c->active[0]);
    c->n_active--;
}

/* Each by itself, and in order of time: what the sweep relies on. */
static bool are_sane(const remat_buffer *buffers, size_t n, size_t arena_bytes)
{
    for (size_t i = 0; i < n; i++) {
        const remat_buffer *b = &buffers[i];
        if (b->bytes > arena_bytes || b->offset > arena_bytes - b->bytes ||
            b->offset % REMAT_ALIGNMENT != 0 || (i > 0 && b->first < b[-1].first) ||
            b->last < b->first)
            return false;
    }
    return true;
}

static bool sweep(checker *c, size_t n, const uint64_t *by_last)
{
    size_t ended = 0;
    for (size_t i = 0; i < n; i++) {
        const remat_buffer *b = &c->buffers[i];
        for (; by_last[ended] >> 32 < b->first; ended++)
            leave(c, (uint32_t)(by_last[ended] & UINT32_MAX));
        if (!enter(c, (uint32_t)i))
            return false;
    }
    return true;
}

bool remat_layout_check(const remat_allocator *allocator, const remat_buffers *buffers,
                        size_t arena_bytes, bool *checked)
{
    size_t n = buffers->count;
    checker c = {buffers->data, NULL, 0};
    c.active = remat_memory_allocate(allocator, n + 1, sizeof *c.active);
    uint64_t *by_last = remat_memory_allocate(allocator, n, sizeof *by_last);
    bool valid = false;
    *checked = c.active && by_last;
    if (*checked) {
        for (size_t i = 0; i < n; i++)
            by_last[i] = (uint64_t)buffers->data[i].last << 32 | i;
        if (n > 0)
            qsort(by_last, n, sizeof *by_last, compare_words);
        valid = are_sane(c.buffers, n, arena_bytes) && sweep(&c, n, by_last);
    }
    remat_memory_release(allocator, c.active, n + 1, sizeof *c.active);
    remat_memory_release(allocator, by_last, n, sizeof *by_last);
    return valid;
}
