/* test_scenarios_passes.c - which gradients are asked for, when, and into whose memory: several
 * heads, subsets, micro-batches, detached parts; and whole networks over many steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/spy.h"
#include "support/trial.h"

enum { ROWS = 4, WIDTH = 16 };

/* A segment that needs what it makes: linear, tanh, gelu. */
static remat_var block(trial *t, remat_var x)
{
    trial_segment_begin(t);
    x = remat_gelu(t->tape, remat_tanh(t->tape, trial_dense(t, x, WIDTH, WIDTH)));
    trial_segment_end(t);
    return x;
}

/* ---- Results of a segment that are read elsewhere --------------------------------------------*/

static remat_var record_side_results(trial *t, void *context)
{
    spy_counts *counts = context;
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH)), far, unused, stopped;
    trial_segment_begin(t);
    x = remat_tanh(t->tape, trial_dense(t, x, WIDTH, WIDTH));
    far = spy_record(t->tape, remat_exp(t->tape, x), &counts[0]);
    unused = spy_record(t->tape, remat_exp(t->tape, x), &counts[1]);
    stopped = remat_detach(t->tape, spy_record(t->tape, remat_square(t->tape, x), &counts[2]));
    x = remat_gelu(t->tape, x);
    trial_segment_end(t);
    assert_true(unused.id != 0);
    x = block(t, x);
    trial_segment_begin(t);
    x = remat_multiply(t->tape, block(t, x), far); /* two segments later */
    x = remat_add(t->tape, x, stopped);
    trial_segment_end(t);
    return trial_mean_square(t, block(t, x));
}

/* One result is read two segments later, one by nobody, one behind a detach. */
static void results_that_leave_a_segment_by_a_side_door(void **state)
{
    (void)state;
    spy_counts counts[3] = {{0}};
    const trial_network network = {.record = record_side_results, .context = counts};
    assert_true(trial_check(&network) > 0);
    assert_true(counts[0].backwards > 0);
    assert_int_equal(counts[1].forwards, 0);
    assert_true(counts[2].forwards > 0);
    assert_int_equal(counts[2].backwards, 0); /* what comes back to it is nobody's */
    memset(counts, 0, sizeof counts);
    trial_check_with(&network, (remat_exec_options){.strategy = REMAT_STRATEGY_SEGMENTS});
    assert_int_equal(counts[0].replays + counts[2].replays, 0); /* boundaries are kept */
}

/* ---- Subsets of gradients --------------------------------------------------------------------*/

enum { BLOCKS = 6 };

typedef struct subset {
    int from; /* first block with weights that are trained */
    bool input, middle;
    spy_counts counts[BLOCKS];
    remat_var middle_value;
} subset;

static remat_var record_subset(trial *t, void *context)
{
    subset *s = context;
    remat_var x = s->input ? trial_input_with_gradient(t, REMAT_SHAPE(ROWS, WIDTH))
                           : trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    for (int i = 0; i < BLOCKS; i++) {
        remat_var (*leaf)(trial *, remat_shape) = i >= s->from ? trial_parameter : trial_input;
        trial_segment_begin(t);
        x = remat_linear(t->tape, x, leaf(t, REMAT_SHAPE(WIDTH, WIDTH)), (remat_var){0});
        x = spy_record(t->tape, remat_tanh(t->tape, x), &s->counts[i]);
        x = remat_gelu(t->tape, x);
        trial_segment_end(t);
        if (i == 2)
            s->middle_value = x;
    }
    if (s->middle)
        assert_int_equal(remat_request_gradient(t->tape, s->middle_value, NULL), REMAT_OK);
    return trial_mean_square(t, x);
}

/* The gradient of the middle value, or of the input, after one step. */
static void gradient_of_subset(subset *s, remat_exec_options o, float *gradient)
{
    trial t;
    const void *data = NULL;
    const remat_var loss = trial_open(&t, &(trial_network){.record = record_subset, .context = s});
    memset(s->counts, 0, sizeof s->counts);
    remat_exec *exec = trial_exec(&t, loss, o);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    if (s->middle)
        assert_int_equal(remat_exec_gradient(exec, s->middle_value, &data), REMAT_OK);
    else
        data = t.gradient[0].data;
    if (gradient)
        memcpy(gradient, data, ROWS * WIDTH * sizeof(float));
    remat_exec_destroy(exec);
    trial_close(&t);
}

