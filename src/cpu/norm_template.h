/* norm_template.h - the loops of norm.h for one element type; see simd.h. A row is read from
 * memory once: what follows the first of its loops finds it in the cache. Sums are in double. */

/* The mean as it is stored, and 1 / sqrt(variance + epsilon). Deviations are taken from the stored
 * mean, and the square of its rounding error is taken back, so nothing large is subtracted. */
SIMD_LOOP void F(row_statistics)(const REAL *x, int64_t n, double epsilon, REAL *mean, REAL *rstd)
{
    double sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i];
    double exact = sum / (double)n;
    REAL stored = (REAL)exact;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < n; i++) {
        REAL deviation = x[i] - stored;
        squares += (double)(deviation * deviation);
    }
    double error = exact - (double)stored;
    double variance = squares / (double)n - error * error;
    *mean = stored;
    *rstd = (REAL)(1 / sqrt((variance > 0 ? variance : 0) + epsilon));
}

/* y = (x - mean) rstd weight + bias */
SIMD_LOOP void F(normalise_row)(const REAL *x, const REAL *weight, const REAL *bias, REAL mean,
                                REAL rstd, REAL *y, int64_t n)
{
    if (weight && bias) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            y[i] = F(fma)((x[i] - mean) * rstd, weight[i], bias[i]);
    } else if (weight) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - mean) * rstd * weight[i];
    } else if (bias) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            y[i] = F(fma)(x[i] - mean, rstd, bias[i]);
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - mean) * rstd;
    }
}

static void F(forward)(const remat_norm_forward *call)
{
    REAL *mean = call->mean, *rstd = call->rstd;
    for (int64_t row = 0; row < call->rows; row++) {
        const REAL *x = (const REAL *)call->x + row * call->n;
        F(row_statistics)(x, call->n, call->epsilon, &mean[row], &rstd[row]);
        F(normalise_row)
        (x, call->weight, call->bias, mean[row], rstd[row], (REAL *)call->y + row * call->n,
         call->n);
    }
}

/* With g = dy weight and h = (x - mean) rstd: dx = rstd (g - mean of g - h * mean of g h). */
SIMD_INLINE void F(row_dx)(const REAL *x, const REAL *weight, REAL mean, REAL rstd, const REAL *dy,
                           REAL *dx, int64_t n, bool accumulate)
{
    double sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
    for (int64_t i = 0; i < n; i++) {
        REAL g = weight ? dy[i] * weight[i] : dy[i];
        sum += (double)g;
        dot += (double)(g * ((x[i] - mean) * rstd));
    }
    REAL mean_g = (REAL)(sum / (double)n), mean_gh = (REAL)(dot / (double)n);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        REAL g = weight ? dy[i] * weight[i] : dy[i];
        REAL h = (x[i] - mean) * rstd;
        REAL d = rstd * (F(fma)(-h, mean_gh, g) - mean_g);
        dx[i] = accumulate ? dx[i] + d : d;
    }
}

/* One copy of the loops for each case, so that none decides inside. */
SIMD_LOOP void F(row_gradient)(const REAL *x, const REAL *weight, REAL mean, REAL rstd,
                               const REAL *dy, REAL *dx, int64_t n, bool accumulate)
{
    if (weight && accumulate)
        F(row_dx)(x, weight, mean, rstd, dy, dx, n, true);
    else if (weight)
        F(row_dx)(x, weight, mean, rstd, dy, dx, n, false);
    else if (accumulate)
        F(row_dx)(x, NULL, mean, rstd, dy, dx, n, true);
    else
        F(row_dx)(x, NULL, mean, rstd, dy, dx, n, false);
}

SIMD_LOOP void F(add_row)(const REAL *x, REAL mean, REAL rstd, const REAL *dy, double *dweight,
                          double *dbias, int64_t n)
{
    if (dweight && dbias) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            dweight[i] += (double)(dy[i] * ((x[i] - mean) * rstd));
            dbias[i] += (double)dy[i];
        }
    } else if (dweight) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            dweight[i] += (double)(dy[i] * ((x[i] - mean) * rstd));
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            dbias[i] += (double)dy[i];
    }
}

/* A row's dy is read for the totals before dx may take its place. */
static void F(backward)(const remat_norm_backward *call)
{
    const REAL *means = call->mean, *rstds = call->rstd;
    for (int64_t row = 0; row < call->rows; row++) {
        int64_t at = row * call->n;
        const REAL *x = call->x ? (const REAL *)call->x + at : NULL;
        const REAL *dy = (const REAL *)call->dy + at;
        REAL mean = means ? means[row] : 0, rstd = rstds ? rstds[row] : 0;
        if (call->dweight || call->dbias)
            F(add_row)(x, mean, rstd, dy, call->dweight, call->dbias, call->n);
        if (call->dx)
            F(row_gradient)
        (x, call->weight, mean, rstd, dy, (REAL *)call->dx + at, call->n, call->accumulate);
    }
}
