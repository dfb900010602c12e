/* test_scenarios_random.c - what a replay could get wrong: random numbers of the library's and of
 * the host's generator, decisions that flip, caches, kernels and threads. */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/spy.h"
#include "support/trial.h"

enum { ROWS = 8, WIDTH = 16 };

static remat_exec *segments_exec(trial *t, const trial_network *network, bool verify)
{
    const remat_var loss = trial_open(t, network);
    return trial_exec(
        t, loss,
        (remat_exec_options){.strategy = REMAT_STRATEGY_SEGMENTS, .verify_replay = verify});
}

/* Replays of some operation differ: the first one is named. */
static void expect_mismatch(const trial_network *network, const char *op)
{
    trial t;
    remat_exec *exec = segments_exec(&t, network, true);
    assert_int_equal(remat_exec_step(exec), REMAT_REPLAY_MISMATCH);
    if (strncmp(remat_exec_message(exec), op, strlen(op)) != 0)
        fail_msg("not about %s: %s", op, remat_exec_message(exec));
    remat_exec_destroy(exec);
    trial_close(&t);
}

static remat_var last_segment(trial *t, remat_var x)
{
    trial_segment_begin(t);
    x = remat_gelu(t->tape, remat_silu(t->tape, trial_dense(t, x, WIDTH, 4 * WIDTH)));
    trial_segment_end(t);
    return trial_mean_square(t, x);
}

/* ---- Dropout ---------------------------------------------------------------------------------*/

static remat_var record_dropout(trial *t, void *context)
{
    (void)context;
    const remat_var noise = trial_constant(t, REMAT_SHAPE(ROWS, WIDTH));
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    for (int i = 0; i < 4; i++) {
        trial_segment_begin(t);
        x = remat_dropout(t->tape, trial_dense(t, x, WIDTH, WIDTH), 0.25);
        x = remat_gelu(t->tape, remat_tanh(t->tape, x));
        const remat_var mask = remat_dropout(t->tape, noise, 0.5); /* no gradient, no operand */
        x = remat_add(t->tape, x, remat_square(t->tape, remat_multiply(t->tape, x, mask)));
        trial_segment_end(t);
    }
    return last_segment(t, x);
}

/* Several streams, some on constants; fifty budgets from the smallest to none. */
static void dropout_repeats_its_mask_at_every_budget(void **state)
{
    (void)state;
    assert_true(trial_check(&(trial_network){.record = record_dropout, .budgets = 50}) > 20);
}

static remat_var record_only_dropout(trial *t, void *context)
{
    (void)context;
    remat_var x = trial_parameter(t, REMAT_SHAPE(256, 256));
    for (int i = 0; i < 3; i++) {
        trial_segment_begin(t);
        x = remat_gelu(t->tape, remat_dropout(t->tape, remat_tanh(t->tape, x), 0.3));
        trial_segment_end(t);
    }
    return trial_mean_square(t, x);
}

/* The mask depends on nothing but its key: other threads in the replay give the same bits. Where
 * they would not, in products, the backward pass refuses before anything has changed. */
static void threads_may_change_where_bits_do_not_depend_on_them(void **state)
{
    (void)state;
    const int threads = remat_threads();
    for (int products = 0; products < 2; products++) {
        trial t;
        const trial_network network = {.record = products ? record_dropout : record_only_dropout};
        assert_int_equal(remat_set_threads(2), REMAT_OK);
        if (remat_threads() != 2) /* a BLAS of one thread */
            break;
        remat_exec *exec = segments_exec(&t, &network, true);
        assert_int_equal(remat_exec_forward(exec), REMAT_OK);
        assert_int_equal(remat_set_threads(1), REMAT_OK);
        assert_int_equal(remat_exec_backward(exec), products ? REMAT_REPLAY_MISMATCH : REMAT_OK);
        if (products) {
            assert_non_null(strstr(remat_exec_message(exec), "remat_exec_forward()"));
            for (size_t i = 0; i < t.n_leaves; i++)
                assert_true(!t.gradient[i].data || ((const float *)t.gradient[i].data)[0] == 0);
            assert_int_equal(remat_exec_step(exec), REMAT_OK);
        }
        remat_exec_destroy(exec);
        trial_close(&t);
    }
    assert_int_equal(remat_set_threads(threads), REMAT_OK);
}

