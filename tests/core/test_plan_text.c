/* test_plan_text.c - plans that are saved and loaded: the same plan comes back, for random tapes
 * under every strategy and many budgets; what does not fit the tape is refused with a reason.
 * REMAT_TEST_TAPES sets the number of tapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/plan_text.h"
#include "core/support/subject.h"

/* ---- Round trips -----------------------------------------------------------------------------*/

#define equal_items(a, b)        \
    ((a)->count == (b)->count && \
     ((a)->count == 0 || memcmp((a)->data, (b)->data, (a)->count * sizeof *(a)->data) == 0))

static bool same_buffers(const remat_buffers *a, const remat_buffers *b)
{
    for (size_t i = 0; i < a->count && a->count == b->count; i++) {
        const remat_buffer *x = &a->data[i], *y = &b->data[i];
        if (x->offset != y->offset || x->bytes != y->bytes || x->raw_bytes != y->raw_bytes ||
            x->first != y->first || x->last != y->last)
            return false;
    }
    return a->count == b->count;
}

static bool same_summary(const remat_plan_summary *a, const remat_plan_summary *b)
{
    return a->strategy == b->strategy && a->fingerprint == b->fingerprint &&
           a->arena_bytes == b->arena_bytes && a->live_bytes == b->live_bytes &&
           a->keep_all_bytes == b->keep_all_bytes && a->boundary_bytes == b->boundary_bytes &&
           a->replayed_bytes == b->replayed_bytes && a->gradient_bytes == b->gradient_bytes &&
           a->workspace_bytes == b->workspace_bytes && a->alignment_bytes == b->alignment_bytes &&
           a->peak_statement == b->peak_statement && a->peak_in_backward == b->peak_in_backward &&
           a->forward_runs == b->forward_runs && a->replays == b->replays &&
           a->backward_runs == b->backward_runs && a->step_cost == b->step_cost &&
           a->replay_cost == b->replay_cost;
}

static bool same_plans(const remat_plan *a, const remat_plan *b)
{
    return same_summary(&a->summary, &b->summary) && equal_items(&a->schedule, &b->schedule) &&
           equal_items(&a->bindings, &b->bindings) && equal_items(&a->ranges, &b->ranges) &&
           same_buffers(&a->buffers, &b->buffers) && a->budget_bytes == b->budget_bytes &&
           a->cost.extra == b->cost.extra && a->cost.bound == b->cost.bound &&
           a->cost.gap == b->cost.gap && a->cost.step == b->cost.step;
}

static void check_round_trip(subject *s, const remat_exec_options *o)
{
    remat_plan *plan = NULL, *loaded = NULL;
    remat_exec *exec = NULL;
    remat_status status = remat_plan_create(s->r.tape, s->r.loss, o, &plan);
    if (status == REMAT_INFEASIBLE_BUDGET)
        return;
    expect(s, status == REMAT_OK);
    plan_text text = plan_text_of(plan);
    expect(s, plan_text_load(s->r.tape, s->r.loss, o, text, &loaded) == REMAT_OK);
    expect(s, same_plans(plan, loaded));
    plan_text again = plan_text_of(loaded);
    expect(s, again.length == text.length && memcmp(again.data, text.data, text.length) == 0);
    if (!o->forward_only) {
        expect(s, remat_exec_create_with_plan(s->r.tape, loaded, o, &exec) == REMAT_OK);
        subject_step(s, exec, o);
        expect(s, o->overwrite_gradients ? outcome_same_numbers(&s->r, &s->got, &s->keep_all)
                                         : outcome_same_bits(&s->got, &s->keep_all));
        remat_exec_destroy(exec);
    }
    plan_text_release(&text);
    plan_text_release(&again);
    remat_plan_destroy(plan);
    remat_plan_destroy(loaded);
}

