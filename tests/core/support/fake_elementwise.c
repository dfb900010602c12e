/* fake_elementwise.c - fake operations that work element by element. */
#include "core/support/fake_ops.h"

#include <math.h>

/* ---- affine: reads nothing in backward -------------------------------------------------------*/

static remat_status affine_forward(const remat_forward *call)
{
    const fake_affine_attributes *a = call->attributes;
    fake_require(!call->workspace);
    for (int64_t i = 0; i < remat_tensor_count(&call->out[0]); i++)
        fake_put(&call->out[0], i, a->scale * fake_get(&call->in[0], i) + a->shift);
    return REMAT_OK;
}

static remat_status affine_backward(const remat_backward *call)
{
    const fake_affine_attributes *a = call->attributes;
    fake_require(fake_backward_is_exact(call, 0, 0) && !call->workspace);
    for (int64_t i = 0; i < remat_tensor_count(&call->grad_in[0]); i++)
        fake_give(&call->grad_in[0], i, a->scale * fake_get(&call->grad_out[0], i),
                  call->accumulate[0]);
    return REMAT_OK;
}

const remat_op fake_affine = {.name = "fake_affine",
                              .min_operands = 1,
                              .max_operands = 1,
                              .n_results = 1,
                              .attribute_bytes = sizeof(fake_affine_attributes),
                              .in_place = 1,
                              .gradient_in_place = 1,
                              .infer = fake_infer_same,
                              .cost = fake_cost_elements,
                              .forward = affine_forward,
                              .backward = affine_backward};

/* ---- leaky: reads its result in backward -----------------------------------------------------*/

static remat_status leaky_forward(const remat_forward *call)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->out[0]); i++) {
        double x = fake_get(&call->in[0], i);
        fake_put(&call->out[0], i, x > 0 ? x : 0.25 * x);
    }
    return REMAT_OK;
}

static remat_status leaky_backward(const remat_backward *call)
{
    fake_require(fake_backward_is_exact(call, 0, 1));
    for (int64_t i = 0; i < remat_tensor_count(&call->grad_in[0]); i++) {
        double slope = fake_get(&call->out[0], i) > 0 ? 1.0 : 0.25;
        fake_give(&call->grad_in[0], i, slope * fake_get(&call->grad_out[0], i),
                  call->accumulate[0]);
    }
    return REMAT_OK;
}

const remat_op fake_leaky = {.name = "fake_leaky",
                             .min_operands = 1,
                             .max_operands = 1,
                             .n_results = 1,
                             .needs_results = 1,
                             .in_place = 1,
                             .gradient_in_place = 1,
                             .infer = fake_infer_same,
                             .cost = fake_cost_elements,
                             .forward = leaky_forward,
                             .backward = leaky_backward};

/* ---- softsign: reads its operand in backward -------------------------------------------------*/

static remat_status softsign_forward(const remat_forward *call)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->out[0]); i++) {
        double x = fake_get(&call->in[0], i);
        fake_put(&call->out[0], i, x / (1 + fabs(x)));
    }
    return REMAT_OK;
}

static remat_status softsign_backward(const remat_backward *call)
{
    fake_require(fake_backward_is_exact(call, 1, 0));
    for (int64_t i = 0; i < remat_tensor_count(&call->grad_in[0]); i++) {
        double root = 1 + fabs(fake_get(&call->in[0], i));
        fake_give(&call->grad_in[0], i, fake_get(&call->grad_out[0], i) / (root * root),
                  call->accumulate[0]);
    }
    return REMAT_OK;
}

const remat_op fake_softsign = {.name = "fake_softsign",
                                .min_operands = 1,
                                .max_operands = 1,
                                .n_results = 1,
                                .needs_operands = 1,
                                .in_place = 1,
                                .gradient_in_place = 1,
                                .infer = fake_infer_same,
                                .cost = fake_cost_elements,
                                .forward = softsign_forward,
                                .backward = softsign_backward};

/* ---- add: any number of operands -------------------------------------------------------------*/

static remat_status add_forward(const remat_forward *call)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->out[0]); i++) {
        double sum = 0;
        for (size_t k = 0; k < call->n_in; k++)
            sum += fake_get(&call->in[k], i);
        fake_put(&call->out[0], i, sum / (double)call->n_in);
    }
    return REMAT_OK;
}

static void add_give(const remat_backward *call, size_t k)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->grad_in[k]); i++)
        fake_give(&call->grad_in[k], i, fake_get(&call->grad_out[0], i) / (double)call->n_in,
                  call->accumulate[k]);
}

/* The gradient that has taken over grad_out's memory is written last. */
static remat_status add_backward(const remat_backward *call)
{
    size_t last = call->n_in;
    fake_require(fake_backward_is_exact(call, 0, 0));
    for (size_t k = 0; k < call->n_in; k++) {
        if (call->grad_in[k].data == call->grad_out[0].data) {
            fake_require(last == call->n_in && !call->accumulate[k]);
            last = k;
        } else if (call->grad_in[k].data) {
            add_give(call, k);
        }
    }
    if (last < call->n_in)
        add_give(call, last);
    return REMAT_OK;
}

