/* test_scenarios_memory.c - what memory holds at each moment of a step, read from the plan's
 * timeline; whose memory is whose; budgets and options that make no sense. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/spy.h"
#include "support/trial.h"

enum { ROWS = 16, WIDTH = 16, VALUE = ROWS * WIDTH * sizeof(float) };

static remat_var none(void)
{
    return (remat_var){0};
}

/* ---- Equal segments --------------------------------------------------------------------------*/

enum { SEGMENTS = 16, STATEMENTS = 5 };

/* Each operation reads only the value before it. */
/* context, if given, receives a value in the midst of the first segment. */
static remat_var record_segments(trial *t, void *context)
{
    remat_var *middle = context, x = trial_input(t, REMAT_SHAPE(ROWS, WIDTH));
    for (int i = 0; i < SEGMENTS; i++) {
        trial_segment_begin(t);
        x = remat_linear(t->tape, x, trial_parameter(t, REMAT_SHAPE(WIDTH, WIDTH)), none());
        if (i == 0 && middle)
            *middle = x;
        x = remat_gelu(t->tape, remat_silu(t->tape, x));
        x = remat_gelu(t->tape, remat_silu(t->tape, x));
        trial_segment_end(t);
    }
    return trial_mean_square(t, x);
}

typedef struct moment {
    char phase[16], op[32];
    size_t statement, first_run, replayed, gradients, live;
} moment;

static bool next_moment(FILE *timeline, moment *m)
{
    size_t run, workspace, alignment, top;
    double seconds;
    return fscanf(timeline, "%zu,%15[^,],%31[^,],%zu,%lf,%zu,%zu,%zu,%zu,%zu,%zu,%zu\n", &run,
                  m->phase, m->op, &m->statement, &seconds, &m->first_run, &m->replayed,
                  &m->gradients, &workspace, &alignment, &m->live, &top) == 12;
}

/* Forward: boundaries so far and the two tensors of the operation that runs. Backward: boundaries
 * that are left, one segment made again, a gradient in and one out. */
static void check_moment(const moment *m)
{
    const size_t segment = m->statement / STATEMENTS, scalar = 64;
    const bool last = segment + 1 >= SEGMENTS; /* not replayed: its values stay; and the loss */
    const size_t own = last ? STATEMENTS + 1 : 0;
    if (strcmp(m->phase, "forward") == 0) {
        assert_true(last || m->live <= (segment + 2) * VALUE);
        assert_true(m->first_run <= (segment + 2 + own) * VALUE + scalar);
        assert_int_equal(m->replayed, 0);
    } else {
        assert_true(m->first_run <= (segment + own) * VALUE + scalar);
        assert_true(m->replayed <= STATEMENTS * VALUE);
        assert_true(m->gradients <= 2 * VALUE + scalar);
    }
}

static void memory_holds_boundaries_and_one_segment(void **state)
{
    (void)state;
    trial t;
    remat_plan_summary m;
    moment at;
    size_t lines = 0;
    const trial_network network = {.record = record_segments};
    assert_true(trial_check(&network) > 0);
    const remat_var loss = trial_open(&t, &network);
    remat_exec *exec =
        trial_exec(&t, loss, (remat_exec_options){.strategy = REMAT_STRATEGY_SEGMENTS});
    remat_plan_summarize(remat_exec_plan(exec), &m);
    assert_true(m.arena_bytes <= (SEGMENTS + STATEMENTS + 2) * VALUE + 128);
    assert_true(2 * m.arena_bytes < m.keep_all_bytes);
    FILE *timeline = tmpfile();
    assert_non_null(timeline);
    assert_int_equal(remat_plan_write_timeline_csv(remat_exec_plan(exec), timeline), REMAT_OK);
    rewind(timeline);
    for (int c = fgetc(timeline); c != '\n' && c != EOF; c = fgetc(timeline)) {
    }
    for (; next_moment(timeline, &at); lines++)
        check_moment(&at);
    assert_int_equal(lines, m.forward_runs + m.replays + m.backward_runs);
    fclose(timeline);
    remat_exec_destroy(exec);
    trial_close(&t);
}

/* ---- Kept values and operations in place -----------------------------------------------------*/

static remat_var record_kept(trial *t, void *context)
{
    remat_var *kept = context;
    const remat_var p = trial_parameter(t, REMAT_SHAPE(ROWS, WIDTH));
    const remat_var w = trial_parameter(t, REMAT_SHAPE(WIDTH, WIDTH));
    trial_segment_begin(t);
    *kept = remat_matmul(t->tape, remat_relu(t->tape, p), w, false, false); /* p is ours */
    assert_int_equal(remat_keep(t->tape, *kept), REMAT_OK);
    remat_var x = remat_relu(t->tape, remat_reshape(t->tape, *kept, REMAT_SHAPE(WIDTH, ROWS)));
    trial_segment_end(t);
    trial_segment_begin(t);
    x = remat_gelu(t->tape, remat_exp(t->tape, remat_relu(t->tape, x)));
    trial_segment_end(t);
    return trial_mean_square(t, x);
}

