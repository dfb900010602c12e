/* map_template.h - the loops of map.h for one element type; see blocks_template.h. */

#define MAP_FORWARD(name)                                                           \
    SIMD_LOOP void F(name##_blocks)(const REAL *x, REAL *y, int64_t blocks, REAL p) \
    {                                                                               \
        _Pragma("omp simd") for (int64_t i = 0; i < blocks * SIMD_BLOCK; i++)       \
        {                                                                           \
            y[i] = F(name##_map)(x[i], p);                                          \
        }                                                                           \
    }                                                                               \
    static void F(name##_forward)(const void *x, void *y, int64_t count, double p)  \
    {                                                                               \
        F(run_forward)(F(name##_blocks), x, y, count, (REAL)p);                     \
    }

/* gradient: an expression in i and p. */
#define MAP_BACKWARD(name, gradient)                                                          \
    SIMD_LOOP void F(name##_gradient_blocks)(const REAL *kept, const REAL *dy, REAL *dx,      \
                                             int64_t blocks, REAL p, bool accumulate)         \
    {                                                                                         \
        (void)kept;                                                                           \
        if (accumulate) {                                                                     \
            _Pragma("omp simd") for (int64_t i = 0; i < blocks * SIMD_BLOCK; i++)             \
            {                                                                                 \
                dx[i] += gradient;                                                            \
            }                                                                                 \
        } else {                                                                              \
            _Pragma("omp simd") for (int64_t i = 0; i < blocks * SIMD_BLOCK; i++)             \
            {                                                                                 \
                dx[i] = gradient;                                                             \
            }                                                                                 \
        }                                                                                     \
    }                                                                                         \
    static void F(name##_backward)(const void *kept, const void *dy, void *dx, int64_t count, \
                                   double p, bool accumulate)                                 \
    {                                                                                         \
        F(run_backward)(F(name##_gradient_blocks), kept, dy, dx, count, (REAL)p, accumulate); \
    }

#define MAP(name)     \
    MAP_FORWARD(name) \
    MAP_BACKWARD(name, F(name##_gradient)(kept[i], dy[i], p))

MAP_FORWARD(scale)
MAP_BACKWARD(scale, F(scale_map)(dy[i], p))
MAP(exp)
MAP(log)
MAP(sqrt)
MAP(square)
MAP(relu)
MAP(leaky_relu)
MAP(gelu)
MAP(gelu_tanh)
MAP(silu)
MAP(tanh)
MAP(sigmoid)

#undef MAP
#undef MAP_FORWARD
#undef MAP_BACKWARD

static void F(spread)(const void *value, void *y, int64_t count, double factor, bool accumulate)
{
    REAL term = *(const REAL *)value * (REAL)factor, *to = y;
    if (accumulate) {
#pragma omp simd
        for (int64_t i = 0; i < count; i++)
            to[i] += term;
    } else {
#pragma omp simd
        for (int64_t i = 0; i < count; i++)
            to[i] = term;
    }
}
