/* softmax_template.h - the loops of softmax.h for one element type; see simd.h.
 *
 * Where the axis is the last one, a row is contiguous and one loop reduces it. Elsewhere COLUMNS
 * neighbouring lines are walked together, with a maximum and a sum for each. Sums are in double. */

/* ---- Rows ---- */

SIMD_INLINE REAL F(row_max)(const REAL *x, int64_t n)
{
    INT max = F(ordered)(-(REAL)INFINITY);
#pragma omp simd reduction(max : max)
    for (int64_t i = 0; i < n; i++) {
        INT key = F(ordered)(x[i]);
        max = key > max ? key : max;
    }
    return F(unordered)(max);
}

/* y = e^(x - max) of LANES elements. */
SIMD_INLINE void F(exp_block)(const REAL *x, REAL max, REAL *y)
{
#pragma omp simd
    for (int j = 0; j < LANES; j++)
        y[j] = F(exp_negative)(x[j] - max);
}

/* y = e^(x - max) of a row (y NULL: not stored); returns the sum. The rest of the row is filled up
 * to a block. */
SIMD_INLINE double F(exp_row)(const REAL *x, REAL max, REAL *y, int64_t n)
{
    double lane[LANES] = {0};
    REAL block[LANES];
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        REAL *to = y ? y + i : block;
        F(exp_block)(x + i, max, to);
#pragma omp simd
        for (int j = 0; j < LANES; j++)
            lane[j] += (double)to[j];
    }
    if (i < n) {
        for (int j = 0; j < LANES; j++)
            block[j] = j < n - i ? x[i + j] : max;
        F(exp_block)(block, max, block);
        for (int j = 0; j < n - i; j++)
            lane[j] += (double)block[j];
        if (y)
            memcpy(y + i, block, (size_t)(n - i) * sizeof(REAL));
    }
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            lane[j] += lane[j + half];
    return lane[0];
}

SIMD_LOOP void F(softmax_row)(const REAL *x, REAL *y, int64_t n)
{
    REAL inverse = (REAL)(1 / F(exp_row)(x, F(row_max)(x, n), y, n));
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] *= inverse;
}

SIMD_LOOP void F(log_softmax_row)(const REAL *x, REAL *y, int64_t n)
{
    REAL max = F(row_max)(x, n);
    REAL log_sum = (REAL)log(F(exp_row)(x, max, NULL, n));
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] - max) - log_sum;
}

SIMD_LOOP void F(softmax_row_gradient)(const REAL *y, const REAL *dy, REAL *dx, int64_t n,
                                       bool accumulate)
{
    double dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t i = 0; i < n; i++)
        dot += (double)(y[i] * dy[i]);
    REAL mean = (REAL)dot;
    if (accumulate) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            dx[i] += y[i] * (dy[i] - mean);
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            dx[i] = y[i] * (dy[i] - mean);
    }
}

SIMD_LOOP void F(log_softmax_blocks)(const REAL *y, const REAL *dy, REAL *dx, int64_t blocks,
                                     REAL sum, bool accumulate)
{
    if (accumulate) {
#pragma omp simd
        for (int64_t i = 0; i < blocks * SIMD_BLOCK; i++)
            dx[i] += F(fma)(-F(exp_negative)(y[i]), sum, dy[i]);
    } else {
#pragma omp simd
        for (int64_t i = 0; i < blocks * SIMD_BLOCK; i++)
            dx[i] = F(fma)(-F(exp_negative)(y[i]), sum, dy[i]);
    }
}

static void F(log_softmax_row_gradient)(const REAL *y, const REAL *dy, REAL *dx, int64_t n,
                                        bool accumulate)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (double)dy[i];
    F(run_backward)(F(log_softmax_blocks), y, dy, dx, n, (REAL)sum, accumulate);
}

/* ---- Columns: `width` <= COLUMNS lines of n elements, `stride` apart ---- */

SIMD_INLINE void F(column_max)(const REAL *x, int64_t n, int64_t stride, int64_t width, REAL *max)
{
    for (int64_t j = 0; j < width; j++)
        max[j] = -(REAL)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        const REAL *row = x + i * stride;
#pragma omp simd
        for (int64_t j = 0; j < width; j++)
            max[j] = row[j] > max[j] ? row[j] : max[j];
    }
}

