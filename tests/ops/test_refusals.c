/* test_refusals.c - wrong dtypes, shapes, options and handles are refused when recorded: status,
 * a message that names operation and operands, an error that sticks, a tape that serves again after
 * remat_tape_clear(). */
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/op_harness.h"
#include "support/op_runner.h"

/* A call that must fail. */
typedef struct attempt {
    const op_case *row;
    remat_dtype dtypes[OP_MAX_LEAVES];
    uint32_t unset;        /* leaves that are passed as unset handles */
    const char *operation; /* its name in the message */
    remat_status status;
} attempt;

static void check_message(remat_tape *tape, const attempt *a)
{
    const char *message = remat_tape_message(tape);
    if (strstr(message, a->operation) == NULL)
        fail_msg("\"%s\" does not name %s", message, a->operation);
    if (a->unset != 0 || a->status == REMAT_OVERFLOW)
        return; /* these name the operand's place, and the result */
    for (size_t i = 0; i < a->row->n_leaves; i++) {
        char text[128];
        const remat_type type = {a->dtypes[i], a->row->leaves[i].shape};
        remat_type_text(&type, text, sizeof text);
        if (strstr(message, text) == NULL)
            fail_msg("\"%s\" does not name the operand %s", message, text);
    }
}

/* The error sticks: nothing is recorded until the tape is cleared. */
static void check_sticks(remat_tape *tape, remat_var good, remat_status status)
{
    char message[1024];
    strncpy(message, remat_tape_message(tape), sizeof message - 1);
    message[sizeof message - 1] = '\0';
    assert_true(remat_detach(tape, good).id == 0);
    assert_true(remat_input(tape, "x", REMAT_F32, remat_shape_make(0, NULL), NULL).id == 0);
    assert_int_equal(remat_tape_status(tape), status);
    assert_string_equal(remat_tape_message(tape), message);
    assert_int_equal(remat_tape_statement_count(tape), 0);
    assert_int_equal(remat_tape_clear(tape), REMAT_OK);
    assert_int_equal(remat_tape_status(tape), REMAT_OK);
    assert_string_equal(remat_tape_message(tape), "");
}

static void check_refused(const attempt *a)
{
    remat_tape *tape = NULL;
    remat_var leaves[OP_MAX_LEAVES] = {{0}}, good = {0};
    assert_int_equal(remat_tape_create(NULL, &tape), REMAT_OK);
    for (size_t i = 0; i < a->row->n_leaves; i++) {
        good = remat_input(tape, NULL, a->dtypes[i], a->row->leaves[i].shape, NULL);
        assert_true(good.id != 0);
        leaves[i] = (a->unset >> i) & 1 ? (remat_var){0} : good;
    }
    const remat_var result = a->row->record(tape, leaves, a->row);
    assert_true(result.id == 0);
    if (remat_tape_status(tape) != a->status)
        fail_msg("%s instead of %s: \"%s\"", remat_status_name(remat_tape_status(tape)),
                 remat_status_name(a->status), remat_tape_message(tape));
    check_message(tape, a);
    check_sticks(tape, good, a->status);
    remat_tape_destroy(tape);
}

/* The attempt that would succeed. */
static attempt sound(const op_subject *subject)
{
    attempt a = {.row = subject->row, .operation = subject->op->name};
    for (size_t i = 0; i < subject->n_leaves; i++)
        a.dtypes[i] = subject->leaf[i].dtype;
    return a;
}

/* Every float operand as i32, or of another dtype than the rest; labels as floats. */
static void dtypes(void **state)
{
    const op_point *point = *state;
    op_subject subject = op_subject_open(point->row, point->dtype);
    for (size_t i = 0; i < subject.n_leaves; i++) {
        attempt a = sound(&subject);
        a.status = REMAT_DTYPE_MISMATCH;
        if (a.dtypes[i] == REMAT_I32) {
            a.dtypes[i] = point->dtype;
            check_refused(&a);
            continue;
        }
        a.dtypes[i] = REMAT_I32;
        if (!point->row->takes_i32)
            check_refused(&a);
        a.dtypes[i] = point->dtype == REMAT_F64 ? REMAT_F32 : REMAT_F64;
        bool mixed = false;
        for (size_t j = 0; j < subject.n_leaves; j++)
            mixed = mixed || (j != i && a.dtypes[j] != REMAT_I32);
        if (mixed)
            check_refused(&a);
    }
    op_subject_close(&subject);
}

