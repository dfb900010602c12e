/* linear.c - x W^T + b as one operation: a product whose epilogue is the bias. */
#include "cpu/gemm.h"
#include "cpu/kernels.h"
#include "ops/common.h"

#include <string.h>

enum { OPERAND_X, OPERAND_WEIGHT, OPERAND_BIAS };

/* x [rows, in], weight [out, in], y [rows, out] */
typedef struct extents {
    int64_t rows, in, out;
} extents;

static extents extents_of(const int64_t *x, int32_t x_ndim, const int64_t *weight)
{
    return (extents){remat_count_range(x, 0, x_ndim - 1), weight[1], weight[0]};
}

static remat_status infer_bias(remat_infer *call, int64_t out)
{
    const remat_shape *bias = &call->in[OPERAND_BIAS].shape;
    if (bias->ndim == 1 && bias->dims[0] == out)
        return REMAT_OK;
    return remat_infer_fail(call, REMAT_SHAPE_MISMATCH, "the bias must have shape [%lld]",
                            (long long)out);
}

static remat_status infer(remat_infer *call)
{
    const remat_shape *x = &call->in[OPERAND_X].shape, *w = &call->in[OPERAND_WEIGHT].shape;
    remat_status status = remat_infer_same_float(call);
    if (status != REMAT_OK)
        return status;
    if (x->ndim < 1)
        return remat_infer_fail(call, REMAT_SHAPE_MISMATCH,
                                "x is a scalar; it must have shape [..., in]");
    if (w->ndim != 2)
        return remat_infer_fail(call, REMAT_SHAPE_MISMATCH,
                                "the weight has %d axes; it must have shape [out, in]",
                                (int)w->ndim);
    const int64_t in = x->dims[x->ndim - 1];
    if (in != w->dims[1])
        return remat_infer_fail(call, REMAT_SHAPE_MISMATCH,
                                "x has %lld features and the weight takes %lld%s", (long long)in,
                                (long long)w->dims[1],
                                in == w->dims[0] ? "; store the weight as [out, in]" : "");
    const extents e = extents_of(x->dims, x->ndim, w->dims);
    if (!remat_gemm_fits(e.rows, e.in, e.out))
        return remat_infer_fail(call, REMAT_OVERFLOW,
                                "a product of %lld x %lld x %lld exceeds the BLAS library's "
                                "integers; split x",
                                (long long)e.rows, (long long)e.out, (long long)e.in);
    call->out[0] = call->in[OPERAND_X];
    call->out[0].shape.dims[x->ndim - 1] = e.out;
    return call->n_in > OPERAND_BIAS ? infer_bias(call, e.out) : REMAT_OK;
}

static void needs(const remat_query *query, uint64_t *operands, uint64_t *results)
{
    *operands = (remat_gradient_asked(query, OPERAND_WEIGHT) ? 1U << OPERAND_X : 0U) |
                (remat_gradient_asked(query, OPERAND_X) ? 1U << OPERAND_WEIGHT : 0U);
    *results = 0;
}

static void cost(const remat_query *query, remat_cost *cost)
{
    const double y_count = (double)remat_type_count(query->out);
    const double y_bytes = (double)remat_type_bytes(query->out);
    const double product = 2 * y_count * (double)query->in[OPERAND_WEIGHT].shape.dims[1];
    const double bytes = (double)remat_type_bytes(&query->in[OPERAND_X]) +
                         (double)remat_type_bytes(&query->in[OPERAND_WEIGHT]) + y_bytes;
    cost->forward_flops = product + (query->n_in > OPERAND_BIAS ? y_count : 0);
    cost->forward_bytes = bytes;
    for (size_t i = 0; i <= OPERAND_WEIGHT; i++) {
        if (remat_gradient_asked(query, i)) {
            cost->backward_flops += product;
            cost->backward_bytes += bytes;
        }
    }
    if (remat_gradient_asked(query, OPERAND_BIAS)) {
        cost->backward_flops += y_count;
        cost->backward_bytes += y_bytes;
    }
}

static remat_status forward(const remat_forward *call)
{
    const remat_tensor *x = &call->in[OPERAND_X], *weight = &call->in[OPERAND_WEIGHT];
    const extents e = extents_of(x->dims, x->ndim, weight->dims);
    const remat_gemm gemm = {.dtype = x->dtype,
                             .transpose_b = true,
                             .m = e.rows,
                             .n = e.out,
                             .k = e.in,
                             .bias =
                                 call->n_in > OPERAND_BIAS ? call->in[OPERAND_BIAS].data : NULL};
    remat_gemm_run(&gemm, x->data, weight->data, call->out->data);
    return REMAT_OK;
}

/* db = the sum of dy's rows */
static void bias_gradient(const extents *e, const remat_tensor *dy, void *db, bool accumulate)
{
    const remat_sums_kernels *sums = &remat_cpu_kernels()->sums[dy->dtype];
    const size_t element = remat_dtype_bytes(dy->dtype);
    double total[REMAT_SUMS_COLUMNS];
    for (int64_t column = 0; column < e->out; column += REMAT_SUMS_COLUMNS) {
        const int64_t left = e->out - column;
        const int64_t columns = left < REMAT_SUMS_COLUMNS ? left : REMAT_SUMS_COLUMNS;
        const size_t start = (size_t)column * element;
        memset(total, 0, (size_t)columns * sizeof *total);
        sums->add_columns(e->rows, columns, (const char *)dy->data + start, e->out, total);
        sums->store(columns, total, 1, (char *)db + start, accumulate);
    }
}

static remat_status backward(const remat_backward *call)
{
    const remat_tensor *x = &call->in[OPERAND_X], *weight = &call->in[OPERAND_WEIGHT];
    const remat_tensor *dy = call->grad_out, *d = call->grad_in;
    const extents e = extents_of(x->dims, x->ndim, weight->dims);
    if (d[OPERAND_X].data) /* dy W */
        remat_gemm_run(&(remat_gemm){.dtype = dy->dtype,
                                     .accumulate = call->accumulate[OPERAND_X],
                                     .m = e.rows,
                                     .n = e.in,
                                     .k = e.out},
                       dy->data, weight->data, d[OPERAND_X].data);
    if (d[OPERAND_WEIGHT].data) /* dy^T x */
        remat_gemm_run(&(remat_gemm){.dtype = dy->dtype,
                                     .transpose_a = true,
                                     .accumulate = call->accumulate[OPERAND_WEIGHT],
                                     .m = e.out,
                                     .n = e.in,
                                     .k = e.rows},
                       dy->data, x->data, d[OPERAND_WEIGHT].data);
    if (call->n_in > OPERAND_BIAS && d[OPERAND_BIAS].data)
        bias_gradient(&e, dy, d[OPERAND_BIAS].data, call->accumulate[OPERAND_BIAS]);
    return REMAT_OK;
}

static const remat_op linear_op = {
    .name = "linear",
    .min_operands = 2,
    .max_operands = 3,
    .n_results = 1,
    .needs_operands = 1U << OPERAND_X | 1U << OPERAND_WEIGHT,
    .needs = needs,
    .infer = infer,
    .cost = cost,
    .forward = forward,
    .backward = backward,
    .kernel_id = remat_gemm_kernel_id,
};

remat_var remat_linear(remat_tape *tape, remat_var x, remat_var weight, remat_var bias)
{
    remat_var y = {0};
    remat_apply(tape, &linear_op, NULL, (remat_var[]){x, weight, bias}, bias.id ? 3 : 2, &y, 1);
    return y;
}
