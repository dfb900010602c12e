/* test_cpu_kernels.c - every kernel table that this processor can run: accuracy against long
 * double, special values, and bits that depend neither on alignment, position nor place. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "cpu/kernels.h"
#include "support/op_buffer.h"

#define POINTS    20000
#define SLOPE     0.01
#define PI        3.14159265358979323846264338327950288L
#define FOR_LEVEL for (int level = 0; level < REMAT_SIMD_LEVEL_COUNT; level++)

static const remat_dtype dtypes[] = {REMAT_F32, REMAT_F64};

/* ---- What the maps should be ---- */

static long double sigmoid_ref(long double x)
{
    return 1 / (1 + expl(-x));
}

static long double gelu_tanh_argument(long double x)
{
    return sqrtl(8 / PI) * (x + 0.044715L * x * x * x);
}

static long double normal_ref(long double x)
{
    return erfcl(-x / sqrtl(2)) / 2;
}

static long double map_ref(remat_map map, long double x)
{
    switch (map) {
    case REMAT_MAP_EXP:
        return expl(x);
    case REMAT_MAP_LOG:
        return logl(x);
    case REMAT_MAP_SQRT:
        return sqrtl(x);
    case REMAT_MAP_SQUARE:
        return x * x;
    case REMAT_MAP_RELU:
        return x > 0 ? x : 0;
    case REMAT_MAP_LEAKY_RELU:
        return x > 0 ? x : SLOPE * x;
    case REMAT_MAP_GELU:
        return x * normal_ref(x);
    case REMAT_MAP_GELU_TANH:
        return x * sigmoid_ref(gelu_tanh_argument(x));
    case REMAT_MAP_SILU:
        return x * sigmoid_ref(x);
    case REMAT_MAP_TANH:
        return tanhl(x);
    case REMAT_MAP_SIGMOID:
        return sigmoid_ref(x);
    default:
        return SLOPE * x;
    }
}

static long double slope_ref(remat_map map, long double x)
{
    long double s = sigmoid_ref(x), t = sigmoid_ref(gelu_tanh_argument(x));
    switch (map) {
    case REMAT_MAP_EXP:
        return expl(x);
    case REMAT_MAP_LOG:
        return 1 / x;
    case REMAT_MAP_SQRT:
        return 0.5L / sqrtl(x);
    case REMAT_MAP_SQUARE:
        return 2 * x;
    case REMAT_MAP_RELU:
        return x > 0;
    case REMAT_MAP_LEAKY_RELU:
        return x > 0 ? 1 : SLOPE;
    case REMAT_MAP_GELU:
        return normal_ref(x) + x * expl(-x * x / 2) / sqrtl(2 * PI);
    case REMAT_MAP_GELU_TANH:
        return t + x * t * (1 - t) * sqrtl(8 / PI) * (1 + 3 * 0.044715L * x * x);
    case REMAT_MAP_SILU:
        return s + x * s * (1 - s);
    case REMAT_MAP_TANH:
        return 1 - tanhl(x) * tanhl(x);
    case REMAT_MAP_SIGMOID:
        return s * (1 - s);
    default:
        return SLOPE;
    }
}

static bool reads_result(remat_map map)
{
    return map == REMAT_MAP_EXP || map == REMAT_MAP_SQRT || map == REMAT_MAP_RELU ||
           map == REMAT_MAP_LEAKY_RELU || map == REMAT_MAP_TANH || map == REMAT_MAP_SIGMOID;
}

/* Range that is tested and the largest error there, in units in the last place; the second range
 * is f64's. gelu_tanh loses relative precision further left, where e^z magnifies the rounding of z.
 */
