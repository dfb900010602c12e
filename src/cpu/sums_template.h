/* sums_template.h - the loops of sums.h for one element type; see simd.h. */

static void F(add_columns)(int64_t rows, int64_t columns, const void *x, int64_t stride,
                           double *total)
{
    const REAL *row = x;
    int64_t i = 0;
    for (; i + 8 <= rows; i += 8, row += 8 * stride) {
        const REAL *r0 = row, *r1 = r0 + stride, *r2 = r1 + stride, *r3 = r2 + stride;
        const REAL *r4 = r3 + stride, *r5 = r4 + stride, *r6 = r5 + stride, *r7 = r6 + stride;
#pragma omp simd
        for (int64_t j = 0; j < columns; j++) {
            REAL first = (r0[j] + r1[j]) + (r2[j] + r3[j]);
            REAL last = (r4[j] + r5[j]) + (r6[j] + r7[j]);
            total[j] += (double)(first + last);
        }
    }
    for (; i < rows; i++, row += stride) {
#pragma omp simd
        for (int64_t j = 0; j < columns; j++)
            total[j] += (double)row[j];
    }
}

static void F(store)(int64_t count, const double *total, double sign, void *dst, bool accumulate)
{
    REAL *y = dst;
    if (accumulate) {
#pragma omp simd
        for (int64_t j = 0; j < count; j++)
            y[j] += (REAL)(sign * total[j]);
    } else {
#pragma omp simd
        for (int64_t j = 0; j < count; j++)
            y[j] = (REAL)(sign * total[j]);
    }
}

static double F(sum)(int64_t count, const void *x)
{
    const REAL *v = x;
    double lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
#pragma omp simd
        for (int64_t j = 0; j < LANES; j++)
            lane[j] += (double)v[i + j];
    for (int64_t j = 0; i + j < count; j++)
        lane[j] += (double)v[i + j];
    return sum_lanes(lane);
}
