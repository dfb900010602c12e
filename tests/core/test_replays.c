/* test_replays.c - schedules with many replays on thousands of random tapes, whether they save
 * memory or not: plans by the library itself replay only where that pays. REMAT_TEST_TAPES and
 * REMAT_TEST_FIRST_TAPE as in test_invariants.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/subject.h"
#include "plan/strategy/strategy.h"

/* ---- Forced replays --------------------------------------------------------------------------*/

/* The forward task that makes a value; n_forward if none does. */
static uint32_t maker_of(const remat_problem *p, uint32_t value)
{
    for (uint32_t t = 0; t < p->n_forward; t++)
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++)
            if (remat_task_writes(p, t)[i].value == value)
                return t;
    return p->n_forward;
}

/* Replays some of what task t reads, and before that some of what makes those. */
static bool replay_inputs(subject *s, const remat_problem *p, remat_runs *runs, uint32_t t,
                          unsigned percent)
{
    bool done = true;
    for (uint32_t i = 0; i < remat_task_n_reads(p, t) && done; i++) {
        uint32_t maker = maker_of(p, remat_task_reads(p, t)[i]);
        if (maker == p->n_forward || !p->tasks.data[maker].replayable ||
            !test_random_chance(&s->state, percent))
            continue;
        done = replay_inputs(s, p, runs, maker, percent * 3 / 4) &&
               remat_vector_push(&p->allocator, runs, maker);
    }
    return done;
}

/* Replays of any forward task that allows it, at any place of the backward pass. */
static bool order_at_random(subject *s, const remat_problem *p, remat_runs *runs)
{
    bool done = true;
    unsigned percent = (unsigned)test_random_below(&s->state, 100);
    for (uint32_t t = 0; t < p->n_forward && done; t++)
        done = remat_vector_push(&p->allocator, runs, t);
    for (uint32_t t = p->n_forward; t < p->n_tasks && done; t++) {
        uint32_t any = (uint32_t)test_random_below(&s->state, p->n_forward + 1);
        if (any < p->n_forward && p->tasks.data[any].replayable)
            done = remat_vector_push(&p->allocator, runs, any);
        done = done && replay_inputs(s, p, runs, t, percent) &&
               remat_vector_push(&p->allocator, runs, t);
    }
    return done;
}

/* Gives a fresh plan the schedule of an order of runs, whether that saves memory or not. */
static void force_order(subject *s, remat_plan *plan, const remat_runs *runs)
{
    const remat_problem *p = &plan->derivation.problem;
    remat_simulation result;
    remat_breakdown b;
    plan->schedule.count = 0;
    expect(s, remat_schedule_complete(p, runs, &plan->schedule));
    expect(s, remat_schedule_simulate(p, &plan->schedule, &result) && !result.fault);
    expect(s, remat_lower(p, &plan->schedule, &plan->buffers, &plan->bindings));
    size_t *arena = &plan->summary.arena_bytes;
    expect(s, remat_layout(&p->allocator, &plan->buffers, result.peak_bytes, arena));
    bool checked;
    expect(s, remat_layout_check(&p->allocator, &plan->buffers, *arena, &checked));
    expect(s, remat_schedule_breakdown(p, &plan->schedule, result.peak_at, &b));
    expect(s,
           b.first_run + b.replayed + b.gradients + b.workspace + b.alignment == result.peak_bytes);
    plan->summary.live_bytes = result.peak_bytes;
    plan->summary.replays = result.replays;
}

/* Cuts the tape anywhere, as a user or a strategy might; segments nest up to two deep. */
static bool order_by_cuts(subject *s, const remat_problem *p, remat_runs *runs)
{
    remat_segment_range cuts[64] = {{0, 0, p->n_statements}};
    size_t n = 1;
    for (uint32_t first = 0; first < p->n_statements && n < 62;) {
        uint32_t end = first + 1 + (uint32_t)test_random_below(&s->state, 12);
        end = end > p->n_statements ? p->n_statements : end;
        uint32_t parent = (uint32_t)n;
        cuts[n++] = (remat_segment_range){0, first, end};
        if (end - first > 2)
            cuts[n++] = (remat_segment_range){parent, first, first + (end - first) / 2};
        first = end;
    }
    return remat_order_by_segments(p, cuts, n, runs);
}

static bool order_by_marks(subject *s, const remat_problem *p, remat_runs *runs)
{
    (void)s;
    return remat_order_by_segments(p, p->segments.data, p->segments.count, runs);
}

typedef bool order_function(subject *s, const remat_problem *p, remat_runs *runs);

/* Random plans mostly fall back to keep-all; these replay. */
static size_t check_forced(subject *s, const char *name, order_function *order)
{
    remat_exec_options o = subject_options(REMAT_STRATEGY_KEEP_ALL);
    o.retain = test_random_chance(&s->state, 40);
    o.poison = test_random_chance(&s->state, 60);
    o.separate_buffers = test_random_chance(&s->state, 30);
    o.verify_replay = test_random_chance(&s->state, 70);
    o.gradient_ready = test_random_chance(&s->state, 50) ? subject_ready : NULL;
    o.gradient_ready_context = s;
    snprintf(s->what, sizeof s->what, "forced %s%s%s%s%s", name, o.retain ? " retain" : "",
             o.poison ? " poison" : "", o.separate_buffers ? " separate" : "",
             o.gradient_ready ? " ready" : "");
    remat_plan *plan = subject_plan(s, &o);
    const remat_problem *p = &plan->derivation.problem;
    remat_exec *exec = NULL;
    remat_runs runs = {0};
    expect(s, order(s, p, &runs));
    force_order(s, plan, &runs);
    expect(s, remat_exec_create_with_plan(s->r.tape, plan, &o, &exec) == REMAT_OK);
    subject_steps(s, exec, &o);
    size_t replays = plan->summary.replays;
    remat_exec_statistics statistics;
    remat_exec_get_statistics(exec, &statistics);
    expect(s, statistics.replays == replays);
    remat_exec_destroy(exec);
    if (!o.separate_buffers)
        subject_steps_in_own_arena(s, plan, o);
    remat_vector_release(&p->allocator, &runs);
    remat_plan_destroy(plan);
    return replays;
}

static void random_tapes_survive_replays(void **state)
{
    static subject s; /* large */
    (void)state;
    size_t first = test_number_from_environment("REMAT_TEST_FIRST_TAPE", 1);
    size_t n = test_number_from_environment("REMAT_TEST_TAPES", 2000), replays = 0;
    for (size_t seed = first; seed < first + n; seed++) {
        subject_prepare(&s, seed);
        replays += check_forced(&s, "segments", order_by_marks);
        replays += check_forced(&s, "cuts", order_by_cuts);
        replays += check_forced(&s, "at random", order_at_random);
        subject_release(&s);
    }
    print_message("%zu tapes, %zu replays\n", n, replays);
    assert_true(replays > 5 * n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_tapes_survive_replays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
