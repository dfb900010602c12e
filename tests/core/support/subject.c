/* subject.c - see subject.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "core/support/subject.h"

#define SEED 17 /* of noise */

void expect_that(const subject *s, bool condition, const char *text, int line)
{
    if (!condition)
        fail_msg("line %d: tape %llu, %s: %s; tape says: %s", line, (unsigned long long)s->r.seed,
                 s->what, text, remat_tape_message(s->r.tape));
}

size_t test_number_from_environment(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    return text ? (size_t)strtoull(text, NULL, 10) : otherwise;
}

remat_exec_options subject_options(remat_strategy strategy)
{
    remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
    o.strategy = strategy;
    o.effort = REMAT_EFFORT_FAST; /* a search at every budget would take minutes */
    o.seed = SEED;
    return o;
}

/* ---- One exec --------------------------------------------------------------------------------*/

void subject_expect_effects(const subject *s, uint64_t steps)
{
    for (size_t i = 0; i < s->r.n_effects; i++) {
        expect(s, s->r.effects[i].forwards == steps);
        expect(s, s->r.effects[i].replays == 0);
    }
}

void subject_expect_peak(const subject *s, const remat_exec *exec, const remat_exec_options *o)
{
    remat_plan_summary summary;
    remat_exec_statistics statistics;
    remat_plan_summarize(remat_exec_plan(exec), &summary);
    remat_exec_get_statistics(exec, &statistics);
    expect(s, statistics.measured_peak_bytes == statistics.planned_peak_bytes);
    expect(s, statistics.planned_peak_bytes ==
                  (o->separate_buffers ? summary.live_bytes : summary.arena_bytes));
}

/* ---- gradient_ready --------------------------------------------------------------------------*/

/* Data of the leaf that gradient i belongs to, and its size; NULL: it belongs to a result. */
static void *leaf_data(const subject *s, size_t i, size_t *bytes)
{
    uint32_t v = remat_tape_index(s->r.tape, s->r.gradients[i].v);
    const remat_value_record *value = &s->r.tape->values.data[v];
    *bytes = remat_tape_bytes(s->r.tape, v);
    return value->kind == REMAT_VALUE_RESULT ? NULL : s->r.tape->leaves.data[value->origin].data;
}

remat_status subject_ready(void *context, remat_var v, void *gradient)
{
    subject *s = context;
    size_t i = 0, bytes;
    while (i < s->r.n_gradients && s->r.gradients[i].v.id != v.id)
        i++;
    expect(s, i < s->r.n_gradients && gradient && gradient == s->r.gradients[i].buffer);
    expect(s, s->ready_calls[i]++ == 0);
    s->ready_hash[i] = remat_hash_bytes(0, gradient, s->r.gradients[i].bytes);
    void *data = leaf_data(s, i, &bytes);
    if (data) {
        s->leaf_copy[i] = malloc(bytes);
        assert_non_null(s->leaf_copy[i]);
        memcpy(s->leaf_copy[i], data, bytes);
        memset(data, 0xFF, bytes);
    }
    return REMAT_OK;
}

static void finish_ready(subject *s, const remat_exec_options *o)
{
    for (size_t i = 0; i < s->r.n_gradients && o->gradient_ready; i++) {
        const random_gradient *g = &s->r.gradients[i];
        size_t bytes;
        void *data = leaf_data(s, i, &bytes);
        if (s->leaf_copy[i])
            memcpy(data, s->leaf_copy[i], bytes);
        free(s->leaf_copy[i]);
        s->leaf_copy[i] = NULL;
        expect(s, s->ready_calls[i] == (g->buffer ? 1 : 0));
        expect(s, !g->buffer || remat_hash_bytes(0, g->buffer, g->bytes) == s->ready_hash[i]);
        s->ready_calls[i] = 0;
    }
}

/* ---- Steps -----------------------------------------------------------------------------------*/

/* A step from given gradients; the outcome in s->got. */
void subject_step(subject *s, remat_exec *exec, const remat_exec_options *o)
{
    size_t calls = s->memory.calls, live = s->memory.live_bytes;
    outcome_fill_gradients(&s->r, o->overwrite_gradients ? 1e30 : 0.0);
    expect(s, remat_exec_step(exec) == REMAT_OK);
    finish_ready(s, o);
    expect(s, o->separate_buffers || (s->memory.calls == calls && s->memory.live_bytes == live));
    expect(s, outcome_collect(&s->got, &s->r, exec));
    subject_expect_peak(s, exec, o);
}

