/* cross_entropy.c - the loss of a classifier, from logits. With smoothing e over C classes the
 * target of a row is t = (1 - e) [label] + e / C, and its loss
 *     - sum t log softmax(x) = log_sum - (1 - e) x[label] - e / C sum x,
 *     log_sum = log sum exp x,  d/dx = exp(x - log_sum) - t.
 * log_sum is result 1, so that backward makes the softmax again in one pass over the logits. */
#include "cpu/kernels.h"
#include "ops/common.h"
#include "ops/element.h"

#include <math.h>
#include <string.h>

typedef struct cross_entropy_attributes {
    double label_smoothing;
    int32_t reduction; /* remat_reduction */
    int32_t use_ignore_index;
    int32_t ignore_index;
} cross_entropy_attributes;

enum { OPERAND_LOGITS, OPERAND_LABELS };
enum { RESULT_LOSS, RESULT_LOG_SUM };

static remat_status infer_options(remat_infer *call, const cross_entropy_attributes *attributes)
{
    if (!(attributes->label_smoothing >= 0 && attributes->label_smoothing < 1))
        return remat_infer_fail(call, REMAT_INVALID_ARGUMENT,
                                "label smoothing %g is outside [0, 1)",
                                attributes->label_smoothing);
    if (attributes->reduction != REMAT_MEAN && attributes->reduction != REMAT_SUM)
        return remat_infer_fail(call, REMAT_INVALID_ARGUMENT,
                                "reduction %d is neither REMAT_MEAN nor REMAT_SUM",
                                (int)attributes->reduction);
    return REMAT_OK;
}

static remat_status infer(remat_infer *call)
{
    const remat_type *logits = &call->in[OPERAND_LOGITS], *labels = &call->in[OPERAND_LABELS];
    if (logits->dtype != REMAT_F32 && logits->dtype != REMAT_F64)
        return remat_infer_fail(call, REMAT_DTYPE_MISMATCH,
                                "logits are %s; they must be f32 or f64",
                                remat_dtype_name(logits->dtype));
    if (labels->dtype != REMAT_I32)
        return remat_infer_fail(call, REMAT_DTYPE_MISMATCH, "labels are %s; they must be i32",
                                remat_dtype_name(labels->dtype));
    bool fits = logits->shape.ndim == labels->shape.ndim + 1;
    for (int32_t i = 0; fits && i < labels->shape.ndim; i++)
        fits = logits->shape.dims[i] == labels->shape.dims[i];
    if (!fits)
        return remat_infer_fail(call, REMAT_SHAPE_MISMATCH,
                                "labels of shape [...] need logits of shape [..., classes]; there "
                                "are %lld labels and %lld logits",
                                (long long)remat_type_count(labels),
                                (long long)remat_type_count(logits));
    call->out[RESULT_LOSS] = (remat_type){.dtype = logits->dtype};
    call->out[RESULT_LOG_SUM] = (remat_type){logits->dtype, labels->shape};
    return infer_options(call, call->attributes);
}

static void cost(const remat_query *query, remat_cost *cost)
{
    const remat_type *logits = &query->in[OPERAND_LOGITS];
    const double count = (double)remat_type_count(logits);
    const double bytes = (double)remat_type_bytes(logits);
    const double row_bytes = (double)remat_type_bytes(&query->in[OPERAND_LABELS]) +
                             (double)remat_type_bytes(&query->out[RESULT_LOG_SUM]);
    cost->forward_flops = 20 * count; /* an exponential and its sum */
    cost->forward_bytes = bytes + row_bytes;
    if (remat_gradient_asked(query, OPERAND_LOGITS)) {
        cost->backward_flops = 20 * count;
        cost->backward_bytes = 2 * bytes + row_bytes;
    }
}

static bool is_ignored(const cross_entropy_attributes *attributes, int32_t label)
{
    return attributes->use_ignore_index && label == attributes->ignore_index;
}

/* Labels are the caller's memory: they are checked in both passes. */
static remat_status check_labels(const cross_entropy_attributes *attributes, const int32_t *labels,
                                 int64_t rows, int64_t classes, char *message, size_t message_bytes)
{
    for (int64_t i = 0; i < rows; i++)
        if (!is_ignored(attributes, labels[i]) && (labels[i] < 0 || labels[i] >= classes))
            return remat_call_fail(message, message_bytes, REMAT_OP_FAILED,
                                   "label %d of row %lld is outside [0, %lld)", (int)labels[i],
                                   (long long)i, (long long)classes);
    return REMAT_OK;
}

/* What a row's loss counts in the result: 1, or for the mean 1 / number of rows that count. */
static double row_weight(const cross_entropy_attributes *attributes, const int32_t *labels,
                         int64_t rows)
{
    int64_t counted = 0;
    if (attributes->reduction == REMAT_SUM)
        return 1;
    for (int64_t i = 0; i < rows; i++)
        counted += !is_ignored(attributes, labels[i]);
    return counted > 0 ? 1.0 / (double)counted : 0;
}

/* The largest logit of a row, and the logarithm of the sum of exp(logit - max). */
typedef struct row_sum {
    double max, log_sum;
} row_sum;

static row_sum sum_row(const remat_tensor *logits, int64_t row)
{
    const int64_t classes = logits->dims[logits->ndim - 1];
    const void *x = remat_element(logits->data, row * classes, logits->dtype);
    row_sum sum = {0, 0};
    sum.log_sum = log(remat_cpu_kernels()->loss[logits->dtype].sum_of_exp(classes, x, &sum.max));
    return sum;
}

