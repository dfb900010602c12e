/* test_exec_life.c - an exec over time: changed tapes, failing operations, gradient_ready,
 * statistics, plans that are shared, orders of destruction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/counting_allocator.h"
#include "core/support/small_net.h"

static small_net net;

static int set_up(void **state)
{
    (void)state;
    net_create(&net);
    fake_kernel_setting = 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    net_destroy(&net);
    return 0;
}

static remat_exec *make_exec(remat_var loss, remat_exec_options options)
{
    remat_exec *exec = NULL;
    if (remat_exec_create(net.tape, loss, &options, &exec) != REMAT_OK)
        fail_msg("%s", remat_tape_message(net.tape));
    return exec;
}

static void expect_says(const remat_exec *exec, const char *part)
{
    if (!strstr(remat_exec_message(exec), part))
        fail_msg("\"%s\" is not in: %s", part, remat_exec_message(exec));
}

static remat_var record_layers(remat_var x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        remat_segment_begin(net.tape, NULL);
        x = net_layer(&net, x);
        remat_segment_end(net.tape);
    }
    return x;
}

/* ---- Recording again -------------------------------------------------------------------------*/

/* A net of n layers on the same leaves. */
static remat_var record_again(size_t n)
{
    assert_int_equal(remat_tape_clear(net.tape), REMAT_OK);
    net.n_leaves = net.n_probes = 0;
    return net_loss(&net, record_layers(net_input(&net), n));
}

static void a_cleared_tape_makes_execs_stale(void **state)
{
    (void)state;
    const void *data;
    remat_var old = net_loss(&net, record_layers(net_input(&net), 3));
    remat_exec *exec = make_exec(old, (remat_exec_options){.poison = true});
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    double first = remat_exec_loss(exec);
    remat_var loss = record_again(3);
    assert_int_equal(remat_exec_step(exec), REMAT_STALE);
    expect_says(exec, "remat_exec_update()");
    assert_int_equal(remat_exec_backward(exec), REMAT_STALE);
    assert_int_equal(remat_exec_value(exec, loss, &data), REMAT_STALE);
    assert_int_equal(remat_exec_zero_gradients(exec), REMAT_STALE);
    assert_int_equal(remat_exec_update(exec, old), REMAT_INVALID_HANDLE);
    assert_int_equal(remat_exec_update(exec, (remat_var){0}), REMAT_INVALID_HANDLE);
    assert_int_equal(remat_exec_step(exec), REMAT_STALE); /* as before */
    const remat_plan *plan = remat_exec_plan(exec);
    assert_int_equal(remat_exec_update(exec, loss), REMAT_OK);
    assert_ptr_equal(remat_exec_plan(exec), plan); /* from the cache: the record is the same */
    assert_int_equal(remat_exec_backward(exec), REMAT_OUT_OF_ORDER);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    assert_true(remat_exec_loss(exec) == first);
    remat_exec_destroy(exec);
}

static void updates_alternate_between_records(void **state)
{
    (void)state;
    double losses[11];
    remat_exec *exec = make_exec(record_again(1), (remat_exec_options){.poison = true});
    for (size_t round = 0; round < 3; round++)
        for (size_t n = 1; n <= 10; n++) { /* more than the cache holds */
            assert_int_equal(remat_exec_update(exec, record_again(n)), REMAT_OK);
            memset(net.gradients, 0, sizeof net.gradients);
            assert_int_equal(remat_exec_step(exec), REMAT_OK);
            assert_true(net.gradients[n][0] != 0);
            if (round == 0)
                losses[n] = remat_exec_loss(exec);
            assert_true(remat_exec_loss(exec) == losses[n]);
        }
    remat_exec_destroy(exec);
}