/* Nothing works in place on what must stay: a kept value, also through a view, or a leaf. */
static void nothing_overwrites_what_is_kept(void **state)
{
    (void)state;
    remat_var kept;
    const trial_network network = {.record = record_kept, .context = &kept};
    trial_check(&network);
    for (int i = 0; i < REMAT_STRATEGY_COUNT; i++) {
        trial t;
        const void *data;
        const remat_var loss = trial_open(&t, &network);
        remat_exec *exec = trial_exec(&t, loss,
                                      (remat_exec_options){.strategy = (remat_strategy)i,
                                                           .effort = REMAT_EFFORT_FAST,
                                                           .poison = true});
        assert_int_equal(remat_exec_step(exec), REMAT_OK);
        assert_int_equal(remat_exec_value(exec, kept, &data), REMAT_OK);
        const float *p = t.data[0].data, *w = t.data[1].data;
        size_t negative = 0;
        for (size_t r = 0; r < ROWS; r++)
            for (size_t c = 0; c < WIDTH; c++) {
                double sum = 0;
                for (size_t k = 0; k < WIDTH; k++)
                    sum += fmax((double)p[r * WIDTH + k], 0) * (double)w[k * WIDTH + c];
                assert_true(fabs(sum - (double)((const float *)data)[r * WIDTH + c]) < 1e-5);
                negative += sum < 0;
            }
        assert_true(negative > 0); /* which the relu would have made zero */
        remat_exec_destroy(exec);
        trial_close(&t);
    }
}

/* ---- Recording again -------------------------------------------------------------------------*/

typedef struct shapes {
    float x[24], w[24], gradient[24];
} shapes;

static remat_var record_shape(remat_tape *tape, shapes *s, int64_t rows, int64_t columns)
{
    const remat_shape shape = REMAT_SHAPE(rows, columns);
    const remat_var x = remat_input(tape, "x", REMAT_F32, shape, s->x);
    const remat_var w = remat_parameter(tape, "w", REMAT_F32, shape, s->w, s->gradient);
    remat_segment_begin(tape, NULL);
    const remat_var y = remat_softmax(tape, remat_matmul(tape, x, w, false, true), -1);
    remat_segment_end(tape);
    return remat_mean(tape, remat_square(tape, y), NULL, 0, false);
}

/* The same bytes under another shape, between training steps: shapes follow, weights stay. */
static void recording_again_with_as_many_bytes(void **state)
{
    (void)state;
    static const int64_t rows[] = {4, 6, 1, 24, 2, 4};
    shapes s = {{0}, {0}, {0}}, before;
    remat_tape *tape = NULL;
    remat_exec *exec = NULL;
    double losses[6];
    for (size_t i = 0; i < 24; i++) {
        s.x[i] = (float)(i % 7) / 7;
        s.w[i] = (float)(i % 5) / 5;
    }
    before = s;
    assert_int_equal(remat_tape_create(NULL, &tape), REMAT_OK);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(remat_tape_clear(tape), REMAT_OK);
        const remat_var loss = record_shape(tape, &s, rows[i], 24 / rows[i]);
        assert_int_equal(exec ? remat_exec_update(exec, loss)
                              : remat_exec_create(tape, loss, NULL, &exec),
                         REMAT_OK);
        assert_int_equal(remat_exec_step(exec), REMAT_OK);
        losses[i] = remat_exec_loss(exec);
        assert_true(losses[i] > 0 && losses[i] <= 1);
    }
    assert_true(losses[0] == losses[5] && losses[0] != losses[1] && losses[2] == 1);
    assert_memory_equal(s.x, before.x, sizeof s.x);
    assert_memory_equal(s.w, before.w, sizeof s.w);
    remat_exec_destroy(exec);
    remat_tape_destroy(tape);
}

/* ---- Budgets and options ---------------------------------------------------------------------*/

static remat_status plan(trial *t, remat_var loss, remat_exec_options o, remat_plan_summary *m)
{
    remat_plan *made = NULL;
    const remat_status status = remat_plan_create(t->tape, loss, &o, &made);
    assert_int_equal(status == REMAT_OK, made != NULL);
    assert_int_equal(remat_tape_status(t->tape), REMAT_OK); /* nothing is lost */
    assert_true(status == REMAT_OK || remat_tape_message(t->tape)[0]);
    if (made)
        remat_plan_summarize(made, m);
    remat_plan_destroy(made);
    return status;
}

static void senseless_budgets_are_refused_with_the_smallest(void **state)
{
    (void)state;
    trial t;
    remat_plan_summary m;
    size_t least;
    char text[32];
    const trial_network network = {.record = record_segments};
    const remat_var loss = trial_open(&t, &network);
    for (int i = 0; i < REMAT_STRATEGY_COUNT; i++) {
        remat_exec_options o = {.strategy = (remat_strategy)i, .effort = REMAT_EFFORT_FAST};
        assert_int_equal(remat_plan_min_budget(t.tape, loss, &o, &least), REMAT_OK);
        snprintf(text, sizeof text, "(%zu bytes)", least);
        const size_t small[] = {1, 63, least / 2, least - 1};
        for (size_t k = 0; k < 4; k++) {
            o.budget_bytes = small[k];
            assert_int_equal(plan(&t, loss, o, &m), REMAT_INFEASIBLE_BUDGET);
            assert_non_null(strstr(remat_tape_message(t.tape), text));
        }
        const size_t large[] = {least, least + 1, SIZE_MAX - 1, SIZE_MAX, 0};
        for (size_t k = 0; k < 5; k++) {
            o.budget_bytes = large[k];
            assert_int_equal(plan(&t, loss, o, &m), REMAT_OK);
            assert_true(m.arena_bytes <= large[k] || large[k] == 0);
        }
    }
    trial_close(&t);
}

