/* test_tape.c - recording: every refusal with its message, handles, segments by callback,
 * fingerprints, parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/fake_ops.h"

static remat_tape *tape;
static double data[64], gradient[64];

static int set_up(void **state)
{
    (void)state;
    return remat_tape_create(NULL, &tape) == REMAT_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    remat_tape_destroy(tape);
    return 0;
}

static remat_var leaf(void)
{
    return remat_input(tape, "x", REMAT_F64, REMAT_SHAPE(2, 3), data);
}

/* The tape has failed: the error sticks, with these parts in its message; then it is cleared. */
static void expect_failed(remat_status status, const char *part, const char *other)
{
    char message[1024];
    assert_int_equal(remat_tape_status(tape), status);
    strncpy(message, remat_tape_message(tape), sizeof message - 1);
    message[sizeof message - 1] = '\0';
    if (!strstr(message, part) || (other && !strstr(message, other)))
        fail_msg("\"%s\" or \"%s\" is not in: %s", part, other ? other : "", message);
    assert_int_equal(leaf().id, 0); /* nothing is recorded any more */
    assert_int_equal(remat_segment_begin(tape, NULL), status);
    remat_exec *exec = NULL;
    assert_int_equal(remat_exec_create(tape, (remat_var){1}, NULL, &exec), status);
    assert_null(exec);
    assert_string_equal(remat_tape_message(tape), message); /* the first one is kept */
    assert_int_equal(remat_tape_clear(tape), REMAT_OK);
    assert_int_equal(remat_tape_status(tape), REMAT_OK);
    assert_string_equal(remat_tape_message(tape), "");
}

/* ---- Leaves and marks ------------------------------------------------------------------------*/

static void shapes_of_leaves_are_checked(void **state)
{
    (void)state;
    const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    assert_int_equal(remat_input(tape, "a", REMAT_F32, REMAT_SHAPE(2, 0), NULL).id, 0);
    expect_failed(REMAT_SHAPE_MISMATCH, "a: its shape", "at least 1");
    (void)remat_parameter(tape, NULL, REMAT_F32, REMAT_SHAPE(-1), NULL, NULL);
    expect_failed(REMAT_SHAPE_MISMATCH, "a leaf: its shape", NULL);
    (void)remat_constant(tape, "nine", REMAT_F32, remat_shape_make(9, nine), NULL);
    expect_failed(REMAT_SHAPE_MISMATCH, "nine", "8");
    (void)remat_input(tape, "huge", REMAT_F64, REMAT_SHAPE(INT64_MAX / 2), NULL);
    expect_failed(REMAT_OVERFLOW, "huge", "addressable");
    (void)remat_input(tape, "product", REMAT_F64, REMAT_SHAPE(INT64_MAX / 2, 3), NULL);
    expect_failed(REMAT_SHAPE_MISMATCH, "product", NULL);
    (void)remat_input(tape, "dtype", (remat_dtype)9, REMAT_SCALAR, NULL);
    expect_failed(REMAT_OVERFLOW, "dtype", NULL);
    assert_int_equal(remat_input(NULL, "x", REMAT_F64, REMAT_SCALAR, data).id, 0);
    remat_var v = remat_input(tape, "eight", REMAT_F32, remat_shape_make(8, nine), NULL);
    assert_int_equal(remat_var_shape(tape, v).ndim, 8);
    assert_int_equal(remat_var_dtype(tape, v), REMAT_F32);
    assert_int_equal(remat_tape_status(tape), REMAT_OK);
}

