/* test_scenarios.c - where gradients have to arrive: ways of building a network that made other
 * systems lose, double or mix up gradients, each trained in every way the library offers. */
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/spy.h"
#include "support/trial.h"

enum { ROWS = 4, WIDTH = 16, LAYERS = 12 };

/* ---- A constant input ------------------------------------------------------------------------*/

typedef struct constant_case {
    unsigned segments; /* bit i: layer i is a segment */
    spy_counts *counts;
} constant_case;

static remat_var record_constant_input(trial *t, void *context)
{
    const constant_case *c = context;
    remat_var x = spy_record(t->tape, trial_constant(t, REMAT_SHAPE(ROWS, WIDTH)), c->counts);
    for (unsigned i = 0; i < 4; i++) {
        const bool marked = (c->segments >> i & 1) != 0;
        if (marked)
            trial_segment_begin(t);
        x = remat_tanh(t->tape, trial_dense(t, x, WIDTH, WIDTH));
        x = remat_gelu(t->tape, x);
        if (marked)
            trial_segment_end(t);
    }
    return trial_mean_square(t, x);
}

/* Weights get their gradients although the first segment's input needs none. */
static void a_constant_input_costs_no_weight_its_gradient(void **state)
{
    (void)state;
    static const unsigned segments[] = {0x0, 0x1, 0x8, 0x5, 0xF};
    for (size_t i = 0; i < sizeof segments / sizeof segments[0]; i++) {
        spy_counts counts = {0};
        constant_case c = {segments[i], &counts};
        trial t;
        trial_check(&(trial_network){.record = record_constant_input, .context = &c});
        assert_true(counts.forwards > 0);
        assert_int_equal(counts.backwards, 0); /* nobody asks for the input's gradient */
        const remat_var loss =
            trial_open(&t, &(trial_network){.record = record_constant_input, .context = &c});
        remat_exec *exec = trial_exec(&t, loss, (remat_exec_options){0});
        assert_int_equal(remat_exec_step(exec), REMAT_OK);
        for (size_t leaf = 1; leaf < t.n_leaves; leaf++)
            assert_true(((const float *)t.gradient[leaf].data)[0] != 0);
        remat_exec_destroy(exec);
        trial_close(&t);
    }
}

/* ---- Frozen parts ----------------------------------------------------------------------------*/

typedef struct frozen_case {
    bool input_gradient, trained;
} frozen_case;

/* linear -> norm -> relu -> flatten in a segment, then another linear. */
static remat_var record_frozen(trial *t, void *context)
{
    const frozen_case *c = context;
    remat_var x = c->input_gradient ? trial_input_with_gradient(t, REMAT_SHAPE(ROWS, WIDTH))
                                    : trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    remat_var (*weight)(trial *, remat_shape) = c->trained ? trial_parameter : trial_constant;
    const remat_var none = {0};
    trial_segment_begin(t);
    x = remat_linear(t->tape, x, weight(t, REMAT_SHAPE(WIDTH, WIDTH)), none);
    x = remat_layer_norm(t->tape, x, none, none, 1e-5);
    x = remat_reshape(t->tape, remat_relu(t->tape, x), REMAT_SHAPE(1, ROWS * WIDTH));
    trial_segment_end(t);
    x = remat_linear(t->tape, x, weight(t, REMAT_SHAPE(3, ROWS * WIDTH)), none);
    return trial_mean_square(t, x);
}

/* Whether anything needs a gradient depends on the leaves, not on segments; nothing: no cost. */
static void a_segment_needs_gradients_only_if_its_leaves_do(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        frozen_case c = {(i & 1) != 0, (i & 2) != 0};
        const trial_network network = {.record = record_frozen, .context = &c};
        trial t;
        remat_plan_summary m;
        trial_check(&network);
        const remat_var loss = trial_open(&t, &network);
        remat_exec *exec =
            trial_exec(&t, loss, (remat_exec_options){.strategy = REMAT_STRATEGY_SEGMENTS});
        remat_plan_summarize(remat_exec_plan(exec), &m);
        assert_int_equal(m.backward_runs > 0, i != 0);
        if (i == 0)
            assert_int_equal(m.replays + m.gradient_bytes, 0);
        remat_exec_destroy(exec);
        trial_close(&t);
    }
}

