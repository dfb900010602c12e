/* init.c - initial values from a counter-based generator: element i depends on the seed and i only,
 * so a longer buffer begins with the numbers of a shorter one.
 *
 * How far "on every machine" goes: constant and uniform values are made with exactly rounded
 * operations alone and have the same bits everywhere. Normal values pass through log, cos and sin
 * of the C library, which may round the last bit of a double differently from one library to
 * another; as f32 they agree but for rare cases of one unit in the last place. f32 values are the
 * rounded f64 values. */
#include <float.h>
#include <math.h>
#include <remat/op.h>

#define PI 3.14159265358979323846

/* Makes elements 2 block and 2 block + 1 out of two uniform numbers in [0, 1). */
typedef void transform_pair(double a, double b, const double uniform[2], double pair[2]);

/* a + (b - a) u. fma is spelled out so that no compiler decides whether it is used. */
static void uniform_pair(double low, double high, const double uniform[2], double pair[2])
{
    pair[0] = fma(high - low, uniform[0], low);
    pair[1] = fma(high - low, uniform[1], low);
}

/* Box and Muller 1958. */
static void normal_pair(double mean, double sigma, const double uniform[2], double pair[2])
{
    double radius = sigma * sqrt(-2 * log(1 - uniform[0])); /* 1 - u > 0 */
    double angle = 2 * PI * uniform[1];
    pair[0] = fma(radius, cos(angle), mean);
    pair[1] = fma(radius, sin(angle), mean);
}

/* The upper 53 of 64 bits. */
static double unit_interval(uint32_t high, uint32_t low)
{
    return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

static void store(void *data, remat_dtype dtype, size_t i, double value)
{
    if (dtype == REMAT_F32)
        ((float *)data)[i] = (float)value;
    else
        ((double *)data)[i] = value;
}

static void fill(void *data, remat_dtype dtype, size_t count, transform_pair *transform, double a,
                 double b, uint64_t seed)
{
    /* A stream that no statement of a tape has: not the numbers of a dropout with this seed. */
    const remat_random_key key = {.seed = seed, .step = 0, .stream = UINT64_MAX};
    for (size_t i = 0; i < count; i += 2) {
        uint32_t words[4];
        remat_random_block(&key, i / 2, words);
        const double uniform[2] = {unit_interval(words[0], words[1]),
                                   unit_interval(words[2], words[3])};
        double pair[2];
        transform(a, b, uniform, pair);
        store(data, dtype, i, pair[0]);
        if (count - i > 1)
            store(data, dtype, i + 1, pair[1]);
    }
}

static bool is_buffer(const void *data, remat_dtype dtype, size_t count)
{
    return (dtype == REMAT_F32 || dtype == REMAT_F64) && (data != NULL || count == 0);
}

static bool is_representable(double value, remat_dtype dtype)
{
    return fabs(value) <= (dtype == REMAT_F32 ? (double)FLT_MAX : DBL_MAX);
}

remat_status remat_init_constant(void *data, remat_dtype dtype, size_t count, double value)
{
    if (!is_buffer(data, dtype, count))
        return REMAT_INVALID_ARGUMENT;
    for (size_t i = 0; i < count; i++)
        store(data, dtype, i, value);
    return REMAT_OK;
}

remat_status remat_init_uniform(void *data, remat_dtype dtype, size_t count, double low,
                                double high, uint64_t seed)
{
    if (!is_buffer(data, dtype, count) || !is_representable(low, dtype) ||
        !is_representable(high, dtype) || low > high || !isfinite(high - low))
        return REMAT_INVALID_ARGUMENT;
    fill(data, dtype, count, uniform_pair, low, high, seed);
    return REMAT_OK;
}

remat_status remat_init_normal(void *data, remat_dtype dtype, size_t count, double mean,
                               double sigma, uint64_t seed)
{
    if (!is_buffer(data, dtype, count) || !is_representable(mean, dtype) ||
        !is_representable(sigma, dtype) || sigma < 0)
        return REMAT_INVALID_ARGUMENT;
    fill(data, dtype, count, normal_pair, mean, sigma, seed);
    return REMAT_OK;
}

remat_status remat_init_kaiming_uniform(void *data, remat_dtype dtype, size_t count, size_t fan_in,
                                        uint64_t seed)
{
    if (fan_in == 0)
        return REMAT_INVALID_ARGUMENT;
    double bound = sqrt(6 / (double)fan_in);
    return remat_init_uniform(data, dtype, count, -bound, bound, seed);
}

remat_status remat_init_kaiming_normal(void *data, remat_dtype dtype, size_t count, size_t fan_in,
                                       uint64_t seed)
{
    if (fan_in == 0)
        return REMAT_INVALID_ARGUMENT;
    return remat_init_normal(data, dtype, count, 0, sqrt(2 / (double)fan_in), seed);
}

remat_status remat_init_xavier_uniform(void *data, remat_dtype dtype, size_t count, size_t fan_in,
                                       size_t fan_out, uint64_t seed)
{
    if (fan_in == 0 || fan_out == 0)
        return REMAT_INVALID_ARGUMENT;
    double bound = sqrt(6 / ((double)fan_in + (double)fan_out));
    return remat_init_uniform(data, dtype, count, -bound, bound, seed);
}

remat_status remat_init_xavier_normal(void *data, remat_dtype dtype, size_t count, size_t fan_in,
                                      size_t fan_out, uint64_t seed)
{
    if (fan_in == 0 || fan_out == 0)
        return REMAT_INVALID_ARGUMENT;
    double sigma = sqrt(2 / ((double)fan_in + (double)fan_out));
    return remat_init_normal(data, dtype, count, 0, sigma, seed);
}
