/* op_buffer.h - memory handed to an operation under test: exactly the bytes asked for, at a chosen
 * distance from a 64-byte boundary, between canaries that show a write outside. Under
 * AddressSanitizer the canaries cannot be read either. */
#ifndef OP_BUFFER_H
#define OP_BUFFER_H

#include <remat/op.h>

typedef struct op_buffer {
    unsigned char *block;
    void *data; /* NULL for 0 bytes */
    size_t bytes, block_bytes, shift;
} op_buffer;

/* Every byte of the data is `fill`: 0xFF makes NaN of each element. */
op_buffer op_buffer_create(size_t bytes, size_t shift, unsigned char fill);
void op_buffer_destroy(op_buffer *buffer);

/* Are all bytes outside the data as they were? */
bool op_buffer_intact(const op_buffer *buffer);

/* Conversion from and to double, for any dtype. */
void op_store(void *data, remat_dtype dtype, size_t count, const double *values);
void op_load(const void *data, remat_dtype dtype, size_t count, double *values);

#endif