static void unset_handles(void **state)
{
    const op_point *point = *state;
    op_subject subject = op_subject_open(point->row, point->dtype);
    for (size_t i = 0; i < subject.n_leaves; i++) {
        attempt a = sound(&subject);
        a.unset = UINT32_C(1) << i;
        a.status = REMAT_INVALID_HANDLE;
        if (!((point->row->optional >> i) & 1))
            check_refused(&a);
    }
    op_subject_close(&subject);
}

/* Rows that must be refused, recorded as the row of the conformance table named .name is. */
typedef struct refusal {
    op_case row;
    remat_status status;
} refusal;

#define BAD(base, status, ...)                \
    {                                         \
        {.name = (base), __VA_ARGS__}, status \
    }
#define SHAPE(base, ...) BAD(base, REMAT_SHAPE_MISMATCH, __VA_ARGS__)
#define VALUE(base, ...) BAD(base, REMAT_INVALID_ARGUMENT, __VA_ARGS__)
#define L(...)           OP_LEAVES(__VA_ARGS__)
#define D(...)           OP_LEAF(__VA_ARGS__)
#define VAST             (INT64_C(1) << 40)
#define SCALAR           OP_SCALAR_LEAF
#define LABELS(...)                                      \
    {                                                    \
        .shape = OP_DIMS(__VA_ARGS__), .draw = OP_LABELS \
    }
#define BINARY(op)                                                                           \
    SHAPE(op "_same", L(D(2, 3, 4), D(1, 3))), SHAPE(op "_same", L(D(2, 2, 3), D(2, 3, 2))), \
        SHAPE(op "_same", L(D(3, 2, 3, 4), D(3, 2, 2, 4))),                                  \
        BAD(op "_same", REMAT_OVERFLOW, L(D(2, VAST, 1), D(2, 1, VAST)))
#define SOFTMAX(op)                                          \
    SHAPE(op "_axis_0", L(D(3, 2, 3, 4)), .axes = {3}),      \
        SHAPE(op "_axis_0", L(D(3, 2, 3, 4)), .axes = {-4}), \
        SHAPE(op "_axis_0", L(SCALAR), .axes = {0})
#define REDUCTION(op)                                          \
    SHAPE(op "_all", L(D(3, 2, 3, 4)), OP_AXES(1, 3)),         \
        SHAPE(op "_all", L(D(3, 2, 3, 4)), OP_AXES(1, -4)),    \
        SHAPE(op "_all", L(D(3, 2, 3, 4)), OP_AXES(2, 1, 1)),  \
        SHAPE(op "_all", L(D(3, 2, 3, 4)), OP_AXES(2, 0, -3)), \
        SHAPE(op "_all", L(SCALAR), OP_AXES(1, 0))