/* ---- A generator on the host -----------------------------------------------------------------*/

typedef struct host_state {
    uint32_t counter;  /* as rand() has one inside */
    uint32_t captured; /* where it was when the step's first run began */
} host_state;

typedef struct host_attributes {
    host_state *state;
} host_attributes;

static host_state *host_of(const void *attributes)
{
    return ((const host_attributes *)attributes)->state;
}

static uint32_t draw(uint32_t *counter)
{
    *counter = *counter * 1103515245U + 12345U;
    return *counter >> 16 & 0x7FFF;
}

/* A layer is left out by chance: y = x, or 2 x. */
static remat_status drop_layer(const remat_forward *call, uint32_t drawn)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->in[0]); i++)
        spy_data(&call->out[0])[i] = spy_data(&call->in[0])[i] * (1 + (float)(drawn % 2));
    return REMAT_OK;
}

static remat_status layer_drop(const remat_forward *call)
{
    return drop_layer(call, draw(&host_of(call->attributes)->counter));
}

/* Saves the generator's state in the first run and gives it back after a replay. */
static remat_status layer_drop_restored(const remat_forward *call)
{
    host_state *s = host_of(call->attributes);
    const uint32_t now = s->counter;
    if (call->replay)
        s->counter = s->captured;
    else
        s->captured = now;
    const remat_status status = drop_layer(call, draw(&s->counter));
    if (call->replay)
        s->counter = now;
    return status;
}

static remat_status layer_drop_keyed(const remat_forward *call)
{
    uint32_t drawn[4];
    remat_random_block(&call->random, 0, drawn);
    return drop_layer(call, drawn[0]);
}

static remat_status ratio_backward(const remat_backward *call)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->in[0]); i++)
        spy_give(&call->grad_in[0], i,
                 spy_data(&call->out[0])[i] / spy_data(&call->in[0])[i] *
                     spy_data(&call->grad_out[0])[i],
                 call->accumulate[0]);
    return REMAT_OK;
}

#define DROP_OP(op_name, op_flags, op_forward)                                                \
    {                                                                                         \
        .name = op_name, .min_operands = 1, .max_operands = 1, .n_results = 1,                \
        .attribute_bytes = sizeof(host_attributes), .flags = (op_flags), .needs_operands = 1, \
        .needs_results = 1, .infer = spy_infer_same, .forward = (op_forward),                 \
        .backward = ratio_backward                                                            \
    }

static const remat_op drops[] = {
    DROP_OP("layer_drop", 0, layer_drop),
    DROP_OP("layer_drop_once", REMAT_OP_EFFECT, layer_drop),
    DROP_OP("layer_drop_restored", 0, layer_drop_restored),
    DROP_OP("layer_drop_keyed", REMAT_OP_RANDOM, layer_drop_keyed),
};

enum { LAYERS = 8 };

typedef struct host_case {
    uint32_t counter; /* of the process */
    host_state states[LAYERS];
    const remat_op *op;
} host_case;

static remat_var record_layer_drop(trial *t, void *context)
{
    host_case *c = context;
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    for (int i = 0; i < LAYERS; i++) {
        const host_attributes a = {&c->states[i]};
        c->states[i] = (host_state){.counter = (uint32_t)(i * 77)};
        trial_segment_begin(t);
        x = remat_tanh(t->tape, trial_dense(t, x, WIDTH, WIDTH));
        remat_apply(t->tape, c->op, &a, &x, 1, &x, 1);
        x = remat_gelu(t->tape, x);
        trial_segment_end(t);
    }
    return last_segment(t, x);
}

/* Unflagged it is found; as an effect, with its state restored, or with the call's key it works. */
static void a_host_side_generator_is_found_or_wrapped(void **state)
{
    (void)state;
    host_case c = {.op = &drops[0]};
    const trial_network network = {.record = record_layer_drop, .context = &c};
    expect_mismatch(&network, "layer_drop (statement ");
    for (size_t i = 1; i < sizeof drops / sizeof drops[0]; i++) {
        c.op = &drops[i];
        assert_true(trial_check(&network) > 0);
    }
}

/* ---- Decisions -------------------------------------------------------------------------------*/

