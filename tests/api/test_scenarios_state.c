/* test_scenarios_state.c - operations with a state of their own: running statistics, caches, random
 * numbers, host-side generators, decisions. What op.h offers for each keeps a replay from happening
 * twice; what breaks its rules is found by verify_replay, which names the operation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/spy.h"
#include "support/trial.h"

enum { ROWS = 8, WIDTH = 16 };

/* Replays of some operation differ: the first one is named. */
static void expect_mismatch(const trial_network *network, const char *op)
{
    trial t;
    const remat_exec_options o = {.strategy = REMAT_STRATEGY_SEGMENTS, .verify_replay = true};
    const remat_var loss = trial_open(&t, network);
    remat_exec *exec = trial_exec(&t, loss, o);
    assert_int_equal(remat_exec_step(exec), REMAT_REPLAY_MISMATCH);
    if (strncmp(remat_exec_message(exec), op, strlen(op)) != 0)
        fail_msg("not about %s: %s", op, remat_exec_message(exec));
    assert_int_equal(remat_exec_backward(exec), REMAT_OUT_OF_ORDER);
    remat_exec_destroy(exec);
    trial_close(&t);
}

/* ---- An operation whose forward is given by the test -----------------------------------------*/

typedef struct odd_state {
    float total;      /* what an accumulator has gathered */
    float before;     /* ... when the present step began */
    int32_t left;     /* something a call consumes */
    uint32_t counter; /* of a generator on the host */
    bool ready;       /* a cache was filled, an accumulator made */
    float cache[WIDTH];
} odd_state;

typedef struct odd_attributes {
    odd_state *state;
} odd_attributes;

static odd_state *state_of(const void *attributes)
{
    return ((const odd_attributes *)attributes)->state;
}

/* y = factor x; its backward reads y and x: dy/dx = y / x. */
static remat_status multiply_by(const remat_forward *call, float factor)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->in[0]); i++)
        spy_data(&call->out[0])[i] = factor * spy_data(&call->in[0])[i];
    return REMAT_OK;
}

static remat_status odd_backward(const remat_backward *call)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->in[0]); i++)
        spy_give(&call->grad_in[0], i,
                 spy_data(&call->out[0])[i] / spy_data(&call->in[0])[i] *
                     spy_data(&call->grad_out[0])[i],
                 call->accumulate[0]);
    return REMAT_OK;
}

#define ODD_OP(op_name, op_flags, op_forward)                                                \
    {                                                                                        \
        .name = op_name, .min_operands = 1, .max_operands = 1, .n_results = 1,               \
        .attribute_bytes = sizeof(odd_attributes), .flags = (op_flags), .needs_operands = 1, \
        .needs_results = 1, .infer = spy_infer_same, .forward = (op_forward),                \
        .backward = odd_backward                                                             \
    }

typedef struct odd_case {
    odd_state state; /* first: its bytes are what steps change */
    const remat_op *op;
    int levels; /* of nested segments */
} odd_case;

static remat_var odd_record(trial *t, const remat_op *op, odd_state *state, remat_var x)
{
    const odd_attributes attributes = {state};
    remat_apply(t->tape, op, &attributes, &x, 1, &x, 1);
    return x;
}

static remat_var record_odd(trial *t, void *context)
{
    odd_case *c = context;
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    for (int i = 0; i < c->levels; i++)
        trial_segment_begin(t);
    x = remat_tanh(t->tape, trial_dense(t, x, WIDTH, WIDTH));
    x = remat_gelu(t->tape, odd_record(t, c->op, &c->state, x));
    for (int i = 0; i < c->levels; i++) { /* each end is followed by something that is needed */
        trial_segment_end(t);
        x = remat_gelu(t->tape, remat_tanh(t->tape, trial_dense(t, x, WIDTH, WIDTH)));
    }
    trial_segment_begin(t);
    x = remat_gelu(t->tape, remat_silu(t->tape, trial_dense(t, x, WIDTH, 4 * WIDTH)));
    trial_segment_end(t);
    return trial_mean_square(t, x);
}

static trial_network network_of(odd_case *c)
{
    return (trial_network){.record = record_odd, .context = c, .context_bytes = sizeof(odd_state)};
}

/* ---- Consumed arguments ----------------------------------------------------------------------*/

static remat_status consume(const remat_forward *call)
{
    odd_state *s = state_of(call->attributes);
    return multiply_by(call, 1.0F + (float)s->left--);
}

