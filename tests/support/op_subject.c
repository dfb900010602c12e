/* op_subject.c - a row of the conformance table, recorded and read back; its random numbers. */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/op_harness.h"

remat_dtype op_leaf_dtype(const op_leaf *leaf, remat_dtype dtype)
{
    return leaf->draw == OP_LABELS || leaf->draw == OP_SOME_LOST ? REMAT_I32 : dtype;
}

size_t op_type_count(const remat_type *type)
{
    return (size_t)remat_shape_count(&type->shape);
}

size_t op_type_bytes(const remat_type *type)
{
    return op_type_count(type) * remat_dtype_bytes(type->dtype);
}

void op_record_leaves(remat_tape *tape, const op_case *row, remat_dtype dtype, remat_var *leaves)
{
    for (size_t i = 0; i < row->n_leaves; i++) {
        const op_leaf *leaf = &row->leaves[i];
        leaves[i] = remat_input(tape, NULL, op_leaf_dtype(leaf, dtype), leaf->shape, NULL);
    }
}

static size_t find_leaf(const op_subject *subject, const remat_var *leaves, uint32_t value)
{
    size_t i = 0;
    while (i < subject->n_leaves && remat_tape_index(subject->tape, leaves[i]) != value)
        i++;
    assert_true(i < subject->n_leaves);
    return i;
}

static void read_statement(op_subject *subject, const remat_var *leaves)
{
    const remat_statement_view statement = remat_tape_statement(subject->tape, 0);
    subject->op = statement.op;
    subject->attributes = statement.attributes;
    subject->n_in = statement.n_operands;
    subject->n_out = statement.n_results;
    assert_in_range(subject->n_in, 1, OP_MAX_IN);
    assert_in_range(subject->n_out, 1, OP_MAX_OUT);
    for (size_t i = 0; i < subject->n_in; i++) {
        subject->in[i] = remat_tape_type(subject->tape, statement.operands[i]);
        subject->leaf_of[i] = find_leaf(subject, leaves, statement.operands[i]);
    }
    for (size_t k = 0; k < subject->n_out; k++) {
        const uint32_t value = statement.first_result + (uint32_t)k;
        subject->out[k] = remat_tape_type(subject->tape, value);
    }
}

static void find_gradients(op_subject *subject)
{
    const remat_op *op = subject->op;
    if (op->backward == NULL)
        return;
    for (size_t i = 0; i < subject->n_in; i++) {
        if (subject->in[i].dtype != REMAT_I32 && !((op->no_gradient >> i) & 1))
            subject->differentiable |= 1u << subject->leaf_of[i];
    }
    for (size_t k = 0; k < subject->n_out; k++) {
        if (subject->out[k].dtype != REMAT_I32 && !((op->no_gradient_results >> k) & 1))
            subject->active |= 1u << k;
    }
}

op_subject op_subject_open(const op_case *row, remat_dtype dtype)
{
    op_subject subject = {.row = row, .dtype = dtype, .n_leaves = row->n_leaves};
    remat_var leaves[OP_MAX_LEAVES] = {{0}};
    assert_int_equal(remat_tape_create(NULL, &subject.tape), REMAT_OK);
    op_record_leaves(subject.tape, row, dtype, leaves);
    for (size_t i = 0; i < row->n_leaves; i++)
        subject.leaf[i] = remat_tape_type(subject.tape, remat_tape_index(subject.tape, leaves[i]));
    const remat_var result = row->record(subject.tape, leaves, row);
    assert_string_equal(remat_tape_message(subject.tape), "");
    assert_true(result.id != 0);
    assert_int_equal(remat_tape_statement_count(subject.tape), 1);
    read_statement(&subject, leaves);
    find_gradients(&subject);
    return subject;
}

void op_subject_close(op_subject *subject)
{
    remat_tape_destroy(subject->tape);
    *subject = (op_subject){0};
}

uint64_t op_operand_gradients(const op_subject *subject, uint32_t leaves)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < subject->n_in; i++) {
        const bool flows = !((subject->op->no_gradient >> i) & 1);
        if (flows && ((leaves & subject->differentiable) >> subject->leaf_of[i]) & 1)
            mask |= UINT64_C(1) << i;
    }
    return mask;
}

remat_query op_query(const op_subject *subject, uint32_t leaves)
{
    return (remat_query){
        .attributes = subject->attributes,
        .in = subject->in,
        .n_in = subject->n_in,
        .out = subject->out,
        .n_out = subject->n_out,
        .gradients = op_operand_gradients(subject, leaves),
    };
}

void op_needs(const op_subject *subject, uint32_t leaves, uint64_t *operands, uint64_t *results)
{
    const remat_query query = op_query(subject, leaves);
    *operands = subject->op->needs_operands;
    *results = subject->op->needs_results;
    if (subject->op->needs != NULL)
        subject->op->needs(&query, operands, results);
}

bool op_leaf_is_single(const op_subject *subject, size_t leaf)
{
    size_t uses = 0;
    for (size_t i = 0; i < subject->n_in; i++)
        uses += subject->leaf_of[i] == leaf;
    return uses == 1;
}

double op_uniform(uint64_t *state)
{
    /* splitmix64 (Steele, Lea, Flood 2014) */
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static double draw(const op_case *row, const op_leaf *leaf, size_t index, uint64_t *state)
{
    const bool given = leaf->low < leaf->high;
    const double low = given ? leaf->low : -2.0, high = given ? leaf->high : 2.0;
    const double u = op_uniform(state);
    const int label = (int)(u * leaf->high), lost = row->cross_entropy.ignore_index;
    if (leaf->draw == OP_SOME_LOST && index % 3 == 1)
        return lost;
    if (leaf->draw == OP_SOME_LOST && label == lost)
        return label > 0 ? label - 1 : label + 1;
    if (leaf->draw == OP_LABELS || leaf->draw == OP_SOME_LOST)
        return label;
    if (leaf->draw == OP_NONZERO)
        return (double)(float)(u < 0.5 ? -0.0625 - u * 4.0 : 0.0625 + (u - 0.5) * 4.0);
    return (double)(float)(low + u * (high - low));
}

op_values op_values_draw(const op_subject *subject)
{
    op_values values = {0};
    uint64_t state = 1;
    for (const char *c = subject->row->name; *c != '\0'; c++)
        state = state * 31 + (unsigned char)*c;
    for (size_t i = 0; i < subject->n_leaves; i++) {
        const size_t count = op_type_count(&subject->leaf[i]);
        assert_non_null(values.leaf[i] = malloc(count * sizeof(double)));
        for (size_t j = 0; j < count; j++)
            values.leaf[i][j] = draw(subject->row, &subject->row->leaves[i], j, &state);
    }
    for (size_t k = 0; k < subject->n_out; k++) {
        const size_t count = op_type_count(&subject->out[k]);
        assert_non_null(values.upstream[k] = malloc(count * sizeof(double)));
        for (size_t j = 0; j < count; j++)
            values.upstream[k][j] = (double)(float)(2.0 * op_uniform(&state) - 1.0);
    }
    return values;
}

void op_values_free(op_values *values)
{
    for (size_t i = 0; i < OP_MAX_LEAVES; i++)
        free(values->leaf[i]);
    for (size_t k = 0; k < OP_MAX_OUT; k++)
        free(values->upstream[k]);
    *values = (op_values){0};
}