/* Every row's two largest elements: x [rows, width] -> values [rows, 2], indices i32 [rows, 2]. */
static remat_status top_infer(remat_infer *infer)
{
    const int64_t rows = infer->in[0].shape.dims[0];
    infer->out[0] = (remat_type){REMAT_F32, REMAT_SHAPE(rows, 2)};
    infer->out[1] = (remat_type){REMAT_I32, REMAT_SHAPE(rows, 2)};
    return REMAT_OK;
}

typedef struct top_attributes {
    const bool *perturb; /* ties go the other way in replays */
} top_attributes;

static remat_status top_forward(const remat_forward *call)
{
    const int64_t rows = call->in[0].dims[0], width = call->in[0].dims[1];
    const bool late = call->replay && *((const top_attributes *)call->attributes)->perturb;
    for (int64_t r = 0; r < rows; r++) {
        const float *x = spy_data(&call->in[0]) + r * width;
        int64_t best = 0;
        for (int64_t i = 1; i < width; i++)
            if (late ? x[i] >= x[best] : x[i] > x[best])
                best = i;
        const int64_t other = (best + 1) % width;
        int32_t *indices = call->out[1].data;
        indices[2 * r] = (int32_t)best;
        indices[2 * r + 1] = (int32_t)other;
        spy_data(&call->out[0])[2 * r] = x[best];
        spy_data(&call->out[0])[2 * r + 1] = x[other];
    }
    return REMAT_OK;
}

static remat_status top_backward(const remat_backward *call)
{
    const int64_t n = remat_tensor_count(&call->grad_out[0]), width = call->grad_in[0].dims[1];
    const int32_t *indices = call->out[1].data;
    for (int64_t i = 0; i < remat_tensor_count(&call->grad_in[0]) && !call->accumulate[0]; i++)
        spy_data(&call->grad_in[0])[i] = 0;
    for (int64_t i = 0; i < n; i++)
        spy_data(&call->grad_in[0])[i / 2 * width + indices[i]] += spy_data(&call->grad_out[0])[i];
    return REMAT_OK;
}

static const remat_op top_two = {.name = "top_two",
                                 .min_operands = 1,
                                 .max_operands = 1,
                                 .n_results = 2,
                                 .attribute_bytes = sizeof(top_attributes),
                                 .needs_results = 2,
                                 .infer = top_infer,
                                 .forward = top_forward,
                                 .backward = top_backward};

typedef struct top_case {
    bool perturb, keep_indices, keep_values;
} top_case;

static remat_var record_top(trial *t, void *context)
{
    const top_case *c = context;
    const top_attributes a = {&c->perturb};
    const int last_axis = -1;
    const remat_var p = trial_parameter(t, REMAT_SHAPE(WIDTH));
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH)), top[2];
    trial_segment_begin(t);
    x = remat_tanh(t->tape, trial_dense(t, x, WIDTH, WIDTH));
    x = remat_mean(t->tape, x, &last_axis, 1, true);
    x = remat_add(t->tape, x, remat_subtract(t->tape, p, remat_detach(t->tape, p))); /* all ties */
    remat_apply(t->tape, &top_two, &a, &x, 1, top, 2);
    if (c->keep_indices)
        assert_int_equal(remat_keep(t->tape, top[1]), REMAT_OK);
    if (c->keep_values)
        assert_int_equal(remat_keep(t->tape, top[0]), REMAT_OK);
    x = remat_exp(t->tape, remat_gelu(t->tape, top[0]));
    trial_segment_end(t);
    x = remat_linear(t->tape, x, trial_parameter(t, REMAT_SHAPE(WIDTH, 2)), (remat_var){0});
    return last_segment(t, x);
}

/* Ties decided otherwise in a replay are found; with all results of the operation kept nothing is
 * decided again. One result alone does not help: the replay for the other writes both. */
static void decisions_can_be_kept(void **state)
{
    (void)state;
    top_case c = {.perturb = true};
    const trial_network network = {.record = record_top, .context = &c};
    expect_mismatch(&network, "top_two (statement ");
    c.keep_indices = true;
    expect_mismatch(&network, "top_two (statement ");
    c.keep_values = true;
    assert_true(trial_check(&network) > 0);
    c = (top_case){.perturb = false};
    assert_true(trial_check(&network) > 0);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(dropout_repeats_its_mask_at_every_budget),
        TEST(threads_may_change_where_bits_do_not_depend_on_them),
        TEST(a_host_side_generator_is_found_or_wrapped),
        TEST(decisions_can_be_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
