/* test_scale.c - very long, very wide and very deep tapes on a thread with a small stack, and very
 * many steps: nothing recurses with the tape, nothing leaks, nothing grows. */
#define _POSIX_C_SOURCE 200809L /* PTHREAD_STACK_MIN */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/counting_allocator.h"
#include "core/support/fake_ops.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_BYTES ((size_t)1 << 20) /* instrumented frames are several times as large */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STACK_BYTES ((size_t)1 << 20)
#endif
#endif
#ifndef STACK_BYTES
#define STACK_BYTES ((size_t)64 << 10)
#endif

/* ---- A thread with a small stack -------------------------------------------------------------*/

/* cmocka's asserts belong to the main thread: a job says what failed. */
typedef struct job {
    const char *(*run)(void);
    const char *failure;
} job;

static void *run_job(void *argument)
{
    job *j = argument;
    j->failure = j->run();
    return NULL;
}

static void run_on_small_stack(const char *(*run)(void))
{
    job j = {run, NULL};
    pthread_t thread;
    pthread_attr_t attributes;
    size_t stack =
        STACK_BYTES < (size_t)PTHREAD_STACK_MIN ? (size_t)PTHREAD_STACK_MIN : STACK_BYTES;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, stack), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_job, &j), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    if (j.failure)
        fail_msg("%s", j.failure);
}

#define REQUIRE(condition)     \
    do {                       \
        if (!(condition))      \
            return #condition; \
    } while (0)

/* ---- Networks --------------------------------------------------------------------------------*/

enum { WIDTH = 16 };

typedef struct network {
    remat_tape *tape;
    float input[WIDTH], *weights, *gradients; /* [layers, WIDTH] */
    size_t n_layers;
} network;

static bool network_create(network *n, size_t n_layers)
{
    *n = (network){.n_layers = n_layers};
    n->weights = calloc(n_layers * WIDTH, sizeof *n->weights);
    n->gradients = calloc(n_layers * WIDTH, sizeof *n->gradients);
    for (size_t i = 0; n->weights && i < n_layers * WIDTH; i++)
        n->weights[i] = (float)(1 + i % 5) / 8;
    for (size_t i = 0; i < WIDTH; i++)
        n->input[i] = (float)(1 + i) / 16;
    return n->weights && n->gradients && remat_tape_create(NULL, &n->tape) == REMAT_OK;
}

static void network_destroy(network *n)
{
    remat_tape_destroy(n->tape);
    free(n->weights);
    free(n->gradients);
}

static remat_var input(network *n)
{
    return remat_input(n->tape, NULL, REMAT_F32, REMAT_SHAPE(WIDTH), n->input);
}

/* Four statements, of which the backward pass reads three results; one crosses to the next layer.
 */
static remat_var layer(network *n, size_t i, remat_var x)
{
    remat_var w = remat_parameter(n->tape, NULL, REMAT_F32, REMAT_SHAPE(WIDTH),
                                  n->weights + i * WIDTH, n->gradients + i * WIDTH);
    remat_var h = fake_apply1(n->tape, &fake_softsign, fake_apply2(n->tape, &fake_add, x, w));
    return fake_apply1(n->tape, &fake_leaky, fake_apply1(n->tape, &fake_softsign, h));
}

/* Two steps; leaves what they add to the gradients in *gradients, which is zero before. */
static const char *run(network *n, remat_var loss, remat_strategy strategy, float *gradients,
                       remat_exec_statistics *statistics, remat_plan_summary *summary)
{
    size_t bytes = n->n_layers * WIDTH * sizeof *gradients;
    remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
    remat_exec *exec = NULL;
    o.strategy = strategy;
    REQUIRE(gradients);
    REQUIRE(remat_exec_create(n->tape, loss, &o, &exec) == REMAT_OK);
    REQUIRE(remat_exec_zero_gradients(exec) == REMAT_OK);
    REQUIRE(remat_exec_step(exec) == REMAT_OK);
    REQUIRE(remat_exec_step(exec) == REMAT_OK);
    memcpy(gradients, n->gradients, bytes);
    remat_exec_get_statistics(exec, statistics);
    remat_plan_summarize(remat_exec_plan(exec), summary);
    REQUIRE(statistics->measured_peak_bytes == summary->arena_bytes);
    remat_exec_destroy(exec);
    return NULL;
}

/* Under segments and keep-all, compared; destroys the network. */
static const char *train(network *n, remat_var loss, remat_exec_statistics *statistics,
                         remat_plan_summary *summary)
{
    size_t count = n->n_layers * WIDTH;
    remat_exec_statistics other;
    remat_plan_summary keep_all;
    float *a = calloc(count, sizeof *a), *b = calloc(count, sizeof *b);
    const char *failure = run(n, loss, REMAT_STRATEGY_SEGMENTS, a, statistics, summary);
    if (!failure)
        failure = run(n, loss, REMAT_STRATEGY_KEEP_ALL, b, &other, &keep_all);
    if (!failure && memcmp(a, b, count * sizeof *a) != 0)
        failure = "gradients differ from keep-all's";
    if (!failure && (a[count - 1] == 0 || keep_all.arena_bytes != summary->keep_all_bytes))
        failure = "the network is trivial, or keep-all differs from the summary";
    free(a);
    free(b);
    network_destroy(n);
    return failure;
}

