/* map.h - element-wise kernels of one variable: y = f(x) and its gradient. */
#ifndef REMAT_CPU_MAP_H
#define REMAT_CPU_MAP_H

#include <stdbool.h>
#include <stdint.h>

typedef enum remat_map {
    REMAT_MAP_SCALE, /* parameter x */
    REMAT_MAP_EXP,
    REMAT_MAP_LOG,
    REMAT_MAP_SQRT,
    REMAT_MAP_SQUARE,
    REMAT_MAP_RELU,
    REMAT_MAP_LEAKY_RELU, /* parameter: slope */
    REMAT_MAP_GELU,
    REMAT_MAP_GELU_TANH,
    REMAT_MAP_SILU,
    REMAT_MAP_TANH,
    REMAT_MAP_SIGMOID,
    REMAT_MAP_COUNT
} remat_map;

/* y[i] = f(x[i]); y may be x. */
typedef void remat_map_forward(const void *x, void *y, int64_t count, double parameter);

/* dx[i] = (accumulate ? dx[i] : 0) + f'(x[i]) dy[i]. kept is x or y = f(x), whichever the map's
 * derivative is written in: y for exp, sqrt, relu, leaky_relu, tanh and sigmoid; x for log, square,
 * gelu, gelu_tanh and silu; scale reads neither (NULL). dx may be dy. */
typedef void remat_map_backward(const void *kept, const void *dy, void *dx, int64_t count,
                                double parameter, bool accumulate);

typedef struct remat_map_kernels {
    remat_map_forward *forward[REMAT_MAP_COUNT];
    remat_map_backward *backward[REMAT_MAP_COUNT];
} remat_map_kernels;

#endif
