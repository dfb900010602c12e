/* test_allocation.c - memory: every single allocation of a life may fail without harm, and steps
 * allocate nothing, neither through the allocator nor behind its back. Linked with
 * --wrap=malloc and the like, so that calls from the library come by here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/subject.h"

/* ---- Calls of the C library's functions ------------------------------------------------------*/

static size_t heap_calls;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
int __real_posix_memalign(void **block, size_t alignment, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *block);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
int __wrap_posix_memalign(void **block, size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *block);

void *__wrap_malloc(size_t bytes)
{
    heap_calls++;
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    heap_calls++;
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    heap_calls++;
    return __real_realloc(block, bytes);
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t bytes)
{
    heap_calls++;
    return __real_posix_memalign(block, alignment, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    heap_calls++;
    return __real_aligned_alloc(alignment, bytes);
}

void __wrap_free(void *block)
{
    heap_calls++;
    __real_free(block);
}

/* ---- Steps -----------------------------------------------------------------------------------*/

static void steps_touch_no_heap(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        static random_tape r;
        remat_tape *tape = NULL;
        remat_exec *exec = NULL;
        remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
        assert_int_equal(remat_tape_create(NULL, &tape), REMAT_OK);
        random_tape_init(&r, tape, seed);
        assert_int_equal(random_tape_record(&r), REMAT_OK);
        o.strategy = seed % 2 ? REMAT_STRATEGY_SQRT : REMAT_STRATEGY_SEGMENTS;
        o.poison = seed % 3 == 0;
        o.verify_replay = seed % 5 == 0;
        o.retain = seed % 7 == 0;
        assert_int_equal(remat_exec_create(tape, r.loss, &o, &exec), REMAT_OK);
        assert_true(heap_calls > 0); /* the hooks are in place */
        size_t before = heap_calls;
        for (int i = 0; i < 3; i++) {
            assert_int_equal(remat_exec_step(exec), REMAT_OK);
            assert_int_equal(remat_exec_zero_gradients(exec), REMAT_OK);
        }
        remat_exec_backward(exec); /* refused without retain */
        assert_int_equal(heap_calls, before);
        remat_exec_destroy(exec);
        remat_tape_destroy(tape);
        random_tape_release(&r);
    }
}

/* ---- A life in which allocations fail --------------------------------------------------------*/

typedef struct life {
    random_tape r;
    counting_allocator memory;
    remat_exec_options options;
    bool with_plan;       /* plan and exec apart */
    size_t n_failed;      /* calls that returned REMAT_OUT_OF_MEMORY */
    outcome first, again; /* before and after recording again */
} life;

/* True if the call succeeded; anything but out of memory is a bug. */
static bool succeeded(life *l, remat_status status)
{
    if (status != REMAT_OK && status != REMAT_OUT_OF_MEMORY)
        fail_msg("tape %llu, allocation %zu: %s", (unsigned long long)l->r.seed, l->memory.fail_at,
                 remat_status_name(status));
    l->n_failed += status != REMAT_OK;
    return status == REMAT_OK;
}

/* Repeats what fails, once at most: after that nothing fails any more. */
static void create(life *l)
{
    remat_tape *tape = NULL;
    remat_allocator allocator = counting_allocator_make(&l->memory);
    remat_tape_options options = {&allocator};
    while (!succeeded(l, remat_tape_create(&options, &tape)))
        assert_null(tape);
    l->r.tape = tape;
}

static void record(life *l)
{
    while (!succeeded(l, random_tape_record(&l->r))) {
        assert_string_not_equal(remat_tape_message(l->r.tape), "");
        assert_int_equal(remat_tape_clear(l->r.tape), REMAT_OK);
    }
}

static remat_exec *make_exec(life *l)
{
    remat_exec *exec = NULL;
    remat_plan *plan = NULL;
    while (l->with_plan &&
           !succeeded(l, remat_plan_create(l->r.tape, l->r.loss, &l->options, &plan)))
        assert_null(plan);
    for (;;) {
        remat_status status = plan
                                  ? remat_exec_create_with_plan(l->r.tape, plan, &l->options, &exec)
                                  : remat_exec_create(l->r.tape, l->r.loss, &l->options, &exec);
        if (succeeded(l, status))
            break;
        assert_null(exec);
        assert_string_not_equal(remat_tape_message(l->r.tape), "");
        assert_int_equal(remat_tape_status(l->r.tape), REMAT_OK);
    }
    remat_plan_destroy(plan);
    return exec;
}

static void step(life *l, remat_exec *exec, outcome *o)
{
    do {
        outcome_fill_gradients(&l->r, 0.0);
        remat_exec_set_step(exec, 0);
    } while (!succeeded(l, remat_exec_step(exec)));
    assert_true(outcome_collect(o, &l->r, exec));
}

static void record_again(life *l, remat_exec *exec)
{
    assert_int_equal(remat_tape_clear(l->r.tape), REMAT_OK);
    assert_int_equal(remat_exec_step(exec), REMAT_STALE);
    record(l);
    while (!succeeded(l, remat_exec_update(exec, l->r.loss)))
        assert_int_equal(remat_exec_step(exec), REMAT_STALE);
    step(l, exec, &l->again);
}

