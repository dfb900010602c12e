/* test_segments.c - which statements a step under segments repeats, to the single call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/small_net.h"

static small_net net;

static int set_up(void **state)
{
    (void)state;
    net_create(&net);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    net_destroy(&net);
    return 0;
}

static void begin(void)
{
    assert_int_equal(remat_segment_begin(net.tape, NULL), REMAT_OK);
}

static void end(void)
{
    assert_int_equal(remat_segment_end(net.tape), REMAT_OK);
}

/* ---- Chains ----------------------------------------------------------------------------------*/

enum { LAYERS = 12 };

static remat_var record_chain(size_t length)
{
    remat_var x = net_input(&net);
    for (size_t i = 0; i < LAYERS; i++) {
        if (i % length == 0)
            begin();
        x = net_layer(&net, x);
        if (i % length == length - 1 || i == LAYERS - 1)
            end();
    }
    return net_loss(&net, x);
}

/* Layer i has probes 2 i and 2 i + 1. The last segment is still there; in the others the second
 * probe's result is needed only by the next layer of the same segment. */
static void chains_of_any_segment_length(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 2, 3, 5, 12};
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        size_t length = lengths[k], last = (LAYERS - 1) / length;
        net_destroy(&net);
        net_create(&net);
        remat_var loss = record_chain(length);
        assert_true(net_agrees(&net, loss, REMAT_STRATEGY_SEGMENTS, NULL));
        for (size_t i = 0; i < LAYERS; i++) {
            bool replayed = i / length != last;
            bool crosses = i % length == length - 1;
            assert_int_equal(net.probes[2 * i].forwards, 1);
            assert_int_equal(net.probes[2 * i].backwards, 1);
            assert_int_equal(net.probes[2 * i].replays, replayed);
            assert_int_equal(net.probes[2 * i + 1].replays, replayed && !crosses);
        }
    }
}

static void the_default_is_segments_once_marked(void **state)
{
    (void)state;
    remat_plan_summary summary;
    remat_exec *exec = net_step(&net, record_chain(3), REMAT_STRATEGY_AUTO);
    remat_plan_summarize(remat_exec_plan(exec), &summary);
    assert_int_equal(summary.strategy, REMAT_STRATEGY_SEGMENTS);
    assert_int_equal(summary.forward_runs, 3 * LAYERS + 1);
    assert_int_equal(summary.backward_runs, 3 * LAYERS + 2); /* the input has none; and the seed */
    assert_true(summary.replays > 0);
    remat_exec_destroy(exec);
}

/* ---- Nesting ---------------------------------------------------------------------------------*/

/* Halves down to segments of two layers. */
static remat_var record_halves(remat_var x, size_t count)
{
    if (count == 2)
        return net_layer(&net, net_layer(&net, x));
    for (size_t half = 0; half < 2; half++) {
        begin();
        x = record_halves(x, count / 2);
        end();
    }
    return x;
}

/* A first half is replayed each time its parent's second half is through. A result is remade only
 * where layer i + 1 is in the replayed half as well. */
static void expect_halves(size_t layers)
{
    for (size_t i = 0; i < layers; i++) {
        size_t first = 0, second = 0;
        for (size_t half = layers / 2; half >= 2; half /= 2) {
            bool in_first_half = i / half % 2 == 0;
            first += in_first_half;
            second += in_first_half && i / half == (i + 1) / half;
        }
        assert_int_equal(net.probes[2 * i].forwards, 1);
        assert_int_equal(net.probes[2 * i].replays, first);
        assert_int_equal(net.probes[2 * i + 1].replays, second);
    }
}

static void two_levels_of_segments(void **state)
{
    (void)state;
    remat_var loss = net_loss(&net, record_halves(net_input(&net), 8));
    assert_true(net_agrees(&net, loss, REMAT_STRATEGY_SEGMENTS, NULL));
    static const uint64_t expected[16] = {2, 2, 2, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0};
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(net.probes[i].replays, expected[i]);
    expect_halves(8);
}

static void three_levels_of_segments(void **state)
{
    (void)state;
    remat_var loss = net_loss(&net, record_halves(net_input(&net), 16));
    assert_true(net_agrees(&net, loss, REMAT_STRATEGY_SEGMENTS, NULL));
    assert_int_equal(net.probes[0].replays, 3);
    expect_halves(16);
}

