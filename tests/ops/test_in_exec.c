/* test_in_exec.c - every row of the conformance table inside a network: losses and gradients
 * have the same bits whether its results are kept or replayed, with every debug mode on. */
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/op_harness.h"
#include "support/op_runner.h"

enum { n_steps = 2 };

/* Drops whatever can be made again. */
static remat_policy recompute_all(void *context, const char *op, const char *name, size_t bytes)
{
    (void)context, (void)op, (void)name, (void)bytes;
    return REMAT_POLICY_RECOMPUTE;
}

/* One way to run the same network. */
typedef struct mode {
    const char *name;
    remat_exec_options options;
    bool marks;       /* the results under test are marked by remat_recompute() */
    bool must_replay; /* some task has to run again, if any gradient flows */
} mode;

static const mode keep_all = {"keep-all", {.strategy = REMAT_STRATEGY_KEEP_ALL}, false, false};
static const mode modes[] = {
    {"segments", {.strategy = REMAT_STRATEGY_SEGMENTS}, false, true},
    {"sqrt", {.strategy = REMAT_STRATEGY_SQRT}, false, false},
    {"marks", {.strategy = REMAT_STRATEGY_KEEP_ALL}, true, true},
    {"policy",
     {.strategy = REMAT_STRATEGY_KEEP_ALL,
      .policy = recompute_all,
      .poison = true,
      .verify_replay = true},
     false,
     true},
    {"segments, poison, verify",
     {.strategy = REMAT_STRATEGY_SEGMENTS, .poison = true, .verify_replay = true},
     false,
     true},
    {"segments, separate buffers, poison, verify",
     {.strategy = REMAT_STRATEGY_SEGMENTS,
      .separate_buffers = true,
      .poison = true,
      .verify_replay = true},
     false,
     true},
    {"marks, separate buffers, poison, verify",
     {.strategy = REMAT_STRATEGY_KEEP_ALL,
      .separate_buffers = true,
      .poison = true,
      .verify_replay = true},
     true,
     true},
};

/* The network's memory and what came of it. */
typedef struct outcome {
    op_buffer leaf[OP_MAX_LEAVES], gradient[OP_MAX_LEAVES];
    op_buffer weights; /* of the results in the loss */
    op_buffer bulk;
    int64_t bulk_count;
    double loss[n_steps];
} outcome;

/* Elements that outweigh everything else in the network several times. */
static int64_t bulk_count(const op_subject *subject)
{
    size_t count = 256;
    for (size_t i = 0; i < subject->n_leaves; i++)
        count += 8 * op_type_count(&subject->leaf[i]);
    for (size_t k = 0; k < subject->n_out; k++)
        count += 8 * op_type_count(&subject->out[k]);
    return (int64_t)count;
}

static void outcome_open(outcome *o, const op_subject *subject, const op_values *values)
{
    *o = (outcome){0};
    for (size_t i = 0; i < subject->n_leaves; i++) {
        const remat_type *type = &subject->leaf[i];
        o->leaf[i] = op_buffer_create(op_type_bytes(type), 0, 0xFF);
        op_store(o->leaf[i].data, type->dtype, op_type_count(type), values->leaf[i]);
        o->gradient[i] = op_buffer_create(op_type_bytes(type), 0, 0x00);
    }
    o->weights = op_buffer_create(op_type_bytes(&subject->out[0]), 0, 0xFF);
    o->bulk_count = bulk_count(subject);
    o->bulk = op_buffer_create((size_t)o->bulk_count * sizeof(double), 0, 0x00);
    op_store(o->weights.data, subject->dtype, op_type_count(&subject->out[0]), values->upstream[0]);
}

static void outcome_close(outcome *o)
{
    for (size_t i = 0; i < OP_MAX_LEAVES; i++) {
        op_buffer_destroy(&o->leaf[i]);
        op_buffer_destroy(&o->gradient[i]);
    }
    op_buffer_destroy(&o->weights);
    op_buffer_destroy(&o->bulk);
}

static bool is_float(const op_subject *subject, size_t leaf)
{
    return subject->leaf[leaf].dtype != REMAT_I32;
}

/* Segment "under test": operands are results of scale, so that they can be dropped and overwritten;
 * the result is read again by a square, so that it is wanted in the backward pass. */
static remat_var record_segment(remat_tape *tape, const op_subject *subject,
                                const remat_var *leaves, bool marks, remat_var *side)
{
    remat_var operands[OP_MAX_LEAVES] = {{0}};
    remat_segment_begin(tape, "under test");
    for (size_t i = 0; i < subject->n_leaves; i++)
        operands[i] = is_float(subject, i) ? remat_scale(tape, leaves[i], 1.0) : leaves[i];
    *side = remat_sum(tape, operands[0], NULL, 0, false); /* a second user of an operand */
    const remat_var y = subject->row->record(tape, operands, subject->row);
    const remat_var half = remat_scale(tape, y, 0.5);
    if (marks) {
        remat_recompute(tape, half);
        for (size_t k = 0; k < subject->n_out; k++)
            remat_recompute(tape, remat_result(tape, y, k));
    }
    const remat_var z = remat_square(tape, half);
    remat_segment_end(tape);
    return z;
}