/* ---- Captured weights ------------------------------------------------------------------------*/

typedef struct captured {
    trial *t;
    remat_var weight, bias, mask;
} captured;

static remat_status captured_block(remat_tape *tape, void *context, const remat_var *in,
                                   size_t n_in, remat_var *out, size_t n_out)
{
    const captured *c = context;
    assert_int_equal(n_in + n_out, 2);
    const remat_var h = remat_silu(tape, remat_linear(tape, in[0], c->weight, c->bias));
    out[0] = remat_multiply(tape, remat_tanh(tape, h), c->mask);
    return REMAT_OK;
}

/* One weight in every block, known to none by declaration; the mask is a result of the first one's
 * surroundings. */
static remat_var record_captured(trial *t, void *context)
{
    (void)context;
    captured c = {.t = t};
    c.weight = trial_parameter(t, REMAT_SHAPE(WIDTH, WIDTH));
    c.bias = trial_parameter(t, REMAT_SHAPE(WIDTH));
    c.mask = remat_sigmoid(t->tape, trial_parameter(t, REMAT_SHAPE(WIDTH)));
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(checkpoint_segment(t->tape, captured_block, &c, &x, 1, &x, 1), REMAT_OK);
    return trial_mean_square(t, x);
}

static void values_that_a_block_captures_get_their_gradients(void **state)
{
    (void)state;
    assert_true(trial_check(&(trial_network){.record = record_captured, .smooth = true}) > 0);
}

/* ---- One value several times -----------------------------------------------------------------*/

static remat_var attention(trial *t, remat_var q, remat_var k, remat_var v)
{
    remat_var scores = remat_scale(t->tape, remat_matmul(t->tape, q, k, false, true), 0.25);
    return remat_matmul(t->tape, remat_softmax(t->tape, scores, -1), v, false, false);
}

static remat_var twice(trial *t, int kind, remat_var x)
{
    switch (kind) {
    case 0:
        return remat_add(t->tape, x, x);
    case 1:
        return remat_multiply(t->tape, x, x);
    case 2:
        return remat_matmul(t->tape, x, x, false, true);
    case 3:
        return attention(t, x, x, x);
    case 4:
        return remat_linear(t->tape, x, x, (remat_var){0});
    default:
        return remat_divide(t->tape, remat_subtract(t->tape, x, remat_exp(t->tape, x)),
                            remat_exp(t->tape, x));
    }
}

/* Segments whose only statement reads one value twice, and residuals around them. */
static remat_var record_aliases(trial *t, void *context)
{
    const int kind = *(const int *)context;
    remat_var x = trial_parameter(t, REMAT_SHAPE(WIDTH, WIDTH));
    for (int i = 0; i < 4; i++) {
        trial_segment_begin(t);
        const double scale = kind == 2 || kind == 4 ? 0.02 : 0.5; /* products do not saturate */
        remat_var y = remat_tanh(t->tape, remat_scale(t->tape, twice(t, kind, x), scale));
        x = i % 2 ? y : remat_add(t->tape, x, remat_sigmoid(t->tape, y));
        trial_segment_end(t);
    }
    return trial_mean_square(t, x);
}

static void one_value_as_several_operands_gets_the_sum(void **state)
{
    (void)state;
    for (int kind = 0; kind < 6; kind++)
        trial_check(&(trial_network){.record = record_aliases, .smooth = true, .context = &kind});
}

/* ---- Lengths of segments ---------------------------------------------------------------------*/

