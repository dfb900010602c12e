/* trial.c - see trial.h. */
#include "support/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- Leaves ----------------------------------------------------------------------------------*/

static float number(size_t leaf, size_t i)
{
    uint64_t z = ((uint64_t)leaf << 32 | i) * 0x9E3779B97F4A7C15U + 0x632BE59BD9B4E019U;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return (float)((double)(z >> 40) / (double)(1 << 23) - 1);
}

/* A fresh leaf's data; its number in *leaf. */
static void *next_leaf(trial *t, const remat_shape *shape, bool with_gradient, size_t *leaf)
{
    const size_t count = (size_t)remat_shape_count(shape);
    *leaf = t->n_leaves++;
    assert_true(*leaf < TRIAL_LEAVES);
    t->data[*leaf] = op_buffer_create(count * sizeof(float), 0, 0xFF);
    for (size_t i = 0; i < count; i++)
        ((float *)t->data[*leaf].data)[i] = number(*leaf, i);
    if (with_gradient)
        t->gradient[*leaf] = op_buffer_create(count * sizeof(float), 0, 0);
    return t->data[*leaf].data;
}

remat_var trial_parameter(trial *t, remat_shape shape)
{
    size_t leaf;
    void *data = next_leaf(t, &shape, true, &leaf);
    t->changes[leaf] = true;
    return remat_parameter(t->tape, NULL, REMAT_F32, shape, data, t->gradient[leaf].data);
}

remat_var trial_input_with_gradient(trial *t, remat_shape shape)
{
    size_t leaf;
    const remat_var x =
        remat_input(t->tape, NULL, REMAT_F32, shape, next_leaf(t, &shape, true, &leaf));
    remat_request_gradient(t->tape, x, t->gradient[leaf].data);
    return x;
}

remat_var trial_input(trial *t, remat_shape shape)
{
    size_t leaf;
    return remat_input(t->tape, NULL, REMAT_F32, shape, next_leaf(t, &shape, false, &leaf));
}

remat_var trial_constant(trial *t, remat_shape shape)
{
    size_t leaf;
    return remat_constant(t->tape, NULL, REMAT_F32, shape, next_leaf(t, &shape, false, &leaf));
}

remat_var trial_labels(trial *t, remat_shape shape, int32_t classes)
{
    size_t leaf;
    void *data = next_leaf(t, &shape, false, &leaf);
    const size_t count = (size_t)remat_shape_count(&shape);
    for (size_t i = 0; i < count; i++)
        ((int32_t *)data)[i] = (int32_t)(i * 7 % (size_t)classes);
    return remat_input(t->tape, NULL, REMAT_I32, shape, data);
}

/* ---- Parts of networks -----------------------------------------------------------------------*/

void trial_segment_begin(trial *t)
{
    assert_int_equal(remat_segment_begin(t->tape, NULL), REMAT_OK);
}

void trial_segment_end(trial *t)
{
    assert_int_equal(remat_segment_end(t->tape), REMAT_OK);
}

remat_var trial_dense(trial *t, remat_var x, int64_t in, int64_t out)
{
    const remat_var weight = trial_parameter(t, REMAT_SHAPE(out, in));
    return remat_linear(t->tape, x, weight, trial_parameter(t, REMAT_SHAPE(out)));
}

remat_var trial_mean_square(trial *t, remat_var x)
{
    return remat_mean(t->tape, remat_square(t->tape, x), NULL, 0, false);
}

/* ---- One training ----------------------------------------------------------------------------*/

remat_var trial_open(trial *t, const trial_network *network)
{
    *t = (trial){0};
    assert_int_equal(remat_tape_create(NULL, &t->tape), REMAT_OK);
    const remat_var loss = network->record(t, network->context);
    if (remat_tape_status(t->tape) != REMAT_OK)
        fail_msg("recording: %s", remat_tape_message(t->tape));
    return loss;
}

void trial_close(trial *t)
{
    remat_tape_destroy(t->tape);
    for (size_t i = 0; i < t->n_leaves; i++) {
        assert_true(op_buffer_intact(&t->data[i]) && op_buffer_intact(&t->gradient[i]));
        op_buffer_destroy(&t->data[i]);
        op_buffer_destroy(&t->gradient[i]);
    }
}

remat_exec *trial_exec(const trial *t, remat_var loss, remat_exec_options options)
{
    remat_exec *exec = NULL;
    if (remat_exec_create(t->tape, loss, &options, &exec) != REMAT_OK)
        fail_msg("%s", remat_tape_message(t->tape));
    return exec;
}

/* Everything that a training leaves behind. */
typedef struct outcome {
    unsigned char *bytes;
    size_t count;
    uint64_t replays;
    bool trivial; /* there are gradients, but all are zero */
} outcome;