static void updates_respect_the_callers_arena(void **state)
{
    (void)state;
    _Alignas(64) static unsigned char arena[4096];
    remat_plan_summary summary;
    remat_exec *exec = make_exec(record_again(2), (remat_exec_options){0});
    remat_plan_summarize(remat_exec_plan(exec), &summary);
    remat_exec_destroy(exec);
    exec = make_exec(record_again(2),
                     (remat_exec_options){.arena = arena, .arena_bytes = summary.arena_bytes});
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    assert_int_equal(remat_exec_update(exec, record_again(9)), REMAT_INVALID_ARGUMENT);
    expect_says(exec, "options.arena");
    assert_int_equal(remat_exec_step(exec), REMAT_STALE);
    assert_int_equal(remat_exec_update(exec, record_again(1)), REMAT_OK);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    remat_exec_destroy(exec);
}

/* ---- Failing operations ----------------------------------------------------------------------*/

/* Any call may fail; the next step is as if nothing had happened. */
static void expect_recovery(remat_exec *exec, const double expected[][NET_WIDTH],
                            const char *message)
{
    assert_int_equal(remat_exec_step(exec), REMAT_OP_FAILED);
    expect_says(exec, "fake_probe (statement ");
    expect_says(exec, message);
    assert_int_equal(remat_exec_backward(exec), REMAT_OUT_OF_ORDER);
    for (size_t i = 0; i < net.n_probes; i++)
        net.probes[i] = (fake_probe_state){0};
    remat_exec_set_step(exec, 0);
    assert_int_equal(remat_exec_zero_gradients(exec), REMAT_OK);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    assert_memory_equal(net.gradients, expected, sizeof net.gradients);
}

static void every_call_may_fail(void **state)
{
    (void)state;
    static double expected[NET_LEAVES][NET_WIDTH];
    remat_var x = net_input(&net);
    for (size_t i = 0; i < 4; i++) {
        remat_segment_begin(net.tape, NULL);
        x = fake_apply1(net.tape, &fake_noise, net_layer(&net, x));
        remat_segment_end(net.tape);
    }
    remat_exec *exec = make_exec(net_loss(&net, x), (remat_exec_options){.poison = true});
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    memcpy(expected, net.gradients, sizeof expected);
    for (size_t i = 0; i < net.n_probes; i++) {
        memset(net.probes, 0, sizeof net.probes);
        net.probes[i].fail_forward = 1;
        expect_recovery(exec, (const double(*)[NET_WIDTH])expected,
                        "forward): asked to fail at call 1");
        net.probes[i].fail_backward = 1;
        net.probes[i].backwards = 0;
        expect_recovery(exec, (const double(*)[NET_WIDTH])expected, "backward): ");
        if (i % 2 == 0 && i < 6) { /* the first probe of a layer is replayed */
            net.probes[i].fail_replay = 1;
            net.probes[i].replays = 0;
            expect_recovery(exec, (const double(*)[NET_WIDTH])expected, "replay): asked");
        }
    }
    remat_exec_destroy(exec);
}

static void a_replay_that_differs_is_found(void **state)
{
    (void)state;
    remat_var loss = net_loss(&net, record_layers(net_input(&net), 3));
    remat_exec *exec = make_exec(loss, (remat_exec_options){.verify_replay = true});
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    net.probes[2].drift = true; /* of the second layer */
    assert_int_equal(remat_exec_step(exec), REMAT_REPLAY_MISMATCH);
    expect_says(exec, "fake_probe (statement 4)");
    net.probes[2].drift = false;
    assert_int_equal(remat_exec_forward(exec), REMAT_OK);
    net.data[0][0] += 1; /* an input that changes between the passes */
    assert_int_equal(remat_exec_backward(exec), REMAT_REPLAY_MISMATCH);
    expect_says(exec, "fake_add (statement 0)");
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    remat_exec_destroy(exec);
}

static void another_kernel_is_refused_before_anything_runs(void **state)
{
    (void)state;
    remat_var x = net_layer(&net, net_input(&net));
    remat_var loss = net_loss(&net, fake_apply1(net.tape, &fake_kernel, x));
    remat_exec *exec = make_exec(loss, (remat_exec_options){0});
    assert_int_equal(remat_exec_forward(exec), REMAT_OK);
    fake_kernel_setting = 2;
    assert_int_equal(remat_exec_backward(exec), REMAT_REPLAY_MISMATCH);
    expect_says(exec, "fake_kernel");
    assert_true(net.gradients[1][0] == 0);
    fake_kernel_setting = 1; /* nothing is lost */
    assert_int_equal(remat_exec_backward(exec), REMAT_OK);
    fake_kernel_setting = 3;
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    remat_exec_destroy(exec);
}

