/* counting_allocator.c - see counting_allocator.h. */
#include "core/support/counting_allocator.h"

#include <stdlib.h>

#define HEADER_BYTES 16 /* keeps blocks aligned for every scalar type; holds the size */

static void *reallocate(void *context, void *block, size_t old_bytes, size_t new_bytes)
{
    counting_allocator *state = context;
    size_t *header = block ? (size_t *)(void *)((char *)block - HEADER_BYTES) : NULL;
    size_t known = header ? *header : 0;
    if (known != old_bytes)
        state->wrong_sizes++;
    if (new_bytes == 0) {
        state->live_blocks -= header != NULL;
        state->live_bytes -= known;
        free(header);
        return NULL;
    }
    state->calls++;
    if (state->fail_at > 0 &&
        (state->calls == state->fail_at || (state->fail_from && state->calls > state->fail_at)))
        return NULL;
    if (new_bytes > SIZE_MAX - HEADER_BYTES)
        return NULL;
    size_t *moved = realloc(header, new_bytes + HEADER_BYTES);
    if (!moved)
        return NULL;
    *moved = new_bytes;
    state->live_blocks += header == NULL;
    state->live_bytes += new_bytes - known;
    if (state->live_bytes > state->peak_bytes)
        state->peak_bytes = state->live_bytes;
    return (char *)moved + HEADER_BYTES;
}

remat_allocator counting_allocator_make(counting_allocator *state)
{
    return (remat_allocator){state, reallocate};
}
