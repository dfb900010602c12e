/* optimizer_template.h - the loops of simd_optimizer.c for one element type; see simd.h. The flags
 * are arguments that every caller passes as constants, so that each combination becomes a loop of
 * its own without a branch. */

SIMD_INLINE void F(sgd_plain)(const remat_sgd *sgd, size_t count, REAL *restrict data,
                              REAL *restrict gradient, bool zero)
{
    const REAL rate = (REAL)sgd->learning_rate, decay = (REAL)sgd->weight_decay;
    for (size_t i = 0; i < count; i++) {
        REAL g = F(fma)(decay, data[i], gradient[i]);
        data[i] = F(fma)(-rate, g, data[i]);
        if (zero)
            gradient[i] = 0;
    }
}

SIMD_INLINE void F(sgd_momentum)(const remat_sgd *sgd, size_t count, REAL *restrict data,
                                 REAL *restrict gradient, REAL *restrict velocity, bool nesterov,
                                 bool zero)
{
    const REAL rate = (REAL)sgd->learning_rate, decay = (REAL)sgd->weight_decay;
    const REAL momentum = (REAL)sgd->momentum;
    for (size_t i = 0; i < count; i++) {
        REAL g = F(fma)(decay, data[i], gradient[i]);
        REAL v = F(fma)(momentum, velocity[i], g);
        velocity[i] = v;
        data[i] = F(fma)(-rate, nesterov ? F(fma)(momentum, v, g) : v, data[i]);
        if (zero)
            gradient[i] = 0;
    }
}

static void F(sgd)(const remat_sgd *sgd, size_t count, void *data, void *gradient, void *velocity)
{
    if (sgd->momentum == 0) {
        if (sgd->zero_gradients)
            F(sgd_plain)(sgd, count, data, gradient, true);
        else
            F(sgd_plain)(sgd, count, data, gradient, false);
    } else if (sgd->nesterov) {
        if (sgd->zero_gradients)
            F(sgd_momentum)(sgd, count, data, gradient, velocity, true, true);
        else
            F(sgd_momentum)(sgd, count, data, gradient, velocity, true, false);
    } else {
        if (sgd->zero_gradients)
            F(sgd_momentum)(sgd, count, data, gradient, velocity, false, true);
        else
            F(sgd_momentum)(sgd, count, data, gradient, velocity, false, false);
    }
}

SIMD_INLINE void F(adam_loop)(const remat_adam_coefficients *c, size_t count, REAL *restrict data,
                              REAL *restrict gradient, REAL *restrict first, REAL *restrict second,
                              bool zero)
{
    const REAL beta1 = (REAL)c->beta1, beta2 = (REAL)c->beta2, epsilon = (REAL)c->epsilon;
    const REAL one_minus_beta1 = (REAL)(1 - c->beta1), one_minus_beta2 = (REAL)(1 - c->beta2);
    const REAL rate = (REAL)c->rate, root_scale = (REAL)c->root_scale;
    const REAL decay = (REAL)c->weight_decay, shrink = (REAL)c->shrink;
    for (size_t i = 0; i < count; i++) {
        REAL g = F(fma)(decay, data[i], gradient[i]);
        REAL m = F(fma)(beta1, first[i], one_minus_beta1 * g);
        REAL v = F(fma)(beta2, second[i], one_minus_beta2 * (g * g));
        first[i] = m;
        second[i] = v;
        REAL update = rate * m / F(fma)(F(square_root)(v), root_scale, epsilon);
        data[i] = F(fma)(shrink, data[i], -update);
        if (zero)
            gradient[i] = 0;
    }
}

static void F(adam)(const remat_adam_coefficients *c, size_t count, void *data, void *gradient,
                    void *first_moment, void *second_moment)
{
    if (c->zero_gradients)
        F(adam_loop)(c, count, data, gradient, first_moment, second_moment, true);
    else
        F(adam_loop)(c, count, data, gradient, first_moment, second_moment, false);
}

/* SUM_LANES partial sums, each over every SUM_LANES-th element, added pairwise at the end: the
 * order does not depend on the width of the machine's vectors. */
static double F(sum_of_squares)(size_t count, const void *x, double factor)
{
    const REAL *values = x;
    double sums[SUM_LANES] = {0};
    size_t whole = count - count % SUM_LANES;
    for (size_t i = 0; i < whole; i += SUM_LANES) {
        for (size_t lane = 0; lane < SUM_LANES; lane++) {
            double value = factor * (double)values[i + lane];
            sums[lane] = fma_f64(value, value, sums[lane]);
        }
    }
    for (size_t lane = 0; lane < count - whole; lane++) {
        double value = factor * (double)values[whole + lane];
        sums[lane] = fma_f64(value, value, sums[lane]);
    }
    for (size_t half = SUM_LANES / 2; half > 0; half /= 2) {
        for (size_t lane = 0; lane < half; lane++)
            sums[lane] += sums[lane + half];
    }
    return sums[0];
}

/* In double: a factor below float's normal range would lose digits. */
static void F(scale)(size_t count, void *x, double factor)
{
    REAL *values = x;
    for (size_t i = 0; i < count; i++)
        values[i] = (REAL)(factor * (double)values[i]);
}
