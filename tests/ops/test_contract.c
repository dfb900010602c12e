/* test_contract.c - every row of the conformance table keeps the contract of op.h: the same bits
 * whatever the memory, accumulation, subsets of gradients, needs, in-place, workspace, cost. The
 * harness adds to each: canaries, exact workspaces, NULL for what is not needed. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/op_harness.h"
#include "support/op_runner.h"

static const op_memory aligned = {.misaligned = false, .fill = 0xFF};
static const op_memory aligned_zero = {.misaligned = false, .fill = 0x00};
static const op_memory misaligned = {.misaligned = true, .fill = 0xFF};

/* A subject with its values and a reference run. */
typedef struct bench {
    op_subject subject;
    op_values values;
    op_run run;
} bench;

static void bench_open(bench *b, void **state)
{
    const op_point *point = *state;
    b->subject = op_subject_open(point->row, point->dtype);
    b->values = op_values_draw(&b->subject);
    op_run_all(&b->run, &b->subject, &b->values, aligned);
}

static void bench_close(bench *b)
{
    op_run_close(&b->run);
    op_values_free(&b->values);
    op_subject_close(&b->subject);
}

static uint64_t below(size_t n)
{
    return (UINT64_C(1) << n) - 1;
}

/* The descriptor's masks name operands and results that exist; callbacks are there. */
static void descriptor(void **state)
{
    bench b;
    bench_open(&b, state);
    const remat_op *op = b.subject.op;
    const uint64_t operands = below(op->max_operands), results = below(op->n_results);
    assert_true(op->name != NULL && op->name[0] != '\0');
    assert_in_range(b.subject.n_in, op->min_operands, op->max_operands);
    assert_int_equal(b.subject.n_out, op->n_results);
    assert_int_equal((op->needs_operands | op->no_gradient | op->in_place) & ~operands, 0);
    assert_int_equal(op->gradient_in_place & ~operands, 0);
    assert_int_equal((op->needs_results | op->no_gradient_results) & ~results, 0);
    assert_true(op->infer != NULL);
    assert_true(op->forward != NULL || (op->flags & REMAT_OP_VIEW));
    assert_true(!(op->flags & REMAT_OP_VIEW) || op->in_place == 0);
    bench_close(&b);
}

/* Twice the same bits: at other addresses, off alignment, over other garbage, as a replay. */
static void repeat(void **state)
{
    bench b;
    bench_open(&b, state);
    const op_memory memories[] = {aligned, aligned_zero, misaligned};
    for (size_t m = 0; m < sizeof memories / sizeof memories[0]; m++) {
        op_run again;
        op_run_all(&again, &b.subject, &b.values, memories[m]);
        assert_true(op_same_results(&b.run, &again));
        assert_true(op_same_gradients(&b.run, &again, b.subject.differentiable));
        again.replay = true;
        assert_int_equal(op_run_forward(&again, 0, OP_OUT_OF_PLACE), REMAT_OK);
        assert_true(op_same_results(&b.run, &again));
        op_run_close(&again);
    }
    bench_close(&b);
}

static double tolerance_of(const op_subject *subject)
{
    const double f32 = subject->row->f32_tolerance > 0 ? subject->row->f32_tolerance : 2e-6;
    return subject->dtype == REMAT_F32 ? f32 : 1e-13;
}

static void check_sum(const bench *b, size_t leaf, const double *before, const void *after)
{
    const remat_type *type = &b->subject.leaf[leaf];
    double *gradient = op_read(b->run.gradient[leaf], type), *sum = op_read(after, type);
    double most = 1.0;
    for (size_t j = 0; j < op_type_count(type); j++)
        most = fmax(most, fabs(gradient[j]));
    for (size_t j = 0; j < op_type_count(type); j++) {
        const double expected = before[j] + gradient[j];
        if (!(fabs(sum[j] - expected) <= tolerance_of(&b->subject) * most))
            fail_msg("leaf %zu element %zu: %.17g + %.17g gave %.17g", leaf, j, before[j],
                     gradient[j], sum[j]);
    }
    free(gradient);
    free(sum);
}

/* accumulate adds to what is there; without it, garbage is overwritten (repeat sees to that). */
static void accumulate(void **state)
{
    bench b;
    bench_open(&b, state);
    double *before[OP_MAX_LEAVES] = {NULL};
    uint64_t random = 5;
    for (size_t i = 0; i < b.subject.n_leaves; i++) {
        const size_t count = op_type_count(&b.subject.leaf[i]);
        assert_non_null(before[i] = malloc(count * sizeof(double)));
        for (size_t j = 0; j < count; j++)
            before[i][j] = (double)(float)(2.0 * op_uniform(&random) - 1.0);
    }
    op_run sum;
    op_run_all(&sum, &b.subject, &b.values, misaligned);
    const uint32_t all = b.subject.differentiable;
    if (all != 0)
        assert_int_equal(op_run_backward(&sum, &b.values, all, before, OP_OUT_OF_PLACE), REMAT_OK);
    for (size_t i = 0; i < b.subject.n_leaves; i++) {
        if ((all >> i) & 1)
            check_sum(&b, i, before[i], sum.gradient[i]);
        free(before[i]);
    }
    op_run_close(&sum);
    bench_close(&b);
}

