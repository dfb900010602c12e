/* test_costs.c - planning with given costs, and measuring them: what the costs say decides what is
 * replayed; measuring leaves no trace. No times are judged here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/plan_text.h"
#include "core/support/subject.h"
#include "plan/plan.h"

enum { LAYERS = 6, MOST = 128 };

/* ---- Planning with costs ---------------------------------------------------------------------*/

typedef struct network {
    small_net net;
    remat_var loss;
    size_t n;
    double forward[MOST], backward[MOST];
} network;

static network n;

static int set_up(void **state)
{
    (void)state;
    net_create(&n.net);
    n.net.n_leaves = n.net.n_probes = 0;
    remat_var x = net_input(&n.net);
    for (int i = 0; i < LAYERS; i++)
        x = net_layer(&n.net, x);
    n.loss = net_loss(&n.net, x);
    n.n = remat_tape_statement_count(n.net.tape);
    assert_true(n.n <= MOST);
    for (size_t i = 0; i < n.n; i++)
        n.forward[i] = n.backward[i] = 1.0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    net_destroy(&n.net);
    return 0;
}

static remat_costs *make_costs(const double *forward, const double *backward)
{
    remat_costs *costs = NULL;
    if (remat_costs_create(n.net.tape, forward, backward, n.n, &costs) != REMAT_OK)
        fail_msg("%s", remat_tape_message(n.net.tape));
    return costs;
}

static remat_plan *plan_with(const remat_costs *costs, size_t budget_bytes)
{
    remat_plan *plan = NULL;
    remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
    o.costs = costs;
    o.budget_bytes = budget_bytes;
    if (remat_plan_create(n.net.tape, n.loss, &o, &plan) != REMAT_OK)
        fail_msg("%s", remat_tape_message(n.net.tape));
    return plan;
}

/* Replays of statement s in the plan. */
static size_t count_replays(const remat_plan *plan, size_t s)
{
    const remat_problem *p = &plan->derivation.problem;
    size_t runs = 0;
    for (size_t i = 0; i < plan->schedule.count; i++) {
        uint32_t id = remat_action_id(plan->schedule.data[i]);
        runs += !remat_action_is_drop(plan->schedule.data[i]) && id < p->n_forward &&
                p->tasks.data[id].statement == s;
    }
    return runs - 1;
}

/* Somebody's values have to go: those that cost least, never those that cost most. One layer's
 * first probe has another cost than everything else. */
static void check_odd_one_out(double cost, double others, size_t expected_replays)
{
    remat_plan *keep_all = plan_with(NULL, 0);
    size_t budget = keep_all->summary.arena_bytes - 64;
    remat_plan_destroy(keep_all);
    for (size_t layer = 0; layer + 1 < LAYERS; layer++) { /* the last one's is in use at the peak */
        size_t odd = 3 * layer + 1;
        for (size_t i = 0; i < n.n; i++)
            n.forward[i] = i == odd ? cost : others;
        remat_costs *costs = make_costs(n.forward, n.backward);
        remat_plan *plan = plan_with(costs, budget);
        remat_costs_destroy(costs);
        assert_true(plan->summary.replays > 0);
        assert_int_equal(count_replays(plan, odd), expected_replays);
        remat_plan_destroy(plan);
    }
}

static void cheap_statements_are_replayed(void **state)
{
    (void)state;
    check_odd_one_out(0.5, 1000.0, 1);
}

static void expensive_statements_are_not_replayed(void **state)
{
    (void)state;
    check_odd_one_out(1000.0, 1.0, 0);
}

static void costs_add_up_in_the_summary(void **state)
{
    (void)state;
    for (size_t i = 0; i < n.n; i++) {
        n.forward[i] = (double)i + 1.0;
        n.backward[i] = 100.0 * ((double)i + 1.0);
    }
    double sum = (double)(n.n * (n.n + 1) / 2);
    remat_costs *costs = make_costs(n.forward, n.backward);
    remat_plan *plan = plan_with(costs, 0);
    assert_true(plan->summary.step_cost == 101.0 * sum);
    remat_plan_destroy(plan);
    remat_costs_destroy(costs);
}

static void what_is_not_known_is_estimated(void **state)
{
    (void)state;
    remat_plan *estimated = plan_with(NULL, 0);
    remat_costs *costs = make_costs(NULL, NULL);
    remat_plan *plan = plan_with(costs, 0);
    assert_true(plan->summary.step_cost == estimated->summary.step_cost);
    remat_plan_destroy(plan);
    remat_costs_destroy(costs);
    for (size_t i = 0; i < n.n; i++)
        n.forward[i] = i == 1 ? 5.0 : NAN;
    costs = make_costs(n.forward, NULL);
    plan = plan_with(costs, 0);
    assert_true(plan->summary.step_cost > 5.0 &&
                plan->summary.step_cost <= 5.0 + estimated->summary.step_cost);
    remat_plan_destroy(plan);
    remat_costs_destroy(costs);
    remat_plan_destroy(estimated);
}