static remat_var record_lengths(trial *t, void *context)
{
    const size_t length = *(const size_t *)context;
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    for (size_t i = 0; i < LAYERS; i++) {
        if (i % length == 0)
            trial_segment_begin(t);
        x = remat_gelu(t->tape, remat_tanh(t->tape, trial_dense(t, x, WIDTH, WIDTH)));
        if (i % length == length - 1 || i == LAYERS - 1)
            trial_segment_end(t);
    }
    return trial_mean_square(t, x);
}

static void segments_of_any_length_agree(void **state)
{
    (void)state;
    static size_t lengths[] = {1, 2, 3, 5, 12};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        assert_true(
            trial_check(&(trial_network){.record = record_lengths, .context = &lengths[i]}) > 0);
}

/* ---- Recurrence ------------------------------------------------------------------------------*/

typedef struct step_attributes {
    int64_t t;
} step_attributes;

/* h + y[t]: h [rows, width], y [steps, width]. */
static remat_status add_row_forward(const remat_forward *call)
{
    const int64_t n = remat_tensor_count(&call->in[0]), width = call->in[0].dims[1];
    const float *row =
        spy_data(&call->in[1]) + ((const step_attributes *)call->attributes)->t * width;
    for (int64_t i = 0; i < n; i++)
        spy_data(&call->out[0])[i] = spy_data(&call->in[0])[i] + row[i % width];
    return REMAT_OK;
}

static remat_status add_row_backward(const remat_backward *call)
{
    for (int64_t i = 0; i < remat_tensor_count(&call->grad_in[0]); i++)
        spy_give(&call->grad_in[0], i, spy_data(&call->grad_out[0])[i], call->accumulate[0]);
    return REMAT_OK;
}

static const remat_op add_row = {.name = "add_row",
                                 .min_operands = 2,
                                 .max_operands = 2,
                                 .n_results = 1,
                                 .attribute_bytes = sizeof(step_attributes),
                                 .no_gradient = 2,
                                 .in_place = 1,
                                 .infer = spy_infer_same,
                                 .forward = add_row_forward,
                                 .backward = add_row_backward};

typedef struct recurrence {
    trial *t;
    int64_t steps, length; /* of a segment */
    int64_t now;           /* counted up by the caller's loop */
    remat_var weight, y;
} recurrence;

static remat_status recurrent_block(remat_tape *tape, void *context, const remat_var *in,
                                    size_t n_in, remat_var *out, size_t n_out)
{
    recurrence *r = context;
    remat_var h = in[0];
    assert_int_equal(n_in + n_out, 2);
    for (int64_t i = 0; i < r->length && r->now < r->steps; i++, r->now++) {
        const step_attributes a = {r->now};
        const remat_var operands[] = {remat_linear(tape, h, r->weight, (remat_var){0}), r->y};
        remat_apply(tape, &add_row, &a, operands, 2, &h, 1);
        h = remat_tanh(tape, h);
    }
    out[0] = h;
    return remat_tape_status(tape);
}

static remat_var record_recurrence(trial *t, void *context)
{
    recurrence *r = context;
    r->t = t;
    r->now = 0;
    r->weight = trial_parameter(t, REMAT_SHAPE(WIDTH, WIDTH));
    r->y = trial_input(t, REMAT_SHAPE(r->steps, WIDTH));
    remat_var h = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    while (r->now < r->steps)
        assert_int_equal(checkpoint_segment(t->tape, recurrent_block, r, &h, 1, &h, 1), REMAT_OK);
    return trial_mean_square(t, h);
}

/* A cell that reads its step's data: the step's number belongs to the statement. */
static void a_recurrence_reads_the_data_of_its_step(void **state)
{
    (void)state;
    for (int64_t steps = 1; steps <= 64; steps = steps < 8 ? steps + 1 : steps * 2)
        for (int64_t length = 1; length <= steps; length = length < 4 ? length + 1 : length * 3) {
            recurrence r = {.steps = steps, .length = length};
            const trial_network network = {
                .record = record_recurrence, .smooth = true, .context = &r};
            if (steps == 16)
                assert_true(trial_check(&network) > 0);
            else
                trial_check_with(&network, (remat_exec_options){.verify_replay = true});
        }
}