static void marks_are_checked(void **state)
{
    (void)state;
    fake_probe_state probe = {0};
    remat_var labels = remat_input(tape, "labels", REMAT_I32, REMAT_SHAPE(2), NULL);
    assert_int_equal(remat_request_gradient(tape, labels, NULL), REMAT_DTYPE_MISMATCH);
    expect_failed(REMAT_DTYPE_MISMATCH, "remat_request_gradient", "i32");
    labels = remat_input(tape, "labels", REMAT_I32, REMAT_SHAPE(2), NULL);
    remat_seed_gradient(tape, labels, data);
    expect_failed(REMAT_DTYPE_MISMATCH, "remat_seed_gradient", "i32");
    remat_request_gradient(tape, remat_constant(tape, "c", REMAT_F64, REMAT_SCALAR, data), NULL);
    expect_failed(REMAT_INVALID_ARGUMENT, "constant", "remat_input()");
    remat_seed_gradient(tape, leaf(), NULL);
    expect_failed(REMAT_INVALID_ARGUMENT, "remat_seed_gradient", "seed");
    remat_recompute(tape, leaf());
    expect_failed(REMAT_INVALID_ARGUMENT, "remat_recompute", "never dropped");
    remat_var y = fake_count(tape, &fake_effect, leaf(), &probe);
    remat_recompute(tape, y);
    expect_failed(REMAT_INVALID_ARGUMENT, "fake_effect (statement 0)", "side effect");
    remat_name(tape, leaf(), NULL);
    expect_failed(REMAT_INVALID_ARGUMENT, "remat_name", "NULL");
    (void)remat_result(tape, leaf(), 0);
    expect_failed(REMAT_INVALID_ARGUMENT, "remat_result", NULL);
    (void)remat_result(tape, fake_apply1(tape, &fake_leaky, leaf()), 1);
    expect_failed(REMAT_INVALID_ARGUMENT, "no result 1", NULL);
    y = fake_apply1(tape, &fake_statistic, leaf());
    remat_var s = remat_result(tape, y, 1);
    assert_int_equal(remat_var_shape(tape, s).ndim, 1);
    assert_int_equal(remat_result(tape, s, 0).id, y.id);
    assert_int_equal(remat_keep(tape, leaf()), REMAT_OK);
}

static void handles_of_elsewhere_are_refused(void **state)
{
    (void)state;
    remat_tape *other = NULL;
    remat_var unset = {0}, old = leaf(), foreign;
    assert_int_equal(remat_tape_create(NULL, &other), REMAT_OK);
    foreign = remat_input(other, "x", REMAT_F64, REMAT_SHAPE(2, 3), data);
    assert_true(foreign.id != old.id);
    assert_int_equal(remat_tape_clear(tape), REMAT_OK);
    assert_true(leaf().id != old.id);
    const remat_var wrong[] = {unset, old, foreign, {UINT64_MAX}};
    for (size_t i = 0; i < 4; i++) {
        (void)leaf();
        assert_int_equal(fake_apply1(tape, &fake_leaky, wrong[i]).id, 0);
        expect_failed(REMAT_INVALID_HANDLE, "fake_leaky: operand 0 is",
                      i ? "another tape" : "unset");
        assert_int_equal(remat_keep(tape, wrong[i]), REMAT_INVALID_HANDLE);
        expect_failed(REMAT_INVALID_HANDLE, "remat_keep", "remat_tape_clear()");
        assert_int_equal(remat_var_shape(tape, wrong[i]).ndim, 0);
        expect_failed(REMAT_INVALID_HANDLE, "remat_var_shape", NULL);
        assert_int_equal(remat_var_dtype(tape, wrong[i]), REMAT_F32);
        expect_failed(REMAT_INVALID_HANDLE, "remat_var_dtype", NULL);
        assert_int_equal(remat_bind(tape, wrong[i], data), REMAT_INVALID_HANDLE);
        expect_failed(REMAT_INVALID_HANDLE, "remat_bind", NULL);
    }
    remat_tape_destroy(other);
    remat_tape_destroy(NULL);
}

/* ---- Operations ------------------------------------------------------------------------------*/