/* ---- Shapes of tapes -------------------------------------------------------------------------*/

static const char *a_chain_of_segments(void)
{
    enum { LAYERS = 100000 };
    network n;
    remat_exec_statistics statistics;
    remat_plan_summary summary;
    REQUIRE(network_create(&n, LAYERS));
    remat_var x = input(&n);
    for (size_t i = 0; i < LAYERS; i++) {
        REQUIRE(remat_segment_begin(n.tape, NULL) == REMAT_OK);
        x = layer(&n, i, x);
        REQUIRE(remat_segment_end(n.tape) == REMAT_OK);
    }
    const char *failure = train(&n, fake_apply1(n.tape, &fake_sum, x), &statistics, &summary);
    if (failure)
        return failure;
    REQUIRE(statistics.replays == 2 * (LAYERS - 1)); /* the last segment's are still there */
    REQUIRE(summary.arena_bytes * 10 < summary.keep_all_bytes * 4);
    return NULL;
}

static const char *segments_side_by_side(void)
{
    enum { LAYERS = 10000, FAN = 25 };
    static remat_var ends[LAYERS];
    network n;
    remat_exec_statistics statistics;
    remat_plan_summary summary;
    REQUIRE(network_create(&n, LAYERS));
    remat_var x = input(&n);
    for (size_t i = 0; i < LAYERS; i++) {
        REQUIRE(remat_segment_begin(n.tape, NULL) == REMAT_OK);
        ends[i] = layer(&n, i, x);
        REQUIRE(remat_segment_end(n.tape) == REMAT_OK);
    }
    for (size_t left = LAYERS; left > 1; left = (left + FAN - 1) / FAN)
        for (size_t i = 0; i * FAN < left; i++) {
            size_t take = left - i * FAN < FAN ? left - i * FAN : FAN;
            ends[i] = fake_record(n.tape, &fake_add, NULL, take, ends + i * FAN);
        }
    const char *failure = train(&n, fake_apply1(n.tape, &fake_sum, ends[0]), &statistics, &summary);
    if (failure)
        return failure;
    REQUIRE(statistics.replays == 2 * (LAYERS - 1));
    return NULL;
}

static const char *deep_nesting(void)
{
    enum { LAYERS = 2000 };
    network n;
    remat_exec_statistics statistics;
    remat_plan_summary summary;
    REQUIRE(network_create(&n, LAYERS));
    remat_var x = input(&n);
    for (size_t i = 0; i < LAYERS; i++) {
        REQUIRE(remat_segment_begin(n.tape, "outer") == REMAT_OK);
        REQUIRE(remat_segment_begin(n.tape, "inner") == REMAT_OK);
        x = layer(&n, i, x);
        REQUIRE(remat_segment_end(n.tape) == REMAT_OK);
    }
    for (size_t i = 0; i < LAYERS; i++)
        REQUIRE(remat_segment_end(n.tape) == REMAT_OK);
    const char *failure = train(&n, fake_apply1(n.tape, &fake_sum, x), &statistics, &summary);
    if (failure)
        return failure;
    REQUIRE(statistics.replays == 2 * (LAYERS - 1));
    return NULL;
}

static const char *a_long_tape(void)
{
    enum { LAYERS = 25000 }; /* 10^5 statements */
    network n;
    remat_exec_statistics statistics;
    remat_plan_summary summary;
    REQUIRE(network_create(&n, LAYERS));
    remat_var x = input(&n);
    for (size_t i = 0; i < LAYERS; i++)
        x = layer(&n, i, x);
    remat_var loss = fake_apply1(n.tape, &fake_sum, x);
    REQUIRE(remat_tape_statement_count(n.tape) == 4 * LAYERS + 1);
    remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
    remat_plan *plan = NULL;
    o.strategy = REMAT_STRATEGY_SQRT;
    REQUIRE(remat_plan_create(n.tape, loss, &o, &plan) == REMAT_OK);
    remat_plan_summarize(plan, &summary);
    REQUIRE(summary.arena_bytes * 40 < summary.keep_all_bytes);
    remat_plan_destroy(plan);
    return train(&n, loss, &statistics, &summary);
}

static void test_a_chain_of_segments(void **state)
{
    (void)state;
    run_on_small_stack(a_chain_of_segments);
}

static void test_segments_side_by_side(void **state)
{
    (void)state;
    run_on_small_stack(segments_side_by_side);
}

static void test_deep_nesting(void **state)
{
    (void)state;
    run_on_small_stack(deep_nesting);
}

static void test_a_long_tape(void **state)
{
    (void)state;
    run_on_small_stack(a_long_tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chain_of_segments), cmocka_unit_test(test_segments_side_by_side),
        cmocka_unit_test(test_deep_nesting), cmocka_unit_test(test_a_long_tape)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