/* ---- Views -----------------------------------------------------------------------------------*/

typedef struct view_case {
    bool view, in_place; /* in place where the planner can: a value in between prevents it */
} view_case;

static remat_var record_view_result(trial *t, void *context)
{
    const view_case *c = context;
    const remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    const remat_var p = trial_parameter(t, REMAT_SHAPE(ROWS, WIDTH));
    trial_segment_begin(t);
    remat_var sum = remat_add(t->tape, x, p), y = sum;
    if (c->view)
        y = remat_reshape(t->tape, y, REMAT_SHAPE(WIDTH, ROWS));
    if (!c->in_place)
        assert_int_equal(remat_keep(t->tape, sum), REMAT_OK);
    y = remat_relu(t->tape, y);
    trial_segment_end(t);
    trial_segment_begin(t);
    y = remat_square(t->tape, remat_tanh(t->tape, remat_exp(t->tape, y)));
    trial_segment_end(t);
    return remat_sum(t->tape, y, NULL, 0, false);
}

/* dp is the same whether the segment's result is a view, is overwritten in place, both or none. */
static void a_segment_may_end_in_a_view_changed_in_place(void **state)
{
    (void)state;
    float expected[ROWS * WIDTH];
    for (int i = 0; i < 4; i++) {
        view_case c = {(i & 1) != 0, (i & 2) != 0};
        const trial_network network = {.record = record_view_result, .context = &c};
        trial t;
        trial_check(&network);
        const remat_var loss = trial_open(&t, &network);
        remat_exec *exec = trial_exec(&t, loss, (remat_exec_options){.poison = true});
        assert_int_equal(remat_exec_step(exec), REMAT_OK);
        if (i == 0)
            memcpy(expected, t.gradient[1].data, sizeof expected);
        assert_memory_equal(expected, t.gradient[1].data, sizeof expected);
        remat_exec_destroy(exec);
        trial_close(&t);
    }
}

static remat_var record_dropped_view(trial *t, void *context)
{
    (void)context;
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    for (int i = 0; i < 3; i++) {
        const remat_var w = trial_parameter(t, REMAT_SHAPE(WIDTH, WIDTH));
        const remat_var product = remat_matmul(t->tape, x, w, false, false);
        remat_recompute(t->tape, product);
        const remat_var flat = remat_reshape(t->tape, product, REMAT_SHAPE(ROWS * WIDTH));
        const remat_var cube = remat_reshape(t->tape, flat, REMAT_SHAPE(2, ROWS, WIDTH / 2));
        const remat_var a = remat_square(t->tape, remat_detach(t->tape, cube));
        const remat_var b = remat_multiply(t->tape, remat_gelu(t->tape, cube), a);
        x = remat_add(t->tape, remat_reshape(t->tape, b, REMAT_SHAPE(ROWS, WIDTH)),
                      remat_silu(t->tape, product));
    }
    return trial_mean_square(t, x);
}

/* Views of views of a dropped value are read in the backward pass: they follow its replay. */
static void views_follow_the_value_that_is_made_again(void **state)
{
    (void)state;
    const trial_network network = {.record = record_dropped_view};
    assert_true(trial_check(&network) > 0);
    assert_true(trial_check_with(&network, (remat_exec_options){.separate_buffers = true,
                                                                .verify_replay = true}) > 0);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_constant_input_costs_no_weight_its_gradient),
        TEST(a_segment_needs_gradients_only_if_its_leaves_do),
        TEST(values_that_a_block_captures_get_their_gradients),
        TEST(one_value_as_several_operands_gets_the_sum),
        TEST(segments_of_any_length_agree),
        TEST(a_recurrence_reads_the_data_of_its_step),
        TEST(a_segment_may_end_in_a_view_changed_in_place),
        TEST(views_follow_the_value_that_is_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
