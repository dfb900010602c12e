/* permute.c - permute and transpose: copies with exchanged axes. */
#include "cpu/kernels.h"
#include "ops/common.h"
#include "ops/nest.h"

#include <string.h>

/* Either the axes of a permutation or the two axes to exchange, as the user gave them. */
typedef struct permute_attributes {
    int32_t exchange; /* 1: result axes axes[0] and axes[1] change places; 0: a permutation */
    int32_t n_axes;
    int32_t axes[REMAT_MAX_DIMS];
} permute_attributes;

typedef struct permutation {
    int32_t axes[REMAT_MAX_DIMS]; /* result axis i is operand axis axes[i] */
} permutation;

/* Precondition: infer() has accepted the attributes. */
static permutation permutation_of(const permute_attributes *attributes, int32_t ndim)
{
    permutation p;
    for (int32_t i = 0; i < ndim; i++)
        p.axes[i] = attributes->exchange ? i : remat_axis(attributes->axes[i], ndim);
    if (attributes->exchange) {
        const int32_t a = remat_axis(attributes->axes[0], ndim);
        const int32_t b = remat_axis(attributes->axes[1], ndim);
        p.axes[a] = b;
        p.axes[b] = a;
    }
    return p;
}

static remat_status check_axes(remat_infer *infer, const permute_attributes *attributes,
                               int32_t ndim)
{
    uint32_t seen = 0;
    if (!attributes->exchange && attributes->n_axes != ndim)
        return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH,
                                "%d axes are given for an operand that has %d",
                                (int)attributes->n_axes, (int)ndim);
    for (int32_t i = 0; i < attributes->n_axes; i++) {
        remat_status status = remat_infer_axis(infer, attributes->axes[i], ndim);
        if (status != REMAT_OK)
            return status;
        const uint32_t bit = 1U << remat_axis(attributes->axes[i], ndim);
        if ((seen & bit) && !attributes->exchange)
            return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH,
                                    "axis %d appears twice; a permutation names each axis once",
                                    (int)attributes->axes[i]);
        seen |= bit;
    }
    return REMAT_OK;
}

static remat_status infer(remat_infer *call)
{
    const remat_shape *x = &call->in[0].shape;
    const remat_status status = check_axes(call, call->attributes, x->ndim);
    if (status != REMAT_OK)
        return status;
    const permutation p = permutation_of(call->attributes, x->ndim);
    call->out[0] = call->in[0];
    for (int32_t i = 0; i < x->ndim; i++)
        call->out->shape.dims[i] = x->dims[p.axes[i]];
    return REMAT_OK;
}

static void cost(const remat_query *query, remat_cost *cost)
{
    cost->forward_bytes = 2 * (double)remat_type_bytes(query->out);
    if (remat_gradient_asked(query, 0))
        cost->backward_bytes = cost->forward_bytes;
}

enum { TENSOR_FROM, TENSOR_TO };

/* The nest over the axes of `to`, where axis i of `to` is axis axes[i] of `from`. */
static remat_nest make_nest(const remat_tensor *from, const permutation *p, const remat_tensor *to)
{
    remat_nest nest = remat_nest_make(to->ndim, to->dims);
    remat_nest_broadcast(&nest, TENSOR_TO, to->ndim, to->dims, 1);
    for (int32_t i = 0; i < to->ndim; i++)
        nest.stride[TENSOR_FROM][i] = remat_count_range(from->dims, p->axes[i] + 1, from->ndim);
    remat_nest_collapse(&nest);
    return nest;
}

/* Moves the axis along which `from` is contiguous to the place before the last: with the last,
 * along which `to` is contiguous, it makes the plane to be exchanged. */
static void move_row_axis(remat_nest *nest)
{
    int row = 0;
    while (nest->stride[TENSOR_FROM][row] != 1)
        row++;
    const remat_nest old = *nest;
    for (int to = 0, axis = 0; axis < old.ndim; axis++) {
        if (axis != row && axis != old.ndim - 1)
            remat_nest_copy_axis(nest, to++, &old, axis);
        if (axis == old.ndim - 1)
            remat_nest_copy_axis(nest, old.ndim - 2, &old, row);
    }
}

