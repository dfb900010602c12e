/* memory.c - allocation through remat_allocator, and sizes that cannot overflow. */
#define _GNU_SOURCE /* madvise, MADV_HUGEPAGE */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

static void *reallocate_default(void *context, void *block, size_t old_bytes, size_t new_bytes)
{
    (void)context;
    (void)old_bytes;
    if (new_bytes == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_bytes);
}

remat_allocator remat_allocator_default(void)
{
    return (remat_allocator){NULL, reallocate_default};
}

bool remat_size_multiply(size_t a, size_t b, size_t *result)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *result = a * b;
    return true;
}

bool remat_size_add(size_t a, size_t b, size_t *result)
{
    if (a > SIZE_MAX - b)
        return false;
    *result = a + b;
    return true;
}

bool remat_size_align(size_t bytes, size_t *result)
{
    if (bytes > SIZE_MAX - (REMAT_ALIGNMENT - 1))
        return false;
    *result = (bytes + REMAT_ALIGNMENT - 1) & ~(size_t)(REMAT_ALIGNMENT - 1);
    return true;
}

void *remat_memory_allocate(const remat_allocator *allocator, size_t count, size_t item_bytes)
{
    size_t bytes;
    if (!remat_size_multiply(count ? count : 1, item_bytes, &bytes))
        return NULL;
    void *block = allocator->reallocate(allocator->context, NULL, 0, bytes);
    if (block)
        memset(block, 0, bytes);
    return block;
}

void remat_memory_release(const remat_allocator *allocator, void *block, size_t count,
                          size_t item_bytes)
{
    if (block)
        allocator->reallocate(allocator->context, block, (count ? count : 1) * item_bytes, 0);
}

bool remat_arena_allocate(const remat_allocator *allocator, bool allocator_is_default, size_t bytes,
                          remat_arena *arena)
{
    *arena = (remat_arena){0};
    if (bytes == 0)
        return true;
    size_t alignment = REMAT_ALIGNMENT;
    if (allocator_is_default) {
        if (bytes >= HUGE_PAGE_BYTES)
            alignment = HUGE_PAGE_BYTES;
        if (posix_memalign(&arena->block, alignment, bytes) != 0) {
            arena->block = NULL;
            return false;
        }
        arena->block_bytes = bytes;
        arena->from_default = true;
        arena->data = arena->block;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (alignment == HUGE_PAGE_BYTES)
            (void)madvise(arena->block, bytes, MADV_HUGEPAGE); /* advice: failing is no error */
#endif
        return true;
    }
    if (!remat_size_add(bytes, alignment, &arena->block_bytes))
        return false;
    arena->block = allocator->reallocate(allocator->context, NULL, 0, arena->block_bytes);
    if (!arena->block)
        return false;
    uintptr_t start = ((uintptr_t)arena->block + alignment - 1) & ~(uintptr_t)(alignment - 1);
    arena->data = (void *)start;
    return true;
}

void remat_arena_release(const remat_allocator *allocator, remat_arena *arena)
{
    if (arena->block && arena->from_default)
        free(arena->block);
    else if (arena->block)
        allocator->reallocate(allocator->context, arena->block, arena->block_bytes, 0);
    *arena = (remat_arena){0};
}