static const struct {
    double low[2], high[2], ulps;
} bounds[REMAT_MAP_COUNT] = {
    [REMAT_MAP_SCALE] = {{-9, -9}, {9, 9}, 1},
    [REMAT_MAP_EXP] = {{-103, -744}, {88.7, 709.7}, 1.5},
    [REMAT_MAP_LOG] = {{1e-44, 1e-320}, {50, 50}, 1},
    [REMAT_MAP_SQRT] = {{1e-44, 1e-320}, {50, 50}, 0.51},
    [REMAT_MAP_SQUARE] = {{-9, -9}, {9, 9}, 0.51},
    [REMAT_MAP_RELU] = {{-9, -9}, {9, 9}, 0},
    [REMAT_MAP_LEAKY_RELU] = {{-9, -9}, {9, 9}, 1},
    [REMAT_MAP_GELU] = {{-13, -37}, {20, 50}, 10},
    [REMAT_MAP_GELU_TANH] = {{-3, -3}, {20, 50}, 24},
    [REMAT_MAP_SILU] = {{-86, -700}, {90, 700}, 5},
    [REMAT_MAP_TANH] = {{-20, -30}, {20, 30}, 2},
    [REMAT_MAP_SIGMOID] = {{-90, -700}, {90, 700}, 3.5},
};

static const char *map_name(remat_map map)
{
#define NAME(NAME, name, type) #name,
    static const char *const names[] = {REMAT_MAP_LIST(NAME, )};
#undef NAME
    return names[map];
}

/* ---- Arrays of either dtype ---- */

static void *array_create(remat_dtype dtype, size_t count)
{
    void *data = calloc(count + 1, remat_dtype_bytes(dtype));
    assert_non_null(data);
    return data;
}

static void *at(void *data, remat_dtype dtype, size_t i)
{
    return (char *)data + i * remat_dtype_bytes(dtype);
}

static double load(void *data, remat_dtype dtype, size_t i)
{
    double value;
    op_load(at(data, dtype, i), dtype, 1, &value);
    return value;
}

static void store(void *data, remat_dtype dtype, size_t i, double value)
{
    op_store(at(data, dtype, i), dtype, 1, &value);
}

/* Distance to the exact value in units in its last place; those of subnormal numbers are equal. */
static double ulps(remat_dtype dtype, double got, long double exact)
{
    int digits = dtype == REMAT_F32 ? FLT_MANT_DIG : DBL_MANT_DIG;
    int lowest = dtype == REMAT_F32 ? FLT_MIN_EXP : DBL_MIN_EXP;
    int exponent = lowest;
    if (exact != 0 && ilogbl(exact) + 1 > lowest)
        exponent = ilogbl(exact) + 1;
    return (double)(fabsl((long double)got - exact) / ldexpl(1, exponent - digits));
}

/* Points that fill a map's range evenly, and near 0 in every binade; subnormal ones where a map
 * magnifies them. */
static void *points_create(remat_map map, remat_dtype dtype)
{
    void *x = array_create(dtype, POINTS);
    double low = bounds[map].low[dtype], high = bounds[map].high[dtype];
    for (size_t i = 0; i < POINTS; i++) {
        double even = low + (high - low) * ((double)i + 0.5) / POINTS;
        double small = ldexp(1 + (double)i / POINTS, -(int)(i / 2 % 40));
        if (i % 16 == 1 && low > 0)
            store(x, dtype, i, ldexp(small, dtype == REMAT_F32 ? -100 : -1022));
        else if (i % 4 == 0)
            store(x, dtype, i, low < 0 && i % 8 == 0 && small < -low ? -small : small);
        else
            store(x, dtype, i, even);
    }
    return x;
}

/* ---- Maps ---- */

static void check_forward(const remat_map_kernels *kernels, remat_map map, remat_dtype dtype)
{
    void *x = points_create(map, dtype), *y = array_create(dtype, POINTS);
    kernels[dtype].forward[map](x, y, POINTS, SLOPE);
    for (size_t i = 0; i < POINTS; i++) {
        double v = load(x, dtype, i), error = ulps(dtype, load(y, dtype, i), map_ref(map, v));
        if (!(error <= bounds[map].ulps))
            fail_msg("%s(%.17g) is %.17g: %g ulp", map_name(map), v, load(y, dtype, i), error);
    }
    free(x);
    free(y);
}

static void forward_accuracy(void **state)
{
    (void)state;
    FOR_LEVEL
    {
        const remat_kernels *kernels = remat_cpu_kernels_at((remat_simd_level)level);
        for (int map = 0; kernels && map < REMAT_MAP_COUNT; map++)
            for (size_t d = 0; d < 2; d++)
                check_forward(kernels->map, (remat_map)map, dtypes[d]);
    }
}