static void a_subset_of_gradients_is_exact(void **state)
{
    (void)state;
    float all[ROWS * WIDTH], some[ROWS * WIDTH];
    for (int input = 0; input < 2; input++) {
        subset full = {.from = 0, .input = true, .middle = !input};
        subset part = {.from = BLOCKS, .input = input, .middle = !input};
        gradient_of_subset(&full, (remat_exec_options){.strategy = REMAT_STRATEGY_KEEP_ALL}, all);
        for (int i = 0; i < REMAT_STRATEGY_COUNT; i++) {
            gradient_of_subset(&part,
                               (remat_exec_options){.strategy = (remat_strategy)i,
                                                    .effort = REMAT_EFFORT_FAST,
                                                    .poison = true,
                                                    .verify_replay = true},
                               some);
            assert_memory_equal(all, some, sizeof all);
        }
        for (int i = 0; i < 3 && !input; i++) /* what lies before is not touched */
            assert_int_equal(part.counts[i].backwards + part.counts[i].replays, 0);
        assert_true(input || part.counts[3].backwards == 1);
    }
    subset last = {.from = BLOCKS - 1};
    const trial_network network = {.record = record_subset, .context = &last};
    trial_check(&network);
    memset(last.counts, 0, sizeof last.counts);
    trial_check_with(&network, (remat_exec_options){.strategy = REMAT_STRATEGY_SEGMENTS});
    for (int i = 0; i < BLOCKS - 1; i++) /* nor is what only the forward pass reads */
        assert_int_equal(last.counts[i].backwards + last.counts[i].replays, 0);
}

/* ---- Two heads -------------------------------------------------------------------------------*/

typedef struct heads {
    remat_var loss[2];
    int use; /* 0, 1: that head alone; 2: their sum; 3: both as starting points */
} heads;

static remat_var record_heads(trial *t, void *context)
{
    heads *h = context;
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    for (int i = 0; i < 4; i++)
        x = block(t, x);
    for (int i = 0; i < 2; i++)
        h->loss[i] = trial_mean_square(t, block(t, x));
    if (h->use == 3) {
        assert_int_equal(remat_seed_gradient(t->tape, h->loss[0], NULL), REMAT_OK);
        return h->loss[1];
    }
    return h->use == 2 ? remat_add(t->tape, h->loss[0], h->loss[1]) : h->loss[h->use];
}

static void add_gradients(int use, trial *t, remat_exec_options o, double *sum)
{
    heads h = {.use = use};
    const remat_var loss = trial_open(t, &(trial_network){.record = record_heads, .context = &h});
    remat_exec *exec = trial_exec(t, loss, o);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    size_t n = 0;
    for (size_t i = 0; i < t->n_leaves; i++)
        for (size_t k = 0; k < t->gradient[i].bytes / sizeof(float); k++)
            sum[n++] += (double)((const float *)t->gradient[i].data)[k];
    remat_exec_destroy(exec);
    trial_close(t);
}

/* Head after head adds up to one backward pass of the sum; so does starting from both. */
static void two_heads_add_up(void **state)
{
    (void)state;
    static double apart[4096], together[4096], seeded[4096];
    trial t;
    const remat_exec_options o = {.strategy = REMAT_STRATEGY_SEGMENTS, .poison = true};
    add_gradients(0, &t, o, apart);
    add_gradients(1, &t, o, apart);
    add_gradients(2, &t, o, together);
    add_gradients(3, &t, o, seeded);
    for (size_t i = 0; i < 4096; i++) {
        assert_true(together[i] == seeded[i]);
        assert_true(apart[i] - together[i] < 1e-6 && together[i] - apart[i] < 1e-6);
    }
    assert_true(together[0] != 0);
    for (int use = 0; use < 4; use++) {
        heads h = {.use = use};
        assert_true(trial_check(&(trial_network){
                        .record = record_heads, .context = &h, .smooth = use < 3}) > 0);
    }
}

/* Backward passes over one forward pass: allowed and equal with retain; otherwise refused before
 * any gradient changes. Bytes stay what was planned. */
static void backward_again(void **state)
{
    (void)state;
    for (int retain = 0; retain < 2; retain++)
        for (int strategy = 0; strategy < REMAT_STRATEGY_COUNT; strategy++) {
            trial t;
            heads h = {.use = 2};
            remat_exec_statistics s;
            const remat_var loss =
                trial_open(&t, &(trial_network){.record = record_heads, .context = &h});
            remat_exec *exec = trial_exec(&t, loss,
                                          (remat_exec_options){.strategy = (remat_strategy)strategy,
                                                               .effort = REMAT_EFFORT_FAST,
                                                               .retain = retain,
                                                               .poison = true});
            assert_int_equal(remat_exec_step(exec), REMAT_OK);
            const float first = ((const float *)t.gradient[1].data)[0];
            assert_int_equal(remat_exec_backward(exec), retain ? REMAT_OK : REMAT_CONSUMED);
            const float second = ((const float *)t.gradient[1].data)[0];
            assert_true(first != 0 && second == (retain ? 2 * first : first));
            if (!retain)
                assert_non_null(strstr(remat_exec_message(exec), "remat_exec_forward()"));
            remat_exec_get_statistics(exec, &s);
            assert_int_equal(s.measured_peak_bytes, s.planned_peak_bytes);
            remat_exec_destroy(exec);
            trial_close(&t);
        }
}

/* ---- The caller's gradient buffers -----------------------------------------------------------*/

enum { MICRO_BATCHES = 4 };

