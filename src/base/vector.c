/* vector.c - growable arrays. */
#include "base/vector.h"

bool remat_vector_grow(const remat_allocator *allocator, void **data, size_t *capacity,
                       size_t needed, size_t item_bytes)
{
    size_t target = *capacity < 8 ? 8 : *capacity + *capacity / 2;
    if (target < needed)
        target = needed;
    size_t bytes;
    if (!remat_size_multiply(target, item_bytes, &bytes))
        return false;
    void *moved = allocator->reallocate(allocator->context, *data, *capacity * item_bytes, bytes);
    if (!moved)
        return false;
    *data = moved;
    *capacity = target;
    return true;
}