static void costs_are_copied_and_read_back(void **state)
{
    (void)state;
    double forward, backward;
    n.forward[2] = 2.5;
    n.backward[2] = NAN;
    remat_costs *costs = make_costs(n.forward, n.backward);
    n.forward[2] = 9.0;
    assert_int_equal(remat_costs_get(costs, 2, &forward, &backward), REMAT_OK);
    assert_true(forward == 2.5 && isnan(backward));
    assert_int_equal(remat_costs_get(costs, n.n, &forward, &backward), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_costs_get(NULL, 0, &forward, &backward), REMAT_INVALID_ARGUMENT);
    remat_costs_destroy(costs);
    remat_costs_destroy(NULL);
}

static void expect_no_costs(size_t count, const char *reason)
{
    remat_costs *costs = NULL;
    assert_int_equal(remat_costs_create(n.net.tape, n.forward, n.backward, count, &costs),
                     REMAT_INVALID_ARGUMENT);
    assert_null(costs);
    if (!strstr(remat_tape_message(n.net.tape), reason))
        fail_msg("\"%s\" is not in: %s", reason, remat_tape_message(n.net.tape));
}

static void wrong_costs_are_refused(void **state)
{
    (void)state;
    expect_no_costs(n.n - 1, "the tape has");
    n.backward[3] = -1.0;
    expect_no_costs(n.n, "the cost of statement 3");
    n.backward[3] = INFINITY;
    expect_no_costs(n.n, "the cost of statement 3");
}

static void costs_of_another_tape_are_stale(void **state)
{
    (void)state;
    remat_costs *costs = make_costs(n.forward, n.backward);
    remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
    remat_plan *plan = NULL;
    remat_exec *exec = NULL;
    o.costs = costs;
    assert_int_equal(remat_exec_create(n.net.tape, n.loss, &o, &exec), REMAT_OK);
    remat_tape_clear(n.net.tape);
    remat_var loss = net_loss(&n.net, net_layer(&n.net, net_input(&n.net)));
    assert_int_equal(remat_plan_create(n.net.tape, loss, &o, &plan), REMAT_STALE);
    assert_non_null(strstr(remat_tape_message(n.net.tape), "options.costs"));
    remat_costs_destroy(costs);
    assert_int_equal(remat_exec_update(exec, loss), REMAT_OK); /* with estimates */
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    remat_exec_destroy(exec);
}

/* ---- Measuring -------------------------------------------------------------------------------*/

/* Between two steps on a random tape, under some options. */
static void check_measuring(subject *s, remat_exec_options o)
{
    remat_exec *exec = NULL;
    remat_costs *costs = NULL;
    remat_exec_statistics before, after;
    o.gradient_ready = subject_ready; /* spoils leaves if it is called */
    o.gradient_ready_context = s;
    expect(s, remat_exec_create(s->r.tape, s->r.loss, &o, &exec) == REMAT_OK);
    subject_step(s, exec, &o);
    remat_exec_get_statistics(exec, &before);
    outcome_fill_gradients(&s->r, 0.0);
    size_t live = s->memory.live_bytes;
    expect(s, remat_cost_measure(exec, 1e-9, &costs) == REMAT_OK); /* one step */
    remat_exec_get_statistics(exec, &after);
    expect(s, memcmp(&before, &after, sizeof before) == 0);
    expect(s, remat_exec_backward(exec) == REMAT_OUT_OF_ORDER);
    for (size_t i = 0; i < s->r.n_gradients; i++) {
        const unsigned char *bytes = s->r.gradients[i].buffer;
        expect(s, s->ready_calls[i] == 0);
        for (size_t k = 0; bytes && k < s->r.gradients[i].bytes; k++)
            expect(s, bytes[k] == 0);
    }
    remat_costs *more = NULL;
    expect(s, remat_cost_measure(exec, INFINITY, &more) == REMAT_OK); /* all rounds */
    remat_costs_destroy(costs);
    remat_costs_destroy(more);
    expect(s, o.separate_buffers || s->memory.live_bytes == live); /* kept gradients are gone */
    remat_exec_set_step(exec, 0);
    subject_step(s, exec, &o);
    expect(s, outcome_same_bits(&s->got, &s->keep_all));
    remat_exec_destroy(exec);
}

