/* test_scenarios_networks.c - whole networks: transformers under several levels of recomputation,
 * skip connections, tied weights, one large value, many steps. */
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/spy.h"
#include "support/trial.h"

/* ---- Transformers ----------------------------------------------------------------------------*/

enum { BATCH = 2, TIME = 8, CHANNELS = 16, HEADS = 2, VOCABULARY = 11, BLOCKS = 3 };

static remat_var none(void)
{
    return (remat_var){0};
}

/* [B, T, C] -> [B, H, T, C / H] */
static remat_var heads_of(trial *t, remat_var x)
{
    x = remat_reshape(t->tape, x, REMAT_SHAPE(BATCH, TIME, HEADS, CHANNELS / HEADS));
    return remat_transpose(t->tape, x, 1, 2);
}

static remat_var norm(trial *t, remat_var x, const char *name)
{
    const remat_var weight = trial_parameter(t, REMAT_SHAPE(CHANNELS));
    x = remat_layer_norm(t->tape, x, weight, trial_parameter(t, REMAT_SHAPE(CHANNELS)), 1e-5);
    remat_name(t->tape, x, name);
    return x;
}

static remat_var attention(trial *t, remat_var x)
{
    const remat_var q = heads_of(t, trial_dense(t, x, CHANNELS, CHANNELS));
    const remat_var k = heads_of(t, trial_dense(t, x, CHANNELS, CHANNELS));
    const remat_var v = heads_of(t, trial_dense(t, x, CHANNELS, CHANNELS));
    remat_var scores = remat_scale(t->tape, remat_matmul(t->tape, q, k, false, true), 0.35);
    scores = remat_dropout(t->tape, remat_softmax(t->tape, scores, -1), 0.1);
    remat_var y = remat_transpose(t->tape, remat_matmul(t->tape, scores, v, false, false), 1, 2);
    y = remat_reshape(t->tape, y, REMAT_SHAPE(BATCH, TIME, CHANNELS));
    return trial_dense(t, y, CHANNELS, CHANNELS);
}

/* Pre-norm: two norms of one shape, and residuals from the block's edge. */
static remat_var transformer_block(trial *t, remat_var x)
{
    x = remat_add(t->tape, x, attention(t, norm(t, x, "norm")));
    remat_var h = trial_dense(t, norm(t, x, "norm"), CHANNELS, 4 * CHANNELS);
    h = trial_dense(t, remat_gelu_tanh(t->tape, h), 4 * CHANNELS, CHANNELS);
    return remat_add(t->tape, x, h);
}

/* The same weight maps in and out. */
static remat_var record_transformer(trial *t, void *context)
{
    const bool marked = *(const bool *)context;
    const remat_var tied = trial_parameter(t, REMAT_SHAPE(VOCABULARY, CHANNELS));
    const remat_var tokens = trial_input(t, REMAT_SHAPE(BATCH, TIME, VOCABULARY));
    const remat_var labels = trial_labels(t, REMAT_SHAPE(BATCH, TIME), VOCABULARY);
    remat_var x = remat_matmul(t->tape, tokens, tied, false, false);
    for (int i = 0; i < BLOCKS; i++) {
        if (marked)
            trial_segment_begin(t);
        x = transformer_block(t, x);
        if (marked)
            trial_segment_end(t);
    }
    const remat_var logits = remat_linear(t->tape, norm(t, x, "last norm"), tied, none());
    return remat_cross_entropy(t->tape, logits, labels, NULL);
}

static void a_transformer_trains_alike(void **state)
{
    (void)state;
    for (int marked = 0; marked < 2; marked++) {
        bool context = marked != 0;
        assert_true(
            trial_check(&(trial_network){
                .record = record_transformer, .smooth = true, .context = &context, .budgets = 6}) >
            0);
    }
}

/* 0: nothing; 1: gelu; 2: gelu and norms; 3: whatever can be made again. */
static remat_policy recompute_level(void *context, const char *op, const char *name, size_t bytes)
{
    const int level = *(const int *)context;
    const bool is_norm = name && strcmp(name, "norm") == 0;
    assert_true(bytes > 0);
    if (level == 3 || (level >= 1 && strcmp(op, "gelu_tanh") == 0) || (level >= 2 && is_norm))
        return REMAT_POLICY_RECOMPUTE;
    return REMAT_POLICY_KEEP;
}