static void check_tape(uint64_t seed)
{
    static subject s;
    subject_prepare(&s, seed);
    for (int strategy = 0; strategy < REMAT_STRATEGY_COUNT; strategy++)
        for (size_t eighths = 2; eighths <= 10; eighths += 2) {
            remat_exec_options o = subject_options((remat_strategy)strategy);
            snprintf(s.what, sizeof s.what, "strategy %d, %zu eighths", strategy, eighths);
            o.effort = REMAT_EFFORT_FAST;
            o.budget_bytes = eighths > 8 ? 0 : s.keep_all_bytes * eighths / 8;
            o.retain = test_random_chance(&s.state, 30);
            o.overwrite_gradients = test_random_chance(&s.state, 30);
            o.forward_only = !o.retain && s.r.loss.id && test_random_chance(&s.state, 10);
            check_round_trip(&s, &o);
        }
    subject_release(&s);
}

static void the_same_plan_comes_back(void **state)
{
    (void)state;
    size_t n = test_number_from_environment("REMAT_TEST_TAPES", 25);
    for (size_t i = 0; i < n; i++)
        check_tape(i + 1);
}

/* ---- Refusals --------------------------------------------------------------------------------*/

static plan_subject net;

static int set_up(void **state)
{
    (void)state;
    plan_subject_create(&net, PLAN_SUBJECT_TRAIN);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    plan_subject_destroy(&net);
    return 0;
}

static void expect_refused(plan_text text, const remat_exec_options *o, remat_status status,
                           const char *reason)
{
    remat_plan *plan = NULL;
    assert_int_equal(plan_text_load(net.net.tape, net.loss, o, text, &plan), status);
    assert_null(plan);
    if (!strstr(remat_tape_message(net.net.tape), reason))
        fail_msg("\"%s\" is not in: %s", reason, remat_tape_message(net.net.tape));
}

/* The text with its first `from` replaced, sealed. */
static plan_text replaced(plan_text text, const char *from, const char *to)
{
    size_t at = 0, n = strlen(from), m = strlen(to);
    while (at + n < text.length && memcmp(text.data + at, from, n) != 0)
        at++;
    assert_true(at + n < text.length);
    plan_text changed = {malloc(text.length + m), text.length - n + m};
    memcpy(changed.data, text.data, at);
    memcpy(changed.data + at, to, m);
    memcpy(changed.data + at + m, text.data + at + n, text.length - at - n);
    plan_text sealed = plan_text_seal(changed, text);
    plan_text_release(&changed);
    return sealed;
}

static void expect_edit_refused(const char *from, const char *to, remat_status status,
                                const char *reason)
{
    plan_text text = replaced(net.text, from, to);
    expect_refused(text, &net.options, status, reason);
    plan_text_release(&text);
}

static void edits_are_refused_with_a_reason(void **state)
{
    (void)state;
    const remat_status invalid = REMAT_INVALID_ARGUMENT;
    expect_edit_refused("remat-plan 1", "remat-plan 2", invalid, "line 1: format 2 is newer");
    expect_edit_refused("remat-plan 1", "remat-plan 0", invalid, "no such format");
    expect_edit_refused("remat-plan 1", "remat_plan 1", invalid, "expected \"remat-plan\"");
    expect_edit_refused("loss ", "loss 1", REMAT_STALE,
                        "line 3: the plan was made for another loss");
    expect_edit_refused("retain 0", "retain 1", REMAT_STALE, "options.retain = true");
    expect_edit_refused("retain 0", "retain 2", invalid, "at most 1");
    expect_edit_refused("budget ", "budget 9999999999999999999999", invalid, "too large");
    expect_edit_refused("budget ", "budget 0", invalid, "begins with 0");
    expect_edit_refused("budget ", "budget -", invalid, "a number is missing");
    expect_edit_refused("budget ", "budget  ", invalid, "a number is missing");
    expect_edit_refused("strategy ", "strategy x", invalid, "no such strategy");
    expect_edit_refused("forward_tasks ", "forward_tasks 1", invalid, "the tape has");
    expect_edit_refused("values ", "values 1", invalid, "the tape has");
    expect_edit_refused("segments 0", "segments 4294967295", invalid, "expected \"segment\"");
    expect_edit_refused("segments 0", "segments 1\nsegment 0 0 1", invalid, "not the whole tape");
    expect_edit_refused("actions ", "actions 1", invalid, "expected \"run\" or \"drop\"");
    expect_edit_refused("run 0-1", "run 1 0", invalid, "line 15: a forward task runs out of order");
    expect_edit_refused("run 0-1", "run 0", invalid, "expected \"run\" or \"drop\""); /* one less */
    expect_edit_refused("run 0", "run 4000000000", invalid, "too large");
    expect_edit_refused("run 0", "run 0-4000000000", invalid, "too large");
    expect_edit_refused("run 0", "run 0 0", invalid, "");
    expect_edit_refused("run 0-1",
                        "run 0-20 0-20 0-20 0-20 0-20 0-20 0-20 0-20 0-20 0-20 0-20 0-20 0-20",
                        invalid, "more actions than announced");
    expect_edit_refused("run 0", "run\t0", invalid, "byte 0x09");
    expect_edit_refused("run 0", "walk 0", invalid, "expected \"run\" or \"drop\"");
    expect_edit_refused("\ndrop ", "\ndrop 4000000000 ", invalid, "too large");
}