static void operands_are_checked(void **state)
{
    (void)state;
    remat_var x = leaf(), out[2] = {{7}, {7}};
    remat_var z = remat_input(tape, NULL, REMAT_F32, REMAT_SHAPE(3), data);
    const remat_var in[] = {x, z};
    assert_int_equal(remat_apply(tape, &fake_add, NULL, in, 2, out, 1), REMAT_SHAPE_MISMATCH);
    assert_int_equal(out[0].id, 0);
    expect_failed(REMAT_SHAPE_MISMATCH, "fake_add (statement 0): operand 1 must",
                  "f64[2, 3], f32[3]");
    x = leaf();
    remat_apply(tape, &fake_add, NULL, &x, 0, out, 1);
    expect_failed(REMAT_INVALID_ARGUMENT, "fake_add: 0 operands", "1 to 32");
    x = leaf();
    remat_apply(tape, &fake_leaky, NULL, &x, 1, out, 2);
    assert_int_equal(out[1].id, 0);
    expect_failed(REMAT_INVALID_ARGUMENT, "fake_leaky: 2 results", NULL);
    x = leaf();
    remat_apply(tape, &fake_affine, NULL, &x, 1, out, 1);
    expect_failed(REMAT_INVALID_ARGUMENT, "fake_affine: attributes are NULL", NULL);
    remat_apply(tape, &fake_leaky, NULL, NULL, 1, out, 1);
    expect_failed(REMAT_INVALID_ARGUMENT, "an array is NULL", NULL);
    x = leaf();
    remat_apply(tape, &fake_leaky, NULL, &x, 1, NULL, 1);
    expect_failed(REMAT_INVALID_ARGUMENT, "an array is NULL", NULL);
    remat_apply(tape, NULL, NULL, NULL, 0, NULL, 0);
    expect_failed(REMAT_INVALID_ARGUMENT, "descriptor", NULL);
    x = leaf();
    (void)fake_reshape(tape, x, REMAT_SHAPE(7));
    expect_failed(REMAT_SHAPE_MISMATCH, "fake_view (statement 0)", "56 and 48");
    x = leaf();
    (void)fake_reshape(tape, x, REMAT_SHAPE(2, 0));
    expect_failed(REMAT_OVERFLOW, "fake_view (statement 0)", "[2, 0]");
    out[0] = (remat_var){7};
    assert_int_equal(remat_apply(NULL, &fake_leaky, NULL, &x, 1, out, 1), REMAT_INVALID_ARGUMENT);
    assert_int_equal(out[0].id, 0);
}

static void descriptors_are_checked(void **state)
{
    (void)state;
    enum { N = 10 };
    remat_op bad[N];
    for (size_t i = 0; i < N; i++) {
        bad[i] = fake_leaky;
        bad[i].name = "odd";
    }
    bad[0].infer = NULL;
    bad[1].forward = NULL;
    bad[2].max_operands = REMAT_OP_MAX_OPERANDS + 1;
    bad[3].n_results = REMAT_OP_MAX_RESULTS + 1;
    bad[4].n_results = 0; /* without an EFFECT */
    bad[5].min_operands = 2;
    bad[6].name = NULL;
    bad[7].flags = REMAT_OP_VIEW, bad[7].n_results = 2;
    bad[8].flags = REMAT_OP_VIEW, bad[8].min_operands = 0;
    /* A second operand could never get its gradient. */
    bad[9].flags = REMAT_OP_VIEW, bad[9].max_operands = 2;
    for (size_t i = 0; i < N; i++) {
        remat_var x = leaf(), out;
        assert_int_equal(remat_apply(tape, &bad[i], NULL, &x, 1, &out, 1), REMAT_INVALID_ARGUMENT);
        expect_failed(REMAT_INVALID_ARGUMENT, "descriptor", bad[i].name && i ? "odd" : NULL);
    }
}

static void in_and_out_may_be_one_array(void **state)
{
    (void)state;
    remat_var x = leaf(), pair[2] = {x, x};
    for (int i = 0; i < 3; i++)
        assert_int_equal(remat_apply(tape, &fake_leaky, NULL, &x, 1, &x, 1), REMAT_OK);
    assert_int_equal(remat_apply(tape, &fake_pair, NULL, pair, 2, pair, 2), REMAT_OK);
    assert_true(pair[0].id != pair[1].id && pair[0].id != 0);
    assert_int_equal(remat_tape_statement_count(tape), 4);
    assert_int_equal(remat_apply(tape, &fake_pair, NULL, pair, 2, pair, 0), REMAT_OK);
    assert_int_equal(remat_tape_statement_count(NULL), 0);
}

/* Attributes are copied: what the caller does with them later is of no consequence. */
static void attributes_are_copied(void **state)
{
    (void)state;
    fake_affine_attributes a = {2, 1};
    double x = 3;
    remat_exec *exec = NULL;
    remat_var v = remat_input(tape, NULL, REMAT_F64, REMAT_SCALAR, &x);
    for (int i = 0; i < 40; i++) { /* the copies move as the tape grows */
        a.scale = i == 0 ? 2 : 1;
        a.shift = i == 0 ? 1 : 0;
        v = fake_record(tape, &fake_affine, &a, 1, &v);
    }
    a = (fake_affine_attributes){100, 100};
    assert_int_equal(remat_exec_create(tape, v, NULL, &exec), REMAT_OK);
    assert_int_equal(remat_exec_step(exec), REMAT_OK);
    assert_true(remat_exec_loss(exec) == 7);
    remat_exec_destroy(exec);
}

