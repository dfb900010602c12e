/* test_budget_networks.c - real networks under budgets: losses and gradients bit for bit those of
 * keep-all under fifty budgets, and arenas that are packed tightly. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/networks.h"

enum { BUDGETS = 50, STEPS = 2 };

/* ---- Training under fifty budgets ------------------------------------------------------------*/

typedef struct results {
    float *numbers; /* of every step: the loss, then all gradients */
    size_t count;
} results;

static void train(const network *net, remat_var loss, const remat_exec_options *options, results *r)
{
    remat_exec *exec = NULL;
    remat_exec_statistics statistics;
    size_t at = 0;
    assert_int_equal(remat_exec_create(net->tape, loss, options, &exec), REMAT_OK);
    for (int step = 0; step < STEPS; step++) {
        assert_int_equal(remat_exec_zero_gradients(exec), REMAT_OK);
        assert_int_equal(remat_exec_step(exec), REMAT_OK);
        r->numbers[at++] = (float)remat_exec_loss(exec);
        assert_true(isfinite(r->numbers[at - 1]));
        for (size_t i = 0; i < net->n_buffers; i++) {
            const network_buffer *b = &net->buffers[i];
            if (!b->gradient)
                continue;
            memcpy(r->numbers + at, b->gradient, b->count * sizeof(float));
            at += b->count;
        }
    }
    assert_int_equal(at, r->count);
    remat_exec_get_statistics(exec, &statistics);
    assert_int_equal(statistics.measured_peak_bytes, statistics.planned_peak_bytes);
    assert_true(options->budget_bytes == 0 ||
                statistics.planned_peak_bytes <= options->budget_bytes);
    remat_exec_destroy(exec);
}

static results make_results(const network *net)
{
    results r = {.count = STEPS};
    for (size_t i = 0; i < net->n_buffers; i++)
        r.count += net->buffers[i].gradient ? STEPS * net->buffers[i].count : 0;
    r.numbers = calloc(r.count, sizeof *r.numbers);
    assert_non_null(r.numbers);
    return r;
}

static size_t keep_all_bytes(const network *net, remat_var loss)
{
    remat_plan *plan = NULL;
    remat_plan_summary summary;
    assert_int_equal(remat_plan_create(net->tape, loss, NULL, &plan), REMAT_OK);
    remat_plan_summarize(plan, &summary);
    remat_plan_destroy(plan);
    return summary.keep_all_bytes;
}

static void check_training(network *net, remat_var loss)
{
    remat_exec_options options = REMAT_EXEC_OPTIONS_INIT;
    results expected = make_results(net), got = make_results(net);
    size_t least = 0, most = keep_all_bytes(net, loss);
    options.seed = 11;
    train(net, loss, &options, &expected);
    assert_int_equal(remat_plan_min_budget(net->tape, loss, &options, &least), REMAT_OK);
    assert_true(least < most * 3 / 4);
    options.poison = options.verify_replay = true;
    for (size_t i = 0; i < BUDGETS; i++) {
        options.budget_bytes =
            i + 1 == BUDGETS ? SIZE_MAX : least + (most - least) * i / (BUDGETS - 2);
        train(net, loss, &options, &got);
        assert_memory_equal(got.numbers, expected.numbers, got.count * sizeof(float));
    }
    free(expected.numbers);
    free(got.numbers);
}

static void mlp_with_dropout_trains_alike(void **state)
{
    (void)state;
    network net;
    network_create(true, &net);
    check_training(&net, network_mlp(&net, 12, 24, 16, 0.25));
    network_destroy(&net);
}

static void transformer_trains_alike(void **state)
{
    (void)state;
    network net;
    network_create(true, &net);
    check_training(&net, network_transformer(&net, 2, 2, 12, 16, 0.1));
    network_destroy(&net);
}

/* ---- Packing ---------------------------------------------------------------------------------*/

static void check_packing(const network *net, remat_var loss)
{
    remat_exec_options options = REMAT_EXEC_OPTIONS_INIT;
    size_t most = keep_all_bytes(net, loss);
    const size_t budgets[] = {0, most * 9 / 10, most * 3 / 4, most * 6 / 10};
    for (size_t i = 0; i < 4; i++) {
        remat_plan *plan = NULL;
        remat_plan_summary summary;
        options.budget_bytes = budgets[i];
        assert_int_equal(remat_plan_create(net->tape, loss, &options, &plan), REMAT_OK);
        remat_plan_summarize(plan, &summary);
        remat_plan_destroy(plan);
        assert_true(summary.arena_bytes >= summary.live_bytes);
        if (summary.arena_bytes - summary.live_bytes > summary.live_bytes / 100)
            fail_msg("budget %zu: arena %zu, live %zu", budgets[i], summary.arena_bytes,
                     summary.live_bytes);
    }
}

static void arenas_are_packed_within_one_per_cent(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        network net;
        network_create(false, &net);
        remat_var loss = i == 0   ? network_mlp(&net, 24, 64, 128, 0.1)
                         : i == 1 ? network_transformer(&net, 6, 2, 128, 256, 0.1)
                         : i == 2 ? network_unet(&net, 4, 4, 256, 32)
                         : i == 3 ? network_resnet(&net, 12, 4, 256, 32)
                         : i == 4 ? network_densenet(&net, 3, 4, 64, 64)
                                  : network_lstm(&net, 20, 16, 64);
        assert_int_equal(remat_tape_status(net.tape), REMAT_OK);
        check_packing(&net, loss);
        network_destroy(&net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mlp_with_dropout_trains_alike),
        cmocka_unit_test(transformer_trains_alike),
        cmocka_unit_test(arenas_are_packed_within_one_per_cent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