const remat_op fake_add = {.name = "fake_add",
                           .min_operands = 1,
                           .max_operands = 32,
                           .n_results = 1,
                           .in_place = UINT64_MAX,
                           .gradient_in_place = UINT64_MAX,
                           .infer = fake_infer_same,
                           .cost = fake_cost_elements,
                           .forward = add_forward,
                           .backward = add_backward};

/* ---- multiply: each gradient needs the other operand -----------------------------------------*/

static void multiply_needs(const remat_query *query, uint64_t *operands, uint64_t *results)
{
    (void)results;
    *operands = (query->gradients & 1 ? 2u : 0u) | (query->gradients & 2 ? 1u : 0u);
}

static remat_status multiply_forward(const remat_forward *call)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->out[0]); i++)
        fake_put(&call->out[0], i, 0.5 * fake_get(&call->in[0], i) * fake_get(&call->in[1], i));
    return REMAT_OK;
}

static remat_status multiply_backward(const remat_backward *call)
{
    uint64_t needed = (call->grad_in[0].data ? 2u : 0u) | (call->grad_in[1].data ? 1u : 0u);
    fake_require(fake_backward_is_exact(call, needed, 0));
    for (size_t k = 0; k < 2; k++)
        for (int64_t i = 0; call->grad_in[k].data && i < remat_tensor_count(&call->grad_in[k]); i++)
            fake_give(&call->grad_in[k], i,
                      0.5 * fake_get(&call->in[1 - k], i) * fake_get(&call->grad_out[0], i),
                      call->accumulate[k]);
    return REMAT_OK;
}

const remat_op fake_multiply = {.name = "fake_multiply",
                                .min_operands = 2,
                                .max_operands = 2,
                                .n_results = 1,
                                .needs_operands = 3,
                                .needs = multiply_needs,
                                .in_place = 3,
                                .infer = fake_infer_same,
                                .cost = fake_cost_elements,
                                .forward = multiply_forward,
                                .backward = multiply_backward};

/* ---- pair: two results with gradients, the first one in place --------------------------------*/

static remat_status pair_forward(const remat_forward *call)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->out[0]); i++) {
        double a = fake_get(&call->in[0], i), b = fake_get(&call->in[1], i);
        fake_put(&call->out[0], i, 0.5 * (a + b));
        fake_put(&call->out[1], i, 0.5 * (a - b));
    }
    return REMAT_OK;
}

static remat_status pair_backward(const remat_backward *call)
{
    fake_require(fake_backward_is_exact(call, 0, 0));
    fake_require(call->grad_out[0].data || call->grad_out[1].data);
    for (size_t k = 0; k < 2; k++) {
        double sign = k == 0 ? 1 : -1;
        for (int64_t i = 0; call->grad_in[k].data && i < remat_tensor_count(&call->grad_in[k]);
             i++) {
            double sum = call->grad_out[0].data ? fake_get(&call->grad_out[0], i) : 0.0;
            double difference = call->grad_out[1].data ? fake_get(&call->grad_out[1], i) : 0.0;
            fake_give(&call->grad_in[k], i, 0.5 * (sum + sign * difference), call->accumulate[k]);
        }
    }
    return REMAT_OK;
}

const remat_op fake_pair = {.name = "fake_pair",
                            .min_operands = 2,
                            .max_operands = 2,
                            .n_results = 2,
                            .in_place = 3,
                            .infer = fake_infer_same,
                            .cost = fake_cost_elements,
                            .forward = pair_forward,
                            .backward = pair_backward};

/* ---- noise: RANDOM ---------------------------------------------------------------------------*/

static double noise_factor(const remat_random_key *key, int64_t i)
{
    uint32_t words[4];
    remat_random_block(key, (uint64_t)i / 4, words);
    return words[i % 4] & 1 ? 1.25 : 0.5;
}

static remat_status noise_forward(const remat_forward *call)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->out[0]); i++)
        fake_put(&call->out[0], i, noise_factor(&call->random, i) * fake_get(&call->in[0], i));
    return REMAT_OK;
}

static remat_status noise_backward(const remat_backward *call)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->grad_in[0]); i++)
        fake_give(&call->grad_in[0], i,
                  noise_factor(&call->random, i) * fake_get(&call->grad_out[0], i),
                  call->accumulate[0]);
    return REMAT_OK;
}

const remat_op fake_noise = {.name = "fake_noise",
                             .min_operands = 1,
                             .max_operands = 1,
                             .n_results = 1,
                             .flags = REMAT_OP_RANDOM,
                             .in_place = 1,
                             .gradient_in_place = 1,
                             .infer = fake_infer_same,
                             .cost = fake_cost_elements,
                             .forward = noise_forward,
                             .backward = noise_backward};
