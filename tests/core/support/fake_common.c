/* fake_common.c - element access, inference and recording for the fake operations. */
#include "core/support/fake_ops.h"

#include <stdio.h>
#include <stdlib.h>

void fake_broken(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: the core broke a promise to an operation: %s\n", file, line, condition);
    abort();
}

double fake_get(const remat_tensor *tensor, int64_t i)
{
    fake_require(tensor->data && i >= 0 && i < remat_tensor_count(tensor));
    if (tensor->dtype == REMAT_F64)
        return ((const double *)tensor->data)[i];
    if (tensor->dtype == REMAT_F32)
        return (double)((const float *)tensor->data)[i];
    return (double)((const int32_t *)tensor->data)[i];
}

void fake_put(const remat_tensor *tensor, int64_t i, double value)
{
    fake_require(tensor->data && i >= 0 && i < remat_tensor_count(tensor));
    if (tensor->dtype == REMAT_F64)
        ((double *)tensor->data)[i] = value;
    else
        ((float *)tensor->data)[i] = (float)value;
}

void fake_give(const remat_tensor *gradient, int64_t i, double value, bool accumulate)
{
    fake_put(gradient, i, accumulate ? fake_get(gradient, i) + value : value);
}

static bool same_type(const remat_type *a, const remat_type *b)
{
    bool same = a->dtype == b->dtype && a->shape.ndim == b->shape.ndim;
    for (int32_t i = 0; same && i < a->shape.ndim; i++)
        same = a->shape.dims[i] == b->shape.dims[i];
    return same;
}

remat_status fake_infer_float(remat_infer *infer)
{
    if (infer->in[0].dtype == REMAT_I32)
        return remat_infer_fail(infer, REMAT_DTYPE_MISMATCH, "operand 0 must be a float");
    return REMAT_OK;
}

remat_status fake_infer_same(remat_infer *infer)
{
    remat_status status = fake_infer_float(infer);
    for (size_t i = 1; i < infer->n_in && status == REMAT_OK; i++)
        if (!same_type(&infer->in[0], &infer->in[i]))
            status = remat_infer_fail(infer, REMAT_SHAPE_MISMATCH,
                                      "operand %zu must have the type of operand 0", i);
    for (size_t i = 0; i < infer->n_out; i++)
        infer->out[i] = infer->in[0];
    return status;
}

void fake_cost_elements(const remat_query *query, remat_cost *cost)
{
    double n = (double)remat_shape_count(&query->in[0].shape);
    cost->forward_flops = n;
    cost->backward_flops = 2 * n;
    cost->forward_bytes = cost->backward_bytes = 8 * n;
}

bool fake_backward_is_exact(const remat_backward *call, uint64_t operands, uint64_t results)
{
    bool exact = true;
    for (size_t i = 0; i < call->n_in; i++)
        exact &= (call->in[i].data != NULL) == (operands >> i & 1);
    for (size_t i = 0; i < call->n_out; i++)
        exact &= (call->out[i].data != NULL) == (results >> i & 1);
    return exact;
}

/* ---- Recording -------------------------------------------------------------------------------*/

remat_var fake_record(remat_tape *tape, const remat_op *op, const void *attributes, size_t n_in,
                      const remat_var *in)
{
    remat_var out = {0};
    remat_apply(tape, op, attributes, in, n_in, op->n_results ? &out : NULL, op->n_results > 0);
    return out;
}

remat_var fake_apply1(remat_tape *tape, const remat_op *op, remat_var x)
{
    return fake_record(tape, op, NULL, 1, &x);
}

remat_var fake_apply2(remat_tape *tape, const remat_op *op, remat_var a, remat_var b)
{
    const remat_var in[] = {a, b};
    return fake_record(tape, op, NULL, 2, in);
}

remat_var fake_scale(remat_tape *tape, remat_var x, double scale, double shift)
{
    const fake_affine_attributes attributes = {scale, shift};
    return fake_record(tape, &fake_affine, &attributes, 1, &x);
}

remat_var fake_reshape(remat_tape *tape, remat_var x, remat_shape shape)
{
    const fake_view_attributes attributes = {shape};
    return fake_record(tape, &fake_view, &attributes, 1, &x);
}

remat_var fake_count(remat_tape *tape, const remat_op *op, remat_var x, fake_probe_state *state)
{
    const fake_probe_attributes attributes = {state};
    return fake_record(tape, op, &attributes, 1, &x);
}
