/* loss_template.h - the kernels of loss.h for one REAL; see simd.h. Rows of logits are often short
 * (ten classes), so what is left of a row goes through the vector instructions too, padded. */

static REAL F(largest)(int64_t count, const REAL *x)
{
    REAL lane[LANES];
    for (int64_t j = 0; j < LANES; j++)
        lane[j] = x[0];
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
#pragma omp simd
        for (int64_t j = 0; j < LANES; j++)
            lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
    for (int64_t j = 0; i + j < count; j++)
        lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
    for (int64_t j = 1; j < LANES; j++)
        lane[0] = lane[j] > lane[0] ? lane[j] : lane[0];
    return lane[0];
}

SIMD_INLINE void F(add_exp)(const REAL *x, REAL max, double *lane)
{
#pragma omp simd
    for (int64_t j = 0; j < LANES; j++)
        lane[j] += (double)F(exp_negative)(x[j] - max);
}

static double F(sum_of_exp)(int64_t count, const void *x, double *max)
{
    const REAL *v = x;
    const REAL top = F(largest)(count, v);
    double lane[LANES] = {0};
    int64_t i = 0;
    *max = (double)top;
    for (; i + LANES <= count; i += LANES)
        F(add_exp)(v + i, top, lane);
    if (i < count) {
        REAL rest[LANES];
        for (int64_t j = 0; j < LANES; j++)
            rest[j] = i + j < count ? v[i + j] : -(REAL)INFINITY; /* exp is 0 */
        F(add_exp)(rest, top, lane);
    }
    return sum_lanes(lane);
}

SIMD_INLINE void F(softmax_block)(const REAL *x, REAL target, REAL log_sum, REAL factor, REAL *d,
                                  bool accumulate)
{
#pragma omp simd
    for (int64_t j = 0; j < LANES; j++) {
        REAL value = factor * (F(exp_negative)(x[j] - log_sum) - target);
        d[j] = accumulate ? d[j] + value : value;
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
