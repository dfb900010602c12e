/* dropout.h - the kernel of dropout: random words and their use in one pass. */
#ifndef REMAT_CPU_DROPOUT_H
#define REMAT_CPU_DROPOUT_H

#include <remat/op.h>

typedef struct remat_dropout_kernels {
    /* y[i] = (accumulate ? y[i] : 0) + (word i >= threshold ? factor x[i] : 0), where word i is
     * word i % 4 of remat_random_block(key, i / 4). y may be x unless accumulating. */
    void (*apply)(const remat_random_key *key, uint32_t threshold, double factor, const void *x,
                  void *y, int64_t count, bool accumulate);
} remat_dropout_kernels;

#endif
