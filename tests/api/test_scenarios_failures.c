/* test_scenarios_failures.c - any callback may fail at any call, and any allocation of planning:
 * a status, a message, nothing lost, and the next step is as if nothing had happened. */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/spy.h"
#include "support/trial.h"

enum { ROWS = 4, WIDTH = 16, LAYERS = 4 };

/* ---- Callbacks -------------------------------------------------------------------------------*/

typedef struct fragile_state {
    size_t calls, fail_at; /* the call with this number fails, from 1; 0: none */
} fragile_state;

typedef struct fragile_attributes {
    fragile_state *state;
} fragile_attributes;

static bool fails(const void *attributes)
{
    fragile_state *s = ((const fragile_attributes *)attributes)->state;
    return ++s->calls == s->fail_at;
}

/* x + c; c is a constant that nothing else holds for the replay. */
static remat_status fragile_forward(const remat_forward *call)
{
    if (fails(call->attributes))
        return remat_call_fail(call->message, call->message_bytes, REMAT_OP_FAILED,
                               "out of order today");
    for (int64_t i = 0; i < remat_tensor_count(&call->in[0]); i++)
        spy_data(&call->out[0])[i] = spy_data(&call->in[0])[i] + spy_data(&call->in[1])[i];
    return REMAT_OK;
}

/* Reads the constant. */
static remat_status fragile_backward(const remat_backward *call)
{
    if (fails(call->attributes))
        return REMAT_OP_FAILED;
    for (int64_t i = 0; i < remat_tensor_count(&call->grad_in[0]); i++)
        spy_give(&call->grad_in[0], i,
                 (0 * spy_data(&call->in[1])[i] + 1) * spy_data(&call->grad_out[0])[i],
                 call->accumulate[0]);
    return REMAT_OK;
}

static const remat_op fragile = {.name = "fragile",
                                 .min_operands = 2,
                                 .max_operands = 2,
                                 .n_results = 1,
                                 .attribute_bytes = sizeof(fragile_attributes),
                                 .needs_operands = 2,
                                 .no_gradient = 2,
                                 .infer = spy_infer_same,
                                 .forward = fragile_forward,
                                 .backward = fragile_backward};

static remat_var record_fragile(trial *t, void *context)
{
    const fragile_attributes a = {context};
    remat_var x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    for (int i = 0; i < LAYERS; i++) {
        const remat_var constant = trial_constant(t, REMAT_SHAPE(ROWS, WIDTH));
        trial_segment_begin(t);
        x = remat_dropout(t->tape, trial_dense(t, x, WIDTH, WIDTH), 0.25);
        x = remat_gelu(t->tape, remat_tanh(t->tape, x));
        const remat_var operands[] = {x, constant};
        remat_apply(t->tape, &fragile, &a, operands, 2, &x, 1);
        x = remat_silu(t->tape, x);
        trial_segment_end(t);
    }
    return trial_mean_square(t, x);
}

/* The gradients of all leaves, one after the other. */
static size_t gradients_of(const trial *t, float *all)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_leaves; i++)
        if (t->gradient[i].data) {
            memcpy(all + n, t->gradient[i].data, t->gradient[i].bytes);
            n += t->gradient[i].bytes / sizeof(float);
        }
    return n;
}

static void step_again(const trial *t, remat_exec *exec, float *all)
{
    remat_exec_set_step(exec, 0); /* the same random numbers */
    assert_int_equal(remat_exec_zero_gradients(exec), REMAT_OK);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    gradients_of(t, all);
}

static void every_call_fails_once(remat_exec_options o, bool smallest_budget)
{
    static float expected[8192], got[8192];
    trial t;
    fragile_state s = {0};
    const trial_network network = {.record = record_fragile, .context = &s};
    const remat_var loss = trial_open(&t, &network);
    if (smallest_budget)
        assert_int_equal(remat_plan_min_budget(t.tape, loss, &o, &o.budget_bytes), REMAT_OK);
    remat_exec *exec = trial_exec(&t, loss, o);
    step_again(&t, exec, expected);
    const size_t calls = s.calls;
    assert_true(calls >= 2 * LAYERS);
    for (size_t k = 1; k <= calls; k++) {
        s = (fragile_state){.fail_at = k};
        assert_int_equal(remat_exec_step(exec), REMAT_OP_FAILED);
        assert_ptr_equal(strstr(remat_exec_message(exec), "fragile (statement "),
                         remat_exec_message(exec));
        assert_int_equal(remat_exec_backward(exec), REMAT_OUT_OF_ORDER);
        s.fail_at = 0;
        step_again(&t, exec, got);
        assert_memory_equal(expected, got, sizeof got);
    }
    remat_exec_destroy(exec);
    trial_close(&t);
}

static void any_call_of_a_callback_may_fail(void **state)
{
    (void)state;
    for (int i = 0; i < REMAT_STRATEGY_COUNT; i++) {
        remat_exec_options o = {.strategy = (remat_strategy)i, .effort = REMAT_EFFORT_FAST};
        every_call_fails_once(o, false);
        every_call_fails_once(o, true);
        o.separate_buffers = o.verify_replay = true;
        every_call_fails_once(o, true);
    }
}

/* ---- Allocations -----------------------------------------------------------------------------*/

typedef struct short_memory {
    size_t calls, fail_at;
    size_t live_blocks;
} short_memory;

static void *reallocate(void *context, void *block, size_t old_bytes, size_t new_bytes)
{
    short_memory *m = context;
    (void)old_bytes;
    if (new_bytes == 0) {
        m->live_blocks -= block != NULL;
        free(block);
        return NULL;
    }
    if (++m->calls == m->fail_at)
        return NULL;
    void *moved = realloc(block, new_bytes);
    m->live_blocks += moved && !block;
    return moved;
}

/* Plans and runs, with one allocation failing; true if none was left to fail. */
static bool survives(const trial *t, remat_var loss, remat_exec_options o, size_t fail_at)
{
    short_memory memory = {.fail_at = fail_at};
    const remat_allocator allocator = {&memory, reallocate};
    remat_exec *exec = NULL;
    o.allocator = &allocator;
    const remat_status status = remat_exec_create(t->tape, loss, &o, &exec);
    if (status == REMAT_OK) {
        assert_int_equal(remat_exec_step(exec), REMAT_OK);
    } else {
        assert_int_equal(status, REMAT_OUT_OF_MEMORY);
        assert_null(exec);
        assert_non_null(strstr(remat_tape_message(t->tape), "out of memory"));
        assert_int_equal(remat_tape_status(t->tape), REMAT_OK);
    }
    remat_exec_destroy(exec);
    assert_int_equal(memory.live_blocks, 0);
    return memory.calls < fail_at;
}

static void any_allocation_of_any_strategy_may_fail(void **state)
{
    (void)state;
    for (int i = 0; i < REMAT_STRATEGY_COUNT; i++) {
        trial t;
        fragile_state s = {0};
        const trial_network network = {.record = record_fragile, .context = &s};
        const remat_var loss = trial_open(&t, &network);
        remat_exec_options o = {.strategy = (remat_strategy)i, .effort = REMAT_EFFORT_FAST};
        size_t k = 1, least;
        assert_int_equal(remat_plan_min_budget(t.tape, loss, &o, &least), REMAT_OK);
        o.budget_bytes = least;
        while (!survives(&t, loss, o, k))
            k += k < 100 ? 1 : 1 + k / 100; /* all of the first hundred, then fewer */
        assert_true(k > 50);
        trial_close(&t);
    }
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(any_call_of_a_callback_may_fail),
        TEST(any_allocation_of_any_strategy_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
