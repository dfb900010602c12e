/* lower.h - from a schedule to buffers: every stretch of time in which a value's memory is in use.
 */
#ifndef REMAT_PLAN_LOWER_H
#define REMAT_PLAN_LOWER_H

#include "plan/schedule.h"

/* Bytes in use from action `first` to action `last`, both included. Reused memory is one buffer. */
typedef struct remat_buffer {
    size_t bytes;     /* a multiple of REMAT_ALIGNMENT */
    size_t raw_bytes; /* of the elements */
    size_t offset;    /* in the arena; set by the layout */
    uint32_t first, last;
} remat_buffer;

typedef REMAT_VECTOR(remat_buffer) remat_buffers;

/* For each RUN in order: the buffer of each of its writes in order, then that of its workspace if
 * it has one. */
typedef REMAT_VECTOR(uint32_t) remat_bindings;

/* The schedule is valid (simulated without a fault). False: out of memory. */
bool remat_lower(const remat_problem *problem, const remat_actions *schedule,
                 remat_buffers *buffers, remat_bindings *bindings);

/* Assigns offsets; *arena_bytes is the end of the highest buffer, at least the largest sum of
 * buffers in use at once (live_bytes). Pure; buffers are in order of `first`. False: out of
 * memory. */
bool remat_layout(const remat_allocator *allocator, remat_buffers *buffers, size_t live_bytes,
                  size_t *arena_bytes);

/* True if no two buffers overlap in both time and memory and all end within the arena. *checked is
 * false if memory was short. */
bool remat_layout_check(const remat_allocator *allocator, const remat_buffers *buffers,
                        size_t arena_bytes, bool *checked);

#endif