/* To a few units of the largest term of the derivative, which may cancel; and added if asked. */
static void check_backward(const remat_map_kernels *kernels, remat_map map, remat_dtype dtype)
{
    void *x = points_create(map, dtype), *y = array_create(dtype, POINTS);
    void *dy = array_create(dtype, POINTS), *dx = array_create(dtype, POINTS);
    void *sum = array_create(dtype, POINTS);
    double epsilon = dtype == REMAT_F32 ? FLT_EPSILON : DBL_EPSILON;
    kernels[dtype].forward[map](x, y, POINTS, SLOPE);
    for (size_t i = 0; i < POINTS; i++) {
        store(dy, dtype, i, i % 2 ? -1.5 : 3);
        store(sum, dtype, i, 7);
    }
    void *kept = reads_result(map) ? y : x;
    kernels[dtype].backward[map](kept, dy, dx, POINTS, SLOPE, false);
    kernels[dtype].backward[map](kept, dy, sum, POINTS, SLOPE, true);
    for (size_t i = 0; i < POINTS; i++) {
        double v = load(x, dtype, i), got = load(dx, dtype, i);
        double exact = (double)slope_ref(map, v) * load(dy, dtype, i);
        if (isinf(dtype == REMAT_F32 ? (float)exact : exact)) {
            assert_true(isinf(got) && isinf(load(sum, dtype, i)));
            continue;
        }
        if (!(fabs(got - exact) <= 30 * epsilon * fmax(fabs(exact), 1)))
            fail_msg("%s'(%.17g) is %.17g, not %.17g", map_name(map), v, got, exact);
        if (!(fabs(load(sum, dtype, i) - (7 + got)) <= 2 * epsilon * (7 + fabs(got))))
            fail_msg("%s'(%.17g) was not added", map_name(map), v);
    }
    free(x);
    free(y);
    free(dy);
    free(dx);
    free(sum);
}

static void backward_accuracy(void **state)
{
    (void)state;
    FOR_LEVEL
    {
        const remat_kernels *kernels = remat_cpu_kernels_at((remat_simd_level)level);
        for (int map = 0; kernels && map < REMAT_MAP_COUNT; map++)
            for (size_t d = 0; d < 2; d++)
                check_backward(kernels->map, (remat_map)map, dtypes[d]);
    }
}

/* f of NaN is NaN everywhere. */
static const struct {
    remat_map map;
    double x, y;
} special[] = {
    {REMAT_MAP_EXP, -INFINITY, 0},
    {REMAT_MAP_EXP, INFINITY, INFINITY},
    {REMAT_MAP_EXP, 0, 1},
    {REMAT_MAP_EXP, 1e30, INFINITY},
    {REMAT_MAP_EXP, -1e30, 0},
    {REMAT_MAP_LOG, 0, -INFINITY},
    {REMAT_MAP_LOG, -0.0, -INFINITY},
    {REMAT_MAP_LOG, -1, NAN},
    {REMAT_MAP_LOG, 1, 0},
    {REMAT_MAP_LOG, INFINITY, INFINITY},
    {REMAT_MAP_LOG, -INFINITY, NAN},
    {REMAT_MAP_SQRT, -1, NAN},
    {REMAT_MAP_SQRT, INFINITY, INFINITY},
    {REMAT_MAP_SQUARE, -INFINITY, INFINITY},
    {REMAT_MAP_RELU, -INFINITY, 0},
    {REMAT_MAP_RELU, INFINITY, INFINITY},
    {REMAT_MAP_LEAKY_RELU, -0.0, -0.0},
    {REMAT_MAP_GELU, -INFINITY, -0.0},
    {REMAT_MAP_GELU, INFINITY, INFINITY},
    {REMAT_MAP_GELU_TANH, -INFINITY, -0.0},
    {REMAT_MAP_GELU_TANH, 1e30, 1e30},
    {REMAT_MAP_GELU_TANH, -1e30, -0.0},
    {REMAT_MAP_SILU, -INFINITY, -0.0},
    {REMAT_MAP_SILU, INFINITY, INFINITY},
    {REMAT_MAP_TANH, -INFINITY, -1},
    {REMAT_MAP_TANH, INFINITY, 1},
    {REMAT_MAP_TANH, -0.0, -0.0},
    {REMAT_MAP_SIGMOID, -INFINITY, 0},
    {REMAT_MAP_SIGMOID, INFINITY, 1},
    {REMAT_MAP_SIGMOID, 0, 0.5},
};

