/* test_report.c - tables and pictures of plans: figures add up, markup is well-formed whatever
 * names users choose, errors are reported. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/counting_allocator.h"
#include "core/support/markup.h"
#include "core/support/random_tape.h"
#include "plan/plan.h"

/* ---- Writers of plans, under one name --------------------------------------------------------*/

typedef remat_status writer(const remat_tape *tape, const remat_plan *plan, FILE *out);

static remat_status write_table(const remat_tape *tape, const remat_plan *plan, FILE *out)
{
    (void)tape;
    return remat_plan_print(plan, out);
}

static remat_status write_svg(const remat_tape *tape, const remat_plan *plan, FILE *out)
{
    (void)tape;
    return remat_plan_write_timeline_svg(plan, out);
}

static remat_status write_csv(const remat_tape *tape, const remat_plan *plan, FILE *out)
{
    (void)tape;
    return remat_plan_write_timeline_csv(plan, out);
}

static writer *const writers[] = {write_table, write_svg, write_csv, remat_plan_write_dot};
enum { N_WRITERS = sizeof writers / sizeof writers[0] };

static char *written(writer *write, const remat_tape *tape, const remat_plan *plan)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(write(tape, plan, file), REMAT_OK);
    return file_text(file);
}

/* ---- Networks --------------------------------------------------------------------------------*/

static float numbers[64];

static remat_tape *new_tape(void)
{
    remat_tape *tape = NULL;
    assert_int_equal(remat_tape_create(NULL, &tape), REMAT_OK);
    return tape;
}

static remat_plan *new_plan(remat_tape *tape, remat_var loss, remat_strategy strategy)
{
    remat_plan *plan = NULL;
    remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
    o.strategy = strategy;
    assert_int_equal(remat_plan_create(tape, loss, &o, &plan), REMAT_OK);
    return plan;
}

/* n segments of two statements that read their operand in backward. */
static remat_var record_chain(remat_tape *tape, size_t n)
{
    remat_var h = remat_parameter(tape, "w", REMAT_F32, REMAT_SHAPE(64), numbers, numbers);
    for (size_t i = 0; i < n; i++) {
        remat_segment_begin(tape, NULL);
        h = fake_apply1(tape, &fake_softsign, h);
        h = fake_apply1(tape, &fake_softsign, h);
        remat_segment_end(tape);
    }
    h = fake_apply1(tape, &fake_sum, h);
    assert_int_equal(remat_tape_status(tape), REMAT_OK);
    return h;
}

/* ---- The timeline's figures ------------------------------------------------------------------*/

typedef struct line {
    size_t run, statement, first_run, replayed, gradients, workspace, alignment, live, top;
    double seconds;
    char phase[16], op[64];
} line;

typedef struct totals {
    size_t runs_of[3]; /* forward, replay, backward */
    size_t peak, top;
    line at_peak;
    double step_seconds, replay_seconds;
} totals;

static size_t bytes_in_use(const remat_plan *plan, size_t action)
{
    size_t bytes = 0;
    for (size_t i = 0; i < plan->buffers.count; i++) {
        const remat_buffer *b = &plan->buffers.data[i];
        bytes += b->first <= action && action <= b->last ? b->bytes : 0;
    }
    return bytes;
}

static size_t top_in_use(const remat_plan *plan, size_t action)
{
    size_t top = 0;
    for (size_t i = 0; i < plan->buffers.count; i++) {
        const remat_buffer *b = &plan->buffers.data[i];
        if (b->first <= action && action <= b->last && b->offset + b->bytes > top)
            top = b->offset + b->bytes;
    }
    return top;
}

static void add_line(totals *t, const line *l)
{
    const char *const names[] = {"forward", "replay", "backward"};
    for (int k = 0; k < 3; k++)
        t->runs_of[k] += strcmp(l->phase, names[k]) == 0;
    *(l->phase[0] == 'r' ? &t->replay_seconds : &t->step_seconds) += l->seconds;
    if (l->live > t->peak) {
        t->peak = l->live;
        t->at_peak = *l;
    }
    t->top = l->top > t->top ? l->top : t->top;
}

