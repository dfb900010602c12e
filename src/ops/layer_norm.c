/* layer_norm.c - layer normalisation (Ba, Kiros, Hinton 2016) over trailing axes. Results 1 and 2
 * are the statistics; backward reads them and x, never y. */
#include "ops/common.h"

#include <math.h>
#include <string.h>

#include "cpu/kernels.h"

/* Operands: x, then weight if there is one, then bias if there is one. */
enum { X };
enum { Y, MEAN, RSTD };

typedef struct layer_norm_attributes {
    double epsilon;
    uint32_t has_weight, has_bias;
} layer_norm_attributes;

static const layer_norm_attributes *attributes_of(const void *attributes)
{
    return attributes;
}

/* Positions of the operands; past the last one if there is none. */
static size_t weight_of(const layer_norm_attributes *a)
{
    return a->has_weight ? 1 : REMAT_OP_MAX_OPERANDS;
}

static size_t bias_of(const layer_norm_attributes *a)
{
    return a->has_bias ? 1 + a->has_weight : REMAT_OP_MAX_OPERANDS;
}

static bool same_shape(const remat_shape *a, const remat_shape *b)
{
    return a->ndim == b->ndim && memcmp(a->dims, b->dims, (size_t)a->ndim * sizeof *a->dims) == 0;
}

static remat_status check_parameters(remat_infer *infer)
{
    const remat_shape *x = &infer->in[X].shape, *first = &infer->in[1].shape;
    int32_t leading = x->ndim - first->ndim;
    if (first->ndim < 1 || leading < 0 ||
        memcmp(x->dims + leading, first->dims, (size_t)first->ndim * sizeof *x->dims) != 0)
        return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH,
                                "give weight and bias the shape of the trailing axes of x that "
                                "are to be normalised");
    if (infer->n_in > 2 && !same_shape(first, &infer->in[2].shape))
        return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH, "give bias the shape of weight");
    return REMAT_OK;
}

/* x's type without the normalised axes: those of weight or bias, else the last one. */
static remat_type statistics_type(const remat_infer *infer)
{
    remat_type type = {.dtype = infer->in[X].dtype};
    type.shape.ndim = infer->in[X].shape.ndim - (infer->n_in > 1 ? infer->in[1].shape.ndim : 1);
    for (int32_t i = 0; i < type.shape.ndim; i++)
        type.shape.dims[i] = infer->in[X].shape.dims[i];
    return type;
}

static remat_status infer(remat_infer *infer)
{
    double epsilon = attributes_of(infer->attributes)->epsilon;
    if (!(epsilon >= 0 && isfinite(epsilon)))
        return remat_infer_fail(infer, REMAT_INVALID_ARGUMENT,
                                "epsilon is %g; give a finite number of 0 or more", epsilon);
    if (infer->in[X].shape.ndim < 1)
        return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH,
                                "x is a scalar; give it an axis to normalise over");
    remat_status status = infer->n_in > 1 ? check_parameters(infer) : REMAT_OK;
    if (status != REMAT_OK)
        return status;
    infer->out[MEAN] = infer->out[RSTD] = statistics_type(infer);
    return remat_infer_like_operand(infer);
}

typedef struct asked_gradients {
    bool dx, dweight, dbias;
} asked_gradients;

static asked_gradients asked_of(const remat_query *query)
{
    const layer_norm_attributes *a = attributes_of(query->attributes);
    return (asked_gradients){.dx = remat_gradient_asked(query, X),
                             .dweight = remat_gradient_asked(query, weight_of(a)),
                             .dbias = remat_gradient_asked(query, bias_of(a))};
}

/* dx reads x and weight, dweight reads x, both the statistics; dbias reads nothing. */
static void needs(const remat_query *query, uint64_t *operands, uint64_t *results)
{
    asked_gradients asked = asked_of(query);
    bool either = asked.dx || asked.dweight;
    bool weight = asked.dx && attributes_of(query->attributes)->has_weight;
    *operands = (either ? 1u : 0) | (weight ? 2u : 0);
    *results = either ? 1u << MEAN | 1u << RSTD : 0;
}