static const refusal refusals[] = {
    SHAPE("matmul", L(D(2, 2, 3), D(2, 4, 5))),
    SHAPE("matmul", L(D(2, 2, 3), D(2, 3, 4)), .flag_a = true),
    SHAPE("matmul", L(D(2, 2, 3), D(2, 3, 4)), .flag_b = true),
    SHAPE("matmul", L(D(1, 3), D(2, 3, 4))),
    SHAPE("matmul", L(D(2, 2, 3), D(1, 3))),
    SHAPE("matmul", L(SCALAR, D(2, 3, 4))),
    SHAPE("matmul", L(D(3, 2, 3, 4), D(3, 3, 4, 5))),
    SHAPE("linear", L(D(2, 5, 3), D(2, 4, 2), D(1, 4))),
    SHAPE("linear", L(D(2, 5, 3), D(1, 3), D(1, 4))),
    SHAPE("linear", L(D(2, 5, 3), D(3, 1, 4, 3), D(1, 4))),
    SHAPE("linear", L(D(2, 5, 3), D(2, 4, 3), D(1, 3))),
    SHAPE("linear", L(D(2, 5, 3), D(2, 4, 3), D(2, 4, 1))),
    SHAPE("linear", L(SCALAR, D(2, 4, 3))),
    BAD("linear", REMAT_OVERFLOW, L(D(2, VAST, 3), D(2, VAST, 3))),
    BAD("matmul", REMAT_OVERFLOW, L(D(2, VAST, 3), D(2, 3, VAST))),
    BAD("linear", REMAT_OVERFLOW, L(D(2, 2, VAST), D(2, 3, VAST))),
    BAD("matmul", REMAT_OVERFLOW, L(D(2, 2, VAST), D(2, VAST, 3))),
    BINARY("add"),
    BINARY("subtract"),
    BINARY("multiply"),
    BINARY("divide"),
    VALUE("leaky_relu", L(D(1, 3)), .number = -0.5),
    VALUE("leaky_relu", L(D(1, 3)), .number = NAN),
    VALUE("dropout", L(D(1, 3)), .number = 1.0),
    VALUE("dropout", L(D(1, 3)), .number = -0.1),
    VALUE("dropout", L(D(1, 3)), .number = NAN),
    SOFTMAX("softmax"),
    SOFTMAX("log_softmax"),
    SHAPE("layer_norm", L(D(2, 4, 6), D(1, 5), D(1, 5)), .flag_a = true, .flag_b = true),
    SHAPE("layer_norm", L(D(2, 4, 6), D(1, 4), D(1, 4)), .flag_a = true, .flag_b = true),
    SHAPE("layer_norm", L(D(2, 4, 6), D(1, 6), D(1, 4)), .flag_a = true, .flag_b = true),
    SHAPE("layer_norm", L(D(2, 4, 6), D(1, 6), D(2, 4, 6)), .flag_a = true, .flag_b = true),
    SHAPE("layer_norm", L(D(1, 6), D(2, 4, 6)), .flag_a = true),
    SHAPE("layer_norm", L(D(2, 4, 6), D(1, 5)), .flag_b = true),
    SHAPE("layer_norm", L(SCALAR)),
    VALUE("layer_norm", L(D(2, 4, 6)), .number = NAN),
    REDUCTION("sum"),
    REDUCTION("mean"),
    SHAPE("reshape", L(D(2, 2, 6)), .shape = OP_DIMS(2, 5, 2)),
    SHAPE("reshape", L(D(2, 2, 6)), .shape = OP_DIMS(2, -1, -1)),
    SHAPE("reshape", L(D(2, 2, 6)), .shape = OP_DIMS(2, -1, 5)),
    SHAPE("reshape", L(D(2, 2, 6)), .shape = OP_DIMS(2, 12, 0)),
    SHAPE("reshape", L(D(2, 2, 6)), .shape = OP_DIMS(2, -2, -6)),
    SHAPE("reshape", L(D(2, 2, 6)), .shape = {.ndim = 9}),
    SHAPE("reshape", L(D(2, 2, 6)), .shape = {.ndim = -1}),
    SHAPE("permute_2_0_1", L(D(3, 2, 3, 4)), OP_AXES(2, 1, 0)),
    SHAPE("permute_2_0_1", L(D(2, 3, 4)), OP_AXES(3, 2, 0, 1)),
    SHAPE("permute_2_0_1", L(D(3, 2, 3, 4)), OP_AXES(3, 0, 0, 1)),
    SHAPE("permute_2_0_1", L(D(3, 2, 3, 4)), OP_AXES(3, 0, 1, -2)),
    SHAPE("permute_2_0_1", L(D(3, 2, 3, 4)), OP_AXES(3, 0, 1, 3)),
    SHAPE("transpose", L(D(2, 3, 4)), .axes = {0, 2}),
    SHAPE("transpose", L(D(2, 3, 4)), .axes = {-3, 1}),
    SHAPE("transpose", L(SCALAR), .axes = {0, 0}),
    SHAPE("cross_entropy_mean", L(D(2, 4, 5), LABELS(1, 5))),
    SHAPE("cross_entropy_mean", L(D(2, 4, 5), LABELS(2, 4, 5))),
    SHAPE("cross_entropy_mean", L(D(2, 4, 5), LABELS(2, 4, 1))),
    SHAPE("cross_entropy_mean", L(SCALAR, LABELS(1, 1))),
    VALUE("cross_entropy_mean", L(D(2, 4, 5), LABELS(1, 4)),
          .cross_entropy = {.label_smoothing = 1.0}),
    VALUE("cross_entropy_mean", L(D(2, 4, 5), LABELS(1, 4)),
          .cross_entropy = {.label_smoothing = -0.1}),
    VALUE("cross_entropy_mean", L(D(2, 4, 5), LABELS(1, 4)),
          .cross_entropy = {.label_smoothing = NAN}),
    VALUE("cross_entropy_mean", L(D(2, 4, 5), LABELS(1, 4)),
          .cross_entropy = {.reduction = (remat_reduction)7}),
    SHAPE("mse_mean", L(D(2, 3, 4), D(2, 4, 3))),
    SHAPE("mse_mean", L(D(2, 3, 4), D(1, 4))),
    VALUE("mse_mean", L(D(2, 3, 4), D(2, 3, 4)), .reduction = (remat_reduction)7),
};