static void empty_segments_do_no_harm(void **state)
{
    (void)state;
    begin();
    end();
    remat_var x = net_input(&net);
    begin();
    begin();
    end();
    x = net_layer(&net, x);
    begin();
    begin();
    end();
    end();
    end();
    x = net_layer(&net, x);
    begin();
    end();
    assert_true(net_agrees(&net, net_loss(&net, x), REMAT_STRATEGY_SEGMENTS, NULL));
    begin();
    end();
}

/* ---- What is not needed ----------------------------------------------------------------------*/

static void a_segment_without_readers_never_runs(void **state)
{
    (void)state;
    remat_var x = net_input(&net);
    begin();
    (void)net_layer(&net, x); /* probes 0 and 1, parameter 1 */
    end();
    begin();
    remat_var y = net_layer(&net, x);
    end();
    assert_true(net_agrees(&net, net_loss(&net, y), REMAT_STRATEGY_SEGMENTS, NULL));
    assert_int_equal(net.probes[0].forwards + net.probes[1].forwards, 0);
    assert_int_equal(net.probes[2].forwards, 1);
}

/* Only the last layers' gradients are asked for. */
static void segments_before_the_first_gradient_are_not_replayed(void **state)
{
    (void)state;
    remat_var x = net_input(&net);
    for (size_t i = 0; i < 6; i++) {
        begin();
        remat_var w = i < 4 ? net_input(&net) : net_parameter(&net);
        x = net_probe(&net, net_probe(&net, fake_apply2(net.tape, &fake_add, x, w)));
        end();
    }
    assert_true(net_agrees(&net, net_loss(&net, x), REMAT_STRATEGY_SEGMENTS, NULL));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(net.probes[2 * i].replays + net.probes[2 * i].backwards, 0);
    assert_int_equal(net.probes[8].backwards, 1);
}

/* The first segment's input needs no gradient, its weight does. */
static void weights_behind_a_constant_get_their_gradients(void **state)
{
    (void)state;
    double data[NET_WIDTH] = {0.5, -0.25, 0.125, 1};
    remat_var x = remat_constant(net.tape, "constant", REMAT_F64, REMAT_SHAPE(NET_WIDTH), data);
    for (size_t i = 0; i < 4; i++) {
        begin();
        x = net_layer(&net, x);
        end();
    }
    assert_true(net_agrees(&net, net_loss(&net, x), REMAT_STRATEGY_SEGMENTS, NULL));
    for (size_t i = 0; i < 4; i++)
        assert_true(net.gradients[i][0] != 0);
}

/* What lies behind a detach is computed and dropped, but never replayed. */
static void a_detached_segment_is_not_replayed(void **state)
{
    (void)state;
    remat_var x = net_input(&net);
    begin();
    remat_var y = net_layer(&net, x); /* probes 0, 1 */
    end();
    y = fake_apply1(net.tape, &fake_detach, y);
    begin();
    y = net_layer(&net, y);
    end();
    begin();
    y = net_layer(&net, y);
    end();
    assert_true(net_agrees(&net, net_loss(&net, y), REMAT_STRATEGY_SEGMENTS, NULL));
    assert_int_equal(net.probes[0].replays + net.probes[0].backwards, 0);
    assert_true(net.gradients[1][0] == 0 && net.gradients[2][0] != 0);
}

/* ---- Boundaries ------------------------------------------------------------------------------*/

/* One of three results is read two segments later and by nobody in between; one never. */
static void boundaries_come_from_the_record(void **state)
{
    (void)state;
    remat_var x = net_input(&net);
    begin();
    x = net_layer(&net, x);             /* probes 0, 1 */
    remat_var far = net_probe(&net, x); /* 2 */
    (void)net_probe(&net, x);           /* 3 */
    end();
    begin();
    x = net_layer(&net, x); /* 4, 5 */
    end();
    begin();
    x = fake_apply2(net.tape, &fake_multiply, net_layer(&net, x), far); /* 6, 7 */
    end();
    begin();
    x = net_layer(&net, x); /* 8, 9 */
    end();
    assert_true(net_agrees(&net, net_loss(&net, x), REMAT_STRATEGY_SEGMENTS, NULL));
    assert_int_equal(net.probes[2].forwards, 1);
    assert_int_equal(net.probes[2].replays, 0); /* kept: it crosses edges */
    assert_int_equal(net.probes[3].forwards, 0);
    assert_int_equal(net.probes[0].replays, 1);
    assert_int_equal(net.probes[1].replays, 0);
}