static void read_timeline(const remat_plan *plan, const char *csv, totals *t)
{
    *t = (totals){0};
    for (size_t i = 0, run = 0; i < plan->schedule.count; i++) {
        line l;
        if (remat_action_is_drop(plan->schedule.data[i]))
            continue;
        csv = strchr(csv, '\n');
        assert_non_null(csv++);
        assert_int_equal(sscanf(csv, "%zu,%15[^,],%63[^,],%zu,%lf,%zu,%zu,%zu,%zu,%zu,%zu,%zu",
                                &l.run, l.phase, l.op, &l.statement, &l.seconds, &l.first_run,
                                &l.replayed, &l.gradients, &l.workspace, &l.alignment, &l.live,
                                &l.top),
                         12);
        assert_int_equal(l.run, run++);
        assert_int_equal(l.first_run + l.replayed + l.gradients + l.workspace + l.alignment,
                         l.live);
        assert_int_equal(l.live, bytes_in_use(plan, i));
        assert_int_equal(l.top, top_in_use(plan, i));
        add_line(t, &l);
        if (l.phase[2] == 'p')
            assert_true(l.replayed > 0);
        if (t->runs_of[1] == 0)
            assert_int_equal(l.replayed, 0);
    }
    csv = strchr(csv, '\n');
    assert_non_null(csv);
    assert_string_equal(csv, "\n");
}

static void expect_summary(const remat_plan *plan, const totals *t)
{
    remat_plan_summary s;
    remat_plan_summarize(plan, &s);
    assert_int_equal(t->runs_of[0], s.forward_runs);
    assert_int_equal(t->runs_of[1], s.replays);
    assert_int_equal(t->runs_of[2], s.backward_runs);
    assert_int_equal(t->peak, s.live_bytes);
    assert_int_equal(t->top, s.arena_bytes);
    assert_int_equal(t->at_peak.first_run, s.boundary_bytes);
    assert_int_equal(t->at_peak.replayed, s.replayed_bytes);
    assert_int_equal(t->at_peak.gradients, s.gradient_bytes);
    assert_int_equal(t->at_peak.workspace, s.workspace_bytes);
    assert_int_equal(t->at_peak.alignment, s.alignment_bytes);
    assert_int_equal(t->at_peak.statement, s.peak_statement);
    assert_true(fabs(t->step_seconds - s.step_cost) <= 1e-6 * s.step_cost);
    assert_true(fabs(t->replay_seconds - s.replay_cost) <= 1e-6 * s.step_cost);
}

/* The picture has a tooltip for each run, in order. */
static void expect_tooltips(const char *svg, size_t runs)
{
    char text[64];
    for (size_t run = 0; run < runs; run++) {
        snprintf(text, sizeof text, "\nrun %zu of %zu, ", run, runs);
        svg = strstr(svg, text);
        assert_non_null(svg);
    }
}

static void expect_pictures(const remat_tape *tape, const remat_plan *plan, const totals *t)
{
    char *svg = written(write_svg, tape, plan), *dot = written(remat_plan_write_dot, tape, plan);
    size_t runs = t->runs_of[0] + t->runs_of[1] + t->runs_of[2];
    assert_true(markup_is_xml(svg));
    assert_int_equal(markup_count(svg, "<title>"), runs);
    expect_tooltips(svg, runs);
    assert_int_equal(markup_count(svg, "<script"), 0);
    assert_int_equal(markup_count(svg, "href"), 0);
    assert_int_equal(markup_count(svg, "://"), 1); /* the name space */
    assert_true(markup_is_dot(dot));
    free(svg);
    free(dot);
}

