/* vector.h - growable arrays. A vector is a struct { T *data; size_t count, capacity; } made with
 * REMAT_VECTOR(T); all zero is empty. Growing may move the data. */
#ifndef REMAT_BASE_VECTOR_H
#define REMAT_BASE_VECTOR_H

#include "base/memory.h"

#define REMAT_VECTOR(type)      \
    struct {                    \
        type *data;             \
        size_t count, capacity; \
    }

/* Resizes *data so that it has room for `needed` items. False: out of memory, nothing changed. */
bool remat_vector_grow(const remat_allocator *allocator, void **data, size_t *capacity,
                       size_t needed, size_t item_bytes);

/* Room for `extra` more items; false if memory is short. */
#define remat_vector_reserve(allocator, vector, extra)                             \
    ((vector)->capacity - (vector)->count >= (size_t)(extra) ||                    \
     remat_vector_grow((allocator), (void **)&(vector)->data, &(vector)->capacity, \
                       (vector)->count + (size_t)(extra), sizeof *(vector)->data))

/* Appends one item; false if memory is short. */
#define remat_vector_push(allocator, vector, item)     \
    (remat_vector_reserve((allocator), (vector), 1) && \
     ((vector)->data[(vector)->count++] = (item), true))

/* Address of item i, which may be the end; NULL for an empty vector without memory. */
#define remat_vector_at(vector, i) ((vector)->data ? (vector)->data + (i) : NULL)

#define remat_vector_release(allocator, vector)                            \
    (remat_memory_release((allocator), (vector)->data, (vector)->capacity, \
                          sizeof *(vector)->data),                         \
     (vector)->data = NULL, (vector)->count = (vector)->capacity = 0)

#endif