/* Returns the number of allocations. */
static size_t live(life *l, uint64_t seed, size_t fail_at)
{
    l->memory = (counting_allocator){.fail_at = fail_at};
    l->n_failed = 0;
    random_tape_init(&l->r, NULL, seed);
    create(l);
    record(l);
    remat_exec *exec = make_exec(l);
    step(l, exec, &l->first);
    record_again(l, exec);
    assert_true(outcome_same_bits(&l->first, &l->again));
    remat_exec_destroy(exec);
    remat_tape_destroy(l->r.tape);
    assert_int_equal(l->memory.live_blocks, 0);
    assert_int_equal(l->memory.live_bytes, 0);
    assert_int_equal(l->memory.wrong_sizes, 0);
    random_tape_release(&l->r);
    return l->memory.calls;
}

static void check_every_allocation(uint64_t seed, const remat_exec_options *options, bool with_plan)
{
    static life l; /* large */
    outcome expected = {0};
    l = (life){.options = *options, .with_plan = with_plan};
    size_t n = live(&l, seed, 0);
    assert_int_equal(l.n_failed, 0);
    expected = l.first;
    l.first = (outcome){0};
    for (size_t fail_at = 1; fail_at <= n; fail_at++) {
        live(&l, seed, fail_at);
        assert_int_equal(l.n_failed, 1); /* none is ignored */
        assert_true(outcome_same_bits(&l.first, &expected));
    }
    outcome_release(&expected);
    outcome_release(&l.first);
    outcome_release(&l.again);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
        o.strategy = seed % 3 ? REMAT_STRATEGY_SQRT : REMAT_STRATEGY_SEGMENTS;
        o.verify_replay = seed % 2;
        o.retain = seed % 3 == 0;
        check_every_allocation(seed, &o, seed % 2 == 0);
    }
}

static void every_allocation_may_fail_in_debug_steps(void **state)
{
    (void)state;
    for (uint64_t seed = 11; seed <= 14; seed++) {
        remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
        o.strategy = REMAT_STRATEGY_SQRT;
        o.separate_buffers = true;
        check_every_allocation(seed, &o, false);
    }
}

/* All that follow fail too: whatever exists can be destroyed. */
static void memory_may_run_out_for_good(void **state)
{
    (void)state;
    for (uint64_t seed = 21; seed <= 24; seed++) {
        static random_tape r;
        remat_status status = REMAT_OUT_OF_MEMORY;
        for (size_t fail_at = 1; status != REMAT_OK; fail_at++) {
            counting_allocator memory = {.fail_at = fail_at, .fail_from = true};
            remat_allocator allocator = counting_allocator_make(&memory);
            remat_tape_options options = {&allocator};
            remat_tape *tape = NULL;
            remat_exec *exec = NULL;
            random_tape_init(&r, NULL, seed);
            status = remat_tape_create(&options, &tape);
            r.tape = tape;
            if (status == REMAT_OK)
                status = random_tape_record(&r);
            if (status == REMAT_OK)
                status = remat_exec_create(tape, r.loss, NULL, &exec);
            assert_true(status == REMAT_OK || status == REMAT_OUT_OF_MEMORY);
            assert_true((status == REMAT_OK) == (exec != NULL));
            remat_exec_destroy(exec);
            remat_tape_destroy(tape);
            random_tape_release(&r);
            assert_int_equal(memory.live_blocks, 0);
        }
    }
}

/* ---- Segments with many inputs ---------------------------------------------------------------*/

static remat_status add_block(remat_tape *tape, void *context, const remat_var *in, size_t n_in,
                              remat_var *out, size_t n_out)
{
    (void)context;
    remat_apply(tape, &fake_add, NULL, in, n_in, out, n_out);
    return REMAT_OK;
}

static void a_segment_of_many_inputs_needs_memory(void **state)
{
    (void)state;
    float data = 1;
    counting_allocator memory = {0};
    remat_allocator allocator = counting_allocator_make(&memory);
    remat_tape_options options = {&allocator};
    remat_tape *tape = NULL;
    remat_var in[20], out = {1};
    assert_int_equal(remat_tape_create(&options, &tape), REMAT_OK);
    for (size_t i = 0; i < 20; i++)
        in[i] = remat_input(tape, NULL, REMAT_F32, REMAT_SCALAR, &data);
    memory.fail_at = memory.calls + 1;
    assert_int_equal(checkpoint_segment(tape, add_block, NULL, in, 20, &out, 1),
                     REMAT_OUT_OF_MEMORY);
    assert_int_equal(remat_tape_status(tape), REMAT_OUT_OF_MEMORY);
    assert_int_equal(out.id, 0);
    remat_tape_destroy(tape);
    assert_int_equal(memory.live_blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_touch_no_heap),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_allocation_may_fail_in_debug_steps),
        cmocka_unit_test(memory_may_run_out_for_good),
        cmocka_unit_test(a_segment_of_many_inputs_needs_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
