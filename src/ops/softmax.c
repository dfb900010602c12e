/* softmax.c - softmax and log_softmax along any axis. Backward reads the result. */
#include "ops/common.h"

#include "cpu/kernels.h"

typedef struct softmax_attributes {
    int32_t axis;  /* negative: from the end */
    uint32_t kind; /* remat_softmax_kind */
} softmax_attributes;

static softmax_attributes attributes_of(const void *attributes)
{
    return *(const softmax_attributes *)attributes;
}

static remat_status infer(remat_infer *infer)
{
    remat_status status =
        remat_infer_axis(infer, attributes_of(infer->attributes).axis, infer->in[0].shape.ndim);
    return status == REMAT_OK ? remat_infer_like_operand(infer) : status;
}

static void cost(const remat_query *query, remat_cost *cost)
{
    double count = (double)remat_type_count(&query->in[0]);
    double bytes = (double)remat_type_bytes(&query->in[0]);
    bool logarithm = attributes_of(query->attributes).kind == REMAT_SOFTMAX_LOG;
    cost->forward_flops = 25 * count;
    cost->forward_bytes = 2 * bytes;
    cost->backward_flops = (logarithm ? 25 : 4) * count;
    cost->backward_bytes = 3 * bytes;
}

/* [outer, n, inner] of a tensor around an axis */
static remat_softmax_extents extents_of(const remat_tensor *x, softmax_attributes a)
{
    int32_t axis = remat_axis(a.axis, x->ndim);
    return (remat_softmax_extents){.outer = remat_count_range(x->dims, 0, axis),
                                   .n = x->dims[axis],
                                   .inner = remat_count_range(x->dims, axis + 1, x->ndim)};
}

static remat_status forward(const remat_forward *call)
{
    softmax_attributes a = attributes_of(call->attributes);
    remat_softmax_extents extents = extents_of(&call->in[0], a);
    remat_cpu_kernels()->softmax[call->in[0].dtype].forward[a.kind](&extents, call->in[0].data,
                                                                    call->out[0].data);
    return REMAT_OK;
}

static remat_status backward(const remat_backward *call)
{
    softmax_attributes a = attributes_of(call->attributes);
    const remat_tensor *y = &call->out[0], *dy = &call->grad_out[0], *dx = &call->grad_in[0];
    remat_softmax_extents extents = extents_of(y, a);
    if (dx->data)
        remat_cpu_kernels()->softmax[y->dtype].backward[a.kind](&extents, y->data, dy->data,
                                                                dx->data, call->accumulate[0]);
    return REMAT_OK;
}

#define SOFTMAX_OP(text)                                                                  \
    {                                                                                     \
        .name = text, .min_operands = 1, .max_operands = 1, .n_results = 1,               \
        .attribute_bytes = sizeof(softmax_attributes), .needs_results = 1, .in_place = 1, \
        .gradient_in_place = 1, .infer = infer, .cost = cost, .forward = forward,         \
        .backward = backward,                                                             \
    }

static const remat_op ops[REMAT_SOFTMAX_COUNT] = {
    [REMAT_SOFTMAX_PLAIN] = SOFTMAX_OP("softmax"),
    [REMAT_SOFTMAX_LOG] = SOFTMAX_OP("log_softmax"),
};

static remat_var record(remat_tape *tape, remat_var x, int axis, remat_softmax_kind kind)
{
    softmax_attributes attributes = {.axis = axis, .kind = kind};
    remat_var y = {0};
    remat_apply(tape, &ops[kind], &attributes, &x, 1, &y, 1);
    return y;
}

remat_var remat_softmax(remat_tape *tape, remat_var x, int axis)
{
    return record(tape, x, axis, REMAT_SOFTMAX_PLAIN);
}

remat_var remat_log_softmax(remat_tape *tape, remat_var x, int axis)
{
    return record(tape, x, axis, REMAT_SOFTMAX_LOG);
}