/* ---- gradient_ready --------------------------------------------------------------------------*/

typedef struct ready {
    size_t calls[NET_LEAVES];
    double at_call[NET_LEAVES][NET_WIDTH];
    double learning_rate; /* 0: only look */
    size_t fail_at, n;
} ready;

/* Plain SGD, as soon as a gradient is complete. */
static remat_status on_ready(void *context, remat_var v, void *gradient)
{
    ready *r = context;
    size_t leaf = (size_t)((double(*)[NET_WIDTH])gradient - net.gradients);
    assert_true(leaf < net.n_leaves && v.id != 0);
    r->calls[leaf]++;
    memcpy(r->at_call[leaf], gradient, sizeof r->at_call[leaf]);
    for (size_t i = 0; i < NET_WIDTH && r->learning_rate != 0; i++) {
        net.data[leaf][i] -= r->learning_rate * net.gradients[leaf][i];
        net.gradients[leaf][i] = 1e300; /* nobody reads it any more */
    }
    return ++r->n == r->fail_at ? REMAT_OP_FAILED : REMAT_OK;
}

/* Weights used in several segments, directly, twice in a statement, through views and behind a
 * detach; one that is unused. */
static remat_var record_shared(void)
{
    remat_var w = net_parameter(&net), u = net_parameter(&net), x = net_input(&net);
    (void)net_parameter(&net); /* 3: unused */
    for (size_t i = 0; i < 4; i++) {
        remat_segment_begin(net.tape, NULL);
        x = net_layer(&net, fake_apply2(net.tape, &fake_multiply, x, w));
        if (i % 2 == 0)
            x = fake_apply2(net.tape, &fake_multiply, x, fake_apply1(net.tape, &fake_detach, u));
        else
            x = fake_apply2(net.tape, &fake_add, x, fake_apply2(net.tape, &fake_multiply, u, u));
        remat_segment_end(net.tape);
    }
    remat_var m = fake_reshape(net.tape, w, REMAT_SHAPE(2, 2));
    m = fake_reshape(net.tape, fake_apply2(net.tape, &fake_matmul, m, m), REMAT_SHAPE(NET_WIDTH));
    return net_loss(&net, fake_apply2(net.tape, &fake_add, x, m));
}

static void gradient_ready_comes_once_and_last(void **state)
{
    (void)state;
    ready r = {0};
    remat_exec *exec =
        make_exec(record_shared(),
                  (remat_exec_options){.gradient_ready = on_ready, .gradient_ready_context = &r});
    for (size_t step = 1; step <= 3; step++) {
        assert_int_equal(remat_exec_step(exec), REMAT_OK);
        for (size_t i = 0; i < net.n_leaves; i++) {
            assert_int_equal(r.calls[i], i == 2 ? 0 : step); /* 2 is the input */
            if (i != 2)                                      /* final at the call */
                assert_memory_equal(r.at_call[i], net.gradients[i], sizeof net.gradients[i]);
        }
    }
    r.fail_at = r.n + 2;
    assert_int_equal(remat_exec_step(exec), REMAT_OP_FAILED);
    expect_says(exec, "gradient_ready");
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    remat_exec_destroy(exec);
}

/* An update inside the backward pass gives the bits of one after it: no later task, a replay least
 * of all, sees the new weights. */
