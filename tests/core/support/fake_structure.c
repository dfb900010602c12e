/* fake_structure.c - fake operations that mix elements, save statistics, use workspace, read an
 * index, reduce, or share memory. */
#include "core/support/fake_ops.h"

#include <math.h>
#include <string.h>

/* ---- matmul: [m, k] [k, n] / k -> [m, n] -----------------------------------------------------*/

static remat_status matmul_infer(remat_infer *infer)
{
    const remat_type *a = &infer->in[0], *b = &infer->in[1];
    if (a->dtype != b->dtype || a->dtype == REMAT_I32)
        return remat_infer_fail(infer, REMAT_DTYPE_MISMATCH, "operands must be floats of one type");
    if (a->shape.ndim != 2 || b->shape.ndim != 2 || a->shape.dims[1] != b->shape.dims[0])
        return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH,
                                "shapes must be [m, k] and [k, n]; transpose one of them");
    infer->out[0] = (remat_type){a->dtype, REMAT_SHAPE(a->shape.dims[0], b->shape.dims[1])};
    return REMAT_OK;
}

static void matmul_cost(const remat_query *query, remat_cost *cost)
{
    double flops =
        2.0 * (double)remat_shape_count(&query->in[0].shape) * (double)query->in[1].shape.dims[1];
    cost->forward_flops = flops;
    cost->backward_flops = 2 * flops;
}

static remat_status matmul_forward(const remat_forward *call)
{
    int64_t m = call->in[0].dims[0], k = call->in[0].dims[1], n = call->in[1].dims[1];
    fake_require(call->out[0].data != call->in[0].data && call->out[0].data != call->in[1].data);
    for (int64_t row = 0; row < m; row++)
        for (int64_t column = 0; column < n; column++) {
            double sum = 0;
            for (int64_t i = 0; i < k; i++)
                sum += fake_get(&call->in[0], row * k + i) * fake_get(&call->in[1], i * n + column);
            fake_put(&call->out[0], row * n + column, sum / (double)k);
        }
    return REMAT_OK;
}

static void matmul_left(const remat_backward *call, int64_t m, int64_t k, int64_t n)
{
    for (int64_t row = 0; row < m; row++)
        for (int64_t i = 0; i < k; i++) {
            double sum = 0;
            for (int64_t c = 0; c < n; c++)
                sum +=
                    fake_get(&call->grad_out[0], row * n + c) * fake_get(&call->in[1], i * n + c);
            fake_give(&call->grad_in[0], row * k + i, sum / (double)k, call->accumulate[0]);
        }
}

static void matmul_right(const remat_backward *call, int64_t m, int64_t k, int64_t n)
{
    for (int64_t i = 0; i < k; i++)
        for (int64_t c = 0; c < n; c++) {
            double sum = 0;
            for (int64_t row = 0; row < m; row++)
                sum +=
                    fake_get(&call->grad_out[0], row * n + c) * fake_get(&call->in[0], row * k + i);
            fake_give(&call->grad_in[1], i * n + c, sum / (double)k, call->accumulate[1]);
        }
}

static remat_status matmul_backward(const remat_backward *call)
{
    int64_t m = call->in[0].dims[0], k = call->in[0].dims[1], n = call->in[1].dims[1];
    fake_require(fake_backward_is_exact(call, 3, 0));
    if (call->grad_in[0].data)
        matmul_left(call, m, k, n);
    if (call->grad_in[1].data)
        matmul_right(call, m, k, n);
    return REMAT_OK;
}

const remat_op fake_matmul = {.name = "fake_matmul",
                              .min_operands = 2,
                              .max_operands = 2,
                              .n_results = 1,
                              .needs_operands = 3,
                              .infer = matmul_infer,
                              .cost = matmul_cost,
                              .forward = matmul_forward,
                              .backward = matmul_backward};

/* ---- statistic: x s by rows; s = 1 / (1 + mean |x|) is saved for backward --------------------*/

static remat_status statistic_infer(remat_infer *infer)
{
    const remat_type *x = &infer->in[0];
    if (fake_infer_float(infer) != REMAT_OK)
        return REMAT_DTYPE_MISMATCH;
    if (x->shape.ndim < 1)
        return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH, "a scalar has no rows");
    infer->out[0] = *x;
    infer->out[1] = (remat_type){x->dtype, REMAT_SHAPE(x->shape.dims[0])};
    return REMAT_OK;
}

static remat_status statistic_forward(const remat_forward *call)
{
    int64_t rows = call->in[0].dims[0], width = remat_tensor_count(&call->in[0]) / rows;
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += fabs(fake_get(&call->in[0], row * width + i));
        fake_put(&call->out[1], row, 1 / (1 + sum / (double)width));
        for (int64_t i = 0; i < width; i++)
            fake_put(&call->out[0], row * width + i,
                     fake_get(&call->in[0], row * width + i) * fake_get(&call->out[1], row));
    }
    return REMAT_OK;
}