static void segments_have_to_nest(void **state)
{
    (void)state;
    static const char *const wrong[] = {"2 0 1", "4000000000 0 1", "0 2 1", "0 0 9999"};
    size_t n_statements = remat_tape_statement_count(net.net.tape);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "segments 2\nsegment 0 0 %zu\nsegment %s", n_statements,
                 wrong[i]);
        expect_edit_refused("segments 0", text, REMAT_INVALID_ARGUMENT,
                            i < 3 ? "the segments do not nest" : "too large");
    }
}

/* The schedule of one text under the head of another. */
static plan_text spliced(plan_text head, plan_text body)
{
    size_t n = 0, m = 0;
    while (memcmp(head.data + n, "\nsegments", 9) != 0)
        n++;
    while (memcmp(body.data + m, "\nsegments", 9) != 0)
        m++;
    plan_text text = {malloc(n + body.length - m), n + body.length - m};
    memcpy(text.data, head.data, n);
    memcpy(text.data + n, body.data + m, body.length - m);
    plan_text sealed = plan_text_seal(text, head);
    plan_text_release(&text);
    return sealed;
}

static plan_text keep_all_text(bool retain)
{
    remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
    remat_plan *plan = NULL;
    o.strategy = REMAT_STRATEGY_KEEP_ALL;
    o.retain = retain;
    assert_int_equal(remat_plan_create(net.net.tape, net.loss, &o, &plan), REMAT_OK);
    plan_text text = plan_text_of(plan);
    remat_plan_destroy(plan);
    return text;
}

/* Schedules that one backward pass, or a pass without a seam, could live with. */
static void schedules_that_passes_cannot_follow_are_refused(void **state)
{
    (void)state;
    remat_exec_options o = net.options;
    o.retain = true;
    o.budget_bytes = 0;
    plan_text once = keep_all_text(false), retained = keep_all_text(true);
    plan_text text = spliced(retained, once);
    expect_refused(text, &o, REMAT_INVALID_ARGUMENT,
                   "a value is dropped that a repeated backward pass reads");
    plan_text_release(&text);
    text = replaced(once, "19-20\ndrop 18\nrun 21-22", "19\nrun 21 20\ndrop 18\nrun 22");
    expect_refused(text, &net.options, REMAT_INVALID_ARGUMENT,
                   "a forward task runs for the first time in the backward pass");
    plan_text_release(&text);
    plan_text_release(&once);
    plan_text_release(&retained);
}