static void measuring_leaves_no_trace(void **state)
{
    (void)state;
    static subject s;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        subject_prepare(&s, seed);
        remat_exec_options o = subject_options(REMAT_STRATEGY_SQRT);
        o.separate_buffers = seed % 4 == 1;
        o.poison = seed % 4 == 2;
        o.verify_replay = seed % 4 == 3;
        o.retain = seed % 3 == 0;
        strcpy(s.what, "measuring");
        check_measuring(&s, o);
        subject_release(&s);
    }
}

static void every_task_of_a_step_is_timed(void **state)
{
    (void)state;
    remat_exec *exec = net_step(&n.net, n.loss, REMAT_STRATEGY_SQRT);
    remat_costs *costs = NULL;
    assert_int_equal(remat_cost_measure(exec, 1e-9, &costs), REMAT_OK);
    for (size_t i = 0; i < n.n; i++) {
        double forward, backward;
        assert_int_equal(remat_costs_get(costs, i, &forward, &backward), REMAT_OK);
        assert_true(forward >= 0.0 && backward >= 0.0 && isfinite(forward) && isfinite(backward));
    }
    remat_plan *plan = plan_with(costs, 0); /* for this tape */
    assert_true(plan->summary.step_cost >= 0.0);
    remat_plan_destroy(plan);
    remat_costs_destroy(costs);
    remat_exec_destroy(exec);
}

static void inference_leaves_the_backward_pass_unknown(void **state)
{
    (void)state;
    remat_exec *exec = NULL;
    remat_costs *costs = NULL;
    remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
    remat_exec_statistics statistics;
    double forward, backward;
    o.forward_only = true;
    assert_int_equal(remat_exec_create(n.net.tape, n.loss, &o, &exec), REMAT_OK);
    assert_int_equal(remat_cost_measure(exec, 1e-9, &costs), REMAT_OK);
    assert_int_equal(remat_costs_get(costs, 0, &forward, &backward), REMAT_OK);
    assert_true(forward >= 0.0 && isnan(backward));
    remat_exec_get_statistics(exec, &statistics);
    assert_true(statistics.measured_peak_bytes == 0 && statistics.steps == 0);
    remat_costs_destroy(costs);
    remat_exec_destroy(exec);
}

static void impossible_measurements_are_refused(void **state)
{
    (void)state;
    remat_exec *exec = net_step(&n.net, n.loss, REMAT_STRATEGY_SQRT);
    remat_costs *costs = NULL;
    const double limits[] = {0.0, -1.0, -INFINITY, NAN};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(remat_cost_measure(exec, limits[i], &costs), REMAT_INVALID_ARGUMENT);
    assert_non_null(strstr(remat_exec_message(exec), "time limit"));
    assert_int_equal(remat_cost_measure(NULL, 1.0, &costs), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_cost_measure(exec, 1.0, NULL), REMAT_INVALID_ARGUMENT);
    n.net.probes[0] = (fake_probe_state){.fail_forward = 1};
    assert_int_equal(remat_cost_measure(exec, 1e-9, &costs), REMAT_OP_FAILED);
    n.net.probes[0] = (fake_probe_state){0};
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    remat_tape_clear(n.net.tape);
    assert_int_equal(remat_cost_measure(exec, 1e-9, &costs), REMAT_STALE);
    assert_null(costs);
    remat_exec_destroy(exec);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    counting_allocator memory = {0};
    remat_allocator allocator = counting_allocator_make(&memory);
    remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
    remat_exec *exec = NULL;
    remat_costs *costs = NULL;
    remat_status status = REMAT_OUT_OF_MEMORY;
    o.allocator = &allocator;
    assert_int_equal(remat_exec_create(n.net.tape, n.loss, &o, &exec), REMAT_OK);
    size_t live = memory.live_blocks;
    for (size_t i = 1; status != REMAT_OK; i++) {
        memory.calls = 0;
        memory.fail_at = i;
        status = remat_cost_measure(exec, 1e-9, &costs);
        assert_true(status == REMAT_OK || status == REMAT_OUT_OF_MEMORY);
        assert_true(status == REMAT_OK || memory.live_blocks == live);
        assert_true(i < 100);
    }
    remat_costs_destroy(costs);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    remat_exec_destroy(exec);
    assert_int_equal(memory.live_blocks, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(cheap_statements_are_replayed),       TEST(expensive_statements_are_not_replayed),
        TEST(costs_add_up_in_the_summary),         TEST(what_is_not_known_is_estimated),
        TEST(costs_are_copied_and_read_back),      TEST(wrong_costs_are_refused),
        TEST(costs_of_another_tape_are_stale),     cmocka_unit_test(measuring_leaves_no_trace),
        TEST(every_task_of_a_step_is_timed),       TEST(inference_leaves_the_backward_pass_unknown),
        TEST(impossible_measurements_are_refused), TEST(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
