/* bytes.h - numbers from the bytes of a fuzzer; 0 when they are used up. */
#ifndef TESTS_FUZZ_BYTES_H
#define TESTS_FUZZ_BYTES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_bytes {
    const uint8_t *next;
    size_t left;
} fuzz_bytes;

static inline uint32_t fuzz_byte(fuzz_bytes *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->next++;
}

/* 0 .. limit-1, limit at most 65536. */
static inline uint32_t fuzz_below(fuzz_bytes *in, uint32_t limit)
{
    uint32_t value = fuzz_byte(in);
    if (limit > 256)
        value = value << 8 | fuzz_byte(in);
    return value % limit;
}

/* Mostly small; sometimes as large as can be. */
static inline size_t fuzz_size(fuzz_bytes *in)
{
    const uint32_t small = fuzz_byte(in);
    if (small < 0xf0)
        return small;
    return small < 0xf8 ? (size_t)fuzz_byte(in) << (7 * (small & 7)) : SIZE_MAX >> (small & 7);
}

static inline double fuzz_cost(fuzz_bytes *in)
{
    static const double odd[] = {0.0,     -0.0, 1e-300,           5e-324,     1e300,
                                 1.7e308, -1.0, (double)INFINITY, (double)NAN};
    const uint32_t small = fuzz_byte(in);
    return small < 0xf0 ? small / 4.0 : odd[(small & 15) % (sizeof odd / sizeof *odd)];
}

#endif
