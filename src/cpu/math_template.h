/* math_template.h - exp, log, tanh, the normal distribution and the logistic function for one REAL,
 * written without branches so that loops over them vectorise. (Calls of libm do not: they would
 * make the activations ten times slower than memory.) Included once per REAL; see simd.h.
 *
 * Every function is correct for infinities, NaN, overflow and subnormal arguments and results. */

/* 2^(biased - 2 BIAS - 2) y for a biased exponent in (BIAS, 3 BIAS): in two factors, so that a
 * result on either side of the range of normal numbers is rounded once and never wraps. */
SIMD_INLINE REAL F(scale_power)(REAL y, UINT biased)
{
    UINT half = biased >> 1, rest = biased - half;
    REAL first = F(real)((half - 1) << C(MANTISSA_BITS));
    REAL second = F(real)((rest - 1) << C(MANTISSA_BITS));
    return y * first * second;
}

/* e^x for x in [EXP_MIN, EXP_MAX]. e^x = 2^n e^r, n = round(x / ln 2), r = x - n ln 2 in two steps
 * (Cody and Waite 1980). The 1 is added last: error about 1 ulp. */
SIMD_INLINE REAL F(exp_in_range)(REAL x)
{
    REAL shifted = F(fma)(x, C(LOG2_E), C(ROUND));
    UINT biased = F(bits)(shifted) - F(bits)(C(ROUND)) + 2 * (C(EXPONENT_BIAS) + 1);
    REAL n = shifted - C(ROUND);
    REAL r = F(fma)(n, -C(LN2_HIGH), x);
    r = F(fma)(n, -C(LN2_LOW), r);
    REAL tail = F(fma)(F(exp_polynomial)(r) * r, r, r);
    return F(scale_power)(1 + tail, biased);
}

/* e^x for x <= 0. */
SIMD_INLINE REAL F(exp_negative)(REAL x)
{
    return F(exp_in_range)(x < C(EXP_MIN) ? C(EXP_MIN) : x);
}

SIMD_INLINE REAL F(exp)(REAL x)
{
    return F(exp_negative)(x > C(EXP_MAX) ? C(EXP_MAX) : x);
}

/* log x = k ln 2 + log(1 + f), 1 + f in [sqrt(1/2), sqrt 2). With s = f / (2 + f):
 * log(1 + f) = f - (f^2/2 - s (f^2/2 + R)), R = s^2 P(s^2): the scheme of FDLIBM's e_log.c (Sun
 * Microsystems 1993), error under 1 ulp. */
SIMD_INLINE REAL F(log_normal)(REAL x, REAL exponent_offset)
{
    UINT one = (UINT)C(EXPONENT_BIAS) << C(MANTISSA_BITS);
    UINT bits = F(bits)(x) + (one - C(SQRT_HALF_BITS));
    UINT biased = bits >> C(MANTISSA_BITS);
    REAL k = F(real)(F(bits)(C(ROUND)) + biased) - (C(ROUND) + C(EXPONENT_BIAS)) + exponent_offset;
    UINT significand = bits & (((UINT)1 << C(MANTISSA_BITS)) - 1);
    REAL f = F(real)(significand + C(SQRT_HALF_BITS)) - 1;
    REAL s = f / (2 + f), z = s * s, half_square = (REAL)0.5 * f * f;
    REAL low = F(fma)(s, F(fma)(z, F(log_polynomial)(z), half_square), k * C(LN2_LOW));
    return F(fma)(k, C(LN2_HIGH), f - (half_square - low));
}

SIMD_INLINE REAL F(log)(REAL x)
{
    bool small = x < C(MIN_NORMAL);
    REAL power = (REAL)(C(MANTISSA_BITS) + 1);
    REAL lift = C(ROUND) * (REAL)(4.0 / 3.0); /* 2^power */
    REAL y = F(log_normal)(small ? x * lift : x, small ? -power : 0);
    y = x == (REAL)INFINITY ? x : y;
    return x > 0 ? y : (x == 0 ? -(REAL)INFINITY : (REAL)NAN);
}

/* x + x^3 P(x^2) below 0.625, 1 - 2 / (e^(2 |x|) + 1) above (the split of Cephes, Moshier 1984). */
SIMD_INLINE REAL F(tanh)(REAL x)
{
    REAL z = x * x, magnitude = F(abs)(x);
    REAL near = F(fma)(x * z, F(tanh_polynomial)(z), x);
    REAL doubled = 2 * (magnitude > 20 ? 20 : magnitude); /* tanh 20 is 1 */
    REAL far = 1 - 2 / (F(exp_in_range)(doubled) + 1);
    return F(copysign)(magnitude < (REAL)0.625 ? near : far, x);
}

/* s = 1 / (1 + e^-x) and 1 - s, both to full relative precision. */
SIMD_INLINE REAL F(sigmoid)(REAL x, REAL *complement)
{
    REAL e = F(exp_negative)(-F(abs)(x));
    REAL upper = 1 / (1 + e), lower = e * upper;
    *complement = x < 0 ? upper : lower;
    return x < 0 ? lower : upper;
}

/* u^2 - square, where square is u^2 rounded. */
SIMD_INLINE REAL F(square_error)(REAL u, REAL square)
{
#if defined(__FMA__)
    return F(fma)(u, u, -square);
#else
    REAL high = F(real)(F(bits)(u) & C(HALF_MASK)), low = u - high; /* Dekker 1971 */
    return ((high * high - square) + 2 * high * low) + low * low;
#endif
}

/* Phi(x) = P(X <= x) of the standard normal distribution and its density at x. One polynomial in
 * (u - K) / (u + K) serves all u = |x| (Shepherd and Laframboise 1981 for erfc), so the tail keeps
 * its relative precision, which 1 + erf(x / sqrt 2) would lose. */
SIMD_INLINE REAL F(normal_cdf)(REAL x, REAL *density)
{
    const REAL split = (REAL)4.5;
    REAL u = F(abs)(x);
    u = u > C(NORMAL_MAX) ? C(NORMAL_MAX) : u;
    REAL square = u * u;
    REAL e = F(exp_in_range)((REAL)-0.5 * square);
    e = F(fma)(e, (REAL)-0.5 * F(square_error)(u, square), e);
    REAL inverse = 1 / (u + split);
    REAL upper = e * (F(normal_polynomial)((u - split) * inverse) * inverse);
    *density = e * (REAL)0.39894228040143267794; /* 1 / sqrt(2 pi) */
    return x < 0 ? upper : 1 - upper;
}