static void refused_row(void **state)
{
    const refusal *refused = *state;
    op_case row = refused->row;
    const op_case *base = op_case_find(row.name);
    assert_non_null(base);
    op_subject subject = op_subject_open(base, REMAT_F32);
    row.record = base->record;
    attempt a = {.row = &row, .operation = subject.op->name, .status = refused->status};
    for (size_t i = 0; i < row.n_leaves; i++)
        a.dtypes[i] = op_leaf_dtype(&row.leaves[i], REMAT_F32);
    check_refused(&a);
    op_subject_close(&subject);
}

/* More axes than a shape can have, and a list that is missing. */
static void no_list_of_axes(void **state)
{
    (void)state;
    const int many[REMAT_MAX_DIMS + 1] = {0};
    for (int turn = 0; turn < 4; turn++) {
        const int *axes = turn < 2 ? many : NULL;
        const bool mean = turn % 2 == 1;
        remat_tape *tape = NULL;
        assert_int_equal(remat_tape_create(NULL, &tape), REMAT_OK);
        const remat_var x = remat_input(tape, NULL, REMAT_F32, REMAT_SHAPE(2, 3), NULL);
        const remat_var y = mean ? remat_mean(tape, x, axes, REMAT_MAX_DIMS + 1, false)
                                 : remat_sum(tape, x, axes, REMAT_MAX_DIMS + 1, false);
        assert_true(y.id == 0);
        assert_int_equal(remat_tape_status(tape), REMAT_SHAPE_MISMATCH);
        assert_int_equal(remat_tape_clear(tape), REMAT_OK);
        const remat_var again = remat_input(tape, NULL, REMAT_F32, REMAT_SHAPE(2, 3), NULL);
        assert_true(remat_permute(tape, again, axes, REMAT_MAX_DIMS + 1).id == 0);
        assert_int_equal(remat_tape_status(tape), REMAT_SHAPE_MISMATCH);
        remat_tape_destroy(tape);
    }
}

/* A handle of another tape, and one from before a clear. */
static void foreign_handles(void **state)
{
    (void)state;
    remat_tape *tape = NULL, *other = NULL;
    const remat_shape shape = remat_shape_make(0, NULL);
    assert_int_equal(remat_tape_create(NULL, &tape), REMAT_OK);
    assert_int_equal(remat_tape_create(NULL, &other), REMAT_OK);
    const remat_var foreign = remat_input(other, NULL, REMAT_F32, shape, NULL);
    remat_var own = remat_input(tape, NULL, REMAT_F32, shape, NULL);
    assert_true(remat_add(tape, own, foreign).id == 0);
    assert_int_equal(remat_tape_status(tape), REMAT_INVALID_HANDLE);
    assert_non_null(strstr(remat_tape_message(tape), "add"));
    assert_int_equal(remat_tape_clear(tape), REMAT_OK);
    assert_true(remat_exp(tape, own).id == 0);
    assert_int_equal(remat_tape_status(tape), REMAT_INVALID_HANDLE);
    assert_int_equal(remat_tape_clear(tape), REMAT_OK);
    own = remat_input(tape, NULL, REMAT_F32, shape, NULL);
    assert_true(remat_exp(tape, own).id != 0);
    remat_tape_destroy(other);
    remat_tape_destroy(tape);
}

int main(void)
{
    static const op_check checks[] = {
        {"dtypes", dtypes, false, true},
        {"unset handles", unset_handles, true, true},
    };
    enum { count = sizeof refusals / sizeof refusals[0] };
    static struct CMUnitTest tests[count + 2];
    static refusal states[count];
    for (size_t r = 0; r < count; r++) {
        states[r] = refusals[r];
        tests[r] = (struct CMUnitTest){refusals[r].row.name, refused_row, NULL, NULL, &states[r]};
    }
    tests[count] = (struct CMUnitTest)cmocka_unit_test(foreign_handles);
    tests[count + 1] = (struct CMUnitTest)cmocka_unit_test(no_list_of_axes);
    return op_run_checks("refusals", checks, sizeof checks / sizeof checks[0], NULL) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