/* Which results are dropped changes bytes and replays, never the model. */
static void levels_of_recomputation_agree(void **state)
{
    (void)state;
    bool marked = false;
    const trial_network network = {.record = record_transformer, .context = &marked};
    uint64_t fewer = 0;
    for (int level = 0; level < 4; level++)
        for (int debug = 0; debug < 3; debug++) {
            const uint64_t replays =
                trial_check_with(&network, (remat_exec_options){.policy = recompute_level,
                                                                .policy_context = &level,
                                                                .poison = debug == 1,
                                                                .separate_buffers = debug == 2,
                                                                .verify_replay = debug > 0});
            assert_true(level == 0 ? replays == 0 : replays > fewer || debug > 0);
            assert_true(level != 1 || replays == BLOCKS);
            fewer = replays;
        }
}

/* "Turning it on must not change the model": many steps. */
static void twenty_four_steps_have_the_same_losses(void **state)
{
    (void)state;
    bool marked = true;
    const trial_network network = {.record = record_transformer, .context = &marked, .steps = 24};
    for (int i = 0; i < REMAT_STRATEGY_COUNT; i++)
        trial_check_with(&network, (remat_exec_options){.strategy = (remat_strategy)i,
                                                        .effort = REMAT_EFFORT_FAST,
                                                        .poison = true});
}

/* ---- Skip connections ------------------------------------------------------------------------*/

static remat_var scaled(trial *t, remat_var x, int64_t rows, int64_t out)
{
    const remat_var w = trial_parameter(t, REMAT_SHAPE(out, rows));
    return remat_gelu(t->tape, remat_tanh(t->tape, remat_matmul(t->tape, w, x, false, false)));
}

/* Down to a quarter of the rows and up again; each level's value is added on the way up. */
static remat_var record_u_net(trial *t, void *context)
{
    enum { LEVELS = 3, ROWS = 32, WIDTH = 8 };
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH)), skip[LEVELS];
    (void)context;
    for (int i = 0; i < LEVELS; i++) {
        trial_segment_begin(t);
        skip[i] = scaled(t, x, ROWS >> i, ROWS >> i);
        x = scaled(t, skip[i], ROWS >> i, ROWS >> (i + 1));
        trial_segment_end(t);
    }
    for (int i = LEVELS; i-- > 0;) {
        trial_segment_begin(t);
        x = remat_multiply(t->tape, scaled(t, x, ROWS >> (i + 1), ROWS >> i), skip[i]);
        x = remat_add(t->tape, scaled(t, x, ROWS >> i, ROWS >> i), skip[i]);
        trial_segment_end(t);
    }
    return trial_mean_square(t, x);
}

/* Every layer reads the sum of products with all values before it. */
static remat_var record_dense_net(trial *t, void *context)
{
    enum { LAYERS = 6, ROWS = 4, WIDTH = 16 };
    remat_var made[LAYERS + 1];
    (void)context;
    made[0] = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    for (int i = 0; i < LAYERS; i++) {
        trial_segment_begin(t);
        remat_var sum = trial_dense(t, made[0], WIDTH, WIDTH);
        for (int k = 1; k <= i; k++)
            sum = remat_add(t->tape, sum, trial_dense(t, made[k], WIDTH, WIDTH));
        made[i + 1] = remat_gelu(t->tape, remat_tanh(t->tape, sum));
        trial_segment_end(t);
    }
    return trial_mean_square(t, made[LAYERS]);
}