static void append(outcome *o, const void *data, size_t bytes)
{
    o->bytes = realloc(o->bytes, o->count + bytes + 1);
    assert_non_null(o->bytes);
    if (bytes > 0)
        memcpy(o->bytes + o->count, data, bytes);
    o->count += bytes;
}

static void update(const trial *t)
{
    for (size_t i = 0; i < t->n_leaves; i++)
        for (size_t k = 0; t->changes[i] && k < t->data[i].bytes / sizeof(float); k++)
            ((float *)t->data[i].data)[k] -= 0.05F * ((const float *)t->gradient[i].data)[k];
}

static void check_peak(const remat_exec *exec, const remat_exec_options *options)
{
    remat_exec_statistics s;
    remat_plan_summary m;
    remat_exec_get_statistics(exec, &s);
    remat_plan_summarize(remat_exec_plan(exec), &m);
    assert_int_equal(s.measured_peak_bytes, s.planned_peak_bytes);
    assert_true(m.arena_bytes <= m.keep_all_bytes);
    assert_true(options->budget_bytes == 0 || m.arena_bytes <= options->budget_bytes);
    assert_int_equal(m.boundary_bytes + m.replayed_bytes + m.gradient_bytes + m.workspace_bytes +
                         m.alignment_bytes,
                     m.live_bytes);
    assert_true(s.replays == m.replays);
}

static bool is_trivial(const trial *t)
{
    bool asked = false;
    for (size_t i = 0; i < t->n_leaves; i++)
        for (size_t k = 0; k < t->gradient[i].bytes / sizeof(float); k++) {
            asked = true;
            if (((const float *)t->gradient[i].data)[k] != 0)
                return false;
        }
    return asked;
}

static outcome train(const trial_network *network, const remat_exec_options *options)
{
    trial t;
    outcome o = {0};
    const remat_var loss = trial_open(&t, network);
    remat_exec *exec = trial_exec(&t, loss, *options);
    const size_t steps = network->steps ? network->steps : TRIAL_STEPS;
    for (size_t step = 0; step < steps; step++) {
        if (!options->overwrite_gradients)
            assert_int_equal(remat_exec_zero_gradients(exec), REMAT_OK);
        if (remat_exec_step(exec) != REMAT_OK)
            fail_msg("%s", remat_exec_message(exec));
        const double value = remat_exec_loss(exec);
        append(&o, &value, sizeof value);
        update(&t);
    }
    for (size_t i = 0; i < t.n_leaves; i++) {
        append(&o, t.data[i].data, t.data[i].bytes);
        append(&o, t.gradient[i].data, t.gradient[i].bytes);
    }
    append(&o, network->context, network->context_bytes);
    check_peak(exec, options);
    o.trivial = is_trivial(&t);
    remat_exec_statistics statistics;
    remat_exec_get_statistics(exec, &statistics);
    o.replays = statistics.replays;
    remat_exec_destroy(exec);
    trial_close(&t);
    return o;
}

/* ---- Differences -----------------------------------------------------------------------------*/

static double loss_at(const trial *t, remat_exec *exec, double distance)
{
    for (size_t i = 0; i < t->n_leaves; i++)
        for (size_t k = 0; k < t->gradient[i].bytes / sizeof(float); k++)
            ((float *)t->data[i].data)[k] += (float)distance * ((float *)t->gradient[i].data)[k];
    remat_exec_set_step(exec, 0); /* the same random numbers */
    assert_int_equal(remat_exec_forward(exec), REMAT_OK);
    return remat_exec_loss(exec);
}

/* Along the gradient g the loss changes by |g|^2: what is missing in g, or too much, shows. */
static void check_slope(const trial_network *network)
{
    trial t;
    double square = 0;
    const remat_var loss = trial_open(&t, network);
    remat_exec *exec = trial_exec(&t, loss, (remat_exec_options){0});
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    for (size_t i = 0; i < t.n_leaves; i++)
        for (size_t k = 0; k < t.gradient[i].bytes / sizeof(float); k++)
            square += pow((double)((const float *)t.gradient[i].data)[k], 2);
    if (!(square > 0))
        fail_msg("loss %g has a gradient of length^2 %g", remat_exec_loss(exec), square);
    const double distance = 0.003 / sqrt(square);
    const double above = loss_at(&t, exec, distance), below = loss_at(&t, exec, -2 * distance);
    const double slope = (above - below) / (2 * distance);
    if (!(fabs(slope - square) < 0.02 * square))
        fail_msg("along the gradient the loss grows by %g, expected %g", slope, square);
    remat_exec_destroy(exec);
    trial_close(&t);
}

/* ---- Many ------------------------------------------------------------------------------------*/