SIMD_LOOP void F(softmax_columns)(const REAL *x, REAL *y, int64_t n, int64_t stride, int64_t width)
{
    REAL max[COLUMNS], inverse[COLUMNS];
    double sum[COLUMNS] = {0};
    F(column_max)(x, n, stride, width, max);
    for (int64_t i = 0; i < n; i++) {
#pragma omp simd
        for (int64_t j = 0; j < width; j++) {
            REAL e = F(exp_negative)(x[i * stride + j] - max[j]);
            sum[j] += (double)e;
            y[i * stride + j] = e;
        }
    }
    for (int64_t j = 0; j < width; j++)
        inverse[j] = (REAL)(1 / sum[j]);
    for (int64_t i = 0; i < n; i++) {
#pragma omp simd
        for (int64_t j = 0; j < width; j++)
            y[i * stride + j] *= inverse[j];
    }
}

SIMD_LOOP void F(log_softmax_columns)(const REAL *x, REAL *y, int64_t n, int64_t stride,
                                      int64_t width)
{
    REAL max[COLUMNS], log_sum[COLUMNS];
    double sum[COLUMNS] = {0};
    F(column_max)(x, n, stride, width, max);
    for (int64_t i = 0; i < n; i++) {
#pragma omp simd
        for (int64_t j = 0; j < width; j++)
            sum[j] += (double)F(exp_negative)(x[i * stride + j] - max[j]);
    }
    for (int64_t j = 0; j < width; j++)
        log_sum[j] = (REAL)log(sum[j]);
    for (int64_t i = 0; i < n; i++) {
#pragma omp simd
        for (int64_t j = 0; j < width; j++)
            y[i * stride + j] = (x[i * stride + j] - max[j]) - log_sum[j];
    }
}

SIMD_LOOP void F(softmax_columns_gradient)(const REAL *y, const REAL *dy, REAL *dx, int64_t n,
                                           int64_t stride, int64_t width, bool accumulate)
{
    double dot[COLUMNS] = {0};
    for (int64_t i = 0; i < n; i++) {
#pragma omp simd
        for (int64_t j = 0; j < width; j++)
            dot[j] += (double)(y[i * stride + j] * dy[i * stride + j]);
    }
    for (int64_t i = 0; i < n; i++) {
#pragma omp simd
        for (int64_t j = 0; j < width; j++) {
            int64_t at = i * stride + j;
            REAL d = y[at] * (dy[at] - (REAL)dot[j]);
            dx[at] = accumulate ? dx[at] + d : d;
        }
    }
}

SIMD_LOOP void F(log_softmax_columns_gradient)(const REAL *y, const REAL *dy, REAL *dx, int64_t n,
                                               int64_t stride, int64_t width, bool accumulate)
{
    double sum[COLUMNS] = {0};
    for (int64_t i = 0; i < n; i++) {
#pragma omp simd
        for (int64_t j = 0; j < width; j++)
            sum[j] += (double)dy[i * stride + j];
    }
    for (int64_t i = 0; i < n; i++) {
#pragma omp simd
        for (int64_t j = 0; j < width; j++) {
            int64_t at = i * stride + j;
            REAL d = F(fma)(-F(exp_negative)(y[at]), (REAL)sum[j], dy[at]);
            dx[at] = accumulate ? dx[at] + d : d;
        }
    }
}

/* ---- Both ---- */

#define SOFTMAX(name)                                                                             \
    static void F(name##_forward)(const remat_softmax_extents *e, const void *x, void *y)         \
    {                                                                                             \
        for (int64_t o = 0; o < e->outer; o++) {                                                  \
            const REAL *from = (const REAL *)x + o * e->n * e->inner;                             \
            REAL *to = (REAL *)y + o * e->n * e->inner;                                           \
            if (e->inner == 1)                                                                    \
                F(name##_row)(from, to, e->n);                                                    \
            else                                                                                  \
                for (int64_t j = 0; j < e->inner; j += COLUMNS)                                   \
                    F(name##_columns)(from + j, to + j, e->n, e->inner, width(e, j));             \
        }                                                                                         \
    }                                                                                             \
    static void F(name##_backward)(const remat_softmax_extents *e, const void *y, const void *dy, \
                                   void *dx, bool accumulate)                                     \
    {                                                                                             \
        for (int64_t o = 0; o < e->outer; o++) {                                                  \
            int64_t at = o * e->n * e->inner;                                                     \
            const REAL *kept = (const REAL *)y + at, *from = (const REAL *)dy + at;               \
            REAL *to = (REAL *)dx + at;                                                           \
            if (e->inner == 1)                                                                    \
                F(name##_row_gradient)(kept, from, to, e->n, accumulate);                         \
            else                                                                                  \
                for (int64_t j = 0; j < e->inner; j += COLUMNS)                                   \
                    F(name##_columns_gradient)                                                    \
            (kept + j, from + j, to + j, e->n, e->inner, width(e, j), accumulate);                \
        }                                                                                         \
    }

SOFTMAX(softmax)
SOFTMAX(log_softmax)
#undef SOFTMAX
