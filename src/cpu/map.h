/* map.h - element-wise kernels of one variable: y = f(x) and its gradient.
 *
 * Errors in units in the last place, f32 and f64 (tests/ops/test_cpu_kernels.c holds them to
 * these): 0.5 sqrt, square; 1 log; 1.5 exp; 2 tanh; 3.5 sigmoid; 5 silu; 10 gelu. gelu_tanh: 24
 * from -3 on; left of that, e^z magnifies the rounding of z. Subnormal results are rounded, not
 * flushed. */
#ifndef REMAT_CPU_MAP_H
#define REMAT_CPU_MAP_H

#include <stdbool.h>
#include <stdint.h>

/* X(NAME, name, type). The parameter is scale's factor and leaky_relu's slope; unused elsewhere. */
#define REMAT_MAP_LIST(X, type)     \
    X(SCALE, scale, type)           \
    X(EXP, exp, type)               \
    X(LOG, log, type)               \
    X(SQRT, sqrt, type)             \
    X(SQUARE, square, type)         \
    X(RELU, relu, type)             \
    X(LEAKY_RELU, leaky_relu, type) \
    X(GELU, gelu, type)             \
    X(GELU_TANH, gelu_tanh, type)   \
    X(SILU, silu, type)             \
    X(TANH, tanh, type)             \
    X(SIGMOID, sigmoid, type)

typedef enum remat_map {
#define REMAT_MAP_ENUM(NAME, name, type) REMAT_MAP_##NAME,
    REMAT_MAP_LIST(REMAT_MAP_ENUM, )
#undef REMAT_MAP_ENUM
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
    /* y[i] = (accumulate ? y[i] : 0) + factor *value */
    void (*spread)(const void *value, void *y, int64_t count, double factor, bool accumulate);
} remat_map_kernels;

#endif