/* ---- Segments --------------------------------------------------------------------------------*/

typedef enum behaviour { WELL, FAILS, STAYS_OPEN, CLOSES_OURS, REOPENS, NESTS } behaviour;

static remat_status block(remat_tape *t, void *context, const remat_var *in, size_t n_in,
                          remat_var *out, size_t n_out)
{
    behaviour b = *(behaviour *)context;
    remat_var x = n_in == 20 ? fake_record(t, &fake_add, NULL, n_in, in) : in[0];
    if (b == FAILS)
        return REMAT_OP_FAILED;
    if (b == STAYS_OPEN)
        remat_segment_begin(t, NULL);
    if (b == CLOSES_OURS || b == REOPENS)
        remat_segment_end(t);
    if (b == REOPENS)
        remat_segment_begin(t, NULL);
    for (size_t i = 0; i < n_out; i++) { /* in must not change while out is written */
        out[i] = fake_apply1(t, &fake_leaky, x);
        x = in[i % n_in];
    }
    if (b == NESTS) {
        behaviour inner = WELL;
        return checkpoint_segment(t, block, &inner, out, 1, out, 1);
    }
    return REMAT_OK;
}

static void blocks_are_checked(void **state)
{
    (void)state;
    for (int b = WELL; b <= NESTS; b++) {
        behaviour how = (behaviour)b;
        remat_var x = leaf(), out = {5};
        remat_status status = checkpoint_segment(tape, block, &how, &x, 1, &out, 1);
        if (how == WELL || how == NESTS) {
            assert_int_equal(status, REMAT_OK);
            assert_true(out.id != 0);
            assert_int_equal(remat_tape_clear(tape), REMAT_OK);
        } else {
            assert_int_equal(out.id, 0);
            expect_failed(how == FAILS ? REMAT_OP_FAILED : REMAT_OUT_OF_ORDER,
                          "checkpoint_segment: the block",
                          how == FAILS ? "REMAT_OP_FAILED" : "segment");
        }
    }
    behaviour well = WELL;
    remat_var x = leaf();
    assert_int_equal(checkpoint_segment(NULL, block, &well, &x, 1, &x, 1), REMAT_INVALID_ARGUMENT);
    checkpoint_segment(tape, NULL, &well, &x, 1, &x, 1);
    expect_failed(REMAT_INVALID_ARGUMENT, "checkpoint_segment", "NULL");
    checkpoint_segment(tape, block, &well, NULL, 1, &x, 1);
    expect_failed(REMAT_INVALID_ARGUMENT, "checkpoint_segment", "NULL");
    checkpoint_segment(tape, block, &well, &x, 1, NULL, 1);
    expect_failed(REMAT_INVALID_ARGUMENT, "checkpoint_segment", "NULL");
}

static void blocks_may_have_many_inputs(void **state)
{
    (void)state;
    behaviour well = WELL;
    remat_var many[20], first;
    for (size_t i = 0; i < 20; i++)
        many[i] = leaf();
    first = many[0];
    assert_int_equal(checkpoint_segment(tape, block, &well, many, 20, many, 20), REMAT_OK);
    for (size_t i = 0; i < 20; i++)
        assert_true(many[i].id != 0 && many[i].id != first.id);
    assert_int_equal(remat_tape_statement_count(tape), 21);
}

/* An error inside a block comes out although the block ignores it. */
static remat_status careless_block(remat_tape *t, void *context, const remat_var *in, size_t n_in,
                                   remat_var *out, size_t n_out)
{
    (void)context;
    out[0] = fake_apply2(t, &fake_matmul, in[0], in[0]);
    return n_in == 1 && n_out == 1 ? REMAT_OK : REMAT_INVALID_ARGUMENT;
}