static double row_loss(const cross_entropy_attributes *attributes, const remat_tensor *logits,
                       int64_t row, int32_t label, row_sum sum)
{
    const int64_t classes = logits->dims[logits->ndim - 1], start = row * classes;
    const double smoothing = attributes->label_smoothing;
    const double at_label = remat_element_load(logits, start + label);
    if (smoothing == 0)
        return sum.log_sum + (sum.max - at_label);
    const void *x = remat_element(logits->data, start, logits->dtype);
    const double mean = remat_cpu_kernels()->sums[logits->dtype].sum(classes, x) / (double)classes;
    return sum.log_sum + (1 - smoothing) * (sum.max - at_label) + smoothing * (sum.max - mean);
}

static remat_status forward(const remat_forward *call)
{
    const cross_entropy_attributes *attributes = call->attributes;
    const remat_tensor *logits = &call->in[OPERAND_LOGITS];
    const int64_t rows = remat_tensor_count(&call->in[OPERAND_LABELS]);
    const int64_t classes = logits->dims[logits->ndim - 1];
    const int32_t *labels = call->in[OPERAND_LABELS].data;
    const remat_status status =
        check_labels(attributes, labels, rows, classes, call->message, call->message_bytes);
    if (status != REMAT_OK)
        return status;
    double loss = 0;
    for (int64_t i = 0; i < rows; i++) {
        const row_sum sum = sum_row(logits, i);
        remat_element_store(&call->out[RESULT_LOG_SUM], i, sum.max + sum.log_sum);
        if (!is_ignored(attributes, labels[i]))
            loss += row_loss(attributes, logits, i, labels[i], sum);
    }
    remat_element_store(&call->out[RESULT_LOSS], 0, loss * row_weight(attributes, labels, rows));
    return REMAT_OK;
}

/* d (+)= factor (softmax(x) - t) for one row */
static void row_gradient(const remat_backward *call, int64_t row, int32_t label, double factor)
{
    const cross_entropy_attributes *attributes = call->attributes;
    const remat_tensor *logits = &call->in[OPERAND_LOGITS], *d = &call->grad_in[OPERAND_LOGITS];
    const int64_t classes = logits->dims[logits->ndim - 1], start = row * classes;
    const double smoothing = attributes->label_smoothing;
    const remat_row_target target = {label, smoothing / (double)classes, 1 - smoothing};
    remat_cpu_kernels()->loss[logits->dtype].softmax_gradient(
        classes, remat_element(logits->data, start, logits->dtype), &target,
        remat_element_load(&call->out[RESULT_LOG_SUM], row), factor,
        remat_element_to_write(d->data, start, d->dtype), call->accumulate[OPERAND_LOGITS]);
}

static remat_status backward(const remat_backward *call)
{
    const cross_entropy_attributes *attributes = call->attributes;
    const remat_tensor *logits = &call->in[OPERAND_LOGITS], *d = &call->grad_in[OPERAND_LOGITS];
    const int64_t rows = remat_tensor_count(&call->in[OPERAND_LABELS]);
    const int64_t classes = logits->dims[logits->ndim - 1];
    const int32_t *labels = call->in[OPERAND_LABELS].data;
    if (!d->data)
        return REMAT_OK;
    const remat_status status =
        check_labels(attributes, labels, rows, classes, call->message, call->message_bytes);
    if (status != REMAT_OK)
        return status;
    const double factor =
        remat_element_load(&call->grad_out[RESULT_LOSS], 0) * row_weight(attributes, labels, rows);
    for (int64_t i = 0; i < rows; i++) {
        if (!is_ignored(attributes, labels[i]))
            row_gradient(call, i, labels[i], factor);
        else if (!call->accumulate[OPERAND_LOGITS])
            memset(remat_element_to_write(d->data, i * classes, d->dtype), 0,
                   (size_t)classes * remat_dtype_bytes(d->dtype));
    }
    return REMAT_OK;
}

static const remat_op cross_entropy_op = {
    .name = "cross_entropy",
    .min_operands = 2,
    .max_operands = 2,
    .n_results = 2,
    .attribute_bytes = sizeof(cross_entropy_attributes),
    .needs_operands = 1U << OPERAND_LOGITS | 1U << OPERAND_LABELS,
    .needs_results = 1U << RESULT_LOG_SUM,
    .no_gradient = 1U << OPERAND_LABELS,
    .no_gradient_results = 1U << RESULT_LOG_SUM,
    .infer = infer,
    .cost = cost,
    .forward = forward,
    .backward = backward,
};

remat_var remat_cross_entropy(remat_tape *tape, remat_var logits, remat_var labels,
                              const remat_cross_entropy_options *options)
{
    cross_entropy_attributes attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.reduction = REMAT_MEAN;
    if (options) {
        attributes.label_smoothing = options->label_smoothing;
        attributes.reduction = (int32_t)options->reduction;
        attributes.use_ignore_index = options->use_ignore_index;
        attributes.ignore_index = options->use_ignore_index ? options->ignore_index : 0;
    }
    remat_var loss = {0};
    remat_apply(tape, &cross_entropy_op, &attributes, (remat_var[]){logits, labels}, 2, &loss, 1);
    return loss;
}