/* The gradients of some leaves have the bits they have when all are asked for. */
static void subsets(void **state)
{
    bench b;
    bench_open(&b, state);
    const uint32_t all = b.subject.differentiable;
    op_run some;
    op_run_open(&some, &b.subject, &b.values, misaligned);
    for (uint32_t leaves = 1; leaves <= all; leaves++) {
        if ((leaves & ~all) != 0)
            continue;
        assert_int_equal(op_run_forward(&some, leaves, OP_OUT_OF_PLACE), REMAT_OK);
        assert_true(op_same_results(&b.run, &some));
        assert_int_equal(op_run_backward(&some, &b.values, leaves, NULL, OP_OUT_OF_PLACE),
                         REMAT_OK);
        assert_true(op_same_gradients(&b.run, &some, leaves));
    }
    op_run_close(&some);
    bench_close(&b);
}

/* needs() only narrows the masks, and more gradients need no less. */
static void needs(void **state)
{
    bench b;
    bench_open(&b, state);
    const remat_op *op = b.subject.op;
    const uint32_t all = b.subject.differentiable;
    for (uint32_t more = 1; more <= all; more++) {
        if ((more & ~all) != 0)
            continue;
        uint64_t operands, results;
        op_needs(&b.subject, more, &operands, &results);
        assert_int_equal(operands & ~op->needs_operands, 0);
        assert_int_equal(results & ~op->needs_results, 0);
        for (uint32_t less = 1; less < more; less++) {
            uint64_t fewer_operands, fewer_results;
            if ((less & ~more) != 0)
                continue;
            op_needs(&b.subject, less, &fewer_operands, &fewer_results);
            assert_int_equal(fewer_operands & ~operands, 0);
            assert_int_equal(fewer_results & ~results, 0);
        }
    }
    bench_close(&b);
}

/* May result 0 take over the memory of this operand? A value that is several operands must be one
 * that may be overwritten as each of them. */
static bool may_overwrite(const op_subject *subject, size_t operand)
{
    for (size_t i = 0; i < subject->n_in; i++) {
        const bool same = subject->leaf_of[i] == subject->leaf_of[operand];
        if (same && !((subject->op->in_place >> i) & 1))
            return false;
    }
    return op_type_bytes(&subject->in[operand]) == op_type_bytes(&subject->out[0]);
}

static void in_place(void **state)
{
    bench b;
    bench_open(&b, state);
    for (size_t i = 0; i < b.subject.n_in; i++) {
        if (!may_overwrite(&b.subject, i))
            continue;
        op_run over;
        op_run_open(&over, &b.subject, &b.values, aligned);
        assert_int_equal(op_run_forward(&over, 0, (int)i), REMAT_OK);
        assert_true(op_same_results(&b.run, &over));
        op_run_close(&over);
    }
    bench_close(&b);
}

static void gradient_in_place(void **state)
{
    bench b;
    bench_open(&b, state);
    const uint32_t all = b.subject.differentiable;
    const uint64_t operands = op_operand_gradients(&b.subject, all);
    for (size_t i = 0; i < b.subject.n_in; i++) {
        const size_t leaf = b.subject.leaf_of[i];
        if (!((b.subject.op->gradient_in_place & operands) >> i & 1) ||
            !op_leaf_is_single(&b.subject, leaf) ||
            op_type_bytes(&b.subject.in[i]) != op_type_bytes(&b.subject.out[0]))
            continue;
        op_run over;
        op_run_all(&over, &b.subject, &b.values, misaligned);
        assert_int_equal(op_run_backward(&over, &b.values, all, NULL, (int)i), REMAT_OK);
        assert_true(op_same_gradients(&b.run, &over, all));
        const uint32_t only = UINT32_C(1) << leaf;
        assert_int_equal(op_run_backward(&over, &b.values, only, NULL, (int)i), REMAT_OK);
        assert_true(op_same_gradients(&b.run, &over, only));
        op_run_close(&over);
    }
    bench_close(&b);
}

/* Finite, non-negative, a function of the query only. */
static void cost(void **state)
{
    bench b;
    bench_open(&b, state);
    const remat_op *op = b.subject.op;
    for (uint32_t leaves = 0; leaves <= b.subject.differentiable; leaves++) {
        const remat_query query = op_query(&b.subject, leaves);
        remat_cost first, again;
        memset(&first, 0, sizeof first);
        memset(&again, 0, sizeof again);
        if (op->cost != NULL) {
            op->cost(&query, &first);
            op->cost(&query, &again);
        }
        assert_memory_equal(&first, &again, sizeof first);
        assert_true(first.forward_flops >= 0 && first.forward_flops < 1e12);
        assert_true(first.forward_bytes >= 0 && first.forward_bytes < 1e12);
        assert_true(first.backward_flops >= 0 && first.backward_flops < 1e12);
        assert_true(first.backward_bytes >= 0 && first.backward_bytes < 1e12);
        assert_true((op->flags & REMAT_OP_VIEW) || first.forward_bytes > 0);
    }
    bench_close(&b);
}

int main(void)
{
    static const op_check checks[] = {
        {"descriptor", descriptor, false, true},
        {"repeat", repeat, false, false},
        {"accumulate", accumulate, false, false},
        {"subsets", subsets, false, false},
        {"needs", needs, false, true},
        {"in place", in_place, false, false},
        {"gradient in place", gradient_in_place, false, false},
        {"cost", cost, false, true},
    };
    return op_run_checks("contract", checks, sizeof checks / sizeof checks[0], NULL);
}
