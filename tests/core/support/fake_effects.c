/* fake_effects.c - fake operations with a memory of their own: they count calls, fail on request,
 * break the rule that replays repeat, or depend on a process-wide setting. */
#include "core/support/fake_ops.h"

#include <math.h>

static fake_probe_state *state_of(const void *attributes)
{
    return ((const fake_probe_attributes *)attributes)->state;
}

static remat_status count_forward(const remat_forward *call)
{
    fake_probe_state *s = state_of(call->attributes);
    uint64_t *calls = call->replay ? &s->replays : &s->forwards;
    if (++*calls == (call->replay ? s->fail_replay : s->fail_forward))
        return remat_call_fail(call->message, call->message_bytes, REMAT_OP_FAILED,
                               "asked to fail at call %d", (int)*calls);
    return REMAT_OK;
}

static remat_status count_backward(const remat_backward *call)
{
    fake_probe_state *s = state_of(call->attributes);
    if (++s->backwards == s->fail_backward)
        return REMAT_OP_FAILED; /* without a message */
    return REMAT_OK;
}

/* ---- probe: softsign -------------------------------------------------------------------------*/

static remat_status probe_forward(const remat_forward *call)
{
    remat_status status = count_forward(call);
    double drift = state_of(call->attributes)->drift && call->replay ? 0.001 : 0.0;
    for (int64_t i = 0; status == REMAT_OK && i < remat_tensor_count(&call->out[0]); i++) {
        double x = fake_get(&call->in[0], i);
        fake_put(&call->out[0], i, x / (1 + fabs(x)) + drift);
    }
    return status;
}

static remat_status probe_backward(const remat_backward *call)
{
    remat_status status = count_backward(call);
    fake_require(fake_backward_is_exact(call, 1, 0));
    for (int64_t i = 0; status == REMAT_OK && i < remat_tensor_count(&call->grad_in[0]); i++) {
        double root = 1 + fabs(fake_get(&call->in[0], i));
        fake_give(&call->grad_in[0], i, fake_get(&call->grad_out[0], i) / (root * root),
                  call->accumulate[0]);
    }
    return status;
}

const remat_op fake_probe = {.name = "fake_probe",
                             .min_operands = 1,
                             .max_operands = 1,
                             .n_results = 1,
                             .attribute_bytes = sizeof(fake_probe_attributes),
                             .needs_operands = 1,
                             .in_place = 1,
                             .gradient_in_place = 1,
                             .infer = fake_infer_same,
                             .cost = fake_cost_elements,
                             .forward = probe_forward,
                             .backward = probe_backward};

/* ---- effect and sink -------------------------------------------------------------------------*/

static remat_status effect_forward(const remat_forward *call)
{
    remat_status status = count_forward(call);
    for (int64_t i = 0; status == REMAT_OK && i < remat_tensor_count(&call->out[0]); i++)
        fake_put(&call->out[0], i, 0.75 * fake_get(&call->in[0], i));
    return status;
}

static remat_status effect_backward(const remat_backward *call)
{
    remat_status status = count_backward(call);
    for (int64_t i = 0; status == REMAT_OK && i < remat_tensor_count(&call->grad_in[0]); i++)
        fake_give(&call->grad_in[0], i, 0.75 * fake_get(&call->grad_out[0], i),
                  call->accumulate[0]);
    return status;
}

const remat_op fake_effect = {.name = "fake_effect",
                              .min_operands = 1,
                              .max_operands = 1,
                              .n_results = 1,
                              .attribute_bytes = sizeof(fake_probe_attributes),
                              .flags = REMAT_OP_EFFECT,
                              .in_place = 1,
                              .gradient_in_place = 1,
                              .infer = fake_infer_same,
                              .cost = fake_cost_elements,
                              .forward = effect_forward,
                              .backward = effect_backward};

const remat_op fake_sink = {.name = "fake_sink",
                            .min_operands = 1,
                            .max_operands = 1,
                            .attribute_bytes = sizeof(fake_probe_attributes),
                            .flags = REMAT_OP_EFFECT,
                            .infer = fake_infer_float,
                            .forward = count_forward};

/* ---- kernel: depends on a setting ------------------------------------------------------------*/

uint64_t fake_kernel_setting = 1;

static uint64_t kernel_id(void)
{
    return fake_kernel_setting;
}

static remat_status kernel_forward(const remat_forward *call)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->out[0]); i++)
        fake_put(&call->out[0], i, 0.5 * fake_get(&call->in[0], i));
    return REMAT_OK;
}

static remat_status kernel_backward(const remat_backward *call)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->grad_in[0]); i++)
        fake_give(&call->grad_in[0], i, 0.5 * fake_get(&call->grad_out[0], i), call->accumulate[0]);
    return REMAT_OK;
}

const remat_op fake_kernel = {.name = "fake_kernel",
                              .min_operands = 1,
                              .max_operands = 1,
                              .n_results = 1,
                              .infer = fake_infer_same,
                              .forward = kernel_forward,
                              .backward = kernel_backward,
                              .kernel_id = kernel_id};
