/* layer_norm.c - layer normalisation (Ba, Kiros, Hinton 2016) over trailing axes. Results 1 and 2
 * are the statistics; backward reads them and x, never y. */
#include "ops/common.h"

#include <math.h>
#include <string.h>

#include "cpu/kernels.h"

/* Operands: x, then weight, then bias. */
enum { X, WEIGHT, BIAS };
enum { Y, MEAN, RSTD };

typedef struct layer_norm_attributes {
    double epsilon;
    uint64_t bias_alone; /* recorded with a bias but no weight: infer refuses */
} layer_norm_attributes;

static const layer_norm_attributes *attributes_of(const void *attributes)
{
    return attributes;
}

/* Number of trailing axes that are normalised. */
static int32_t normalised_axes(size_t n_in, int32_t weight_ndim)
{
    return n_in > WEIGHT ? weight_ndim : 1;
}

static remat_status check_parameters(remat_infer *infer)
{
    const remat_shape *x = &infer->in[X].shape, *weight = &infer->in[WEIGHT].shape;
    int32_t leading = x->ndim - weight->ndim;
    if (weight->ndim < 1 || leading < 0 ||
        memcmp(x->dims + leading, weight->dims, (size_t)weight->ndim * sizeof *x->dims) != 0)
        return remat_infer_fail(
            infer, REMAT_SHAPE_MISMATCH,
            "weight's shape must be the trailing axes of x that are normalised");
    if (infer->n_in > BIAS && (infer->in[BIAS].shape.ndim != weight->ndim ||
                               memcmp(infer->in[BIAS].shape.dims, weight->dims,
                                      (size_t)weight->ndim * sizeof *weight->dims) != 0))
        return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH, "bias must have weight's shape");
    return REMAT_OK;
}

static remat_status infer(remat_infer *infer)
{
    const layer_norm_attributes *a = attributes_of(infer->attributes);
    if (a->bias_alone)
        return remat_infer_fail(infer, REMAT_INVALID_ARGUMENT,
                                "a bias without a weight; give both, or add the bias afterwards");
    if (!(a->epsilon >= 0 && isfinite(a->epsilon)))
        return remat_infer_fail(infer, REMAT_INVALID_ARGUMENT,
                                "epsilon is %g; give a finite number of 0 or more", a->epsilon);
    if (infer->in[X].shape.ndim < 1)
        return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH,
                                "x is a scalar; give it an axis to normalise over");
    remat_status status = infer->n_in > WEIGHT ? check_parameters(infer) : REMAT_OK;
    if (status != REMAT_OK)
        return status;
    status = remat_infer_like_operand(infer);
    remat_type statistics = infer->in[X];
    statistics.shape.ndim -=
        normalised_axes(infer->n_in, infer->in[WEIGHT * (infer->n_in > 1)].shape.ndim);
    memset(statistics.shape.dims + statistics.shape.ndim, 0,
           (size_t)(REMAT_MAX_DIMS - statistics.shape.ndim) * sizeof *statistics.shape.dims);
    infer->out[MEAN] = infer->out[RSTD] = statistics;
    return status;
}

/* dx reads x and weight, dweight reads x, both the statistics; dbias reads nothing. */
static void needs(const remat_query *query, uint64_t *operands, uint64_t *results)
{
    bool dx = remat_gradient_asked(query, X), dweight = remat_gradient_asked(query, WEIGHT);
    *operands = (dx || dweight ? 1u << X : 0) | (dx && query->n_in > WEIGHT ? 1u << WEIGHT : 0);
    *results = dx || dweight ? 1u << MEAN | 1u << RSTD : 0;
}

static void cost(const remat_query *query, remat_cost *cost)
{
    double count = (double)remat_type_count(&query->in[X]);
    double bytes = (double)remat_type_bytes(&query->in[X]);
    int64_t n = remat_type_count(&query->out[Y]) / remat_type_count(&query->out[MEAN]);
    bool dx = remat_gradient_asked(query, X), dweight = remat_gradient_asked(query, WEIGHT);
    bool dbias = remat_gradient_asked(query, BIAS);
    cost->forward_flops = 8 * count;
    cost->forward_bytes = 2 * bytes;
    cost->backward_flops = count * ((dx ? 12 : 0) + (dweight ? 4 : 0) + (dbias ? 1 : 0));
    cost->backward_bytes = bytes * (1 + (dx || dweight ? 1 : 0) + (dx ? 1 : 0));
    cost->backward_workspace_bytes = (size_t)(dweight + dbias) * (size_t)n * sizeof(double);
}