typedef struct comparison {
    const trial_network *network;
    void *before; /* the context as the caller gave it */
    outcome reference;
    size_t with_replays;
} comparison;

static void restore(const comparison *c)
{
    if (c->network->context_bytes > 0)
        memcpy(c->network->context, c->before, c->network->context_bytes);
}

static void compare_begin(comparison *c, const trial_network *network)
{
    *c = (comparison){.network = network, .before = malloc(network->context_bytes + 1)};
    assert_non_null(c->before);
    if (network->context_bytes > 0)
        memcpy(c->before, network->context, network->context_bytes);
    const remat_exec_options keep_all = {.strategy = REMAT_STRATEGY_KEEP_ALL};
    c->reference = train(network, &keep_all);
    assert_false(c->reference.trivial);
    double first;
    memcpy(&first, c->reference.bytes, sizeof first);
    assert_true(first == first || c->reference.count == 0); /* NaN would hide differences */
}

static uint64_t compare_with(comparison *c, remat_exec_options options)
{
    restore(c);
    outcome o = train(c->network, &options);
    assert_int_equal(o.count, c->reference.count);
    for (size_t i = 0; i < o.count; i++)
        if (o.bytes[i] != c->reference.bytes[i])
            fail_msg("%s, budget %zu%s%s%s: byte %zu of %zu differs (losses come first, then the "
                     "leaves)",
                     remat_strategy_name(options.strategy), options.budget_bytes,
                     options.poison ? ", poison" : "", options.separate_buffers ? ", separate" : "",
                     options.retain ? ", retain" : "", i, o.count);
    free(o.bytes);
    c->with_replays += o.replays > 0;
    return o.replays;
}

static void compare_end(comparison *c)
{
    restore(c);
    free(c->reference.bytes);
    free(c->before);
}

static void compare_strategies(comparison *c)
{
    static const remat_exec_options modes[] = {
        {0},
        {.poison = true, .verify_replay = true},
        {.separate_buffers = true, .verify_replay = true},
        {.poison = true, .retain = true, .overwrite_gradients = true},
    };
    for (int strategy = 0; strategy < REMAT_STRATEGY_COUNT; strategy++)
        for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
            remat_exec_options o = modes[i];
            o.strategy = (remat_strategy)strategy;
            o.effort = REMAT_EFFORT_FAST;
            compare_with(c, o);
        }
}

/* Sizes of the smallest plan and of keep-all; one byte less than the smallest is refused. */
static void find_limits(const comparison *c, size_t *least, size_t *most)
{
    trial t;
    remat_plan *plan = NULL;
    remat_plan_summary m;
    remat_exec_options o = {.effort = REMAT_EFFORT_FAST, .strategy = REMAT_STRATEGY_KEEP_ALL};
    restore(c);
    const remat_var loss = trial_open(&t, c->network);
    assert_int_equal(remat_plan_create(t.tape, loss, &o, &plan), REMAT_OK);
    remat_plan_summarize(plan, &m);
    remat_plan_destroy(plan);
    *most = m.arena_bytes;
    o.strategy = REMAT_STRATEGY_AUTO;
    assert_int_equal(remat_plan_min_budget(t.tape, loss, &o, least), REMAT_OK);
    assert_true(*least <= *most);
    o.budget_bytes = *least - 1;
    if (*least > 1) {
        char bytes[32];
        snprintf(bytes, sizeof bytes, "(%zu bytes)", *least);
        assert_int_equal(remat_plan_create(t.tape, loss, &o, &plan), REMAT_INFEASIBLE_BUDGET);
        assert_non_null(strstr(remat_tape_message(t.tape), bytes));
    }
    trial_close(&t);
}

static void compare_budgets(comparison *c)
{
    const size_t n = c->network->budgets ? c->network->budgets : 8;
    size_t least, most;
    find_limits(c, &least, &most);
    for (size_t i = 0; i <= n && least > 0; i++) {
        remat_exec_options o = {.effort = REMAT_EFFORT_FAST};
        o.budget_bytes = i == n ? SIZE_MAX : least + (most - least) / (n - 1) * i;
        o.poison = i % 2 == 0;
        o.verify_replay = i % 3 != 0;
        o.separate_buffers = i % 5 == 3;
        compare_with(c, o);
    }
}

size_t trial_check(const trial_network *network)
{
    comparison c;
    if (network->smooth)
        check_slope(network);
    compare_begin(&c, network);
    compare_strategies(&c);
    compare_budgets(&c);
    compare_end(&c);
    return c.with_replays;
}

uint64_t trial_check_with(const trial_network *network, remat_exec_options options)
{
    comparison c;
    compare_begin(&c, network);
    const uint64_t replays = compare_with(&c, options);
    compare_end(&c);
    return replays;
}