/* Bit by bit; but a gradient of -0 that is added to a buffer of zeros gives +0. */
static bool agrees(const subject *s, const remat_exec_options *o)
{
    return o->overwrite_gradients ? outcome_same_numbers(&s->r, &s->got, &s->keep_all)
                                  : outcome_same_bits(&s->got, &s->keep_all);
}

void subject_steps(subject *s, remat_exec *exec, const remat_exec_options *o)
{
    memset(s->r.effects, 0, sizeof s->r.effects);
    subject_step(s, exec, o);
    expect(s, outcome_same_numbers(&s->r, &s->got, &s->expected));
    expect(s, agrees(s, o));
    if (o->retain) { /* again, without a forward pass */
        outcome_fill_gradients(&s->r, o->overwrite_gradients ? 1e30 : 0.0);
        expect(s, remat_exec_backward(exec) == REMAT_OK);
        finish_ready(s, o);
        expect(s, outcome_collect(&s->got, &s->r, exec));
        expect(s, agrees(s, o));
    } else {
        expect(s, remat_exec_backward(exec) == REMAT_CONSUMED);
    }
    subject_step(s, exec, o); /* other noise */
    expect(s, s->r.has_noise || agrees(s, o));
    remat_exec_set_step(exec, 0);
    subject_step(s, exec, o);
    expect(s, agrees(s, o));
    subject_expect_effects(s, 3);
}

/* ---- The plan --------------------------------------------------------------------------------*/

static void expect_summary(subject *s, const remat_plan *plan, const remat_exec_options *o)
{
    remat_plan_summary m;
    remat_plan_summarize(plan, &m);
    expect(s, m.boundary_bytes + m.replayed_bytes + m.gradient_bytes + m.workspace_bytes +
                      m.alignment_bytes ==
                  m.live_bytes);
    expect(s, m.arena_bytes >= m.live_bytes);
    expect(s, o->budget_bytes > 0 || m.arena_bytes <= m.keep_all_bytes);
    expect(s, m.arena_bytes % 64 == 0);
    expect(s, m.forward_runs == s->first.needed_statements);
    expect(s, o->budget_bytes == 0 || m.arena_bytes <= o->budget_bytes);
    expect(s, m.fingerprint == remat_tape_fingerprint(s->r.tape));
}

/* Gradients exist where one was asked for, or leads to one, and nowhere else; likewise tasks. */
static void expect_only_wanted_gradients(const subject *s, const remat_plan *plan)
{
    const remat_problem *p = &plan->derivation.problem;
    size_t backwards = 0;
    for (uint32_t t = p->n_forward; t < p->n_tasks; t++)
        backwards += p->tasks.data[t].kind == REMAT_TASK_BACKWARD;
    expect(s, backwards == s->first.gradient_statements);
    for (size_t i = 0; i < p->values.count; i++) {
        const remat_problem_value *value = &p->values.data[i];
        const reference_value *v = &s->first.values[value->origin];
        bool requested = s->r.tape->values.data[value->origin].flags & REMAT_VALUE_GRADIENT;
        if (value->class == REMAT_CLASS_GRADIENT)
            expect(s, v->wanted && (v->reached || requested));
        else
            expect(s, v->needed && v->root == value->origin);
    }
}

/* What is marked for recomputing is gone when the forward pass is over. Blocks hold on to a marked
 * value that is all that crosses between two of them. */
static void expect_marks_are_obeyed(const subject *s, const remat_plan *plan)
{
    const remat_problem *p = &plan->derivation.problem;
    bool *resident = calloc(p->values.count + 1, sizeof *resident);
    bool *gone = calloc(p->values.count + 1, sizeof *gone);
    assert_true(resident && gone);
    for (size_t v = 0; v < p->values.count; v++)
        gone[v] = p->values.data[v].policy == REMAT_POLICY_RECOMPUTE && !p->values.data[v].pinned;
    uint32_t n_run = 0;
    for (size_t i = 0; i < plan->schedule.count; i++) {
        remat_action action = plan->schedule.data[i];
        uint32_t id = remat_action_id(action);
        if (remat_action_is_drop(action)) {
            resident[id] = false;
            continue;
        }
        if (n_run == p->n_forward)
            break;            /* the first action after the forward pass */
        n_run += id == n_run; /* first runs are in order; replays may come among them */
        for (uint32_t k = 0; k < remat_task_n_writes(p, id); k++) {
            resident[remat_task_writes(p, id)[k].value] = true;
            gone[remat_task_writes(p, id)[k].value] &= p->tasks.data[id].replayable;
        }
    }
    for (size_t v = 0; v < p->values.count; v++)
        expect(s, !resident[v] || !gone[v]);
    free(resident);
    free(gone);
}