static void timelines_agree_with_summaries(void **state)
{
    (void)state;
    static random_tape r;
    size_t replays = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        remat_tape *tape = new_tape();
        random_tape_init(&r, tape, seed);
        assert_int_equal(random_tape_record(&r), REMAT_OK);
        for (int s = REMAT_STRATEGY_KEEP_ALL; s <= REMAT_STRATEGY_SQRT; s++) {
            remat_plan *plan = new_plan(tape, r.loss, (remat_strategy)s);
            char *csv = written(write_csv, tape, plan);
            totals t;
            read_timeline(plan, csv, &t);
            expect_summary(plan, &t);
            expect_pictures(tape, plan, &t);
            replays += t.runs_of[1];
            free(csv);
            remat_plan_destroy(plan);
        }
        remat_tape_destroy(tape);
        random_tape_release(&r);
    }
    assert_true(replays > 1000);
}

static void long_timelines_stay_small(void **state)
{
    (void)state;
    remat_tape *tape = new_tape();
    remat_plan *plan = new_plan(tape, record_chain(tape, 20000), REMAT_STRATEGY_SQRT);
    char *svg = written(write_svg, tape, plan);
    assert_true(plan->schedule.count > 100000);
    assert_true(markup_is_xml(svg));
    assert_int_equal(markup_count(svg, "<title>"), 1500);
    assert_true(strlen(svg) < 700000);
    free(svg);
    remat_plan_destroy(plan);
    remat_tape_destroy(tape);
}

/* ---- The graph -------------------------------------------------------------------------------*/

#define KEPT     "bgcolor=\"#A6CFEA\">f32[64]"
#define REPLAYED "bgcolor=\"#FAD48A\">f32[64]"
#define UNUSED   "bgcolor=\"#FFFFFF\">f32[64]"

static void graphs_show_what_is_dropped(void **state)
{
    (void)state;
    remat_tape *tape = new_tape();
    remat_var loss = record_chain(tape, 4);
    fake_apply1(tape, &fake_softsign,
                remat_parameter(tape, "unused", REMAT_F32, REMAT_SHAPE(64), numbers, numbers));
    remat_plan *plan = new_plan(tape, loss, REMAT_STRATEGY_SEGMENTS);
    char *dot = written(remat_plan_write_dot, tape, plan);
    assert_int_equal(markup_count(dot, "subgraph cluster_"), 5); /* the legend's too */
    /* Inner values of all segments but the last are dropped, what their statements read is kept. */
    assert_int_equal(markup_count(dot, REPLAYED), 3);
    assert_int_equal(markup_count(dot, KEPT), 4);
    assert_int_equal(markup_count(dot, UNUSED), 1);
    assert_int_equal(markup_count(dot, "</b> +1"), 3);
    assert_int_equal(markup_count(dot, "v0 -> s0 "), 1);
    assert_int_equal(markup_count(dot, "s0:r0 -> s1 "), 1);
    assert_int_equal(markup_count(dot, "<i>w</i>"), 1);
    free(dot);
    remat_tape_clear(tape);
    record_chain(tape, 3);
    FILE *file = tmpfile();
    assert_int_equal(remat_plan_write_dot(tape, plan, file), REMAT_STALE);
    assert_int_equal(ftell(file), 0);
    fclose(file);
    remat_plan_destroy(plan);
    remat_tape_destroy(tape);
}

/* ---- Hostile names ---------------------------------------------------------------------------*/

#define HOSTILE \
    "\"]]>,</title><script>&amp;'\\\"{\n\x01}\xff\xc0\x80\xed\xa0\x80\xef\xbf\xbf\xf5-->;<"

