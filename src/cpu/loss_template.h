/* loss_template.h - the kernels of loss.h for one REAL; see simd.h. Rows of logits are often short
 * (ten classes), so what is left of a row goes through the vector instructions too, padded. */

SIMD_INLINE void F(take_larger)(const REAL *x, REAL *lane)
{
#pragma omp simd
    for (int64_t j = 0; j < LANES; j++)
        lane[j] = x[j] > lane[j] ? x[j] : lane[j];
}

/* rest: what is left of x after whole blocks, filled up. */
static REAL F(largest)(int64_t count, const REAL *x, const REAL *rest)
{
    REAL lane[LANES];
    memcpy(lane, rest, sizeof lane);
    for (int64_t i = 0; i + LANES <= count; i += LANES)
        F(take_larger)(x + i, lane);
    REAL max = lane[0];
#pragma omp simd reduction(max : max)
    for (int64_t j = 0; j < LANES; j++)
        max = lane[j] > max ? lane[j] : max;
    return max;
}

/* Of the first `count` elements; the others only have to be there. */
SIMD_INLINE void F(add_exp)(int64_t count, const REAL *x, REAL max, double *lane)
{
#pragma omp simd
    for (int64_t j = 0; j < LANES; j++) {
        REAL term = F(exp_negative)(x[j] - max);
        lane[j] += (double)(j < count ? term : 0);
    }
}

static double F(sum_of_exp)(int64_t count, const void *x, double *max)
{
    const REAL *v = x;
    const int64_t whole = count - count % LANES;
    double lane[LANES] = {0};
    REAL rest[LANES];
    for (int64_t j = 0; j < LANES; j++)
        rest[j] = v[0];
    memcpy(rest, v + whole, (size_t)(count - whole) * sizeof(REAL));
    const REAL top = F(largest)(count, v, rest);
    *max = (double)top;
    for (int64_t i = 0; i < whole; i += LANES)
        F(add_exp)(LANES, v + i, top, lane);
    if (whole < count)
        F(add_exp)(count - whole, rest, top, lane);
    return sum_lanes(lane);
}

SIMD_INLINE void F(softmax_block)(const REAL *x, REAL target, REAL log_sum, REAL factor, REAL *d,
                                  bool accumulate)
{
    if (accumulate) {
#pragma omp simd
        for (int64_t j = 0; j < LANES; j++)
            d[j] += factor * (F(exp_negative)(x[j] - log_sum) - target);
    } else {
#pragma omp simd
        for (int64_t j = 0; j < LANES; j++)
            d[j] = factor * (F(exp_negative)(x[j] - log_sum) - target);
    }
}

static void F(softmax_gradient)(int64_t count, const void *x, const remat_row_target *target,
                                double log_sum, double factor, void *d, bool accumulate)
{
    const REAL everywhere = (REAL)target->everywhere, s = (REAL)log_sum, f = (REAL)factor;
    const REAL *v = x;
    REAL *to = d;
    const REAL before = accumulate ? to[target->label] : 0;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        F(softmax_block)(v + i, everywhere, s, f, to + i, accumulate);
    if (i < count) {
        const size_t bytes = (size_t)(count - i) * sizeof(REAL);
        REAL rest[LANES] = {0}, rest_d[LANES] = {0};
        memcpy(rest, v + i, bytes);
        memcpy(rest_d, to + i, accumulate ? bytes : 0);
        F(softmax_block)(rest, everywhere, s, f, rest_d, accumulate);
        memcpy(to + i, rest_d, bytes);
    }
    const REAL p = F(exp_negative)(v[target->label] - s);
    to[target->label] = before + f * (p - (REAL)(target->everywhere + target->at_label));
}

SIMD_INLINE double F(square)(REAL a, REAL b)
{
    double difference = (double)a - (double)b;
    return difference * difference;
}

static double F(squared_distance)(int64_t count, const void *a, const void *b)
{
    const REAL *u = a, *v = b;
    double lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
#pragma omp simd
        for (int64_t j = 0; j < LANES; j++)
            lane[j] += F(square)(u[i + j], v[i + j]);
    for (int64_t j = 0; i + j < count; j++)
        lane[j] += F(square)(u[i + j], v[i + j]);
    return sum_lanes(lane);
}

static void F(difference)(int64_t count, const void *a, const void *b, double factor, void *d,
                          bool accumulate)
{
    const REAL *u = a, *v = b;
    const REAL f = (REAL)factor;
    REAL *to = d;
    if (accumulate) {
#pragma omp simd
        for (int64_t i = 0; i < count; i++)
            to[i] += f * (u[i] - v[i]);
    } else {
#pragma omp simd
        for (int64_t i = 0; i < count; i++)
            to[i] = f * (u[i] - v[i]);
    }
}
