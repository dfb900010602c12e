/* chain_envelope.c - the lower envelope of sums of step functions.
 *
 * A way's cost ticks + upper(m - shift) + lower(m) is again a step function. Most ways improve the
 * envelope nowhere or in a short stretch, so a way is first only read, up to its first improvement;
 * it is given up as soon as even its least value is no improvement. */
#include "plan/chain_solution.h"

#include <string.h>

/* A way read from left to right: at `bytes` its cost is `ticks`. */
typedef struct cursor {
    const remat_chain_point *upper, *lower; /* the current points */
    size_t shift, bytes;
    uint64_t base, ticks, least;
} cursor;

static size_t max3(size_t a, size_t b, size_t c)
{
    size_t ab = a > b ? a : b;
    return ab > c ? ab : c;
}

/* The last of n points at or before `bytes`; the first is. */
static const remat_chain_point *last_until(const remat_chain_point *points, size_t n, size_t bytes)
{
    while (n > 1) {
        size_t half = n / 2;
        points = points[half].bytes <= bytes ? points + half : points;
        n -= half;
    }
    return points;
}

static cursor cursor_begin(const remat_chain_way *way)
{
    const remat_chain_function *u = way->upper, *l = way->lower;
    cursor c = {.shift = way->shift, .base = way->ticks};
    c.bytes = max3(way->floor, u->points[0].bytes + way->shift, l->points[0].bytes);
    c.upper = last_until(u->points, u->count, c.bytes - c.shift);
    c.lower = last_until(l->points, l->count, c.bytes);
    c.ticks = c.base + c.upper->ticks + c.lower->ticks;
    c.least = c.base + u->points[u->count - 1].ticks + l->points[l->count - 1].ticks;
    return c;
}

/* Moves on to where the cost is below `target`. False: nowhere within `limit`. The inner loop of
 * the solver; which of the two functions falls next is as good as random, so no branch asks. */
static bool seek(cursor *c, uint64_t target, size_t limit)
{
    if (c->least >= target)
        return false;
    const remat_chain_point *upper = c->upper, *lower = c->lower;
    while (c->ticks >= target) {
        size_t next_upper = upper[1].bytes + c->shift, next_lower = lower[1].bytes;
        upper += next_upper <= next_lower;
        lower += next_lower <= next_upper;
        c->bytes = next_upper < next_lower ? next_upper : next_lower;
        if (c->bytes > limit)
            return false; /* also at the sentinels */
        c->ticks = c->base + upper->ticks + lower->ticks;
    }
    c->upper = upper;
    c->lower = lower;
    return true;
}

/* From the first improvement (where the cursor stands) on, merges into `spare`. */
static bool merge(remat_chain_envelope *e, cursor *c, size_t at, size_t n_way)
{
    const remat_chain_point *old = e->points.data;
    size_t n = e->points.count, room = n + n_way + 1;
    e->spare.count = 0;
    if (!remat_vector_reserve(e->allocator, &e->spare, room))
        return false;
    remat_chain_point *out = e->spare.data;
    size_t kept = at && old[at - 1].bytes == c->bytes ? at - 1 : at;
    if (kept)
        memcpy(out, old, kept * sizeof *out);
    out += kept;
    *out++ = (remat_chain_point){c->bytes, c->ticks};
    uint64_t best = c->ticks;
    /* Points above the ceiling are of no interest. */
    while (seek(c, best <= e->ceiling ? best : e->ceiling + 1, e->limit)) {
        for (; at < n && old[at].bytes <= c->bytes; at++)
            if (old[at].ticks < best && (old[at].bytes < c->bytes || old[at].ticks <= c->ticks)) {
                best = old[at].ticks;
                *out++ = old[at];
            }
        if (c->ticks < best) {
            best = c->ticks;
            *out++ = (remat_chain_point){c->bytes, c->ticks};
        }
    }
    for (; at < n; at++)
        if (old[at].ticks < best) {
            best = old[at].ticks;
            *out++ = old[at];
        }
    e->spare.count = (size_t)(out - e->spare.data);
    return true;
}

bool remat_chain_envelope_add(remat_chain_envelope *e, const remat_chain_way *way)
{
    cursor c = cursor_begin(way);
    const remat_chain_point *points = e->points.data;
    size_t at = 0, n = e->points.count;
    if (n && points[0].bytes <= c.bytes)
        at = (size_t)(last_until(points, n, c.bytes) - points) + 1;
    if (at) {
        uint64_t most = e->ceiling + 1;
        for (;;) {
            uint64_t target = points[at - 1].ticks;
            if (c.bytes > e->limit || !seek(&c, target < most ? target : most, e->limit))
                return true; /* no improvement */
            size_t before = at;
            while (at < n && points[at].bytes <= c.bytes)
                at++;
            if (at == before)
                break;
        }
    }
    if (!merge(e, &c, at, way->upper->count + way->lower->count))
        return false;
    remat_chain_envelope old = *e;
    e->points.data = old.spare.data;
    e->points.count = old.spare.count;
    e->points.capacity = old.spare.capacity;
    e->spare.data = old.points.data;
    e->spare.capacity = old.points.capacity;
    return true;
}

/* Drops what is above the ceiling, except the first point. */
static void drop_above_ceiling(remat_chain_envelope *e)
{
    remat_chain_point *points = e->points.data;
    size_t from = 1;
    while (from < e->points.count && points[from].ticks > e->ceiling)
        from++;
    if (from == 1)
        return;
    memmove(points + 1, points + from, (e->points.count - from) * sizeof *points);
    e->points.count -= from - 1;
}

void remat_chain_envelope_finish(remat_chain_envelope *e, uint32_t max_points)
{
    drop_above_ceiling(e);
    remat_chain_point *points = e->points.data;
    size_t n = e->points.count;
    if (max_points == 0 || n <= max_points)
        return;
    /* Evenly by number: breakpoints are dense where bytes and cost can be traded well. */
    size_t kept = 0;
    for (; kept < max_points; kept++)
        points[kept] = points[kept * (n - 1) / (max_points - 1)];
    e->points.count = kept;
}