static remat_status forward(const remat_forward *call)
{
    const remat_tensor *x = &call->in[X];
    int64_t rows = remat_tensor_count(&call->out[MEAN]);
    remat_norm_forward norm = {
        .rows = rows,
        .n = remat_tensor_count(x) / rows,
        .x = x->data,
        .weight = call->n_in > WEIGHT ? call->in[WEIGHT].data : NULL,
        .bias = call->n_in > BIAS ? call->in[BIAS].data : NULL,
        .epsilon = attributes_of(call->attributes)->epsilon,
        .y = call->out[Y].data,
        .mean = call->out[MEAN].data,
        .rstd = call->out[RSTD].data,
    };
    remat_cpu_kernels()->norm[x->dtype].forward(&norm);
    return REMAT_OK;
}

/* Totals of operand i's gradient, zeroed, at the start of *workspace; NULL if it is not asked for.
 */
static double *take_totals(const remat_backward *call, size_t i, int64_t n, double **workspace)
{
    if (i >= call->n_in || !call->grad_in[i].data)
        return NULL;
    double *totals = *workspace;
    memset(totals, 0, (size_t)n * sizeof *totals);
    *workspace += n;
    return totals;
}

static remat_status backward(const remat_backward *call)
{
    const remat_kernels *kernels = remat_cpu_kernels();
    const remat_tensor *dy = &call->grad_out[Y];
    int64_t rows = remat_tensor_count(&call->out[MEAN]), n = remat_tensor_count(dy) / rows;
    double *workspace = call->workspace;
    remat_norm_backward norm = {
        .rows = rows,
        .n = n,
        .x = call->in[X].data,
        .weight = call->n_in > WEIGHT ? call->in[WEIGHT].data : NULL,
        .mean = call->out[MEAN].data,
        .rstd = call->out[RSTD].data,
        .dy = dy->data,
        .dx = call->grad_in[X].data,
        .accumulate = call->accumulate[X],
        .dweight = take_totals(call, WEIGHT, n, &workspace),
        .dbias = take_totals(call, BIAS, n, &workspace),
    };
    kernels->norm[dy->dtype].backward(&norm);
    if (norm.dweight)
        kernels->sums[dy->dtype].store(n, norm.dweight, 1, call->grad_in[WEIGHT].data,
                                       call->accumulate[WEIGHT]);
    if (norm.dbias)
        kernels->sums[dy->dtype].store(n, norm.dbias, 1, call->grad_in[BIAS].data,
                                       call->accumulate[BIAS]);
    return REMAT_OK;
}

static const remat_op layer_norm_op = {
    .name = "layer_norm",
    .min_operands = 1,
    .max_operands = 3,
    .n_results = 3,
    .attribute_bytes = sizeof(layer_norm_attributes),
    .needs_operands = 1u << X | 1u << WEIGHT,
    .needs_results = 1u << MEAN | 1u << RSTD,
    .needs = needs,
    .no_gradient_results = 1u << MEAN | 1u << RSTD,
    .in_place = 1u << X,
    .gradient_in_place = 1u << X,
    .infer = infer,
    .cost = cost,
    .forward = forward,
    .backward = backward,
};

remat_var remat_layer_norm(remat_tape *tape, remat_var x, remat_var weight, remat_var bias,
                           double epsilon)
{
    layer_norm_attributes attributes = {.epsilon = epsilon,
                                        .bias_alone = weight.id == 0 && bias.id != 0};
    remat_var in[] = {x, weight, bias}, y = {0};
    size_t n_in = weight.id == 0 ? 1 : bias.id == 0 ? 2 : 3;
    remat_apply(tape, &layer_norm_op, &attributes, in, n_in, &y, 1);
    return y;
}