static const remat_op consuming = ODD_OP("consuming", 0, consume);
static const remat_op consuming_once = ODD_OP("consuming_once", REMAT_OP_EFFECT, consume);

/* Attributes are a copy; what a pointer in them leads to is the caller's. */
static void an_operation_that_consumes_its_arguments_is_named(void **state)
{
    (void)state;
    odd_case c = {.state.left = 100, .op = &consuming, .levels = 1};
    const trial_network network = network_of(&c);
    expect_mismatch(&network, "consuming (statement 2)");
    c.state.left = 100;
    c.op = &consuming_once;
    for (c.levels = 1; c.levels <= 3; c.levels++)
        assert_true(trial_check(&network) > 0);
}

/* ---- Accumulators ----------------------------------------------------------------------------*/

/* The first run reads the total before it and adds to it; a replay reads what the first run read.
 */
static remat_status gather(const remat_forward *call)
{
    odd_state *s = state_of(call->attributes);
    if (!s->ready) { /* made at the first use */
        s->ready = true;
        s->total = 1;
    }
    if (!call->replay) {
        s->before = s->total;
        s->total += spy_data(&call->in[0])[0] / 8;
    }
    return multiply_by(call, s->before);
}

static remat_status gather_again(const remat_forward *call)
{
    odd_state *s = state_of(call->attributes);
    s->total = (s->ready ? s->total : 1) + spy_data(&call->in[0])[0] / 8;
    s->ready = true;
    return multiply_by(call, s->total);
}

static const remat_op gathering = ODD_OP("gathering", 0, gather);
static const remat_op gathering_once = ODD_OP("gathering_once", REMAT_OP_EFFECT, gather_again);
static const remat_op gathering_again = ODD_OP("gathering_again", 0, gather_again);

/* The state before, after, and in a replay: afterwards it is as after the first run. */
static void an_accumulator_moves_once_per_step(void **state)
{
    (void)state;
    odd_case c = {.op = &gathering};
    const trial_network network = network_of(&c);
    for (c.levels = 1; c.levels <= 3; c.levels++) {
        c.op = &gathering;
        assert_true(trial_check(&network) > 0);
        c.op = &gathering_once;
        assert_true(trial_check(&network) > 0);
    }
    c.levels = 1;
    c.op = &gathering_again;
    expect_mismatch(&network, "gathering_again (statement 2)");
}

/* ---- Caches ----------------------------------------------------------------------------------*/

/* Packs a weight at its first use, in whichever pass that is. */
static remat_status cached(const remat_forward *call)
{
    odd_state *s = state_of(call->attributes);
    if (!s->ready)
        for (size_t i = 0; i < WIDTH; i++)
            s->cache[i] = 0.5F + (float)i / WIDTH;
    s->ready = true;
    return multiply_by(call, s->cache[3]);
}

static const remat_op caching = ODD_OP("caching", 0, cached);

/* A cache that is empty in the first run and full in the replay is no difference. */
static void a_cache_raises_no_alarm(void **state)
{
    (void)state;
    odd_case c = {.op = &caching, .levels = 2};
    const trial_network network = network_of(&c);
    assert_true(trial_check(&network) > 0);
}

/* ---- Batch normalisation with running statistics ---------------------------------------------*/

/* x [rows, width] -> y as x, mean [width], rstd [width]. */
static remat_status norm_infer(remat_infer *infer)
{
    infer->out[0] = infer->in[0];
    infer->out[1] = infer->out[2] =
        (remat_type){REMAT_F32, REMAT_SHAPE(infer->in[0].shape.dims[1])};
    return REMAT_OK;
}

static remat_status norm_forward(const remat_forward *call)
{
    const int64_t rows = call->in[0].dims[0], width = call->in[0].dims[1];
    const float *x = spy_data(&call->in[0]);
    for (int64_t k = 0; k < width; k++) {
        float mean = 0, square = 0;
        for (int64_t i = 0; i < rows; i++)
            mean += x[i * width + k] / (float)rows;
        for (int64_t i = 0; i < rows; i++)
            square += (x[i * width + k] - mean) * (x[i * width + k] - mean) / (float)rows;
        const float rstd = 1 / sqrtf(square + 1e-5F);
        for (int64_t i = 0; i < rows; i++)
            spy_data(&call->out[0])[i * width + k] = (x[i * width + k] - mean) * rstd;
        spy_data(&call->out[1])[k] = mean;
        spy_data(&call->out[2])[k] = rstd;
    }
    return REMAT_OK;
}