static void other_tapes_losses_and_options_are_refused(void **state)
{
    (void)state;
    remat_plan *plan = NULL;
    remat_exec_options o = net.options;
    o.retain = true;
    expect_refused(net.text, &o, REMAT_STALE, "options.retain = false");
    o = net.options;
    o.budget_bytes = net.plan->summary.arena_bytes - 1;
    expect_refused(net.text, &o, REMAT_INFEASIBLE_BUDGET, "the plan needs an arena of");
    o.budget_bytes = net.plan->summary.arena_bytes;
    assert_int_equal(plan_text_load(net.net.tape, net.loss, &o, net.text, &plan), REMAT_OK);
    remat_plan_destroy(plan);
    net_probe(&net.net, net.loss); /* another statement */
    expect_refused(net.text, &net.options, REMAT_STALE,
                   "line 2: the plan was made for another tape");
    remat_tape_clear(net.net.tape);
    assert_int_equal(plan_subject_load(&net, net.text, &plan), REMAT_INVALID_HANDLE);
}

static remat_policy keep_all_of_it(void *context, const char *op, const char *name, size_t bytes)
{
    (void)context, (void)op, (void)name, (void)bytes;
    return REMAT_POLICY_KEEP;
}

static void another_policy_is_refused(void **state)
{
    (void)state;
    remat_exec_options o = net.options;
    o.policy = keep_all_of_it;
    o.budget_bytes = 0;
    expect_refused(net.text, &o, REMAT_STALE, "options.policy");
}

static void misuse_is_refused(void **state)
{
    (void)state;
    remat_plan *plan = NULL;
    FILE *null = fopen("/dev/null", "r");
    assert_int_equal(remat_plan_save(NULL, stdout), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_plan_save(net.plan, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_plan_save(net.plan, null), REMAT_INVALID_ARGUMENT); /* not writable */
    assert_int_equal(remat_plan_load(NULL, net.loss, NULL, null, &plan), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_plan_load(net.net.tape, net.loss, NULL, NULL, &plan),
                     REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_plan_load(net.net.tape, net.loss, NULL, null, NULL),
                     REMAT_INVALID_ARGUMENT);
    fclose(null);
    expect_refused((plan_text){0}, &net.options, REMAT_INVALID_ARGUMENT, "the text ends here");
}

/* ---- Memory ----------------------------------------------------------------------------------*/

static void any_allocation_may_fail(void **state)
{
    (void)state;
    counting_allocator memory = {0};
    remat_allocator allocator = counting_allocator_make(&memory);
    remat_exec_options o = net.options;
    remat_plan *plan = NULL;
    remat_status status = REMAT_OUT_OF_MEMORY;
    o.allocator = &allocator;
    for (size_t i = 1; status != REMAT_OK; i++) {
        memory.calls = 0;
        memory.fail_at = i;
        status = plan_text_load(net.net.tape, net.loss, &o, net.text, &plan);
        assert_true(status == REMAT_OK || (status == REMAT_OUT_OF_MEMORY && !plan));
        assert_true(status == REMAT_OK || memory.live_blocks == 0);
        assert_true(i < 10000);
    }
    assert_true(same_plans(plan, net.plan));
    remat_plan_destroy(plan);
    assert_int_equal(memory.live_blocks, 0);
    assert_int_equal(memory.wrong_sizes, 0);
}

static void announced_numbers_take_no_memory(void **state)
{
    (void)state;
    counting_allocator memory = {0};
    remat_allocator allocator = counting_allocator_make(&memory);
    remat_exec_options o = net.options;
    o.allocator = &allocator;
    plan_text text = replaced(net.text, "actions ", "actions 42949\nx");
    expect_refused(text, &o, REMAT_INVALID_ARGUMENT, "expected \"run\"");
    plan_text_release(&text);
    text = replaced(net.text, "segments 0", "segments 4294967295");
    expect_refused(text, &o, REMAT_INVALID_ARGUMENT, "expected \"segment\"");
    plan_text_release(&text);
    assert_true(memory.peak_bytes < 100000);
    assert_int_equal(memory.live_blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_plan_comes_back),
        cmocka_unit_test_setup_teardown(edits_are_refused_with_a_reason, set_up, tear_down),
        cmocka_unit_test_setup_teardown(segments_have_to_nest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(schedules_that_passes_cannot_follow_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(other_tapes_losses_and_options_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(another_policy_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(misuse_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_allocation_may_fail, set_up, tear_down),
        cmocka_unit_test_setup_teardown(announced_numbers_take_no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
