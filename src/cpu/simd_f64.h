/* simd_f64.h - REAL is double from here on; see simd.h. Constants and polynomials of
 * math_template.h.
 *
 * The polynomials interpolate in Chebyshev nodes (60-digit arithmetic); the figure beside each is
 * its largest relative error. */
#include "cpu/simd.h"

#undef REAL
#undef UINT
#undef INT
#undef F
#undef C
#define REAL    double
#define UINT    uint64_t
#define INT     int64_t
#define F(name) name##_f64
#define C(NAME) F64_##NAME

#define F64_LOG2_E   1.4426950408889634
#define F64_LN2_HIGH 0.69314718036912382    /* 32 bits: exact times any exponent */
#define F64_LN2_LOW  1.9082149292705878e-10 /* ln 2 - LN2_HIGH */
#define F64_ROUND    0x1.8p52               /* adding it rounds to an integer, in the low bits */

SIMD_INLINE double fma_f64(double a, double b, double c)
{
#if defined(__FMA__)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

SIMD_INLINE uint64_t bits_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

SIMD_INLINE double real_f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

SIMD_INLINE double abs_f64(double x)
{
    return __builtin_fabs(x);
}

SIMD_INLINE double copysign_f64(double magnitude, double sign)
{
    return __builtin_copysign(magnitude, sign);
}

SIMD_INLINE double sqrt_f64(double x)
{
    return __builtin_sqrt(x);
}

/* An integer that orders as x does: its bits, reversed where x is negative. Unlike that of
 * floating-point numbers, the maximum of integers vectorises. */
SIMD_INLINE int64_t ordered_f64(double x)
{
    int64_t bits = (int64_t)bits_f64(x);
    return bits ^ ((bits >> 63) & INT64_MAX);
}

SIMD_INLINE double unordered_f64(int64_t key)
{
    return real_f64((uint64_t)(key ^ ((key >> 63) & INT64_MAX)));
}

/* (e^r - 1 - r) / r^2 on [-ln 2 / 2, ln 2 / 2]: 1.1e-17 of e^r. */
SIMD_INLINE double exp_polynomial_f64(double r)
{
    double p = fma_f64(2.5100375832561234e-8, r, 2.7620075879983367e-7);
    p = fma_f64(p, r, 2.7557268480310026e-6);
    p = fma_f64(p, r, 2.4801521322368693e-5);
    p = fma_f64(p, r, 0.00019841269863040545);
    p = fma_f64(p, r, 0.0013888888917196719);
    p = fma_f64(p, r, 0.0083333333333300644);
    p = fma_f64(p, r, 0.041666666666624162);
    p = fma_f64(p, r, 0.16666666666666667);
    return fma_f64(p, r, 0.5000000000000001);
}

/* (log((1 + s) / (1 - s)) - 2 s) / s^3, z = s^2, s in [0, 3 - 2 sqrt 2]: 4e-18 of the logarithm. */
SIMD_INLINE double log_polynomial_f64(double z)
{
    double p = fma_f64(0.14616449685043406, z, 0.15331721600556041);
    p = fma_f64(p, z, 0.18182889125261722);
    p = fma_f64(p, z, 0.2222221113479508);
    p = fma_f64(p, z, 0.28571428625975485);
    p = fma_f64(p, z, 0.39999999999899504);
    return fma_f64(p, z, 0.66666666666666697);
}

/* (tanh x - x) / x^3, z = x^2, on [0, 0.625]: 1.3e-18 of tanh x. */
SIMD_INLINE double tanh_polynomial_f64(double z)
{
    double p = fma_f64(6.4851634827931131e-6, z, -3.12011014257974e-5);
    p = fma_f64(p, z, 9.2571161295567683e-5);
    p = fma_f64(p, z, -0.0002375906496055562);
    p = fma_f64(p, z, 0.00058966065777570433);
    p = fma_f64(p, z, -0.0014557754120478055);
    p = fma_f64(p, z, 0.0035921217511549623);
    p = fma_f64(p, z, -0.0088632351032408779);
    p = fma_f64(p, z, 0.021869488519008306);
    p = fma_f64(p, z, -0.053968253967896992);
    p = fma_f64(p, z, 0.13333333333333042);
    return fma_f64(p, z, -0.33333333333333333);
}

/* (u + 4.5) e^(u^2/2) (1 - Phi(u)), s = (u - 4.5) / (u + 4.5), u in [0, 40]: 2e-17. */
SIMD_INLINE double normal_polynomial_f64(double s)
{
    double p = fma_f64(5.0295494814024431e-10, s, -7.7543696021670597e-10);
    p = fma_f64(p, s, -9.7409879084161624e-9);
    p = fma_f64(p, s, -2.4311969835177561e-9);
    p = fma_f64(p, s, 6.9054118759489124e-8);
    p = fma_f64(p, s, 6.0234579759780088e-8);
    p = fma_f64(p, s, -3.7874066667169227e-7);
    p = fma_f64(p, s, -4.986175292216977e-7);
    p = fma_f64(p, s, 2.1429479634393688e-6);
    p = fma_f64(p, s, 3.1892551888770846e-6);
    p = fma_f64(p, s, -1.4236046824153624e-5);
    p = fma_f64(p, s, -1.593274440504697e-5);
    p = fma_f64(p, s, 0.0001120427492407976);
    p = fma_f64(p, s, 6.38107588724098e-6);
    p = fma_f64(p, s, -0.00091774650898496958);
    p = fma_f64(p, s, 0.0017488305778485249);
    p = fma_f64(p, s, 0.0042236133805951371);
    p = fma_f64(p, s, -0.03387132617787402);
    p = fma_f64(p, s, 0.11138259657020912);
    p = fma_f64(p, s, -0.253141799950945);
    p = fma_f64(p, s, 0.44645251705567824);
    p = fma_f64(p, s, -0.64025776025261731);
    return fma_f64(p, s, 0.76323052897020313);
}

/* Where exp is 0 and infinite, and 1 - Phi is 0. e^(-NORMAL_MAX^2 / 2) is in the range of exp. */
#define F64_EXP_MIN    -746.0
#define F64_EXP_MAX    710.0
#define F64_NORMAL_MAX 38.62

#define F64_MANTISSA_BITS  52
#define F64_EXPONENT_BIAS  1023
#define F64_MIN_NORMAL     0x1p-1022
#define F64_SQRT_HALF_BITS 0x3fe6a09e667f3bcdu
/* Leaves half of a significand's bits, so that products of two such are exact. */
#define F64_HALF_MASK      0xfffffffff8000000u
