/* optimizer_reference.h - the optimizers written out in double, one element at a time, and tensors
 * that carry such a reference beside the library's buffers. */
#ifndef OPTIMIZER_REFERENCE_H
#define OPTIMIZER_REFERENCE_H

#include <math.h>
#include <remat/remat.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef enum kind { SGD, ADAM, ADAMW } kind;

/* The options of any of the optimizers. */
typedef struct recipe {
    kind kind;
    double learning_rate, momentum, weight_decay;
    bool nesterov;
    double beta1, beta2, epsilon;
    bool zero_gradients;
} recipe;

enum { DATA, GRADIENT, STATE0, STATE1, BUFFERS, GUARD = 4 };

/* Buffers that begin `offset` elements behind an aligned address, between guard elements. */
typedef struct tensor {
    remat_param param;
    char *blocks[BUFFERS];
    size_t offset;
    double *reference[BUFFERS];
} tensor;

static inline double get(const void *data, remat_dtype dtype, size_t i)
{
    return dtype == REMAT_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static inline void set(void *data, remat_dtype dtype, size_t i, double value)
{
    if (dtype == REMAT_F32)
        ((float *)data)[i] = (float)value;
    else
        ((double *)data)[i] = value;
}

static inline void *buffer(const tensor *t, int which)
{
    return t->blocks[which] + (GUARD + t->offset) * remat_dtype_bytes(t->param.dtype);
}

/* An odd multiple of 1/128 in (-1, 1): exact in both types and never 0. */
static inline double dyadic(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(2 * (int)(*state >> 24) - 255) / 256;
}

static inline size_t block_elements(const tensor *t)
{
    return t->param.count + 2 * GUARD + t->offset;
}

static inline void tensor_create(tensor *t, remat_dtype dtype, size_t count, size_t offset,
                                 uint32_t *random)
{
    *t = (tensor){.param = {.dtype = dtype, .count = count}, .offset = offset};
    for (int k = 0; k < BUFFERS; k++) {
        size_t bytes = (block_elements(t) * remat_dtype_bytes(dtype) + 63) / 64 * 64;
        t->blocks[k] = aligned_alloc(64, bytes);
        t->reference[k] = calloc(count + 1, sizeof(double));
        assert_non_null(t->blocks[k]);
        assert_non_null(t->reference[k]);
        memset(t->blocks[k], 0x5A, bytes);
        for (size_t i = 0; i < count; i++) {
            t->reference[k][i] = k < STATE0 ? dyadic(random) : 0;
            set(buffer(t, k), dtype, i, t->reference[k][i]);
        }
    }
    t->param.data = buffer(t, DATA);
    t->param.gradient = buffer(t, GRADIENT);
    t->param.state[0] = buffer(t, STATE0);
    t->param.state[1] = buffer(t, STATE1);
}

static inline void tensor_destroy(tensor *t)
{
    for (int k = 0; k < BUFFERS; k++) {
        free(t->blocks[k]);
        free(t->reference[k]);
    }
}

static inline void new_gradients(tensor *t, uint32_t *random)
{
    for (size_t i = 0; i < t->param.count; i++) {
        t->reference[GRADIENT][i] = dyadic(random);
        set(t->param.gradient, t->param.dtype, i, t->reference[GRADIENT][i]);
    }
}

/* step counts from 1. */
static inline void reference_step(tensor *t, const recipe *r, int step)
{
    double *p = t->reference[DATA], *gradient = t->reference[GRADIENT];
    double *s0 = t->reference[STATE0], *s1 = t->reference[STATE1];
    for (size_t i = 0; i < t->param.count; i++) {
        double g = gradient[i] + (r->kind == ADAMW ? 0 : r->weight_decay * p[i]);
        if (r->kind == SGD) {
            s0[i] = r->momentum * s0[i] + (r->momentum > 0 ? g : 0);
            double direction = r->momentum > 0 ? s0[i] : g;
            if (r->nesterov)
                direction = g + r->momentum * s0[i];
            p[i] -= r->learning_rate * direction;
        } else {
            s0[i] = r->beta1 * s0[i] + (1 - r->beta1) * g;
            s1[i] = r->beta2 * s1[i] + (1 - r->beta2) * g * g;
            double m = s0[i] / (1 - pow(r->beta1, step));
            double v = s1[i] / (1 - pow(r->beta2, step));
            if (r->kind == ADAMW)
                p[i] -= r->learning_rate * r->weight_decay * p[i];
            p[i] -= r->learning_rate * m / (sqrt(v) + r->epsilon);
        }
        if (r->zero_gradients)
            gradient[i] = 0;
    }
}

static inline void assert_near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance * (1 + fabs(expected))))
        fail_msg("%.17g is not %.17g within %g", actual, expected, tolerance);
}

/* All buffers agree with the reference and no guard was touched. */
static inline void assert_tensor(const tensor *t)
{
    const double tolerance = t->param.dtype == REMAT_F32 ? 4e-6 : 1e-14;
    const size_t bytes = remat_dtype_bytes(t->param.dtype);
    const size_t before = (GUARD + t->offset) * bytes, end = before + t->param.count * bytes;
    for (int k = 0; k < BUFFERS; k++) {
        for (size_t i = 0; i < t->param.count; i++)
            assert_near(get(buffer(t, k), t->param.dtype, i), t->reference[k][i], tolerance);
        for (size_t i = 0; i < block_elements(t) * bytes; i++) {
            if (i < before || i >= end)
                assert_int_equal(t->blocks[k][i], 0x5A);
        }
    }
}

#endif