/* The same value in several places, also across edges. */
static void one_value_as_several_operands(void **state)
{
    (void)state;
    remat_var x = net_parameter(&net);
    const remat_op *const ops[] = {&fake_add, &fake_multiply, &fake_pair};
    for (size_t i = 0; i < 3; i++) {
        begin();
        remat_var h = net_probe(&net, fake_apply2(net.tape, ops[i], x, x));
        h = fake_apply2(net.tape, ops[i], h, h);
        x = fake_apply2(net.tape, &fake_add, x, net_probe(&net, h)); /* residual */
        end();
    }
    begin();
    remat_var square = fake_reshape(net.tape, x, REMAT_SHAPE(2, 2));
    square = fake_apply2(net.tape, &fake_matmul, square, square);
    end();
    assert_true(net_agrees(&net, net_loss(&net, square), REMAT_STRATEGY_SEGMENTS, NULL));
    assert_true(net.gradients[0][0] != 0);
}

/* The same blocks and weights on two inputs. */
static void one_block_applied_twice(void **state)
{
    (void)state;
    enum { BLOCKS = 8 };
    remat_var weights[BLOCKS], ends[2];
    remat_plan_summary summary;
    for (size_t i = 0; i < BLOCKS; i++)
        weights[i] = net_parameter(&net);
    for (size_t k = 0; k < 2; k++) {
        remat_var x = net_input(&net);
        for (size_t i = 0; i < BLOCKS; i++) {
            begin();
            x = fake_apply2(net.tape, &fake_add, x, weights[i]);
            for (size_t j = 0; j < 4; j++)
                x = net_probe(&net, x);
            end();
        }
        ends[k] = net_loss(&net, x);
    }
    remat_var loss = fake_apply2(net.tape, &fake_add, ends[0], ends[1]);
    assert_true(net_agrees(&net, loss, REMAT_STRATEGY_SEGMENTS, NULL));
    remat_exec *exec = net_step(&net, loss, REMAT_STRATEGY_SEGMENTS);
    remat_plan_summarize(remat_exec_plan(exec), &summary);
    /* Boundaries of both inputs, one segment of four values, two scalars, two gradients. */
    assert_true(summary.arena_bytes <= (2 * BLOCKS + 4 + 2 + 2) * 64);
    remat_exec_destroy(exec);
}

/* What a block reads from its context is fixed when it is recorded. */
static remat_status scale_block(remat_tape *tape, void *context, const remat_var *in, size_t n_in,
                                remat_var *out, size_t n_out)
{
    double *factor = context;
    assert_int_equal(n_in + n_out, 2);
    out[0] = fake_scale(tape, in[0], *factor, 0.0);
    out[0] = net_probe(&net, net_probe(&net, out[0]));
    *factor += 0.25; /* must not happen again */
    return REMAT_OK;
}

static void a_block_is_called_once(void **state)
{
    (void)state;
    double factor = 0.5;
    remat_var x = net_parameter(&net);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(checkpoint_segment(net.tape, scale_block, &factor, &x, 1, &x, 1),
                         REMAT_OK);
    assert_true(factor == 1.5);
    assert_true(net_agrees(&net, net_loss(&net, x), REMAT_STRATEGY_SEGMENTS, NULL));
    assert_true(factor == 1.5);
    assert_int_equal(net.probes[0].replays, 1);
}

/* ---- Marks and effects -----------------------------------------------------------------------*/

static void a_recompute_mark_works_without_segments(void **state)
{
    (void)state;
    remat_var x = net_layer(&net, net_input(&net)); /* 0, 1 */
    remat_var h = net_probe(&net, x);               /* 2: kept */
    remat_var marked = net_probe(&net, h);          /* 3: its consumer reads it */
    assert_int_equal(remat_recompute(net.tape, marked), REMAT_OK);
    x = net_probe(&net, net_probe(&net, marked)); /* 4, 5 */
    assert_true(net_agrees(&net, net_loss(&net, x), REMAT_STRATEGY_KEEP_ALL, NULL));
    assert_int_equal(net.probes[3].replays, 1);
    assert_int_equal(net.probes[2].replays, 0);
    assert_int_equal(net.probes[4].replays, 0);
}

