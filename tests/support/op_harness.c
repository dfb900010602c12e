/* op_harness.c - forward and backward of one statement in guarded memory. */
#include "support/op_harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static op_buffer new_buffer(const op_run *run, const remat_type *type, bool may_be_leaf)
{
    const size_t element = remat_dtype_bytes(type->dtype);
    const size_t shift = may_be_leaf && run->memory.misaligned ? element : 0;
    return op_buffer_create(op_type_bytes(type), shift, run->memory.fill);
}

void op_run_open(op_run *run, const op_subject *subject, const op_values *values, op_memory memory)
{
    *run = (op_run){.subject = subject, .memory = memory, .random = {7, 3, 5}};
    for (size_t i = 0; i < subject->n_leaves; i++) {
        const remat_type *type = &subject->leaf[i];
        run->leaf[i] = new_buffer(run, type, true);
        op_store(run->leaf[i].data, type->dtype, op_type_count(type), values->leaf[i]);
    }
    for (size_t k = 0; k < subject->n_out; k++)
        run->out[k] = new_buffer(run, &subject->out[k], false);
}

static void drop_gradients(op_run *run)
{
    for (size_t i = 0; i < OP_MAX_LEAVES; i++)
        op_buffer_destroy(&run->grad_leaf[i]);
    for (size_t k = 0; k < OP_MAX_OUT; k++)
        op_buffer_destroy(&run->grad_out[k]);
}

void op_run_close(op_run *run)
{
    drop_gradients(run);
    for (size_t i = 0; i < OP_MAX_LEAVES; i++)
        op_buffer_destroy(&run->leaf[i]);
    for (size_t k = 0; k < OP_MAX_OUT; k++)
        op_buffer_destroy(&run->out[k]);
}

static remat_tensor tensor_of(const remat_type *type, void *data)
{
    return (remat_tensor){
        .data = data, .dims = type->shape.dims, .ndim = type->shape.ndim, .dtype = type->dtype};
}

static void check_intact(const op_run *run, const op_buffer *workspace)
{
    bool intact = op_buffer_intact(workspace);
    for (size_t i = 0; i < OP_MAX_LEAVES; i++)
        intact = intact && op_buffer_intact(&run->leaf[i]) && op_buffer_intact(&run->grad_leaf[i]);
    for (size_t k = 0; k < OP_MAX_OUT; k++)
        intact = intact && op_buffer_intact(&run->out[k]) && op_buffer_intact(&run->grad_out[k]);
    if (!intact)
        fail_msg("%s wrote outside of its memory", run->subject->op->name);
}

/* FNV-1a over what a call must leave alone: every buffer but those at `written`. */
static uint64_t digest(const op_buffer *buffers, size_t n, void *const *written, size_t n_written)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t b = 0; b < n; b++) {
        bool skip = false;
        for (size_t w = 0; w < n_written; w++)
            skip = skip || buffers[b].data == written[w];
        for (size_t i = 0; !skip && i < buffers[b].bytes; i++)
            hash = (hash ^ ((const unsigned char *)buffers[b].data)[i]) * UINT64_C(0x100000001B3);
    }
    return hash;
}

/* Every element was written: memory starts as NaN, and the rows' results are finite. */
static void check_written(const op_run *run, const void *data, const remat_type *type,
                          const char *what)
{
    double *values = op_read(data, type);
    for (size_t i = 0; i < op_type_count(type) && !run->may_be_infinite; i++) {
        if (!isfinite(values[i]))
            fail_msg("%s: element %zu of a %s is %g", run->subject->op->name, i, what, values[i]);
    }
    free(values);
}

static remat_status call_forward(op_run *run, op_buffer *workspace)
{
    const op_subject *subject = run->subject;
    remat_tensor in[OP_MAX_IN], out[OP_MAX_OUT];
    for (size_t i = 0; i < subject->n_in; i++)
        in[i] = tensor_of(&subject->in[i], run->leaf[subject->leaf_of[i]].data);
    for (size_t k = 0; k < subject->n_out; k++)
        out[k] = tensor_of(&subject->out[k], run->result[k]);
    const remat_forward call = {
        .attributes = subject->attributes,
        .in = in,
        .n_in = subject->n_in,
        .out = out,
        .n_out = subject->n_out,
        .workspace = workspace->data,
        .random = run->random,
        .replay = run->replay,
        .message = run->message,
        .message_bytes = sizeof run->message,
    };
    return subject->op->forward(&call);
}

remat_status op_run_forward(op_run *run, uint32_t gradients, int in_place)
{
    const op_subject *subject = run->subject;
    const remat_query query = op_query(subject, gradients);
    remat_cost cost = {0};
    if (subject->op->cost != NULL)
        subject->op->cost(&query, &cost);
    for (size_t k = 0; k < subject->n_out; k++)
        run->result[k] = run->out[k].data;
    if (subject->op->flags & REMAT_OP_VIEW) {
        memcpy(run->result[0], run->leaf[subject->leaf_of[0]].data, run->out[0].bytes);
        return REMAT_OK;
    }
    if (in_place != OP_OUT_OF_PLACE)
        run->result[0] = run->leaf[subject->leaf_of[in_place]].data;
    op_buffer workspace = op_buffer_create(cost.forward_workspace_bytes, 0, run->memory.fill);
    const uint64_t before = digest(run->leaf, OP_MAX_LEAVES, run->result, 1);
    const remat_status status = call_forward(run, &workspace);
    assert_true(digest(run->leaf, OP_MAX_LEAVES, run->result, 1) == before);
    check_intact(run, &workspace);
    op_buffer_destroy(&workspace);
    for (size_t k = 0; status == REMAT_OK && k < subject->n_out; k++)
        check_written(run, run->result[k], &subject->out[k], "result");
    return status;
}

