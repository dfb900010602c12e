/* test_transformer_plan.c - how good plans are: a transformer of 24 layers from nine tenths to one
 * tenth of keep-all's arena, with certificate, and networks without narrow places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/networks.h"

static remat_plan_summary plan_within(const network *net, remat_var loss, size_t budget,
                                      remat_plan_cost *cost)
{
    remat_plan *plan = NULL;
    remat_plan_summary summary;
    remat_exec_options options = REMAT_EXEC_OPTIONS_INIT;
    options.budget_bytes = budget;
    assert_int_equal(remat_tape_status(net->tape), REMAT_OK);
    if (remat_plan_create(net->tape, loss, &options, &plan) != REMAT_OK)
        fail_msg("%s", remat_tape_message(net->tape));
    remat_plan_summarize(plan, &summary);
    remat_plan_get_cost(plan, cost);
    remat_plan_destroy(plan);
    assert_true(budget == 0 || summary.arena_bytes <= budget);
    assert_true(summary.arena_bytes <= summary.keep_all_bytes);
    assert_true(cost->bound <= cost->extra);
    return summary;
}

/* ---- Narrow networks -------------------------------------------------------------------------*/

typedef struct mark {
    double share, extra, gap; /* of the arena; at most, of a step's time */
} mark;

static void transformer_plans_are_near_the_best(void **state)
{
    (void)state;
    const mark marks[] = {{0.9, 0.005, 0.005}, {0.7, 0.025, 0.005}, {0.5, 0.055, 0.01},
                          {0.3, 0.14, 0.01},   {0.2, 0.2, 0.01},    {0.1, 0.26, 0.01}};
    network net;
    network_create(false, &net);
    remat_var loss = network_transformer(&net, 24, 4, 512, 512, 0.0);
    remat_plan_cost cost;
    size_t most = plan_within(&net, loss, 0, &cost).keep_all_bytes;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        plan_within(&net, loss, (size_t)(marks[i].share * (double)most), &cost);
        if (cost.extra > marks[i].extra * cost.step || cost.gap > marks[i].gap)
            fail_msg("at %g of the arena: extra %g, gap %g", marks[i].share, cost.extra / cost.step,
                     cost.gap);
    }
    network_destroy(&net);
}

/* A plain chain needs about half of a forward pass, a third of a step's time, at half its arena. */
static void deep_mlp_plans_are_near_the_best(void **state)
{
    (void)state;
    const mark marks[] = {{0.5, 0.18, 0.005}, {0.25, 0.265, 0.005}, {0.125, 0.6, 1}};
    network net;
    network_create(false, &net);
    remat_var loss = network_mlp(&net, 64, 256, 512, 0.0);
    remat_plan_cost cost;
    size_t most = plan_within(&net, loss, 0, &cost).keep_all_bytes;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        plan_within(&net, loss, (size_t)(marks[i].share * (double)most), &cost);
        if (cost.extra > marks[i].extra * cost.step || cost.gap > marks[i].gap)
            fail_msg("at %g of the arena: extra %g, gap %g", marks[i].share, cost.extra / cost.step,
                     cost.gap);
    }
    network_destroy(&net);
}

/* ---- Others ----------------------------------------------------------------------------------*/

static void check_other(const char *name, network *net, remat_var loss)
{
    remat_plan_cost cost;
    remat_plan_summary all = plan_within(net, loss, 0, &cost);
    assert_true(all.arena_bytes == all.keep_all_bytes && cost.extra == 0 && cost.gap == 0);
    const double shares[] = {0.9, 0.75, 0.6};
    double slower = 0;
    for (size_t i = 0; i < 3; i++) {
        plan_within(net, loss, (size_t)(shares[i] * (double)all.keep_all_bytes), &cost);
        print_message("%s at %g: extra %.2f %%, gap %.2f %%\n", name, shares[i],
                      100 * cost.extra / cost.step, 100 * cost.gap);
        assert_true(cost.extra >= slower);
        assert_true(cost.extra < 0.5 * cost.step);
        slower = cost.extra;
    }
    plan_within(net, loss, all.keep_all_bytes, &cost);
    assert_true(cost.extra == 0);
    network_destroy(net);
}

static void networks_with_skips_fit_into_less(void **state)
{
    (void)state;
    network net;
    network_create(false, &net);
    check_other("U-Net", &net, network_unet(&net, 4, 4, 1024, 64));
    network_create(false, &net);
    check_other("ResNet", &net, network_resnet(&net, 16, 4, 1024, 64));
    network_create(false, &net);
    check_other("DenseNet", &net, network_densenet(&net, 3, 5, 256, 64));
    network_create(false, &net);
    check_other("LSTM", &net, network_lstm(&net, 40, 32, 64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transformer_plans_are_near_the_best),
        cmocka_unit_test(deep_mlp_plans_are_near_the_best),
        cmocka_unit_test(networks_with_skips_fit_into_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