/* Two losses on one trunk, with one weight in trunk and heads. */
static remat_var record_tied_heads(trial *t, void *context)
{
    enum { ROWS = 4, WIDTH = 16 };
    const remat_var tied = trial_parameter(t, REMAT_SHAPE(WIDTH, WIDTH));
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH)), loss = none();
    (void)context;
    for (int i = 0; i < 4; i++) {
        trial_segment_begin(t);
        x = remat_gelu(t->tape, remat_tanh(t->tape, remat_linear(t->tape, x, tied, none())));
        trial_segment_end(t);
    }
    for (int i = 0; i < 2; i++) {
        trial_segment_begin(t);
        remat_var y = remat_silu(t->tape, remat_linear(t->tape, x, tied, none()));
        y = trial_mean_square(t, trial_dense(t, y, WIDTH, WIDTH));
        trial_segment_end(t);
        loss = i == 0 ? y : remat_add(t->tape, loss, y);
    }
    return loss;
}

/* One boundary has ten times the bytes of the others; `context`: one segment around everything. */
static remat_var record_one_large_value(trial *t, void *context)
{
    enum { ROWS = 4, WIDTH = 16 };
    const bool around = *(const bool *)context;
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    if (around)
        trial_segment_begin(t);
    for (int i = 0; i < 8; i++) {
        const int64_t in = i == 4 ? 10 * WIDTH : WIDTH, out = i == 3 ? 10 * WIDTH : WIDTH;
        if (!around)
            trial_segment_begin(t);
        x = remat_gelu(t->tape, remat_tanh(t->tape, trial_dense(t, x, in, out)));
        if (!around)
            trial_segment_end(t);
    }
    if (around)
        trial_segment_end(t);
    return trial_mean_square(t, x);
}

/* The same blocks on two inputs, losses summed: boundaries of both and one block. */
static remat_var record_blocks_twice(trial *t, void *context)
{
    enum { ROWS = 16, WIDTH = 16, LAYERS = 8 };
    remat_var weights[LAYERS], loss[2];
    (void)context;
    for (int i = 0; i < LAYERS; i++)
        weights[i] = trial_parameter(t, REMAT_SHAPE(WIDTH, WIDTH));
    for (int k = 0; k < 2; k++) {
        remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
        for (int i = 0; i < LAYERS; i++) {
            trial_segment_begin(t);
            x = remat_tanh(t->tape, remat_linear(t->tape, x, weights[i], none()));
            x = remat_silu(t->tape, remat_gelu(t->tape, remat_silu(t->tape, x)));
            trial_segment_end(t);
        }
        loss[k] = trial_mean_square(t, x);
    }
    return remat_add(t->tape, loss[0], loss[1]);
}

/* No plan is larger than keep-all, and measured peaks are planned ones: trial_check() sees to it.
 */
static void networks_that_are_no_chains_train_alike(void **state)
{
    (void)state;
    bool around = false;
    assert_true(trial_check(&(trial_network){.record = record_u_net, .smooth = true}) > 0);
    assert_true(trial_check(&(trial_network){.record = record_dense_net, .smooth = true}) > 0);
    assert_true(trial_check(&(trial_network){.record = record_tied_heads, .smooth = true}) > 0);
    const trial_network large = {.record = record_one_large_value, .context = &around};
    assert_true(trial_check(&large) > 0);
    around = true;
    assert_true(trial_check(&large) > 0);
}

static void blocks_that_run_twice_take_one_block_of_memory(void **state)
{
    (void)state;
    trial t;
    remat_plan_summary m;
    const trial_network network = {.record = record_blocks_twice, .smooth = true};
    assert_true(trial_check(&network) > 0);
    const remat_var loss = trial_open(&t, &network);
    remat_exec *exec =
        trial_exec(&t, loss, (remat_exec_options){.strategy = REMAT_STRATEGY_SEGMENTS});
    remat_plan_summarize(remat_exec_plan(exec), &m);
    const size_t value = 16 * 16 * sizeof(float);
    assert_true(m.boundary_bytes + m.replayed_bytes <= (16 + 5) * value + 64);
    assert_true(m.arena_bytes <= (16 + 5 + 2) * value + 4 * 64);
    remat_exec_destroy(exec);
    trial_close(&t);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_transformer_trains_alike),
        TEST(levels_of_recomputation_agree),
        TEST(twenty_four_steps_have_the_same_losses),
        TEST(networks_that_are_no_chains_train_alike),
        TEST(blocks_that_run_twice_take_one_block_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
