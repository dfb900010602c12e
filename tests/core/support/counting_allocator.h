/* counting_allocator.h - an allocator for tests: counts what is alive, checks the sizes that it is
 * told, and fails on request. */
#ifndef TESTS_CORE_COUNTING_ALLOCATOR_H
#define TESTS_CORE_COUNTING_ALLOCATOR_H

#include <remat/remat.h>

typedef struct counting_allocator {
    size_t calls;   /* requests for memory, failed ones included; releases do not count */
    size_t fail_at; /* the request with this number fails, from 1; 0: none */
    bool fail_from; /* and all that follow */
    size_t live_blocks, live_bytes, peak_bytes;
    size_t wrong_sizes; /* times that old_bytes was not the block's size */
} counting_allocator;

/* Hands out *state's function; state must outlive all users. */
remat_allocator counting_allocator_make(counting_allocator *state);

#endif