static void recompute_marks_in_a_row_are_remade_in_order(void **state)
{
    (void)state;
    remat_var x = net_layer(&net, net_input(&net));
    for (size_t i = 0; i < 5; i++) { /* probes 2 to 6 */
        x = net_probe(&net, x);
        assert_int_equal(remat_recompute(net.tape, x), REMAT_OK);
    }
    x = net_probe(&net, x);
    assert_true(net_agrees(&net, net_loss(&net, x), REMAT_STRATEGY_KEEP_ALL, NULL));
    for (size_t i = 2; i < 7; i++)
        assert_int_equal(net.probes[i].replays, 1);
}

/* The last segment is not replayed, but what is marked in it is. */
static void a_recompute_mark_in_the_last_segment(void **state)
{
    (void)state;
    remat_var x = net_input(&net);
    begin();
    x = net_layer(&net, x);
    end();
    begin();
    x = net_layer(&net, x); /* 2, 3 */
    x = net_probe(&net, x); /* 4 */
    assert_int_equal(remat_recompute(net.tape, x), REMAT_OK);
    x = net_probe(&net, x); /* 5 */
    end();
    assert_true(net_agrees(&net, net_loss(&net, x), REMAT_STRATEGY_SEGMENTS, NULL));
    assert_int_equal(net.probes[4].replays, 1);
    assert_int_equal(net.probes[2].replays, 0);
}

static void a_keep_mark_in_a_segment(void **state)
{
    (void)state;
    const void *data;
    remat_var x = net_input(&net);
    begin();
    remat_var kept = net_layer(&net, x); /* 0, 1 */
    assert_int_equal(remat_keep(net.tape, kept), REMAT_OK);
    x = net_probe(&net, net_probe(&net, kept)); /* 2, 3 */
    end();
    begin();
    x = net_layer(&net, x);
    end();
    remat_var loss = net_loss(&net, x);
    assert_true(net_agrees(&net, loss, REMAT_STRATEGY_SEGMENTS, NULL));
    assert_int_equal(net.probes[1].replays, 0);
    assert_int_equal(net.probes[2].replays, 1);
    remat_exec *exec = net_step(&net, loss, REMAT_STRATEGY_SEGMENTS);
    assert_int_equal(remat_exec_value(exec, kept, &data), REMAT_OK);
    assert_true(((const double *)data)[0] == ((const double *)data)[0]); /* not poisoned */
    assert_int_equal(remat_exec_value(exec, x, &data), REMAT_NOT_KEPT);
    remat_exec_destroy(exec);
}

/* An effect between two operations that are replayed. */
static void an_effect_in_a_segment_runs_once(void **state)
{
    (void)state;
    remat_var x = net_input(&net);
    for (size_t i = 0; i < 3; i++) {
        begin();
        x = net_layer(&net, x);                  /* 5 i, 5 i + 1 */
        x = net_effect(&net, x);                 /* 5 i + 2 */
        x = net_probe(&net, net_probe(&net, x)); /* 5 i + 3, 5 i + 4 */
        end();
    }
    assert_true(net_agrees(&net, net_loss(&net, x), REMAT_STRATEGY_SEGMENTS, NULL));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(net.probes[5 * i + 2].forwards, 1);
        assert_int_equal(net.probes[5 * i + 2].replays, 0);
        assert_int_equal(net.probes[5 * i].replays, i < 2);
        assert_int_equal(net.probes[5 * i + 1].replays, 0); /* only the effect reads it */
        assert_int_equal(net.probes[5 * i + 3].replays, i < 2);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(chains_of_any_segment_length),
        TEST(the_default_is_segments_once_marked),
        TEST(two_levels_of_segments),
        TEST(three_levels_of_segments),
        TEST(empty_segments_do_no_harm),
        TEST(a_segment_without_readers_never_runs),
        TEST(segments_before_the_first_gradient_are_not_replayed),
        TEST(weights_behind_a_constant_get_their_gradients),
        TEST(a_detached_segment_is_not_replayed),
        TEST(boundaries_come_from_the_record),
        TEST(one_value_as_several_operands),
        TEST(one_block_applied_twice),
        TEST(a_block_is_called_once),
        TEST(a_recompute_mark_works_without_segments),
        TEST(recompute_marks_in_a_row_are_remade_in_order),
        TEST(a_recompute_mark_in_the_last_segment),
        TEST(a_keep_mark_in_a_segment),
        TEST(an_effect_in_a_segment_runs_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