static remat_status statistic_backward(const remat_backward *call)
{
    int64_t rows = call->grad_in[0].dims[0], n = remat_tensor_count(&call->grad_in[0]);
    fake_require(fake_backward_is_exact(call, 0, 2) && !call->grad_out[1].data);
    for (int64_t i = 0; i < n; i++)
        fake_give(&call->grad_in[0], i,
                  fake_get(&call->grad_out[0], i) * fake_get(&call->out[1], i / (n / rows)),
                  call->accumulate[0]);
    return REMAT_OK;
}

const remat_op fake_statistic = {.name = "fake_statistic",
                                 .min_operands = 1,
                                 .max_operands = 1,
                                 .n_results = 2,
                                 .needs_results = 2,
                                 .no_gradient_results = 2,
                                 .in_place = 1,
                                 .gradient_in_place = 1,
                                 .infer = statistic_infer,
                                 .cost = fake_cost_elements,
                                 .forward = statistic_forward,
                                 .backward = statistic_backward};

/* ---- reverse: back to front, by way of workspace ---------------------------------------------*/

/* Odd sizes, so that rounding is tested; the two passes differ. */
static void reverse_cost(const remat_query *query, remat_cost *cost)
{
    size_t n = (size_t)remat_shape_count(&query->in[0].shape);
    fake_cost_elements(query, cost);
    cost->forward_workspace_bytes = n * sizeof(double) + 13;
    cost->backward_workspace_bytes = query->gradients ? 2 * n * sizeof(double) + 77 : 0;
}

static void reverse(const remat_tensor *from, const remat_tensor *to, unsigned char *workspace,
                    size_t bytes, bool accumulate)
{
    int64_t n = remat_tensor_count(from);
    fake_require(workspace && (uintptr_t)workspace % 64 == 0);
    memset(workspace, 0xA5, bytes); /* all of it is ours */
    for (int64_t i = 0; i < n; i++) {
        double value = fake_get(from, i);
        memcpy(workspace + (size_t)i * sizeof value, &value, sizeof value);
    }
    for (int64_t i = 0; i < n; i++) {
        double value;
        memcpy(&value, workspace + (size_t)(n - 1 - i) * sizeof value, sizeof value);
        fake_give(to, i, value, accumulate);
    }
}

static remat_status reverse_forward(const remat_forward *call)
{
    size_t n = (size_t)remat_tensor_count(&call->in[0]);
    reverse(&call->in[0], &call->out[0], call->workspace, n * sizeof(double) + 13, false);
    return REMAT_OK;
}

static remat_status reverse_backward(const remat_backward *call)
{
    size_t n = (size_t)remat_tensor_count(&call->grad_in[0]);
    fake_require(fake_backward_is_exact(call, 0, 0));
    reverse(&call->grad_out[0], &call->grad_in[0], call->workspace, 2 * n * sizeof(double) + 77,
            call->accumulate[0]);
    return REMAT_OK;
}

const remat_op fake_reverse = {.name = "fake_reverse",
                               .min_operands = 1,
                               .max_operands = 1,
                               .n_results = 1,
                               .in_place = 1,
                               .gradient_in_place = 1,
                               .infer = fake_infer_same,
                               .cost = reverse_cost,
                               .forward = reverse_forward,
                               .backward = reverse_backward};

/* ---- cross: element by element in one operand only -------------------------------------------*/

static remat_status cross_forward(const remat_forward *call)
{
    int64_t n = remat_tensor_count(&call->out[0]);
    fake_require(call->out[0].data != call->in[1].data);
    for (int64_t i = 0; i < n; i++)
        fake_put(&call->out[0], i,
                 0.5 * (fake_get(&call->in[0], i) + fake_get(&call->in[1], n - 1 - i)));
    return REMAT_OK;
}

static void cross_give(const remat_backward *call, size_t k)
{
    int64_t n = remat_tensor_count(&call->grad_out[0]);
    for (int64_t i = 0; call->grad_in[k].data && i < n; i++)
        fake_give(&call->grad_in[k], k == 0 ? i : n - 1 - i, 0.5 * fake_get(&call->grad_out[0], i),
                  call->accumulate[k]);
}

static remat_status cross_backward(const remat_backward *call)
{
    bool in_place = call->grad_in[0].data == call->grad_out[0].data;
    fake_require(fake_backward_is_exact(call, 0, 0));
    fake_require(call->grad_in[1].data != call->grad_out[0].data);
    cross_give(call, in_place ? 1 : 0);
    cross_give(call, in_place ? 0 : 1);
    return REMAT_OK;
}

const remat_op fake_cross = {.name = "fake_cross",
                             .min_operands = 2,
                             .max_operands = 2,
                             .n_results = 1,
                             .in_place = 1,
                             .gradient_in_place = 1,
                             .infer = fake_infer_same,
                             .cost = fake_cost_elements,
                             .forward = cross_forward,
                             .backward = cross_backward};

/* ---- gather: rows by an i32 index ------------------------------------------------------------*/

