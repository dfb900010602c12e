/* op_buffer.c - guarded memory, and elements as doubles. */
#include "support/op_buffer.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
#define GUARDED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GUARDED 1
#endif
#endif
#ifdef GUARDED
#include <sanitizer/asan_interface.h>
#define FORBID(from, bytes) __asan_poison_memory_region((from), (bytes))
#define ALLOW(from, bytes)  __asan_unpoison_memory_region((from), (bytes))
#else
#define FORBID(from, bytes) ((void)(from), (void)(bytes))
#define ALLOW(from, bytes)  ((void)(from), (void)(bytes))
#endif

enum { zone = 128, canary = 0xA5 };

/* The whole eight-byte granules of AddressSanitizer outside the data. */
static void forbid_outside(const op_buffer *buffer)
{
    const size_t start = zone + buffer->shift;
    const size_t end = (start + buffer->bytes + 7) / 8 * 8;
    FORBID(buffer->block, start / 8 * 8);
    FORBID(buffer->block + end, buffer->block_bytes - end);
}

op_buffer op_buffer_create(size_t bytes, size_t shift, unsigned char fill)
{
    op_buffer buffer = {.bytes = bytes, .shift = shift};
    if (bytes == 0)
        return buffer;
    buffer.block_bytes = (2 * (size_t)zone + shift + bytes + 63) / 64 * 64;
    buffer.block = aligned_alloc(64, buffer.block_bytes);
    assert_non_null(buffer.block);
    buffer.data = buffer.block + zone + shift;
    memset(buffer.block, canary, buffer.block_bytes);
    memset(buffer.data, fill, bytes);
    forbid_outside(&buffer);
    return buffer;
}

void op_buffer_destroy(op_buffer *buffer)
{
    ALLOW(buffer->block, buffer->block_bytes);
    free(buffer->block);
    *buffer = (op_buffer){0};
}

bool op_buffer_intact(const op_buffer *buffer)
{
    const size_t start = zone + buffer->shift, end = start + buffer->bytes;
    bool intact = true;
    if (buffer->block == NULL)
        return true;
    ALLOW(buffer->block, buffer->block_bytes);
    for (size_t i = 0; i < buffer->block_bytes; i++)
        intact = intact && ((i >= start && i < end) || buffer->block[i] == canary);
    forbid_outside(buffer);
    return intact;
}

void op_store(void *data, remat_dtype dtype, size_t count, const double *values)
{
    for (size_t i = 0; i < count; i++) {
        if (dtype == REMAT_F64)
            ((double *)data)[i] = values[i];
        else if (dtype == REMAT_F32)
            ((float *)data)[i] = (float)values[i];
        else
            ((int32_t *)data)[i] = (int32_t)values[i];
    }
}

void op_load(const void *data, remat_dtype dtype, size_t count, double *values)
{
    for (size_t i = 0; i < count; i++) {
        if (dtype == REMAT_F64)
            values[i] = ((const double *)data)[i];
        else if (dtype == REMAT_F32)
            values[i] = (double)((const float *)data)[i];
        else
            values[i] = (double)((const int32_t *)data)[i];
    }
}