remat_plan *subject_plan(subject *s, const remat_exec_options *o)
{
    remat_plan *plan = NULL;
    expect(s, remat_plan_create(s->r.tape, s->r.loss, o, &plan) == REMAT_OK);
    expect_summary(s, plan, o);
    expect_only_wanted_gradients(s, plan);
    expect_marks_are_obeyed(s, plan);
    return plan;
}

/* ---- Modes -----------------------------------------------------------------------------------*/

/* A caller's arena of exactly the planned size between canaries, all of one pattern. */
enum { GUARD = 256, PATTERN = 0xC3 };

static void expect_guarded(const subject *s, const unsigned char *block, size_t arena_bytes)
{
    for (size_t i = 0; i < GUARD; i++) {
        expect(s, block[i] == PATTERN);
        expect(s, block[GUARD + arena_bytes + i] == PATTERN);
    }
    bool touched = arena_bytes == 0;
    for (size_t i = 0; i < 64 && !touched; i++)
        touched = block[GUARD + arena_bytes - 1 - i] != PATTERN;
    expect(s, touched); /* the planned peak is really reached */
}

void subject_steps_in_own_arena(subject *s, remat_plan *plan, remat_exec_options o)
{
    remat_plan_summary m;
    remat_exec *exec = NULL;
    remat_plan_summarize(plan, &m);
    if (m.arena_bytes == 0)
        return;
    unsigned char *block = aligned_alloc(64, m.arena_bytes + 2 * GUARD);
    assert_non_null(block);
    memset(block, PATTERN, m.arena_bytes + 2 * GUARD);
    o.arena = block + GUARD;
    o.arena_bytes = m.arena_bytes - 1;
    expect(s, remat_exec_create_with_plan(s->r.tape, plan, &o, &exec) == REMAT_INVALID_ARGUMENT);
    o.arena_bytes = m.arena_bytes;
    expect(s, remat_exec_create_with_plan(s->r.tape, plan, &o, &exec) == REMAT_OK);
    if (!o.poison) /* else every step fills the arena itself */
        memset(o.arena, PATTERN, m.arena_bytes);
    subject_steps(s, exec, &o);
    expect_guarded(s, block, m.arena_bytes);
    remat_exec_destroy(exec);
    free(block);
}

/* ---- Life ------------------------------------------------------------------------------------*/

/* Keep-all is the measure of all others. */
static void run_keep_all(subject *s)
{
    remat_exec *exec = NULL;
    remat_exec_options o = subject_options(REMAT_STRATEGY_KEEP_ALL);
    strcpy(s->what, "the first keep-all");
    remat_plan *plan = subject_plan(s, &o);
    expect(s, remat_exec_create_with_plan(s->r.tape, plan, &o, &exec) == REMAT_OK);
    subject_step(s, exec, &o);
    expect(s, outcome_same_numbers(&s->r, &s->got, &s->expected));
    expect(s, outcome_collect(&s->keep_all, &s->r, exec));
    s->keep_all_bytes = plan->summary.arena_bytes;
    s->keep_all_live_bytes = plan->summary.live_bytes;
    remat_exec_destroy(exec);
    remat_plan_destroy(plan);
}

void subject_prepare(subject *s, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->state = seed + 1;
    remat_allocator allocator = counting_allocator_make(&s->memory);
    remat_tape_options options = {&allocator};
    remat_tape *tape = NULL;
    assert_int_equal(remat_tape_create(&options, &tape), REMAT_OK);
    random_tape_init(&s->r, tape, seed);
    strcpy(s->what, "recording");
    expect(s, random_tape_record(&s->r) == REMAT_OK);
    reference_run(&s->first, tape, s->r.loss, SEED, 0);
    outcome_expect(&s->expected, &s->r, &s->first);
    run_keep_all(s);
}

void subject_release(subject *s)
{
    remat_tape_destroy(s->r.tape);
    s->r.tape = NULL;
    assert_int_equal(s->memory.live_blocks, 0);
    assert_int_equal(s->memory.wrong_sizes, 0);
    reference_release(&s->first);
    random_tape_release(&s->r);
    outcome_release(&s->expected);
    outcome_release(&s->keep_all);
    outcome_release(&s->got);
}
