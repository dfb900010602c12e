/* layout.c - offsets by lifetime. Dynamic storage allocation is NP-hard, so a few fast heuristics
 * run and the smallest arena wins; each stops the search when it reaches the lower bound, the
 * largest sum of buffers in use at once. */
#include "plan/lower.h"

#include <stdlib.h>
#include <string.h>

/* ---- Free memory: gaps in order of offset; the last one is open to the top -------------------*/

typedef struct gap {
    size_t offset, bytes;
} gap;

typedef struct packer {
    const remat_allocator *allocator;
    remat_buffers *buffers;
    REMAT_VECTOR(gap) gaps;
    uint64_t *by_last; /* last << 32 | index, ascending */
    size_t live_bytes;
    uint32_t short_life; /* buffers that live so long or shorter are placed from the top down */
    bool first_fit;
    size_t arena_bytes;
} packer;

static size_t lowest_gap(const packer *p, size_t bytes)
{
    size_t best = p->gaps.count - 1; /* the open one always fits */
    for (size_t i = 0; i < p->gaps.count; i++) {
        if (p->gaps.data[i].bytes < bytes)
            continue;
        if (p->first_fit || p->gaps.data[i].bytes == bytes)
            return i;
        if (p->gaps.data[i].bytes < p->gaps.data[best].bytes)
            best = i;
    }
    return best;
}

static bool remove_gap(packer *p, size_t i)
{
    memmove(&p->gaps.data[i], &p->gaps.data[i + 1], (p->gaps.count - i - 1) * sizeof(gap));
    p->gaps.count--;
    return true;
}

static bool insert_gap(packer *p, size_t i, gap g)
{
    if (!remat_vector_reserve(p->allocator, &p->gaps, 1))
        return false;
    memmove(&p->gaps.data[i + 1], &p->gaps.data[i], (p->gaps.count - i) * sizeof(gap));
    p->gaps.data[i] = g;
    p->gaps.count++;
    return true;
}

static bool take_low(packer *p, size_t bytes, size_t *offset)
{
    size_t i = lowest_gap(p, bytes);
    gap *g = &p->gaps.data[i];
    *offset = g->offset;
    g->offset += bytes;
    if (g->bytes != SIZE_MAX)
        g->bytes -= bytes;
    return g->bytes > 0 || remove_gap(p, i);
}

/* The highest place that ends at or below live_bytes; *found is false if there is none. */
static bool take_high(packer *p, size_t bytes, size_t *offset, bool *found)
{
    *found = false;
    for (size_t i = p->gaps.count; i-- > 0;) {
        gap g = p->gaps.data[i];
        size_t end = g.bytes == SIZE_MAX ? p->live_bytes : g.offset + g.bytes;
        if (end > p->live_bytes || end < g.offset || end - g.offset < bytes)
            continue;
        *found = true;
        *offset = end - bytes;
        if (g.bytes == SIZE_MAX) {
            p->gaps.data[i].offset = end;
        } else {
            p->gaps.data[i].bytes -= bytes;
            return p->gaps.data[i].bytes > 0 || remove_gap(p, i);
        }
        gap below = {g.offset, *offset - g.offset};
        return below.bytes == 0 || insert_gap(p, i, below);
    }
    return true;
}

static bool give_back(packer *p, size_t offset, size_t bytes)
{
    size_t low = 0, high = p->gaps.count; /* first gap above offset */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->gaps.data[middle].offset > offset)
            high = middle;
        else
            low = middle + 1;
    }
    bool joins_below =
        low > 0 && p->gaps.data[low - 1].offset + p->gaps.data[low - 1].bytes == offset;
    bool joins_above = low < p->gaps.count && offset + bytes == p->gaps.data[low].offset;
    if (!joins_below && !joins_above)
        return insert_gap(p, low, (gap){offset, bytes});
    if (joins_above) {
        gap *above = &p->gaps.data[low];
        above->offset = offset;
        if (above->bytes != SIZE_MAX)
            above->bytes += bytes;
    }
    if (joins_below && joins_above) {
        gap *below = &p->gaps.data[low - 1], *above = &p->gaps.data[low];
        above->offset = below->offset;
        if (above->bytes != SIZE_MAX)
            above->bytes += below->bytes;
        return remove_gap(p, low - 1);
    }
    if (joins_below)
        p->gaps.data[low - 1].bytes += bytes;
    return true;
}

/* ---- In order of time ------------------------------------------------------------------------*/

static bool place(packer *p, remat_buffer *b)
{
    bool found = false;
    if (b->last - b->first < p->short_life && !take_high(p, b->bytes, &b->offset, &found))
        return false;
    if (!found && !take_low(p, b->bytes, &b->offset))
        return false;
    if (b->offset + b->bytes > p->arena_bytes)
        p->arena_bytes = b->offset + b->bytes;
    return true;
}

