/* spy.c - see spy.h. */
#include "support/spy.h"

typedef struct spy_attributes {
    spy_counts *counts;
} spy_attributes;

static spy_counts *counts_of(const void *attributes)
{
    return ((const spy_attributes *)attributes)->counts;
}

remat_status spy_infer_same(remat_infer *infer)
{
    if (infer->in[0].dtype != REMAT_F32)
        return remat_infer_fail(infer, REMAT_DTYPE_MISMATCH, "operand 0 must be f32");
    infer->out[0] = infer->in[0];
    return REMAT_OK;
}

void spy_give(const remat_tensor *gradient, int64_t i, float value, bool accumulate)
{
    spy_data(gradient)[i] = accumulate ? spy_data(gradient)[i] + value : value;
}

static remat_status forward(const remat_forward *call)
{
    spy_counts *counts = counts_of(call->attributes);
    *(call->replay ? &counts->replays : &counts->forwards) += 1;
    for (int64_t i = 0; i < remat_tensor_count(&call->in[0]); i++)
        spy_data(&call->out[0])[i] = spy_data(&call->in[0])[i];
    return REMAT_OK;
}

/* 0 x + 1: wrong bits or NaN where x was dropped. */
static remat_status backward(const remat_backward *call)
{
    counts_of(call->attributes)->backwards++;
    for (int64_t i = 0; i < remat_tensor_count(&call->in[0]); i++)
        spy_give(&call->grad_in[0], i,
                 (0 * spy_data(&call->in[0])[i] + 1) * spy_data(&call->grad_out[0])[i],
                 call->accumulate[0]);
    return REMAT_OK;
}

static void cost(const remat_query *query, remat_cost *c)
{
    c->forward_flops = c->backward_flops = (double)remat_shape_count(&query->in[0].shape);
}

static const remat_op spy_op = {.name = "spy",
                                .min_operands = 1,
                                .max_operands = 1,
                                .n_results = 1,
                                .attribute_bytes = sizeof(spy_attributes),
                                .needs_operands = 1,
                                .in_place = 1,
                                .gradient_in_place = 1,
                                .infer = spy_infer_same,
                                .cost = cost,
                                .forward = forward,
                                .backward = backward};

remat_var spy_record(remat_tape *tape, remat_var x, spy_counts *counts)
{
    const spy_attributes attributes = {counts};
    remat_var y = {0};
    remat_apply(tape, &spy_op, &attributes, &x, 1, &y, 1);
    return y;
}
