/* test_exec.c - states of an exec, binding, reading, gradient_ready, statistics, lifetimes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

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

static remat_exec *make_plain_exec(remat_var loss)
{
    return make_exec(loss, (remat_exec_options)REMAT_EXEC_OPTIONS_INIT);
}

static void expect_says(const remat_exec *exec, const char *part)
{
    if (!strstr(remat_exec_message(exec), part))
        fail_msg("\"%s\" is not in: %s", part, remat_exec_message(exec));
}

/* Layers in segments of one. */
static remat_var record_layers(remat_var x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        remat_segment_begin(net.tape, NULL);
        x = net_layer(&net, x);
        remat_segment_end(net.tape);
    }
    return x;
}

/* ---- States ----------------------------------------------------------------------------------*/

static void passes_follow_their_order(void **state)
{
    (void)state;
    const void *data;
    remat_var x = net_input(&net), loss = net_loss(&net, record_layers(x, 3));
    remat_exec *exec = make_plain_exec(loss);
    assert_string_equal(remat_exec_message(exec), "");
    assert_true(isnan(remat_exec_loss(exec)) != 0);
    assert_int_equal(remat_exec_backward(exec), REMAT_OUT_OF_ORDER);
    expect_says(exec, "remat_exec_forward()");
    assert_int_equal(remat_exec_value(exec, loss, &data), REMAT_OUT_OF_ORDER);
    assert_int_equal(remat_exec_forward(exec), REMAT_OK);
    assert_true(remat_exec_loss(exec) < 1);               /* no NaN */
    assert_int_equal(remat_exec_forward(exec), REMAT_OK); /* may follow anything */
    assert_int_equal(remat_exec_backward(exec), REMAT_OK);
    assert_int_equal(remat_exec_value(exec, loss, &data), REMAT_OK);
    assert_true(*(const double *)data == remat_exec_loss(exec));
    assert_int_equal(remat_exec_backward(exec), REMAT_CONSUMED);
    expect_says(exec, "options.retain");
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    remat_exec_destroy(exec);
}

static void a_refused_backward_changes_no_gradient(void **state)
{
    (void)state;
    remat_var loss = net_loss(&net, record_layers(net_input(&net), 3));
    remat_exec *exec = make_plain_exec(loss);
    double before[NET_LEAVES][NET_WIDTH];
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    memcpy(before, net.gradients, sizeof before);
    assert_int_equal(remat_exec_backward(exec), REMAT_CONSUMED);
    assert_memory_equal(before, net.gradients, sizeof before);
    remat_exec_destroy(exec);
}