static remat_policy unknown_policy(void *context, const char *op, const char *name, size_t bytes)
{
    (void)context, (void)op, (void)name, (void)bytes;
    return (remat_policy)77;
}

static void unknown_options_are_refused(void **state)
{
    (void)state;
    trial t;
    remat_plan_summary m;
    const trial_network network = {.record = record_segments};
    const remat_var loss = trial_open(&t, &network);
    const remat_exec_options wrong[] = {
        {.strategy = REMAT_STRATEGY_COUNT}, {.strategy = (remat_strategy)-1},
        {.effort = (remat_effort)77},       {.effort = (remat_effort)-1},
        {.time_limit_seconds = -1},         {.time_limit_seconds = (double)NAN},
        {.policy = unknown_policy},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (plan(&t, loss, wrong[i], &m) != REMAT_INVALID_ARGUMENT)
            fail_msg("options %zu were accepted", i);
    assert_int_equal(plan(&t, loss, (remat_exec_options){0}, &m), REMAT_OK);
    assert_int_equal(m.strategy, REMAT_STRATEGY_SEGMENTS); /* zero means the documented default */
    trial_close(&t);
}

/* The plan says what was chosen, and every choice shows. */
static void the_plan_shows_what_is_in_effect(void **state)
{
    (void)state;
    trial t;
    remat_plan_summary all, some, m;
    const trial_network network = {.record = record_segments};
    const remat_var loss = trial_open(&t, &network);
    for (int i = REMAT_STRATEGY_KEEP_ALL; i < REMAT_STRATEGY_COUNT; i++) {
        remat_exec_options o = {.strategy = (remat_strategy)i, .effort = REMAT_EFFORT_FAST};
        assert_int_equal(remat_plan_min_budget(t.tape, loss, &o, &o.budget_bytes), REMAT_OK);
        assert_int_equal(plan(&t, loss, o, &m), REMAT_OK);
        assert_int_equal(m.strategy, i);
        assert_true(i != REMAT_STRATEGY_KEEP_ALL || m.replays == 0);
    }
    assert_int_equal(plan(&t, loss, (remat_exec_options){0}, &some), REMAT_OK);
    assert_int_equal(plan(&t, loss, (remat_exec_options){.budget_bytes = SIZE_MAX}, &all),
                     REMAT_OK);
    assert_true(some.replays > 0 && all.replays == 0);
    assert_int_equal(plan(&t, loss, (remat_exec_options){.retain = true}, &m), REMAT_OK);
    assert_true(m.arena_bytes > some.arena_bytes);
    assert_int_equal(plan(&t, loss, (remat_exec_options){.forward_only = true}, &m), REMAT_OK);
    assert_true(m.backward_runs == 0 && m.arena_bytes <= 2 * VALUE + 64); /* two at a time */
    trial_close(&t);
}

/* A mark that comes after planning takes effect with the next plan, and until then says so. */
static void late_marks_wait_for_the_next_plan(void **state)
{
    (void)state;
    trial t;
    const void *data;
    remat_plan *old = NULL;
    remat_exec *stale = NULL;
    remat_var late;
    const trial_network network = {.record = record_segments, .context = &late};
    const remat_var loss = trial_open(&t, &network);
    remat_exec *exec = trial_exec(&t, loss, (remat_exec_options){0});
    assert_int_equal(remat_plan_create(t.tape, loss, NULL, &old), REMAT_OK);
    assert_int_equal(remat_keep(t.tape, late), REMAT_OK);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    assert_int_equal(remat_exec_value(exec, late, &data), REMAT_NOT_KEPT);
    assert_non_null(strstr(remat_exec_message(exec), "before planning"));
    assert_int_equal(remat_exec_create_with_plan(t.tape, old, NULL, &stale), REMAT_STALE);
    assert_non_null(strstr(remat_tape_message(t.tape), "plan again"));
    assert_int_equal(remat_exec_update(exec, loss), REMAT_OK);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    assert_int_equal(remat_exec_value(exec, late, &data), REMAT_OK);
    remat_plan_destroy(old);
    remat_exec_destroy(exec);
    trial_close(&t);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(memory_holds_boundaries_and_one_segment),
        TEST(nothing_overwrites_what_is_kept),
        TEST(recording_again_with_as_many_bytes),
        TEST(senseless_budgets_are_refused_with_the_smallest),
        TEST(unknown_options_are_refused),
        TEST(the_plan_shows_what_is_in_effect),
        TEST(late_marks_wait_for_the_next_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
