/* map_functions_template.h - the functions of map.h for one element: y = NAME(x, p) and the
 * gradient NAME_gradient(kept, dy, p). Included once per REAL; see simd.h.
 *
 * Below -NORMAL_MAX or EXP_MIN the gates x Phi(x) and x sigmoid(x) are 0; clamping there keeps
 * -infinity from giving infinity * 0. */

SIMD_INLINE REAL F(scale_map)(REAL x, REAL p)
{
    return p * x;
}

SIMD_INLINE REAL F(exp_map)(REAL x, REAL p)
{
    (void)p;
    return F(exp)(x);
}

SIMD_INLINE REAL F(exp_gradient)(REAL y, REAL dy, REAL p)
{
    (void)p;
    return y * dy;
}

SIMD_INLINE REAL F(log_map)(REAL x, REAL p)
{
    (void)p;
    return F(log)(x);
}

SIMD_INLINE REAL F(log_gradient)(REAL x, REAL dy, REAL p)
{
    (void)p;
    return dy / x;
}

SIMD_INLINE REAL F(sqrt_map)(REAL x, REAL p)
{
    (void)p;
    return F(sqrt)(x);
}

SIMD_INLINE REAL F(sqrt_gradient)(REAL y, REAL dy, REAL p)
{
    (void)p;
    return (REAL)0.5 * dy / y;
}

SIMD_INLINE REAL F(square_map)(REAL x, REAL p)
{
    (void)p;
    return x * x;
}

SIMD_INLINE REAL F(square_gradient)(REAL x, REAL dy, REAL p)
{
    (void)p;
    return 2 * x * dy;
}

/* The comparisons are such that NaN passes. */
SIMD_INLINE REAL F(relu_map)(REAL x, REAL p)
{
    (void)p;
    return x <= 0 ? 0 : x;
}

SIMD_INLINE REAL F(relu_gradient)(REAL y, REAL dy, REAL p)
{
    (void)p;
    return y <= 0 ? 0 : dy;
}

SIMD_INLINE REAL F(leaky_relu_map)(REAL x, REAL p)
{
    return x > 0 ? x : p * x;
}

SIMD_INLINE REAL F(leaky_relu_gradient)(REAL y, REAL dy, REAL p)
{
    return y > 0 ? dy : p * dy;
}

SIMD_INLINE REAL F(gelu_map)(REAL x, REAL p)
{
    (void)p;
    REAL density, clamped = x < -C(NORMAL_MAX) ? -C(NORMAL_MAX) : x;
    return clamped * F(normal_cdf)(clamped, &density);
}

SIMD_INLINE REAL F(gelu_gradient)(REAL x, REAL dy, REAL p)
{
    (void)p;
    REAL clamped = x < -C(NORMAL_MAX) ? -C(NORMAL_MAX) : x;
    clamped = clamped > C(NORMAL_MAX) ? C(NORMAL_MAX) : clamped;
    REAL density, cdf = F(normal_cdf)(clamped, &density);
    return F(fma)(clamped, density, cdf) * dy;
}

/* 0.5 x (1 + tanh z) = x sigmoid(2 z), 2 z = sqrt(8 / pi) (x + 0.044715 x^3) (Hendrycks and Gimpel
 * 2016). */
SIMD_INLINE REAL F(gelu_tanh_map)(REAL x, REAL p)
{
    (void)p;
    REAL complement, c = x < C(EXP_MIN) ? C(EXP_MIN) : x;
    REAL slope = F(fma)((REAL)0.071354816272600248776, c * c, (REAL)1.5957691216057307118);
    return c * F(sigmoid)(c * slope, &complement);
}

SIMD_INLINE REAL F(gelu_tanh_gradient)(REAL x, REAL dy, REAL p)
{
    (void)p;
    REAL c = x < C(EXP_MIN) ? C(EXP_MIN) : x;
    c = c > -C(EXP_MIN) ? -C(EXP_MIN) : c;
    REAL complement, square = c * c;
    REAL slope = F(fma)((REAL)0.071354816272600248776, square, (REAL)1.5957691216057307118);
    REAL steepness = F(fma)((REAL)0.21406444881780074633, square, (REAL)1.5957691216057307118);
    REAL s = F(sigmoid)(c * slope, &complement);
    return F(fma)(c * steepness * s, complement, s) * dy;
}

SIMD_INLINE REAL F(silu_map)(REAL x, REAL p)
{
    (void)p;
    REAL complement, clamped = x < C(EXP_MIN) ? C(EXP_MIN) : x;
    return clamped * F(sigmoid)(clamped, &complement);
}

SIMD_INLINE REAL F(silu_gradient)(REAL x, REAL dy, REAL p)
{
    (void)p;
    REAL clamped = x < C(EXP_MIN) ? C(EXP_MIN) : x;
    clamped = clamped > -C(EXP_MIN) ? -C(EXP_MIN) : clamped;
    REAL complement, s = F(sigmoid)(clamped, &complement);
    return F(fma)(clamped * s, complement, s) * dy;
}

SIMD_INLINE REAL F(tanh_map)(REAL x, REAL p)
{
    (void)p;
    return F(tanh)(x);
}

SIMD_INLINE REAL F(tanh_gradient)(REAL y, REAL dy, REAL p)
{
    (void)p;
    return F(fma)(-y, y, 1) * dy;
}

SIMD_INLINE REAL F(sigmoid_map)(REAL x, REAL p)
{
    (void)p;
    REAL complement;
    return F(sigmoid)(x, &complement);
}

SIMD_INLINE REAL F(sigmoid_gradient)(REAL y, REAL dy, REAL p)
{
    (void)p;
    return F(fma)(-y, y, y) * dy;
}
