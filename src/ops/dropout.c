/* dropout.c - zeroes elements at random. The mask is drawn again wherever it is needed: in a
 * replay, in the backward pass. */
#include "ops/common.h"

#include "cpu/kernels.h"

typedef struct dropout_attributes {
    double rate;
} dropout_attributes;

static double rate_of(const void *attributes)
{
    return ((const dropout_attributes *)attributes)->rate;
}

static remat_status infer(remat_infer *infer)
{
    double rate = rate_of(infer->attributes);
    if (!(rate >= 0 && rate < 1))
        return remat_infer_fail(infer, REMAT_INVALID_ARGUMENT,
                                "rate is %g; give a probability in [0, 1)", rate);
    return remat_infer_like_operand(infer);
}

static void cost(const remat_query *query, remat_cost *cost)
{
    double count = (double)remat_type_count(&query->in[0]);
    cost->forward_flops = cost->backward_flops = 30 * count; /* most of it the generator's */
    cost->forward_bytes = cost->backward_bytes = 2 * (double)remat_type_bytes(&query->in[0]);
}

/* Words below rate 2^32 drop their element. */
static uint32_t threshold_of(double rate)
{
    double threshold = rate * 4294967296.0 + 0.5;
    return threshold >= 4294967295.0 ? UINT32_MAX : (uint32_t)threshold;
}

static void apply(const void *attributes, const remat_random_key *key, const remat_tensor *from,
                  const remat_tensor *to, bool accumulate)
{
    double rate = rate_of(attributes);
    remat_cpu_kernels()->dropout[from->dtype].apply(key, threshold_of(rate), 1 / (1 - rate),
                                                    from->data, to->data, remat_tensor_count(from),
                                                    accumulate);
}

static remat_status forward(const remat_forward *call)
{
    apply(call->attributes, &call->random, &call->in[0], &call->out[0], false);
    return REMAT_OK;
}

static remat_status backward(const remat_backward *call)
{
    if (call->grad_in[0].data)
        apply(call->attributes, &call->random, &call->grad_out[0], &call->grad_in[0],
              call->accumulate[0]);
    return REMAT_OK;
}

static const remat_op dropout_op = {
    .name = "dropout",
    .min_operands = 1,
    .max_operands = 1,
    .n_results = 1,
    .attribute_bytes = sizeof(dropout_attributes),
    .flags = REMAT_OP_RANDOM,
    .in_place = 1,
    .gradient_in_place = 1,
    .infer = infer,
    .cost = cost,
    .forward = forward,
    .backward = backward,
};

remat_var remat_dropout(remat_tape *tape, remat_var x, double rate)
{
    dropout_attributes attributes = {rate};
    remat_var y = {0};
    remat_apply(tape, &dropout_op, &attributes, &x, 1, &y, 1);
    return y;
}