static void an_update_in_gradient_ready_equals_one_after_the_step(void **state)
{
    (void)state;
    static const remat_strategy strategies[] = {REMAT_STRATEGY_KEEP_ALL, REMAT_STRATEGY_SEGMENTS,
                                                REMAT_STRATEGY_SQRT};
    static double expected[NET_LEAVES][NET_WIDTH], start[NET_LEAVES][NET_WIDTH];
    remat_var loss = record_shared();
    memcpy(start, net.data, sizeof start);
    for (size_t s = 0; s < 3; s++) {
        ready r = {.learning_rate = 0.25};
        remat_exec_options o = {.strategy = strategies[s], .overwrite_gradients = true};
        remat_exec *after = make_exec(loss, o);
        memcpy(net.data, start, sizeof start);
        for (size_t step = 0; step < 3; step++) {
            assert_int_equal(remat_exec_step(after), REMAT_OK);
            for (size_t i = 0; i < net.n_leaves; i++)
                for (size_t k = 0; k < NET_WIDTH && i != 2; k++)
                    net.data[i][k] -= r.learning_rate * net.gradients[i][k];
        }
        memcpy(expected, net.data, sizeof expected);
        remat_exec_destroy(after);
        o.gradient_ready = on_ready;
        o.gradient_ready_context = &r;
        o.verify_replay = true;
        remat_exec *fused = make_exec(loss, o);
        memcpy(net.data, start, sizeof start);
        for (size_t step = 0; step < 3; step++)
            assert_int_equal(remat_exec_step(fused), REMAT_OK);
        assert_memory_equal(net.data, expected, sizeof expected);
        assert_true(memcmp(net.data, start, sizeof start) != 0);
        remat_exec_destroy(fused);
    }
}

/* ---- Plans, statistics, lifetimes ------------------------------------------------------------*/

static void a_plan_serves_many_execs_and_outlives_the_tape(void **state)
{
    (void)state;
    remat_plan *plan = NULL;
    remat_exec *a = NULL, *b = NULL;
    remat_plan_summary before, after;
    remat_var loss = net_loss(&net, record_layers(net_input(&net), 4));
    assert_int_equal(remat_plan_create(net.tape, loss, NULL, &plan), REMAT_OK);
    remat_plan_summarize(plan, &before);
    assert_int_equal(remat_exec_create_with_plan(net.tape, plan, NULL, &a), REMAT_OK);
    assert_int_equal(remat_exec_create_with_plan(net.tape, plan, NULL, &b), REMAT_OK);
    assert_int_equal(remat_exec_step(a), REMAT_OK);
    remat_exec_destroy(a);
    net_destroy(&net); /* b still holds the record */
    assert_int_equal(remat_exec_step(b), REMAT_OK);
    remat_exec_destroy(b);
    remat_plan_summarize(plan, &after);
    assert_memory_equal(&before, &after, sizeof before);
    remat_plan_destroy(plan);
    remat_plan_destroy(NULL);
}

static void a_plan_of_another_record_is_stale(void **state)
{
    (void)state;
    remat_plan *plan = NULL;
    remat_exec *exec = NULL;
    remat_var x = net_input(&net), loss = net_loss(&net, record_layers(x, 2));
    assert_int_equal(remat_plan_create(net.tape, loss, NULL, &plan), REMAT_OK);
    remat_exec_options o = {.retain = true};
    assert_int_equal(remat_exec_create_with_plan(net.tape, plan, &o, &exec),
                     REMAT_INVALID_ARGUMENT);
    o = (remat_exec_options){.overwrite_gradients = true};
    assert_int_equal(remat_exec_create_with_plan(net.tape, plan, &o, &exec),
                     REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_request_gradient(net.tape, x, NULL), REMAT_OK);
    assert_int_equal(remat_exec_create_with_plan(net.tape, plan, NULL, &exec), REMAT_STALE);
    assert_int_equal(remat_exec_create_with_plan(NULL, plan, NULL, &exec), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_exec_create_with_plan(net.tape, NULL, NULL, &exec),
                     REMAT_INVALID_ARGUMENT);
    assert_null(exec);
    remat_plan_destroy(plan);
}