static void errors_in_blocks_stick(void **state)
{
    (void)state;
    remat_var x = leaf();
    assert_int_equal(checkpoint_segment(tape, careless_block, NULL, &x, 1, &x, 1),
                     REMAT_SHAPE_MISMATCH);
    assert_int_equal(x.id, 0);
    expect_failed(REMAT_SHAPE_MISMATCH, "fake_matmul (statement 0)", "transpose one of them");
}

static void open_segments_are_refused(void **state)
{
    (void)state;
    remat_plan *plan = NULL;
    assert_int_equal(remat_segment_end(tape), REMAT_OUT_OF_ORDER);
    expect_failed(REMAT_OUT_OF_ORDER, "remat_segment_end", "remat_segment_begin()");
    assert_int_equal(remat_segment_begin(tape, "block"), REMAT_OK);
    remat_var loss = fake_apply1(tape, &fake_sum, leaf());
    assert_int_equal(remat_plan_create(tape, loss, NULL, &plan), REMAT_OUT_OF_ORDER);
    assert_non_null(strstr(remat_tape_message(tape), "remat_segment_end()"));
    assert_int_equal(remat_tape_status(tape), REMAT_OK); /* planning errors do not stick */
    assert_int_equal(remat_segment_end(tape), REMAT_OK);
    assert_int_equal(remat_plan_create(tape, loss, NULL, &plan), REMAT_OK);
    remat_plan_destroy(plan);
    assert_int_equal(remat_segment_begin(NULL, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_segment_end(NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_tape_clear(NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_tape_status(NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_tape_create(NULL, NULL), REMAT_INVALID_ARGUMENT);
    assert_non_null(remat_tape_message(NULL));
}

/* ---- Sizes that cannot be addressed ----------------------------------------------------------*/

/* Each value alone can be; what is alive at once cannot. */
static void sums_of_sizes_are_checked(void **state)
{
    (void)state;
    const int64_t n = INT64_MAX / 8 - 64; /* almost 2^63 bytes */
    remat_plan *plan = NULL;
    remat_exec *exec = NULL;
    remat_var x = remat_input(tape, "x", REMAT_F64, REMAT_SHAPE(n), data);
    assert_int_equal(remat_request_gradient(tape, x, gradient), REMAT_OK);
    for (int i = 0; i < 5; i++)
        x = fake_apply1(tape, &fake_softsign, x);
    remat_var loss = fake_apply1(tape, &fake_sum, x);
    assert_int_equal(remat_plan_create(tape, loss, NULL, &plan), REMAT_OVERFLOW);
    assert_int_equal(remat_exec_create(tape, loss, NULL, &exec), REMAT_OVERFLOW);
    assert_true(remat_tape_message(tape)[0] != '\0');
    assert_int_equal(remat_tape_status(tape), REMAT_OK);
}

/* ---- Fingerprints ----------------------------------------------------------------------------*/

/* A small record with one thing changed. */
static uint64_t fingerprint_of(int change)
{
    fake_affine_attributes a = {change == 1 ? 2 : 1, 0};
    int64_t width = change == 2 ? 4 : 3;
    remat_dtype dtype = change == 3 ? REMAT_F32 : REMAT_F64;
    remat_op renamed = fake_leaky, narrower = fake_leaky;
    renamed.name = "other";
    narrower.needs_results = 0;
    assert_int_equal(remat_tape_clear(tape), REMAT_OK);
    remat_var x = change == 4
                      ? remat_parameter(tape, NULL, dtype, REMAT_SHAPE(2, width), data, NULL)
                      : remat_input(tape, NULL, dtype, REMAT_SHAPE(2, width), data);
    remat_var w = remat_input(tape, NULL, dtype, REMAT_SHAPE(2, width), data);
    if (change != 5)
        remat_segment_begin(tape, change == 19 ? "named" : NULL);
    remat_var h = fake_record(tape, &fake_affine, &a, 1, change == 6 ? &w : &x);
    const remat_op *ops[] = {&fake_leaky, &renamed, &narrower, &fake_softsign};
    h = fake_apply1(tape, ops[change >= 7 && change <= 9 ? change - 6 : 0], h);
    if (change == 10)
        h = fake_apply1(tape, &fake_leaky, h);
    if (change != 5)
        remat_segment_end(tape);
    if (change == 11)
        remat_keep(tape, h);
    if (change == 12)
        remat_recompute(tape, h);
    if (change == 13 || change == 14)
        remat_request_gradient(tape, x, change == 13 ? gradient : NULL);
    remat_var y = fake_apply2(tape, &fake_add, h, change == 15 ? h : w);
    remat_var loss = fake_apply1(tape, &fake_sum, y);
    if (change == 16)
        remat_seed_gradient(tape, loss, NULL);
    if (change == 17) {
        remat_segment_begin(tape, NULL);
        remat_segment_end(tape);
    }
    if (change == 18) /* bound memory is not part of the record */
        remat_bind(tape, x, data + 8);
    assert_int_equal(remat_tape_status(tape), REMAT_OK);
    return remat_tape_fingerprint(tape);
}

static void fingerprints_tell_records_apart(void **state)
{
    (void)state;
    enum { CHANGES = 18, NO_CHANGES = 20 };
    uint64_t seen[NO_CHANGES];
    for (int i = 0; i < NO_CHANGES; i++)
        seen[i] = fingerprint_of(i);
    for (int i = 0; i < CHANGES; i++)
        for (int j = 0; j < i; j++)
            if (seen[i] == seen[j])
                fail_msg("changes %d and %d have one fingerprint", i, j);
    assert_true(seen[18] == seen[0] && seen[19] == seen[0]);
    assert_true(fingerprint_of(0) == seen[0]); /* after a clear */
    assert_int_equal(remat_tape_fingerprint(NULL), 0);
}

/* ---- Parameters ------------------------------------------------------------------------------*/

static void parameters_are_listed_in_order(void **state)
{
    (void)state;
    remat_param params[4];
    size_t n = 99;
    remat_var late = remat_parameter(tape, "late", REMAT_F32, REMAT_SHAPE(5), data + 16, NULL);
    remat_var held = remat_parameter(tape, "held", REMAT_F64, REMAT_SHAPE(4), data + 8, NULL);
    (void)remat_parameter(tape, "w", REMAT_F64, REMAT_SHAPE(2, 3), data, gradient);
    (void)remat_parameter(tape, "unbound", REMAT_F64, REMAT_SHAPE(3), NULL, gradient + 8);
    (void)remat_parameter(tape, "frozen", REMAT_F64, REMAT_SHAPE(3), data, NULL);
    remat_var input = leaf();
    remat_request_gradient(tape, input, gradient + 24);
    remat_request_gradient(tape, held, NULL); /* in the arena */
    remat_request_gradient(tape, late, gradient + 16);
    assert_int_equal(remat_tape_params(tape, params, 4, &n), REMAT_OK);
    assert_int_equal(n, 2);
    assert_int_equal(params[0].count, 5); /* in the order recorded, not requested */
    assert_int_equal(params[0].dtype, REMAT_F32);
    assert_ptr_equal(params[0].data, data + 16);
    assert_ptr_equal(params[0].gradient, gradient + 16);
    assert_null(params[0].state[0]);
    assert_int_equal(params[1].count, 6);
    memset(params, 0, sizeof params);
    assert_int_equal(remat_tape_params(tape, params, 1, &n), REMAT_OK);
    assert_int_equal(n, 2);
    assert_int_equal(params[0].count, 5);
    assert_int_equal(params[1].count, 0);
    assert_int_equal(remat_tape_params(tape, NULL, 0, &n), REMAT_OK);
    assert_int_equal(n, 2);
    assert_int_equal(remat_tape_params(tape, NULL, 1, &n), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_tape_params(tape, params, 1, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_tape_params(NULL, params, 1, &n), REMAT_INVALID_ARGUMENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shapes_of_leaves_are_checked),
        TEST(marks_are_checked),
        TEST(handles_of_elsewhere_are_refused),
        TEST(operands_are_checked),
        TEST(descriptors_are_checked),
        TEST(in_and_out_may_be_one_array),
        TEST(attributes_are_copied),
        TEST(blocks_are_checked),
        TEST(blocks_may_have_many_inputs),
        TEST(errors_in_blocks_stick),
        TEST(open_segments_are_refused),
        TEST(sums_of_sizes_are_checked),
        TEST(fingerprints_tell_records_apart),
        TEST(parameters_are_listed_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
