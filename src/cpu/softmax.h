/* softmax.h - kernels of softmax and its logarithm along the middle axis of [outer, n, inner]. */
#ifndef REMAT_CPU_SOFTMAX_H
#define REMAT_CPU_SOFTMAX_H

#include <stdbool.h>
#include <stdint.h>

typedef struct remat_softmax_extents {
    int64_t outer, n, inner;
} remat_softmax_extents;

/* y may be x. */
typedef void remat_softmax_forward(const remat_softmax_extents *extents, const void *x, void *y);

/* dx may be dy unless accumulating. */
typedef void remat_softmax_backward(const remat_softmax_extents *extents, const void *y,
                                    const void *dy, void *dx, bool accumulate);

typedef enum remat_softmax_kind {
    REMAT_SOFTMAX_PLAIN, /* y = e^x / sum e^x,  dx = y (dy - sum y dy) */
    REMAT_SOFTMAX_LOG,   /* y = x - log sum e^x, dx = dy - e^y sum dy */
    REMAT_SOFTMAX_COUNT
} remat_softmax_kind;

typedef struct remat_softmax_kernels {
    remat_softmax_forward *forward[REMAT_SOFTMAX_COUNT];
    remat_softmax_backward *backward[REMAT_SOFTMAX_COUNT];
} remat_softmax_kernels;

#endif