static void hostile_names_are_escaped(void **state)
{
    (void)state;
    remat_op op = fake_softsign;
    op.name = HOSTILE;
    remat_tape *tape = new_tape();
    remat_var h = remat_parameter(tape, HOSTILE, REMAT_F32, REMAT_SHAPE(64), numbers, numbers);
    remat_segment_begin(tape, HOSTILE);
    h = fake_apply1(tape, &op, fake_apply1(tape, &op, h));
    remat_name(tape, h, HOSTILE);
    remat_segment_end(tape);
    remat_plan *plan = new_plan(tape, fake_apply1(tape, &fake_sum, h), REMAT_STRATEGY_SEGMENTS);
    char *svg = written(write_svg, tape, plan), *csv = written(write_csv, tape, plan);
    char *dot = written(remat_plan_write_dot, tape, plan);
    assert_true(markup_is_xml(svg));
    assert_true(markup_is_dot(dot));
    assert_true(markup_count(svg, "<script") + markup_count(dot, "<script") == 0);
    assert_true(markup_count(svg, "&quot;]]&gt;,&lt;/title&gt;&lt;script&gt;&amp;amp;&#39;") > 0);
    assert_int_equal(markup_count(dot, "&lt;script&gt;"),
                     5); /* leaf, 2 statements, name, segment */
    assert_int_equal(markup_count(csv, ",\"\"\"]]>,</title>"), 4); /* a field, its quotes doubled */
    free(svg);
    free(csv);
    free(dot);
    remat_plan_destroy(plan);
    remat_tape_destroy(tape);
}

/* ---- Errors ----------------------------------------------------------------------------------*/

static void write_errors_are_reported(void **state)
{
    (void)state;
    remat_tape *tape = new_tape();
    remat_plan *plan = new_plan(tape, record_chain(tape, 4), REMAT_STRATEGY_SEGMENTS);
    for (int i = 0; i < N_WRITERS; i++) {
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        assert_int_equal(writers[i](tape, plan, full), REMAT_INVALID_ARGUMENT);
        fclose(full);
    }
    for (int i = 0; i < N_WRITERS; i++) {
        assert_int_equal(writers[i](tape, NULL, stderr), REMAT_INVALID_ARGUMENT);
        assert_int_equal(writers[i](tape, plan, NULL), REMAT_INVALID_ARGUMENT);
    }
    assert_int_equal(remat_plan_write_dot(NULL, plan, stderr), REMAT_INVALID_ARGUMENT);
    remat_plan_destroy(plan);
    remat_tape_destroy(tape);
}

static void memory_may_run_short(void **state)
{
    (void)state;
    counting_allocator memory = {0};
    remat_allocator allocator = counting_allocator_make(&memory);
    remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
    o.allocator = &allocator;
    remat_tape *tape = new_tape();
    remat_plan *plan = NULL;
    assert_int_equal(remat_plan_create(tape, record_chain(tape, 4), &o, &plan), REMAT_OK);
    size_t before = memory.live_bytes;
    for (int i = 0; i < N_WRITERS; i++) {
        remat_status status = REMAT_OUT_OF_MEMORY;
        size_t n = 0;
        for (; status == REMAT_OUT_OF_MEMORY && n < 100; n++) {
            FILE *file = tmpfile();
            memory.fail_at = memory.calls + n + 1;
            status = writers[i](tape, plan, file);
            assert_true(status == REMAT_OK || ftell(file) == 0); /* all or nothing */
            assert_int_equal(memory.live_bytes, before);
            fclose(file);
        }
        assert_int_equal(status, REMAT_OK);
        assert_true(n > 2);
    }
    memory.fail_at = 0;
    remat_plan_destroy(plan);
    remat_tape_destroy(tape);
    assert_int_equal(memory.live_blocks, 0);
    assert_int_equal(memory.wrong_sizes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timelines_agree_with_summaries),
        cmocka_unit_test(long_timelines_stay_small),
        cmocka_unit_test(graphs_show_what_is_dropped),
        cmocka_unit_test(hostile_names_are_escaped),
        cmocka_unit_test(write_errors_are_reported),
        cmocka_unit_test(memory_may_run_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
