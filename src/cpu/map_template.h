/* map_template.h - the loops over the element functions, for one REAL; see simd.h.
 *
 * A loop runs over whole blocks. What is left of an array goes through the same loop in a block on
 * the stack, so every element is computed by the same vector instructions: its bits depend neither
 * on its position nor on alignment. */

typedef void F(forward_blocks)(const REAL *x, REAL *y, int64_t blocks, REAL p);
typedef void F(backward_blocks)(const REAL *kept, const REAL *dy, REAL *dx, int64_t blocks, REAL p,
                                bool accumulate);

static void F(run_forward)(F(forward_blocks) * loop, const REAL *x, REAL *y, int64_t count, REAL p)
{
    int64_t blocks = count / SIMD_BLOCK, done = blocks * SIMD_BLOCK;
    size_t bytes = (size_t)(count - done) * sizeof(REAL);
    REAL block[SIMD_BLOCK] = {0};
    if (blocks > 0)
        loop(x, y, blocks, p);
    if (bytes == 0)
        return;
    memcpy(block, x + done, bytes);
    loop(block, block, 1, p);
    memcpy(y + done, block, bytes);
}

static void F(run_backward)(F(backward_blocks) * loop, const REAL *kept, const REAL *dy, REAL *dx,
                            int64_t count, REAL p, bool accumulate)
{
    int64_t blocks = count / SIMD_BLOCK, done = blocks * SIMD_BLOCK;
    size_t bytes = (size_t)(count - done) * sizeof(REAL);
    REAL kept_block[SIMD_BLOCK] = {0}, dy_block[SIMD_BLOCK] = {0}, dx_block[SIMD_BLOCK] = {0};
    if (blocks > 0)
        loop(kept, dy, dx, blocks, p, accumulate);
    if (bytes == 0)
        return;
    if (kept)
        memcpy(kept_block, kept + done, bytes);
    memcpy(dy_block, dy + done, bytes);
    if (accumulate)
        memcpy(dx_block, dx + done, bytes);
    loop(kept_block, dy_block, dx_block, 1, p, accumulate);
    memcpy(dx + done, dx_block, bytes);
}

#define MAP_FORWARD(name)                                                            \
    SIMD_LOOP void F(name##_blocks)(const REAL *x, REAL *y, int64_t blocks, REAL p)  \
    {                                                                                \
        _Pragma("omp simd") for (int64_t i = 0; i < blocks * SIMD_BLOCK; i++) y[i] = \
            F(name##_map)(x[i], p);                                                  \
    }                                                                                \
    static void F(name##_forward)(const void *x, void *y, int64_t count, double p)   \
    {                                                                                \
        F(run_forward)(F(name##_blocks), x, y, count, (REAL)p);                      \
    }

/* gradient: an expression in i and p. */
#define MAP_BACKWARD(name, gradient)                                                          \
    SIMD_LOOP void F(name##_gradient_blocks)(const REAL *kept, const REAL *dy, REAL *dx,      \
                                             int64_t blocks, REAL p, bool accumulate)         \
    {                                                                                         \
        (void)kept;                                                                           \
        if (accumulate) {                                                                     \
            _Pragma("omp simd") for (int64_t i = 0; i < blocks * SIMD_BLOCK; i++) dx[i] +=    \
                gradient;                                                                     \
        } else {                                                                              \
            _Pragma("omp simd") for (int64_t i = 0; i < blocks * SIMD_BLOCK; i++) dx[i] =     \
                gradient;                                                                     \
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
