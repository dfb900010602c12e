/* shape.c - reshape and detach: other names for the same memory. */
#include "ops/common.h"

#include <string.h>

/* The product of a shape's extents but its wildcard, whose axis is written (-1: none); 0 if the
 * extents are not valid. */
static int64_t known_count(const remat_shape *shape, int32_t *wildcard)
{
    remat_shape known = *shape;
    *wildcard = -1;
    if (shape->ndim < 0 || shape->ndim > REMAT_MAX_DIMS)
        return 0;
    for (int32_t i = 0; i < shape->ndim; i++) {
        if (shape->dims[i] != -1)
            continue;
        if (*wildcard >= 0)
            return 0;
        *wildcard = i;
        known.dims[i] = 1;
    }
    return remat_shape_count(&known);
}

static remat_status reshape_infer(remat_infer *infer)
{
    const remat_shape *shape = infer->attributes;
    const int64_t count = remat_type_count(&infer->in[0]);
    int32_t wildcard = -1;
    const int64_t known = known_count(shape, &wildcard);
    if (known == 0)
        return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH,
                                "not a shape: at most %d extents, each at least 1, one may be -1",
                                REMAT_MAX_DIMS);
    if (wildcard < 0 ? known != count : count % known != 0)
        return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH,
                                "%lld elements do not fill a shape of %s%lld", (long long)count,
                                wildcard < 0 ? "" : "-1 times ", (long long)known);
    infer->out->dtype = infer->in[0].dtype;
    infer->out->shape = *shape;
    if (wildcard >= 0)
        infer->out->shape.dims[wildcard] = count / known;
    return REMAT_OK;
}

static void reshape_cost(const remat_query *query, remat_cost *cost)
{
    if (remat_gradient_asked(query, 0))
        cost->backward_bytes = 2 * (double)remat_type_bytes(query->out);
}

static remat_status reshape_backward(const remat_backward *call)
{
    remat_write_or_add(call->grad_out, call->grad_in, call->accumulate[0]);
    return REMAT_OK;
}

static const remat_op reshape_op = {
    .name = "reshape",
    .min_operands = 1,
    .max_operands = 1,
    .n_results = 1,
    .attribute_bytes = sizeof(remat_shape),
    .flags = REMAT_OP_VIEW,
    .gradient_in_place = 1,
    .infer = reshape_infer,
    .cost = reshape_cost,
    .backward = reshape_backward,
};

static remat_status detach_infer(remat_infer *infer)
{
    infer->out[0] = infer->in[0];
    return REMAT_OK;
}

static const remat_op detach_op = {
    .name = "detach",
    .min_operands = 1,
    .max_operands = 1,
    .n_results = 1,
    .flags = REMAT_OP_VIEW,
    .no_gradient = 1,
    .infer = detach_infer,
};

remat_var remat_reshape(remat_tape *tape, remat_var x, remat_shape shape)
{
    remat_shape attributes; /* padding and unused extents are part of the fingerprint */
    memset(&attributes, 0, sizeof attributes);
    attributes.ndim = shape.ndim;
    for (int32_t i = 0; i < shape.ndim && i < REMAT_MAX_DIMS; i++)
        attributes.dims[i] = shape.dims[i];
    remat_var y = {0};
    remat_apply(tape, &reshape_op, &attributes, &x, 1, &y, 1);
    return y;
}

remat_var remat_detach(remat_tape *tape, remat_var x)
{
    remat_var y = {0};
    remat_apply(tape, &detach_op, NULL, &x, 1, &y, 1);
    return y;
}
