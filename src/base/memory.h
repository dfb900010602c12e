/* memory.h - allocation through remat_allocator, and sizes that cannot overflow. */
#ifndef REMAT_BASE_MEMORY_H
#define REMAT_BASE_MEMORY_H

#include <remat/remat.h>

#define REMAT_ALIGNMENT 64 /* of every value in an arena; sizes are rounded up to it */

/* The C library's realloc and free. */
remat_allocator remat_allocator_default(void);

/* What a caller gives: NULL stands for the default; an allocator without a function is refused. */
static inline bool remat_allocator_is_valid(const remat_allocator *given)
{
    return !given || given->reallocate;
}
static inline remat_allocator remat_allocator_or_default(const remat_allocator *given)
{
    return given ? *given : remat_allocator_default();
}

/* False if the product or sum exceeds SIZE_MAX; *result is unchanged then. */
bool remat_size_multiply(size_t a, size_t b, size_t *result);
bool remat_size_add(size_t a, size_t b, size_t *result);
/* Rounds up to REMAT_ALIGNMENT. */
bool remat_size_align(size_t bytes, size_t *result);

/* count * item_bytes, zeroed; NULL if that fails or overflows. count 0 gives a block of one item.
 */
void *remat_memory_allocate(const remat_allocator *allocator, size_t count, size_t item_bytes);
void remat_memory_release(const remat_allocator *allocator, void *block, size_t count,
                          size_t item_bytes);

/* A block aligned to REMAT_ALIGNMENT, not initialised. Without a caller's allocator and from 2 MiB
 * on it is aligned to and advised for huge pages. data NULL: none. */
typedef struct remat_arena {
    void *data;  /* aligned */
    void *block; /* as allocated */
    size_t block_bytes;
    bool from_default; /* made by posix_memalign, not by the allocator */
} remat_arena;

/* allocator_is_default: the C library's may be bypassed for a better aligned block. */
bool remat_arena_allocate(const remat_allocator *allocator, bool allocator_is_default, size_t bytes,
                          remat_arena *arena);
void remat_arena_release(const remat_allocator *allocator, remat_arena *arena);

#endif