static remat_status norm_backward(const remat_backward *call)
{
    const int64_t rows = call->in[0].dims[0], width = call->in[0].dims[1];
    const float *y = spy_data(&call->out[0]), *g = spy_data(&call->grad_out[0]);
    for (int64_t k = 0; k < width; k++) {
        float sum = 0, dot = 0;
        for (int64_t i = 0; i < rows; i++) {
            sum += g[i * width + k] / (float)rows;
            dot += g[i * width + k] * y[i * width + k] / (float)rows;
        }
        for (int64_t i = 0; i < rows; i++)
            spy_give(&call->grad_in[0], i * width + k,
                     (g[i * width + k] - sum - y[i * width + k] * dot) * spy_data(&call->out[2])[k],
                     call->accumulate[0]);
    }
    return REMAT_OK;
}

static const remat_op batch_norm = {.name = "batch_norm",
                                    .min_operands = 1,
                                    .max_operands = 1,
                                    .n_results = 3,
                                    .needs_results = 1 | 4,
                                    .no_gradient_results = 2 | 4,
                                    .infer = norm_infer,
                                    .forward = norm_forward,
                                    .backward = norm_backward};

typedef struct running {
    float mean[WIDTH], rstd[WIDTH];
    uint64_t steps;
} running;

typedef struct running_attributes {
    running *r;
} running_attributes;

/* An effect without results: mean, rstd. */
static remat_status nothing_infer(remat_infer *infer)
{
    return infer->n_out == 0 ? REMAT_OK : REMAT_INVALID_ARGUMENT;
}

static remat_status running_forward(const remat_forward *call)
{
    running *r = ((const running_attributes *)call->attributes)->r;
    for (int64_t k = 0; k < call->in[0].dims[0]; k++) {
        r->mean[k] += 0.1F * (spy_data(&call->in[0])[k] - r->mean[k]);
        r->rstd[k] += 0.1F * (spy_data(&call->in[1])[k] - r->rstd[k]);
    }
    r->steps++;
    return call->replay ? REMAT_OP_FAILED : REMAT_OK;
}

static const remat_op running_statistics = {.name = "running_statistics",
                                            .min_operands = 2,
                                            .max_operands = 2,
                                            .attribute_bytes = sizeof(running_attributes),
                                            .flags = REMAT_OP_EFFECT,
                                            .infer = nothing_infer,
                                            .forward = running_forward};

enum { NORMS = 4 };

typedef struct norm_case {
    running statistics[NORMS]; /* first: what steps change */
    int levels;
} norm_case;

static remat_var record_norms(trial *t, void *context)
{
    norm_case *c = context;
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    for (int i = 0; i < NORMS; i++) {
        for (int k = 0; k < c->levels; k++)
            trial_segment_begin(t);
        const running_attributes a = {&c->statistics[i]};
        remat_var norm[3];
        x = trial_dense(t, x, WIDTH, WIDTH);
        remat_apply(t->tape, &batch_norm, NULL, &x, 1, norm, 3);
        remat_apply(t->tape, &running_statistics, &a, norm + 1, 2, NULL, 0);
        x = remat_gelu(t->tape, remat_relu(t->tape, norm[0]));
        for (int k = 0; k < c->levels; k++)
            trial_segment_end(t);
    }
    return trial_mean_square(t, x);
}

static void running_statistics_advance_once_per_step(void **state)
{
    (void)state;
    for (int levels = 1; levels <= 3; levels++) {
        norm_case c = {.levels = levels};
        const trial_network network = {
            .record = record_norms, .context = &c, .context_bytes = sizeof c.statistics};
        trial t;
        assert_true(trial_check(&network) > 0);
        const remat_var loss = trial_open(&t, &network);
        remat_exec *exec = trial_exec(&t, loss, (remat_exec_options){0});
        for (uint64_t step = 1; step <= 3; step++) {
            assert_int_equal(remat_exec_step(exec), REMAT_OK);
            for (int i = 0; i < NORMS; i++)
                assert_int_equal(c.statistics[i].steps, step);
        }
        remat_exec_destroy(exec);
        trial_close(&t);
    }
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_operation_that_consumes_its_arguments_is_named),
        TEST(an_accumulator_moves_once_per_step),
        TEST(a_cache_raises_no_alarm),
        TEST(running_statistics_advance_once_per_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