static void statistics_count(void **state)
{
    (void)state;
    remat_exec_statistics s;
    remat_var loss = net_loss(&net, record_layers(net_input(&net), 4));
    remat_exec *exec = make_exec(loss, (remat_exec_options){.retain = true});
    remat_exec_get_statistics(exec, &s);
    assert_int_equal(s.steps + s.replays + s.measured_peak_bytes, 0);
    assert_true(s.planned_peak_bytes > 0);
    assert_int_equal(remat_exec_forward(exec), REMAT_OK);
    assert_int_equal(remat_exec_forward(exec), REMAT_OK);
    assert_int_equal(remat_exec_backward(exec), REMAT_OK);
    assert_int_equal(remat_exec_backward(exec), REMAT_OK);
    remat_exec_get_statistics(exec, &s);
    assert_int_equal(s.steps, 2);
    remat_plan_summary summary;
    remat_plan_summarize(remat_exec_plan(exec), &summary);
    assert_int_equal(s.replays, summary.replays);
    assert_int_equal(s.measured_peak_bytes, summary.arena_bytes);
    assert_true(s.forward_seconds >= 0 && s.replay_seconds >= 0 && s.backward_seconds >= 0);
    remat_exec_destroy(exec);
}

/* Abandoned after forward, failing in replay, failing in backward: nothing grows. */
static void ten_thousand_steps_leak_nothing(void **state)
{
    (void)state;
    counting_allocator memory = {0};
    remat_allocator allocator = counting_allocator_make(&memory);
    remat_var loss = net_loss(&net, record_layers(net_input(&net), 4));
    remat_exec *exec =
        make_exec(loss, (remat_exec_options){.allocator = &allocator, .poison = true});
    size_t live = memory.live_bytes, calls = memory.calls;
    for (size_t step = 0; step < 10000; step++) {
        memset(net.probes, 0, sizeof net.probes);
        net.probes[0].fail_replay = step % 10 == 3;
        net.probes[5].fail_backward = step % 10 == 7;
        bool fails = step % 10 == 3 || step % 10 == 7;
        if (step % 10 == 5)
            assert_int_equal(remat_exec_forward(exec), REMAT_OK);
        else
            assert_int_equal(remat_exec_step(exec), fails ? REMAT_OP_FAILED : REMAT_OK);
    }
    assert_int_equal(memory.live_bytes, live);
    assert_int_equal(memory.calls, calls);
    remat_exec_destroy(exec);
    assert_int_equal(memory.live_blocks, 0);
}

/* Evaluation between training steps. */
static void an_inference_exec_disturbs_no_training(void **state)
{
    (void)state;
    remat_var y = record_layers(net_input(&net), 4), loss = net_loss(&net, y);
    remat_exec *train = make_exec(loss, (remat_exec_options){0});
    remat_exec *infer = make_exec(y, (remat_exec_options){.forward_only = true});
    double expected[NET_LEAVES][NET_WIDTH];
    assert_int_equal(remat_exec_step(train), REMAT_OK);
    memcpy(expected, net.gradients, sizeof expected);
    assert_int_equal(remat_exec_zero_gradients(train), REMAT_OK);
    assert_int_equal(remat_exec_forward(train), REMAT_OK);
    for (int i = 0; i < 5; i++)
        assert_int_equal(remat_exec_step(infer), REMAT_OK);
    assert_int_equal(remat_exec_backward(train), REMAT_OK);
    assert_memory_equal(net.gradients, expected, sizeof expected);
    remat_exec_destroy(infer);
    remat_exec_destroy(train);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_cleared_tape_makes_execs_stale),
        TEST(updates_alternate_between_records),
        TEST(updates_respect_the_callers_arena),
        TEST(every_call_may_fail),
        TEST(a_replay_that_differs_is_found),
        TEST(another_kernel_is_refused_before_anything_runs),
        TEST(gradient_ready_comes_once_and_last),
        TEST(an_update_in_gradient_ready_equals_one_after_the_step),
        TEST(a_plan_serves_many_execs_and_outlives_the_tape),
        TEST(a_plan_of_another_record_is_stale),
        TEST(statistics_count),
        TEST(ten_thousand_steps_leak_nothing),
        TEST(an_inference_exec_disturbs_no_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
