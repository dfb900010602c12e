/* mse.c - mean or sum of squared differences. */
#include "cpu/kernels.h"
#include "ops/common.h"
#include "ops/element.h"

typedef struct mse_attributes {
    int32_t reduction; /* remat_reduction */
} mse_attributes;

static remat_status infer(remat_infer *call)
{
    const mse_attributes *attributes = call->attributes;
    const remat_shape *a = &call->in[0].shape, *b = &call->in[1].shape;
    remat_status status = remat_infer_same_float(call);
    if (status != REMAT_OK)
        return status;
    if (attributes->reduction != REMAT_MEAN && attributes->reduction != REMAT_SUM)
        return remat_infer_fail(call, REMAT_INVALID_ARGUMENT,
                                "reduction %d is neither REMAT_MEAN nor REMAT_SUM",
                                (int)attributes->reduction);
    bool equal = a->ndim == b->ndim;
    for (int32_t i = 0; equal && i < a->ndim; i++)
        equal = a->dims[i] == b->dims[i];
    if (!equal)
        return remat_infer_fail(call, REMAT_SHAPE_MISMATCH,
                                "prediction and target must have one shape; they hold %lld and "
                                "%lld elements: reshape one of them",
                                (long long)remat_type_count(&call->in[0]),
                                (long long)remat_type_count(&call->in[1]));
    call->out[0] = (remat_type){.dtype = call->in[0].dtype};
    return REMAT_OK;
}

static void needs(const remat_query *query, uint64_t *operands, uint64_t *results)
{
    *operands = query->gradients ? 3U : 0U;
    *results = 0;
}

static void cost(const remat_query *query, remat_cost *cost)
{
    const double count = (double)remat_type_count(&query->in[0]);
    const double bytes = (double)remat_type_bytes(&query->in[0]);
    cost->forward_flops = 3 * count;
    cost->forward_bytes = 2 * bytes;
    for (size_t i = 0; i < 2; i++) {
        if (remat_gradient_asked(query, i)) {
            cost->backward_flops += 2 * count;
            cost->backward_bytes += 3 * bytes;
        }
    }
}

/* 1 / count for the mean, 1 for the sum. */
static double weight_of(const mse_attributes *attributes, const remat_tensor *prediction)
{
    return attributes->reduction == REMAT_MEAN ? 1.0 / (double)remat_tensor_count(prediction) : 1.0;
}

static remat_status forward(const remat_forward *call)
{
    const remat_tensor *prediction = &call->in[0], *target = &call->in[1];
    const double sum = remat_cpu_kernels()->loss[prediction->dtype].squared_distance(
        remat_tensor_count(prediction), prediction->data, target->data);
    remat_element_store(call->out, 0, sum * weight_of(call->attributes, prediction));
    return REMAT_OK;
}

static remat_status backward(const remat_backward *call)
{
    const remat_tensor *prediction = &call->in[0], *target = &call->in[1];
    const double factor =
        2 * weight_of(call->attributes, prediction) * remat_element_load(call->grad_out, 0);
    for (size_t i = 0; i < 2; i++)
        if (call->grad_in[i].data)
            remat_cpu_kernels()->loss[prediction->dtype].difference(
                remat_tensor_count(prediction), prediction->data, target->data,
                i == 0 ? factor : -factor, call->grad_in[i].data, call->accumulate[i]);
    return REMAT_OK;
}

static const remat_op mse_op = {
    .name = "mse",
    .min_operands = 2,
    .max_operands = 2,
    .n_results = 1,
    .attribute_bytes = sizeof(mse_attributes),
    .needs_operands = 3,
    .needs = needs,
    .infer = infer,
    .cost = cost,
    .forward = forward,
    .backward = backward,
};

remat_var remat_mse(remat_tape *tape, remat_var prediction, remat_var target,
                    remat_reduction reduction)
{
    const mse_attributes attributes = {(int32_t)reduction};
    remat_var loss = {0};
    remat_apply(tape, &mse_op, &attributes, (remat_var[]){prediction, target}, 2, &loss, 1);
    return loss;
}