/* A second segment, large enough that it pays to drop the first one while it runs. */
static remat_var record_bulk(remat_tape *tape, const op_subject *subject, const outcome *o,
                             remat_var side)
{
    const remat_shape shape = remat_shape_make(1, &o->bulk_count);
    const remat_var zeros = remat_constant(tape, "bulk", subject->dtype, shape, o->bulk.data);
    return remat_mean(tape, remat_square(tape, remat_add(tape, zeros, side)), NULL, 0, false);
}

/* loss = sum(weights * (f(leaves) / 2)^2) + sum(leaf 0)^2. */
static remat_var record(remat_tape *tape, const op_subject *subject, outcome *o, bool marks)
{
    remat_var leaves[OP_MAX_LEAVES] = {{0}}, side = {0};
    for (size_t i = 0; i < subject->n_leaves; i++) {
        const remat_type *type = &subject->leaf[i];
        void *gradient = is_float(subject, i) ? o->gradient[i].data : NULL;
        leaves[i] =
            remat_parameter(tape, NULL, type->dtype, type->shape, o->leaf[i].data, gradient);
    }
    const remat_var z = record_segment(tape, subject, leaves, marks, &side);
    remat_segment_begin(tape, "loss");
    const remat_type *type = &subject->out[0];
    const remat_var weights =
        remat_constant(tape, "weights", type->dtype, type->shape, o->weights.data);
    const remat_var weighted = remat_multiply(tape, z, weights);
    const remat_var loss = remat_add(tape, remat_sum(tape, weighted, NULL, 0, false),
                                     record_bulk(tape, subject, o, side));
    remat_segment_end(tape);
    return loss;
}

static void run(const op_subject *subject, const op_values *values, const mode *m, outcome *o)
{
    remat_tape *tape = NULL;
    remat_exec *exec = NULL;
    remat_exec_statistics statistics;
    outcome_open(o, subject, values);
    assert_int_equal(remat_tape_create(NULL, &tape), REMAT_OK);
    const remat_var loss = record(tape, subject, o, m->marks);
    assert_string_equal(remat_tape_message(tape), "");
    const remat_status status = remat_exec_create(tape, loss, &m->options, &exec);
    if (status != REMAT_OK)
        fail_msg("%s: %s", m->name, remat_tape_message(tape));
    for (size_t s = 0; s < n_steps; s++) {
        if (remat_exec_step(exec) != REMAT_OK)
            fail_msg("%s: %s", m->name, remat_exec_message(exec));
        o->loss[s] = remat_exec_loss(exec);
    }
    remat_exec_get_statistics(exec, &statistics);
    if (m->must_replay && subject->differentiable != 0 && statistics.replays == 0)
        fail_msg("%s: nothing was replayed", m->name);
    if (!m->options.separate_buffers)
        assert_int_equal(statistics.measured_peak_bytes, statistics.planned_peak_bytes);
    remat_exec_destroy(exec);
    remat_tape_destroy(tape);
}

static void compare(const op_subject *subject, const outcome *a, const outcome *b, const mode *m)
{
    if (memcmp(a->loss, b->loss, sizeof a->loss) != 0)
        fail_msg("%s: losses %.17g, %.17g instead of %.17g, %.17g", m->name, b->loss[0], b->loss[1],
                 a->loss[0], a->loss[1]);
    for (size_t i = 0; i < subject->n_leaves; i++) {
        if (memcmp(a->gradient[i].data, b->gradient[i].data, a->gradient[i].bytes) != 0)
            fail_msg("%s: gradient %zu has other bits", m->name, i);
        assert_memory_equal(a->leaf[i].data, b->leaf[i].data, a->leaf[i].bytes);
        assert_true(op_buffer_intact(&b->leaf[i]) && op_buffer_intact(&b->gradient[i]));
    }
}

static void replayed(void **state)
{
    const op_point *point = *state;
    op_subject subject = op_subject_open(point->row, point->dtype);
    op_values values = op_values_draw(&subject);
    outcome kept;
    run(&subject, &values, &keep_all, &kept);
    assert_true(kept.loss[0] == kept.loss[0]); /* no NaN, which would hide differences */
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        outcome again;
        run(&subject, &values, &modes[i], &again);
        compare(&subject, &kept, &again, &modes[i]);
        outcome_close(&again);
    }
    outcome_close(&kept);
    op_values_free(&values);
    op_subject_close(&subject);
}

int main(void)
{
    static const op_check checks[] = {{"in exec", replayed, false, true}};
    return op_run_checks("in exec", checks, 1, NULL);
}