static bool same_value(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static double map_of(const remat_map_kernels *kernels, remat_map map, remat_dtype dtype, double x)
{
    double in[1] = {0}, out[1] = {0};
    store(in, dtype, 0, x);
    kernels[dtype].forward[map](in, out, 1, SLOPE);
    return load(out, dtype, 0);
}

static void special_values(void **state)
{
    (void)state;
    FOR_LEVEL
    {
        const remat_kernels *kernels = remat_cpu_kernels_at((remat_simd_level)level);
        for (size_t d = 0; kernels && d < 2; d++) {
            for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
                double y = map_of(kernels->map, special[i].map, dtypes[d], special[i].x);
                double expected =
                    dtypes[d] == REMAT_F32 ? (double)(float)special[i].y : special[i].y;
                if (!same_value(y, expected))
                    fail_msg("%s(%g) is %g", map_name(special[i].map), special[i].x, y);
            }
            for (int map = 0; map < REMAT_MAP_COUNT; map++)
                assert_true(isnan(map_of(kernels->map, (remat_map)map, dtypes[d], NAN)));
        }
    }
}

/* ---- Bits: any length, any alignment, any position, in place or not ---- */

#define LENGTHS 70

/* n elements of x from `from` on, computed in place off alignment, against those of `whole`. */
static void check_part(const remat_map_kernels *kernels, remat_map map, remat_dtype dtype, void *x,
                       void *whole, bool backward, size_t from, size_t n)
{
    const size_t bytes = remat_dtype_bytes(dtype);
    void *part = array_create(dtype, n + 4), *data = at(part, dtype, 1 + n % 3);
    memset(part, 0x55, (n + 5) * bytes);
    memcpy(data, at(x, dtype, from), n * bytes);
    if (backward) /* kept and dx apart, x serving as dy and as what is added to */
        kernels[dtype].backward[map](at(x, dtype, from), at(x, dtype, from), data, (int64_t)n,
                                     SLOPE, true);
    else
        kernels[dtype].forward[map](data, data, (int64_t)n, SLOPE);
    assert_memory_equal(data, at(whole, dtype, from), n * bytes);
    for (size_t i = 0; i < bytes; i++) /* nothing beside it is written */
        assert_true(((unsigned char *)at(data, dtype, n))[i] == 0x55 &&
                    ((unsigned char *)part)[i] == 0x55);
    free(part);
}

static void check_bits(const remat_map_kernels *kernels, remat_map map, remat_dtype dtype)
{
    void *x = points_create(map, dtype), *y = array_create(dtype, POINTS);
    void *dx = array_create(dtype, POINTS);
    memcpy(dx, x, POINTS * remat_dtype_bytes(dtype));
    kernels[dtype].forward[map](x, y, POINTS, SLOPE);
    kernels[dtype].backward[map](x, x, dx, POINTS, SLOPE, true);
    for (size_t n = 0; n <= LENGTHS; n++) {
        check_part(kernels, map, dtype, x, y, false, 1 + n % 5, n);
        check_part(kernels, map, dtype, x, dx, true, 1 + n % 5, n);
    }
    free(x);
    free(y);
    free(dx);
}

static void same_bits_anywhere(void **state)
{
    (void)state;
    FOR_LEVEL
    {
        const remat_kernels *kernels = remat_cpu_kernels_at((remat_simd_level)level);
        for (int map = 0; kernels && map < REMAT_MAP_COUNT; map++)
            for (size_t d = 0; d < 2; d++)
                check_bits(kernels->map, (remat_map)map, dtypes[d]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_accuracy),
        cmocka_unit_test(backward_accuracy),
        cmocka_unit_test(special_values),
        cmocka_unit_test(same_bits_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