static remat_var record_micro(trial *t, void *context)
{
    remat_var *x = context;
    *x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    remat_var y = *x;
    for (int i = 0; i < 4; i++)
        y = block(t, y);
    return trial_mean_square(t, y);
}

/* Four batches are added to one buffer, which begins as the caller left it. */
static void accumulate(remat_exec_options o, float *gradients, size_t n)
{
    trial t;
    remat_var x;
    static float batches[MICRO_BATCHES][ROWS * WIDTH];
    const remat_var loss = trial_open(&t, &(trial_network){.record = record_micro, .context = &x});
    for (size_t i = 0; i < ROWS * WIDTH * MICRO_BATCHES; i++)
        batches[i / (ROWS * WIDTH)][i % (ROWS * WIDTH)] = (float)(i % 23) / 11 - 1;
    for (size_t i = 0; i < t.n_leaves; i++)
        for (size_t k = 0; k < t.gradient[i].bytes / sizeof(float); k++)
            ((float *)t.gradient[i].data)[k] = 0.5F;
    remat_exec *exec = trial_exec(&t, loss, o);
    for (size_t b = 0; b < MICRO_BATCHES; b++) {
        assert_int_equal(remat_bind(t.tape, x, batches[b]), REMAT_OK);
        assert_int_equal(remat_exec_step(exec), REMAT_OK);
    }
    for (size_t i = 0, at = 0; i < t.n_leaves; i++)
        for (size_t k = 0; k < t.gradient[i].bytes / sizeof(float) && at < n; k++)
            gradients[at++] = ((const float *)t.gradient[i].data)[k];
    remat_exec_destroy(exec);
    trial_close(&t);
}

static void micro_batches_accumulate_in_the_callers_buffers(void **state)
{
    (void)state;
    enum { N = 4 * (WIDTH * WIDTH + WIDTH) };
    static float expected[N], got[N];
    accumulate((remat_exec_options){.strategy = REMAT_STRATEGY_KEEP_ALL}, expected, N);
    for (int i = 0; i < REMAT_STRATEGY_COUNT; i++) {
        accumulate((remat_exec_options){.strategy = (remat_strategy)i,
                                        .effort = REMAT_EFFORT_FAST,
                                        .poison = true,
                                        .verify_replay = true},
                   got, N);
        assert_memory_equal(expected, got, sizeof expected);
    }
    assert_true(expected[0] != 0.5F && expected[N - 1] != 0.5F);
}

/* ---- One buffer for two gradients ------------------------------------------------------------*/

static remat_status nothing_ready(void *context, remat_var v, void *gradient)
{
    (void)context, (void)v, (void)gradient;
    return REMAT_OK;
}

static remat_status two_leaves(remat_exec_options o, bool shared, float *gradient)
{
    float x[4] = {1, 2, 3, 4}, w[4] = {0.5F, -0.5F, 0.25F, 1}, other[4] = {0};
    remat_tape *tape = NULL;
    remat_exec *exec = NULL;
    assert_int_equal(remat_tape_create(NULL, &tape), REMAT_OK);
    const remat_var in = remat_input(tape, "x", REMAT_F32, REMAT_SHAPE(4), x);
    const remat_var a = remat_parameter(tape, "a", REMAT_F32, REMAT_SHAPE(4), w, gradient);
    const remat_var b =
        remat_parameter(tape, "b", REMAT_F32, REMAT_SHAPE(4), w, shared ? gradient : other);
    const remat_var y = remat_add(tape, remat_multiply(tape, in, a), remat_square(tape, b));
    const remat_status status =
        remat_exec_create(tape, remat_sum(tape, y, NULL, 0, false), &o, &exec);
    if (status == REMAT_OK)
        assert_int_equal(remat_exec_step(exec), REMAT_OK);
    else
        assert_non_null(strstr(remat_tape_message(tape), "1 (a) and 2 (b) share a gradient"));
    remat_exec_destroy(exec);
    remat_tape_destroy(tape);
    return status;
}

/* Weights that are shared by pointer add up; where that cannot be, it is refused. */
static void leaves_that_share_a_gradient_buffer_add_up_or_are_refused(void **state)
{
    (void)state;
    float gradient[4] = {0};
    assert_int_equal(two_leaves((remat_exec_options){0}, true, gradient), REMAT_OK);
    assert_true(gradient[0] == 1 + 2 * 0.5F && gradient[3] == 4 + 2);
    const remat_exec_options strict[] = {{.overwrite_gradients = true},
                                         {.gradient_ready = nothing_ready}};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(two_leaves(strict[i], true, gradient), REMAT_INVALID_ARGUMENT);
        assert_int_equal(two_leaves(strict[i], false, gradient), REMAT_OK);
    }
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(results_that_leave_a_segment_by_a_side_door),
        TEST(a_subset_of_gradients_is_exact),
        TEST(two_heads_add_up),
        TEST(backward_again),
        TEST(micro_batches_accumulate_in_the_callers_buffers),
        TEST(leaves_that_share_a_gradient_buffer_add_up_or_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