static bool pack_by_time(packer *p)
{
    size_t n = p->buffers->count, ended = 0;
    p->gaps.count = 0;
    p->arena_bytes = 0;
    if (!remat_vector_push(p->allocator, &p->gaps, ((gap){0, SIZE_MAX})))
        return false;
    for (size_t i = 0; i < n; i++) {
        remat_buffer *b = &p->buffers->data[i];
        for (; p->by_last[ended] >> 32 < b->first; ended++) {
            const remat_buffer *gone = &p->buffers->data[p->by_last[ended] & UINT32_MAX];
            if (!give_back(p, gone->offset, gone->bytes))
                return false;
        }
        if (!place(p, b))
            return false;
    }
    return true;
}

/* ---- By size, offline: for small problems ----------------------------------------------------*/

#define OFFLINE_LIMIT 3000

static int compare_words(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Lowest offset at which buffer b meets none of the placed ones that live at the same time. */
static size_t lowest_offset(const remat_buffer *buffers, const uint32_t *placed, size_t n,
                            const remat_buffer *b)
{
    size_t offset = 0;
    for (size_t i = 0; i < n; i++) {
        const remat_buffer *other = &buffers[placed[i]];
        if (other->last < b->first || b->last < other->first)
            continue;
        if (other->offset >= offset && other->offset - offset >= b->bytes)
            return offset;
        if (other->offset + other->bytes > offset)
            offset = other->offset + other->bytes;
    }
    return offset;
}

static void pack_in_order(packer *p, const uint64_t *order, uint32_t *placed)
{
    remat_buffer *buffers = p->buffers->data;
    p->arena_bytes = 0;
    for (size_t i = 0; i < p->buffers->count; i++) {
        uint32_t index = (uint32_t)(order[i] & UINT32_MAX);
        remat_buffer *b = &buffers[index];
        b->offset = lowest_offset(buffers, placed, i, b);
        size_t at = i; /* placed is kept in order of offset */
        for (; at > 0 && buffers[placed[at - 1]].offset > b->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = index;
        if (b->offset + b->bytes > p->arena_bytes)
            p->arena_bytes = b->offset + b->bytes;
    }
}

static bool pack_by_size(packer *p)
{
    size_t n = p->buffers->count;
    uint64_t *order = remat_memory_allocate(p->allocator, n, sizeof *order);
    uint32_t *placed = remat_memory_allocate(p->allocator, n, sizeof *placed);
    bool done = order && placed;
    if (done) {
        /* Descending size; 2^32 and more units of 64 bytes compare as equal. */
        for (size_t i = 0; i < n; i++) {
            size_t units = p->buffers->data[i].bytes / REMAT_ALIGNMENT;
            uint32_t key = units > UINT32_MAX ? UINT32_MAX : (uint32_t)units;
            order[i] = (uint64_t)(UINT32_MAX - key) << 32 | i;
        }
        qsort(order, n, sizeof *order, compare_words);
        pack_in_order(p, order, placed);
    }
    remat_memory_release(p->allocator, order, n, sizeof *order);
    remat_memory_release(p->allocator, placed, n, sizeof *placed);
    return done;
}

/* ---- The best of them ------------------------------------------------------------------------*/

static void keep_if_better(packer *p, size_t *offsets, size_t *best)
{
    if (p->arena_bytes >= *best)
        return;
    *best = p->arena_bytes;
    for (size_t i = 0; i < p->buffers->count; i++)
        offsets[i] = p->buffers->data[i].offset;
}

static bool try_all(packer *p, size_t *offsets, size_t *best)
{
    const uint32_t lives[] = {0, 2, 8, 32, 128, 1024};
    for (size_t i = 0; i < 2 * sizeof lives / sizeof lives[0] && *best > p->live_bytes; i++) {
        p->short_life = lives[i / 2];
        p->first_fit = i % 2;
        if (!pack_by_time(p))
            return false;
        keep_if_better(p, offsets, best);
    }
    if (*best > p->live_bytes && p->buffers->count <= OFFLINE_LIMIT) {
        if (!pack_by_size(p))
            return false;
        keep_if_better(p, offsets, best);
    }
    return true;
}

bool remat_layout(const remat_allocator *allocator, remat_buffers *buffers, size_t live_bytes,
                  size_t *arena_bytes)
{
    packer p = {.allocator = allocator, .buffers = buffers, .live_bytes = live_bytes};
    size_t n = buffers->count, best = SIZE_MAX;
    *arena_bytes = 0;
    if (n == 0)
        return true;
    size_t *offsets = remat_memory_allocate(allocator, n, sizeof *offsets);
    p.by_last = remat_memory_allocate(allocator, n, sizeof *p.by_last);
    bool done = offsets && p.by_last;
    if (done) {
        for (size_t i = 0; i < n; i++)
            p.by_last[i] = (uint64_t)buffers->data[i].last << 32 | i;
        qsort(p.by_last, n, sizeof *p.by_last, compare_words);
        done = try_all(&p, offsets, &best);
    }
    for (size_t i = 0; done && i < n; i++)
        buffers->data[i].offset = offsets[i];
    remat_memory_release(allocator, offsets, n, sizeof *offsets);
    remat_memory_release(allocator, p.by_last, n, sizeof *p.by_last);
    remat_vector_release(allocator, &p.gaps);
    *arena_bytes = best;
    return done;
}