static void cost(const remat_query *query, remat_cost *cost)
{
    asked_gradients asked = asked_of(query);
    double count = (double)remat_type_count(&query->in[X]);
    double bytes = (double)remat_type_bytes(&query->in[X]);
    int64_t n = remat_type_count(&query->out[Y]) / remat_type_count(&query->out[MEAN]);
    int totals = asked.dweight + asked.dbias;
    cost->forward_flops = 8 * count;
    cost->forward_bytes = 2 * bytes;
    cost->backward_flops =
        count * ((asked.dx ? 12 : 0) + (asked.dweight ? 4 : 0) + (asked.dbias ? 1 : 0));
    cost->backward_bytes = bytes * (1 + (asked.dx || asked.dweight ? 1 : 0) + (asked.dx ? 1 : 0));
    cost->backward_workspace_bytes = (size_t)totals * (size_t)n * sizeof(double);
}

/* Data of operand i of a call, NULL past the last one. */
static void *data_at(const remat_tensor *tensors, size_t n, size_t i)
{
    return i < n ? tensors[i].data : NULL;
}

static remat_status forward(const remat_forward *call)
{
    const layer_norm_attributes *a = attributes_of(call->attributes);
    const remat_tensor *x = &call->in[X];
    int64_t rows = remat_tensor_count(&call->out[MEAN]);
    remat_norm_forward norm = {
        .rows = rows,
        .n = remat_tensor_count(x) / rows,
        .x = x->data,
        .weight = data_at(call->in, call->n_in, weight_of(a)),
        .bias = data_at(call->in, call->n_in, bias_of(a)),
        .epsilon = a->epsilon,
        .y = call->out[Y].data,
        .mean = call->out[MEAN].data,
        .rstd = call->out[RSTD].data,
    };
    remat_cpu_kernels()->norm[x->dtype].forward(&norm);
    return REMAT_OK;
}

/* Totals of operand i's gradient, zeroed, from *workspace; NULL if it is not asked for. */
static double *take_totals(const remat_backward *call, size_t i, int64_t n, double **workspace)
{
    if (!data_at(call->grad_in, call->n_in, i))
        return NULL;
    double *totals = *workspace;
    memset(totals, 0, (size_t)n * sizeof *totals);
    *workspace += n;
    return totals;
}

static void store_totals(const remat_backward *call, size_t i, int64_t n, const double *totals)
{
    if (totals)
        remat_cpu_kernels()->sums[call->grad_out[Y].dtype].store(
            n, totals, 1, call->grad_in[i].data, call->accumulate[i]);
}

static remat_status backward(const remat_backward *call)
{
    const layer_norm_attributes *a = attributes_of(call->attributes);
    const remat_tensor *dy = &call->grad_out[Y];
    int64_t rows = remat_tensor_count(&call->out[MEAN]), n = remat_tensor_count(dy) / rows;
    double *workspace = call->workspace;
    remat_norm_backward norm = {
        .rows = rows,
        .n = n,
        .x = call->in[X].data,
        .weight = data_at(call->in, call->n_in, weight_of(a)),
        .mean = call->out[MEAN].data,
        .rstd = call->out[RSTD].data,
        .dy = dy->data,
        .dx = call->grad_in[X].data,
        .accumulate = call->accumulate[X],
        .dweight = take_totals(call, weight_of(a), n, &workspace),
        .dbias = take_totals(call, bias_of(a), n, &workspace),
    };
    remat_cpu_kernels()->norm[dy->dtype].backward(&norm);
    store_totals(call, weight_of(a), n, norm.dweight);
    store_totals(call, bias_of(a), n, norm.dbias);
    return REMAT_OK;
}

static const remat_op layer_norm_op = {
    .name = "layer_norm",
    .min_operands = 1,
    .max_operands = 3,
    .n_results = 3,
    .attribute_bytes = sizeof(layer_norm_attributes),
    .needs_operands = 3, /* x and weight; see needs() */
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
    layer_norm_attributes attributes = {
        .epsilon = epsilon, .has_weight = weight.id != 0, .has_bias = bias.id != 0};
    remat_var in[3] = {x}, y = {0};
    size_t n_in = 1;
    if (attributes.has_weight)
        in[n_in++] = weight;
    if (attributes.has_bias)
        in[n_in++] = bias;
    remat_apply(tape, &layer_norm_op, &attributes, in, n_in, &y, 1);
    return y;
}