static void take_gradients(op_run *run, const op_values *values, uint32_t gradients,
                           double *const *prefill, int in_place)
{
    const op_subject *subject = run->subject;
    drop_gradients(run);
    memset(run->gradient, 0, sizeof run->gradient);
    for (size_t k = 0; k < subject->n_out; k++) {
        if (!((subject->active >> k) & 1))
            continue;
        const remat_type *type = &subject->out[k];
        run->grad_out[k] = new_buffer(run, type, true);
        op_store(run->grad_out[k].data, type->dtype, op_type_count(type), values->upstream[k]);
    }
    for (size_t i = 0; i < subject->n_leaves; i++) {
        if (!((gradients >> i) & 1))
            continue;
        const remat_type *type = &subject->leaf[i];
        if (in_place != OP_OUT_OF_PLACE && subject->leaf_of[in_place] == i) {
            run->gradient[i] = run->grad_out[0].data;
            continue;
        }
        run->grad_leaf[i] = new_buffer(run, type, true);
        run->gradient[i] = run->grad_leaf[i].data;
        if (prefill != NULL)
            op_store(run->gradient[i], type->dtype, op_type_count(type), prefill[i]);
    }
}

static remat_status call_backward(op_run *run, uint64_t gradients, uint64_t needs_in,
                                  uint64_t needs_out, bool prefilled, op_buffer *workspace)
{
    const op_subject *subject = run->subject;
    remat_tensor in[OP_MAX_IN], grad_in[OP_MAX_IN], out[OP_MAX_OUT], grad_out[OP_MAX_OUT];
    bool accumulate[OP_MAX_IN] = {false}, seen[OP_MAX_LEAVES] = {false};
    for (size_t i = 0; i < subject->n_in; i++) {
        const size_t leaf = subject->leaf_of[i];
        const bool asked = (gradients >> i) & 1;
        in[i] = tensor_of(&subject->in[i], (needs_in >> i) & 1 ? run->leaf[leaf].data : NULL);
        grad_in[i] = tensor_of(&subject->in[i], asked ? run->gradient[leaf] : NULL);
        accumulate[i] = asked && (prefilled || seen[leaf]);
        seen[leaf] = seen[leaf] || asked;
    }
    for (size_t k = 0; k < subject->n_out; k++) {
        out[k] = tensor_of(&subject->out[k], (needs_out >> k) & 1 ? run->result[k] : NULL);
        grad_out[k] = tensor_of(&subject->out[k], run->grad_out[k].data);
    }
    const remat_backward call = {
        .attributes = subject->attributes,
        .in = in,
        .out = out,
        .grad_out = grad_out,
        .grad_in = grad_in,
        .accumulate = accumulate,
        .n_in = subject->n_in,
        .n_out = subject->n_out,
        .workspace = workspace->data,
        .random = run->random,
        .message = run->message,
        .message_bytes = sizeof run->message,
    };
    return subject->op->backward(&call);
}

static uint64_t digest_inputs(const op_run *run)
{
    return digest(run->leaf, OP_MAX_LEAVES, NULL, 0) ^ digest(run->out, OP_MAX_OUT, NULL, 0) ^
           digest(run->grad_out, OP_MAX_OUT, run->gradient, OP_MAX_LEAVES);
}

remat_status op_run_backward(op_run *run, const op_values *values, uint32_t gradients,
                             double *const *prefill, int in_place)
{
    const op_subject *subject = run->subject;
    const remat_query query = op_query(subject, gradients);
    uint64_t operands, results;
    remat_cost cost = {0};
    op_needs(subject, gradients, &operands, &results);
    if (subject->op->cost != NULL)
        subject->op->cost(&query, &cost);
    take_gradients(run, values, gradients & subject->differentiable, prefill, in_place);
    op_buffer workspace = op_buffer_create(cost.backward_workspace_bytes, 0, run->memory.fill);
    const uint64_t before = digest_inputs(run);
    const remat_status status =
        call_backward(run, query.gradients, operands, results, prefill != NULL, &workspace);
    assert_true(digest_inputs(run) == before);
    check_intact(run, &workspace);
    op_buffer_destroy(&workspace);
    for (size_t i = 0; status == REMAT_OK && i < subject->n_leaves; i++) {
        if (run->gradient[i] != NULL)
            check_written(run, run->gradient[i], &subject->leaf[i], "gradient");
    }
    return status;
}

void op_run_all(op_run *run, const op_subject *subject, const op_values *values, op_memory memory)
{
    const uint32_t all = subject->differentiable;
    op_run_open(run, subject, values, memory);
    assert_int_equal(op_run_forward(run, all, OP_OUT_OF_PLACE), REMAT_OK);
    if (all != 0)
        assert_int_equal(op_run_backward(run, values, all, NULL, OP_OUT_OF_PLACE), REMAT_OK);
}

bool op_same_results(const op_run *a, const op_run *b)
{
    for (size_t k = 0; k < a->subject->n_out; k++) {
        if (memcmp(a->result[k], b->result[k], a->out[k].bytes) != 0)
            return false;
    }
    return true;
}

bool op_same_gradients(const op_run *a, const op_run *b, uint32_t leaves)
{
    for (size_t i = 0; i < a->subject->n_leaves; i++) {
        if ((leaves >> i) & 1 && memcmp(a->gradient[i], b->gradient[i], a->leaf[i].bytes) != 0)
            return false;
    }
    return true;
}

double *op_read(const void *data, const remat_type *type)
{
    double *values = malloc(op_type_count(type) * sizeof(double));
    assert_non_null(values);
    op_load(data, type->dtype, op_type_count(type), values);
    return values;
}