static remat_status gather_infer(remat_infer *infer)
{
    const remat_type *x = &infer->in[0], *index = &infer->in[1];
    if (fake_infer_float(infer) != REMAT_OK || index->dtype != REMAT_I32)
        return remat_infer_fail(infer, REMAT_DTYPE_MISMATCH, "operands must be a float and i32");
    if (x->shape.ndim != 2 || index->shape.ndim != 1)
        return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH, "shapes must be [r, c] and [m]");
    infer->out[0] = (remat_type){x->dtype, REMAT_SHAPE(index->shape.dims[0], x->shape.dims[1])};
    return REMAT_OK;
}

static remat_status gather_forward(const remat_forward *call)
{
    int64_t columns = call->in[0].dims[1];
    for (int64_t row = 0; row < call->in[1].dims[0]; row++) {
        int64_t from = (int64_t)fake_get(&call->in[1], row);
        if (from < 0 || from >= call->in[0].dims[0])
            return remat_call_fail(call->message, call->message_bytes, REMAT_OP_FAILED,
                                   "index %d of row %d is out of range", (int)from, (int)row);
        for (int64_t c = 0; c < columns; c++)
            fake_put(&call->out[0], row * columns + c, fake_get(&call->in[0], from * columns + c));
    }
    return REMAT_OK;
}

static remat_status gather_backward(const remat_backward *call)
{
    int64_t columns = call->grad_in[0].dims[1];
    fake_require(fake_backward_is_exact(call, 2, 0) && !call->grad_in[1].data);
    for (int64_t i = 0; !call->accumulate[0] && i < remat_tensor_count(&call->grad_in[0]); i++)
        fake_put(&call->grad_in[0], i, 0.0);
    for (int64_t row = 0; row < call->in[1].dims[0]; row++) {
        int64_t to = (int64_t)fake_get(&call->in[1], row);
        for (int64_t c = 0; c < columns; c++)
            fake_give(&call->grad_in[0], to * columns + c,
                      fake_get(&call->grad_out[0], row * columns + c), true);
    }
    return REMAT_OK;
}

const remat_op fake_gather = {.name = "fake_gather",
                              .min_operands = 2,
                              .max_operands = 2,
                              .n_results = 1,
                              .needs_operands = 2,
                              .infer = gather_infer,
                              .cost = fake_cost_elements,
                              .forward = gather_forward,
                              .backward = gather_backward};

/* ---- sum: to a scalar ------------------------------------------------------------------------*/

static remat_status sum_infer(remat_infer *infer)
{
    infer->out[0] = (remat_type){infer->in[0].dtype, REMAT_SCALAR};
    return fake_infer_float(infer);
}

static double sum_weight(int64_t i, int64_t n)
{
    return (1.0 + (double)(i % 7) / 8) / (double)n;
}

static remat_status sum_forward(const remat_forward *call)
{
    double sum = 0;
    int64_t n = remat_tensor_count(&call->in[0]);
    for (int64_t i = 0; i < n; i++)
        sum += sum_weight(i, n) * fake_get(&call->in[0], i);
    fake_put(&call->out[0], 0, sum);
    return REMAT_OK;
}

static remat_status sum_backward(const remat_backward *call)
{
    int64_t n = remat_tensor_count(&call->grad_in[0]);
    fake_require(fake_backward_is_exact(call, 0, 0));
    for (int64_t i = 0; i < n; i++)
        fake_give(&call->grad_in[0], i, sum_weight(i, n) * fake_get(&call->grad_out[0], 0),
                  call->accumulate[0]);
    return REMAT_OK;
}

const remat_op fake_sum = {.name = "fake_sum",
                           .min_operands = 1,
                           .max_operands = 1,
                           .n_results = 1,
                           .infer = sum_infer,
                           .cost = fake_cost_elements,
                           .forward = sum_forward,
                           .backward = sum_backward};

/* ---- views -----------------------------------------------------------------------------------*/

static remat_status view_infer(remat_infer *infer)
{
    const fake_view_attributes *a = infer->attributes;
    infer->out[0] = (remat_type){infer->in[0].dtype, a->shape};
    return REMAT_OK;
}

static remat_status view_backward(const remat_backward *call)
{
    fake_require(fake_backward_is_exact(call, 0, 0));
    for (int64_t i = 0; i < remat_tensor_count(&call->grad_in[0]); i++)
        fake_give(&call->grad_in[0], i, fake_get(&call->grad_out[0], i), call->accumulate[0]);
    return REMAT_OK;
}

const remat_op fake_view = {.name = "fake_view",
                            .min_operands = 1,
                            .max_operands = 1,
                            .n_results = 1,
                            .attribute_bytes = sizeof(fake_view_attributes),
                            .flags = REMAT_OP_VIEW,
                            .gradient_in_place = 1,
                            .infer = view_infer,
                            .backward = view_backward};

const remat_op fake_detach = {.name = "fake_detach",
                              .min_operands = 1,
                              .max_operands = 1,
                              .n_results = 1,
                              .flags = REMAT_OP_VIEW,
                              .no_gradient = 1,
                              .infer = fake_infer_same};
