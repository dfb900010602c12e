/* simd_f32.h - REAL is float from here on; see simd.h. Constants and polynomials of
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
#define REAL    float
#define UINT    uint32_t
#define INT     int32_t
#define F(name) name##_f32
#define C(NAME) F32_##NAME

#define F32_LOG2_E   1.44269504f
#define F32_LN2_HIGH 0.693145752f   /* 15 bits: exact times any exponent */
#define F32_LN2_LOW  1.42860682e-6f /* ln 2 - LN2_HIGH */
#define F32_ROUND    0x1.8p23f      /* adding it rounds to an integer, in the low bits */

SIMD_INLINE float fma_f32(float a, float b, float c)
{
#if defined(__FMA__)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

SIMD_INLINE uint32_t bits_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

SIMD_INLINE float real_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

SIMD_INLINE float abs_f32(float x)
{
    return __builtin_fabsf(x);
}

SIMD_INLINE float copysign_f32(float magnitude, float sign)
{
    return __builtin_copysignf(magnitude, sign);
}

SIMD_INLINE float sqrt_f32(float x)
{
    return __builtin_sqrtf(x);
}

/* An integer that orders as x does: its bits, reversed where x is negative. Unlike that of
 * floating-point numbers, the maximum of integers vectorises. */
SIMD_INLINE int32_t ordered_f32(float x)
{
    int32_t bits = (int32_t)bits_f32(x);
    return bits ^ ((bits >> 31) & INT32_MAX);
}

SIMD_INLINE float unordered_f32(int32_t key)
{
    return real_f32((uint32_t)(key ^ ((key >> 31) & INT32_MAX)));
}

/* (e^r - 1 - r) / r^2 on [-ln 2 / 2, ln 2 / 2]: 7e-9 of e^r. */
SIMD_INLINE float exp_polynomial_f32(float r)
{
    float p = fma_f32(0.00139261761f, r, 0.00836317307f);
    p = fma_f32(p, r, 0.0416665547f);
    p = fma_f32(p, r, 0.16666577f);
    return fma_f32(p, r, 0.5f);
}

/* (log((1 + s) / (1 - s)) - 2 s) / s^3, z = s^2, s in [0, 3 - 2 sqrt 2]: 3e-9 of the logarithm. */
SIMD_INLINE float log_polynomial_f32(float z)
{
    float p = fma_f32(0.295799494f, z, 0.399887806f);
    return fma_f32(p, z, 0.66666685f);
}

/* (tanh x - x) / x^3, z = x^2, on [0, 0.625]: 5e-10 of tanh x. */
SIMD_INLINE float tanh_polynomial_f32(float z)
{
    float p = fma_f32(0.00229274482f, z, -0.00834394552f);
    p = fma_f32(p, z, 0.0217689187f);
    p = fma_f32(p, z, -0.0539592596f);
    p = fma_f32(p, z, 0.133333036f);
    return fma_f32(p, z, -0.333333332f);
}

/* (u + 4.5) e^(u^2/2) (1 - Phi(u)), s = (u - 4.5) / (u + 4.5), u in [0, 15]: 1.4e-9. */
SIMD_INLINE float normal_polynomial_f32(float s)
{
    float p = fma_f32(7.96088987e-5f, s, -3.60030393e-5f);
    p = fma_f32(p, s, -0.000907017017f);
    p = fma_f32(p, s, 0.00177407558f);
    p = fma_f32(p, s, 0.00422402263f);
    p = fma_f32(p, s, -0.0338771819f);
    p = fma_f32(p, s, 0.111382174f);
    p = fma_f32(p, s, -0.253141253f);
    p = fma_f32(p, s, 0.446452547f);
    p = fma_f32(p, s, -0.640257775f);
    return fma_f32(p, s, 0.763230529f);
}

/* Where exp is 0 and infinite, and 1 - Phi is 0. e^(-NORMAL_MAX^2 / 2) is in the range of exp. */
#define F32_EXP_MIN    -104.0f
#define F32_EXP_MAX    89.0f
#define F32_NORMAL_MAX 14.42f

#define F32_MANTISSA_BITS  23
#define F32_EXPONENT_BIAS  127
#define F32_MIN_NORMAL     0x1p-126f
#define F32_SQRT_HALF_BITS 0x3f3504f3u
/* Leaves half of a significand's bits, so that products of two such are exact. */
#define F32_HALF_MASK      0xfffff000u