static void null_arguments_are_refused(void **state)
{
    (void)state;
    const void *data;
    remat_exec_statistics statistics = {.steps = 7};
    remat_var loss = net_loss(&net, record_layers(net_input(&net), 1));
    assert_int_equal(remat_exec_create(NULL, loss, NULL, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_exec_create(net.tape, loss, NULL, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_exec_step(NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_exec_forward(NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_exec_backward(NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_exec_value(NULL, loss, &data), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_exec_gradient(NULL, loss, &data), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_exec_zero_gradients(NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_exec_update(NULL, loss), REMAT_INVALID_ARGUMENT);
    assert_true(isnan(remat_exec_loss(NULL)) != 0);
    assert_null(remat_exec_plan(NULL));
    assert_non_null(remat_exec_message(NULL));
    remat_exec_get_statistics(NULL, &statistics);
    assert_int_equal(statistics.steps, 0);
    remat_exec_set_step(NULL, 1);
    remat_exec_destroy(NULL);
    remat_exec *exec = make_plain_exec(loss);
    assert_int_equal(remat_exec_value(exec, loss, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_exec_value(exec, (remat_var){0}, &data), REMAT_INVALID_HANDLE);
    assert_int_equal(remat_exec_gradient(exec, (remat_var){12}, &data), REMAT_INVALID_HANDLE);
    remat_exec_destroy(exec);
}

static void options_are_checked(void **state)
{
    (void)state;
    remat_exec *exec = NULL;
    remat_var x = net_input(&net), y = record_layers(x, 1), loss = net_loss(&net, y);
    remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
    o.strategy = (remat_strategy)77;
    assert_int_equal(remat_exec_create(net.tape, loss, &o, &exec), REMAT_INVALID_ARGUMENT);
    o = (remat_exec_options){.forward_only = true, .retain = true};
    assert_int_equal(remat_exec_create(net.tape, loss, &o, &exec), REMAT_INVALID_ARGUMENT);
    remat_allocator broken = {0};
    o = (remat_exec_options){.allocator = &broken};
    assert_int_equal(remat_exec_create(net.tape, loss, &o, &exec), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_exec_create(net.tape, y, NULL, &exec), REMAT_SHAPE_MISMATCH);
    assert_non_null(strstr(remat_tape_message(net.tape), "f64[4]"));
    assert_int_equal(remat_exec_create(net.tape, x, NULL, &exec), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_exec_create(net.tape, (remat_var){0}, NULL, &exec),
                     REMAT_INVALID_HANDLE);
    char arena[256];
    o = (remat_exec_options){.arena = arena + (64 - (uintptr_t)arena % 64) + 8, .arena_bytes = 64};
    assert_int_equal(remat_exec_create(net.tape, loss, &o, &exec), REMAT_INVALID_ARGUMENT);
    assert_null(exec);
    assert_int_equal(remat_tape_status(net.tape), REMAT_OK); /* none of these sticks */
    remat_exec_destroy(make_plain_exec(loss));
}

/* ---- Step numbers ----------------------------------------------------------------------------*/

/* The number set is that of the next forward pass; the backward pass belongs to the last one. */
static void setting_the_step_does_not_disturb_the_pass_under_way(void **state)
{
    (void)state;
    remat_var x = net_input(&net);
    for (size_t i = 0; i < 4; i++) {
        remat_segment_begin(net.tape, NULL);
        x = fake_apply1(net.tape, &fake_noise, net_layer(&net, x));
        remat_segment_end(net.tape);
    }
    double expected[NET_LEAVES][NET_WIDTH];
    remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
    o.verify_replay = true;
    o.retain = true;
    remat_exec *exec = make_exec(net_loss(&net, x), o);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    memcpy(expected, net.gradients, sizeof expected);
    assert_int_equal(remat_exec_zero_gradients(exec), REMAT_OK);
    remat_exec_set_step(exec, 0);
    assert_int_equal(remat_exec_forward(exec), REMAT_OK);
    remat_exec_set_step(exec, 1000);
    assert_int_equal(remat_exec_backward(exec), REMAT_OK);
    assert_memory_equal(net.gradients, expected, sizeof expected);
    remat_exec_destroy(exec);
}

/* ---- Leaves ----------------------------------------------------------------------------------*/

static void unbound_leaves_are_named(void **state)
{
    (void)state;
    double data[NET_WIDTH] = {1, 2, 3, 4}, gradient[NET_WIDTH] = {0};
    remat_var x = remat_input(net.tape, "images", REMAT_F64, REMAT_SHAPE(NET_WIDTH), NULL);
    remat_var unused = remat_input(net.tape, "unused", REMAT_F64, REMAT_SHAPE(NET_WIDTH), NULL);
    assert_int_equal(remat_request_gradient(net.tape, x, gradient), REMAT_OK);
    remat_exec *exec = make_plain_exec(net_loss(&net, record_layers(x, 2)));
    assert_int_equal(remat_exec_step(exec), REMAT_UNBOUND);
    expect_says(exec, "images");
    expect_says(exec, "remat_bind()");
    assert_int_equal(remat_bind(net.tape, x, data), REMAT_OK);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    double first = remat_exec_loss(exec);
    double other[NET_WIDTH] = {-1, 5, 0, 2}, other_gradient[NET_WIDTH] = {0};
    assert_int_equal(remat_exec_forward(exec), REMAT_OK);
    assert_int_equal(remat_bind(net.tape, x, other), REMAT_OK); /* from the next forward pass on */
    assert_int_equal(remat_bind_gradient(net.tape, x, other_gradient), REMAT_OK);
    double twice = gradient[0];
    assert_int_equal(remat_exec_backward(exec), REMAT_OK);
    assert_true(remat_exec_loss(exec) == first && gradient[0] == 2 * twice);
    assert_true(other_gradient[0] == 0);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    assert_true(remat_exec_loss(exec) != first && gradient[0] == 2 * twice);
    assert_true(other_gradient[0] != 0);
    assert_int_equal(remat_bind(net.tape, x, NULL), REMAT_OK);
    assert_int_equal(remat_exec_step(exec), REMAT_UNBOUND);
    assert_int_equal(remat_bind(net.tape, x, other), REMAT_OK);
    assert_int_equal(remat_request_gradient(net.tape, x, NULL), REMAT_OK);
    assert_int_equal(remat_exec_step(exec), REMAT_UNBOUND);
    expect_says(exec, "images");
    assert_true(unused.id != 0);
    remat_exec_destroy(exec);
}

static void binding_is_checked(void **state)
{
    (void)state;
    double buffer[NET_WIDTH];
    remat_var x = net_input(&net), y = net_layer(&net, x);
    assert_int_equal(remat_bind(net.tape, y, buffer), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_bind_gradient(net.tape, x, buffer), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_request_gradient(net.tape, x, NULL), REMAT_OK);
    assert_int_equal(remat_bind_gradient(net.tape, x, buffer), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_request_gradient(net.tape, x, buffer), REMAT_OK);
    assert_int_equal(remat_bind_gradient(net.tape, x, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_tape_status(net.tape), REMAT_OK);
    assert_int_equal(remat_bind(NULL, x, buffer), REMAT_INVALID_ARGUMENT);
}

/* ---- Reading ---------------------------------------------------------------------------------*/

static void values_and_gradients_are_read_where_kept(void **state)
{
    (void)state;
    const void *data;
    remat_var x = net_input(&net), y = record_layers(x, 2), z = net_layer(&net, y);
    remat_var loss = net_loss(&net, z), after;
    double buffer[NET_WIDTH] = {0};
    assert_int_equal(remat_request_gradient(net.tape, y, NULL), REMAT_OK);
    assert_int_equal(remat_request_gradient(net.tape, z, buffer), REMAT_OK);
    remat_exec *exec = make_plain_exec(loss);
    assert_int_equal(remat_exec_gradient(exec, y, &data), REMAT_OUT_OF_ORDER);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    assert_int_equal(remat_exec_value(exec, x, &data), REMAT_OK);
    assert_ptr_equal(data, net.data[0]);
    assert_int_equal(remat_exec_value(exec, y, &data), REMAT_NOT_KEPT);
    expect_says(exec, "remat_keep()");
    assert_int_equal(remat_exec_gradient(exec, y, &data), REMAT_OK);
    assert_true(((const double *)data)[0] != 0);
    assert_int_equal(remat_exec_gradient(exec, z, &data), REMAT_OK);
    assert_ptr_equal(data, buffer);
    assert_true(buffer[0] != 0);
    assert_int_equal(remat_exec_gradient(exec, x, &data), REMAT_NOT_KEPT);
    expect_says(exec, "remat_request_gradient()");
    /* What is recorded or requested later is not of this exec. */
    double late[NET_WIDTH] = {0};
    after = net_layer(&net, z);
    assert_int_equal(remat_exec_value(exec, after, &data), REMAT_INVALID_HANDLE);
    assert_int_equal(remat_request_gradient(net.tape, x, late), REMAT_OK);
    assert_int_equal(remat_exec_gradient(exec, x, &data), REMAT_NOT_KEPT);
    assert_int_equal(remat_request_gradient(net.tape, y, late), REMAT_OK);
    if (remat_exec_gradient(exec, y, &data) == REMAT_OK)
        assert_ptr_not_equal(data, late);
    assert_int_equal(remat_exec_step(exec), REMAT_OK); /* the old record still runs */
    remat_exec_destroy(exec);
}

/* A loss that is a view of the caller's memory. */
static void a_loss_may_be_a_view_of_a_leaf(void **state)
{
    (void)state;
    double data = 0.75, gradient = 0;
    remat_var w = remat_parameter(net.tape, NULL, REMAT_F64, REMAT_SHAPE(1), &data, &gradient);
    remat_exec *exec = make_plain_exec(fake_reshape(net.tape, w, REMAT_SCALAR));
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    assert_true(remat_exec_loss(exec) == 0.75);
    assert_true(gradient == 1);
    remat_exec_destroy(exec);
}

/* No statement at all: the seed goes into the gradient. */
static void a_leaf_may_be_seeded(void **state)
{
    (void)state;
    double seed[NET_WIDTH] = {1, 2, 3, 4};
    remat_var w = net_parameter(&net);
    assert_int_equal(remat_seed_gradient(net.tape, w, seed), REMAT_OK);
    remat_exec *exec = make_plain_exec((remat_var){0});
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    assert_true(net.gradients[0][3] == 8);
    assert_true(isnan(remat_exec_loss(exec)) != 0);
    remat_exec_destroy(exec);
}

static void a_step_without_gradients_is_a_forward_pass(void **state)
{
    (void)state;
    remat_plan_summary summary;
    remat_exec *exec =
        make_plain_exec(net_loss(&net, net_probe(&net, net_probe(&net, net_input(&net)))));
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    remat_plan_summarize(remat_exec_plan(exec), &summary);
    assert_int_equal(summary.backward_runs, 0);
    assert_int_equal(summary.gradient_bytes, 0);
    remat_exec_destroy(exec);
}

static void forward_only_frees_at_the_last_use(void **state)
{
    (void)state;
    const void *data;
    remat_plan_summary summary;
    remat_var x = net_input(&net), y = x;
    for (size_t i = 0; i < 20; i++) /* matmul works in place nowhere */
        y = fake_apply2(net.tape, &fake_matmul, fake_reshape(net.tape, y, REMAT_SHAPE(2, 2)),
                        fake_reshape(net.tape, x, REMAT_SHAPE(2, 2)));
    remat_exec *exec = make_exec(y, (remat_exec_options){.forward_only = true, .poison = true});
    remat_plan_summarize(remat_exec_plan(exec), &summary);
    assert_int_equal(summary.arena_bytes, 2 * 64); /* two at a time */
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    assert_int_equal(remat_exec_value(exec, y, &data), REMAT_OK);
    assert_true(isfinite(((const double *)data)[0]) != 0);
    assert_int_equal(remat_exec_backward(exec), REMAT_OUT_OF_ORDER);
    expect_says(exec, "forward_only");
    assert_int_equal(remat_exec_gradient(exec, y, &data), REMAT_NOT_KEPT);
    remat_exec_destroy(exec);
}

/* After a step nothing but what is held can be read. */
static void poison_overwrites_what_is_dropped(void **state)
{
    (void)state;
    _Alignas(64) static unsigned char arena[8192];
    const void *data;
    remat_var y = record_layers(net_input(&net), 3), loss = net_loss(&net, y);
    assert_int_equal(remat_request_gradient(net.tape, y, NULL), REMAT_OK);
    remat_exec *exec = make_exec(
        loss, (remat_exec_options){.poison = true, .arena = arena, .arena_bytes = sizeof arena});
    remat_plan_summary summary;
    remat_plan_summarize(remat_exec_plan(exec), &summary);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    size_t clean = 0;
    for (size_t i = 0; i < summary.arena_bytes; i++)
        clean += arena[i] != 0xFF;
    assert_true(clean > 0 && clean <= sizeof(double) * (1 + NET_WIDTH));
    assert_int_equal(remat_exec_value(exec, loss, &data), REMAT_OK);
    memset(arena + ((const unsigned char *)data - arena), 0xFF, sizeof(double));
    assert_int_equal(remat_exec_gradient(exec, y, &data), REMAT_OK);
    memset(arena + ((const unsigned char *)data - arena), 0xFF, NET_WIDTH * sizeof(double));
    for (size_t i = 0; i < summary.arena_bytes; i++)
        assert_int_equal(arena[i], 0xFF);
    remat_exec_destroy(exec);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(passes_follow_their_order),
        TEST(a_refused_backward_changes_no_gradient),
        TEST(null_arguments_are_refused),
        TEST(options_are_checked),
        TEST(setting_the_step_does_not_disturb_the_pass_under_way),
        TEST(unbound_leaves_are_named),
        TEST(binding_is_checked),
        TEST(values_and_gradients_are_read_where_kept),
        TEST(a_loss_may_be_a_view_of_a_leaf),
        TEST(a_leaf_may_be_seeded),
        TEST(a_step_without_gradients_is_a_forward_pass),
        TEST(poison_overwrites_what_is_dropped),
        TEST(forward_only_frees_at_the_last_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