static void move_rows(const remat_nest *nest, remat_dtype dtype, const void *from, void *to,
                      bool accumulate)
{
    const int outer = nest->ndim > 0 ? nest->ndim - 1 : 0;
    const int64_t count = nest->ndim > 0 ? nest->extent[outer] : 1;
    const size_t bytes = (size_t)count * remat_dtype_bytes(dtype);
    remat_nest_cursor at = {.index = {0}};
    do {
        const void *x = remat_element(from, at.offset[TENSOR_FROM], dtype);
        void *y = remat_element_to_write(to, at.offset[TENSOR_TO], dtype);
        if (accumulate)
            remat_cpu_kernels()->map[dtype].backward[REMAT_MAP_SCALE](NULL, x, y, count, 1.0, true);
        else
            memcpy(y, x, bytes);
    } while (remat_nest_next(nest, outer, &at));
}

static void move_planes(const remat_nest *nest, remat_dtype dtype, const void *from, void *to,
                        bool accumulate)
{
    const remat_permute_kernels *kernels =
        &remat_cpu_kernels()->permute[dtype == REMAT_I32 ? REMAT_F32 : dtype];
    remat_permute_plane *kernel = accumulate ? kernels->add : kernels->copy;
    const remat_nest_plane plane = remat_nest_plane_of(nest);
    const int64_t column = remat_nest_column_stride(nest, TENSOR_FROM);
    const int64_t row = remat_nest_row_stride(nest, TENSOR_TO);
    remat_nest_cursor at = {.index = {0}};
    do {
        kernel(plane.rows, plane.columns, remat_element(from, at.offset[TENSOR_FROM], dtype),
               column, remat_element_to_write(to, at.offset[TENSOR_TO], dtype), row);
    } while (remat_nest_next(nest, plane.outer, &at));
}

static void move(const remat_tensor *from, const permutation *p, const remat_tensor *to,
                 bool accumulate)
{
    remat_nest nest = make_nest(from, p, to);
    if (remat_nest_column_stride(&nest, TENSOR_FROM) == 1) {
        move_rows(&nest, to->dtype, from->data, to->data, accumulate);
    } else {
        move_row_axis(&nest);
        move_planes(&nest, to->dtype, from->data, to->data, accumulate);
    }
}

static remat_status forward(const remat_forward *call)
{
    const permutation p = permutation_of(call->attributes, call->in->ndim);
    move(call->in, &p, call->out, false);
    return REMAT_OK;
}

static remat_status backward(const remat_backward *call)
{
    const int32_t ndim = call->in->ndim;
    const permutation p = permutation_of(call->attributes, ndim);
    permutation inverse;
    for (int32_t i = 0; i < ndim; i++)
        inverse.axes[p.axes[i]] = i;
    move(call->grad_out, &inverse, call->grad_in, call->accumulate[0]);
    return REMAT_OK;
}

#define PERMUTE_OP(variable, text)                     \
    static const remat_op variable = {                 \
        .name = text,                                  \
        .min_operands = 1,                             \
        .max_operands = 1,                             \
        .n_results = 1,                                \
        .attribute_bytes = sizeof(permute_attributes), \
        .infer = infer,                                \
        .cost = cost,                                  \
        .forward = forward,                            \
        .backward = backward,                          \
    }

PERMUTE_OP(permute_op, "permute");
PERMUTE_OP(transpose_op, "transpose");

remat_var remat_permute(remat_tape *tape, remat_var x, const int *axes, size_t n_axes)
{
    permute_attributes attributes = {.exchange = 0};
    for (size_t i = 0; axes && i < n_axes && i < REMAT_MAX_DIMS; i++)
        attributes.axes[i] = axes[i];
    attributes.n_axes = !axes ? 0 : n_axes <= REMAT_MAX_DIMS ? (int32_t)n_axes : INT32_MAX;
    remat_var y = {0};
    remat_apply(tape, &permute_op, &attributes, &x, 1, &y, 1);
    return y;
}

remat_var remat_transpose(remat_tape *tape, remat_var x, int axis_a, int axis_b)
{
    const permute_attributes attributes = {.exchange = 1, .n_axes = 2, .axes = {axis_a, axis_b}};
    remat_var y = {0};
    remat_apply(tape, &transpose_op, &attributes, &x, 1, &y, 1);
    return y;
}
