/* reference.c - see reference.h. */
#include "core/support/reference.h"

#include <stdlib.h>
#include <string.h>

#include "core/support/fake_ops.h"

static bool is_view(const remat_statement_view *s)
{
    return s->op->flags & REMAT_OP_VIEW;
}

static bool carries(const reference *ref, uint32_t v)
{
    return ref->values[v].type.dtype != REMAT_I32;
}

/* Whether the gradient of a statement's result k, or into its operand k, exists at all. */
static bool flows_out(const reference *ref, const remat_statement_view *s, size_t k)
{
    return s->op->backward && !(s->op->no_gradient_results >> k & 1) &&
           carries(ref, s->first_result + (uint32_t)k);
}

static bool flows_in(const reference *ref, const remat_statement_view *s, size_t k)
{
    return s->op->backward && !(s->op->no_gradient >> k & 1) && carries(ref, s->operands[k]);
}

static remat_tensor tensor_of(const reference_value *value, void *data)
{
    return (remat_tensor){data, value->type.shape.dims, value->type.shape.ndim, value->type.dtype};
}

/* ---- What is wanted --------------------------------------------------------------------------*/

static void mark_forward(reference *ref)
{
    for (size_t i = 0; i < ref->tape->gradients.count; i++)
        ref->values[ref->tape->gradients.data[i].value].wanted = true;
    for (size_t i = 0; i < ref->tape->statements.count; i++) {
        remat_statement_view s = remat_tape_statement(ref->tape, i);
        bool any = false;
        for (size_t k = 0; k < s.n_operands; k++)
            any |= flows_in(ref, &s, k) && ref->values[s.operands[k]].wanted;
        for (size_t k = 0; k < s.n_results; k++) {
            reference_value *result = &ref->values[s.first_result + k];
            result->through = any && flows_out(ref, &s, k);
            bool requested = result->wanted;
            result->wanted |= result->through;
            if (is_view(&s) && !requested && result->through)
                result->slot = ref->values[s.operands[0]].slot;
            if (is_view(&s))
                result->root = ref->values[s.operands[0]].root;
        }
    }
}

static void mark_backward(reference *ref, uint32_t loss)
{
    for (uint32_t v = 0; v < ref->n_values; v++) {
        bool end = v == loss || (ref->tape->values.data[v].flags & REMAT_VALUE_SEEDED);
        ref->values[v].reached = end;
        ref->values[v].needed = end || ref->tape->values.data[v].policy == REMAT_POLICY_KEEP;
    }
    for (size_t i = ref->tape->statements.count; i-- > 0;) {
        remat_statement_view s = remat_tape_statement(ref->tape, i);
        bool needed = s.op->flags & REMAT_OP_EFFECT, reached = false;
        for (size_t k = 0; k < s.n_results; k++) {
            needed |= ref->values[s.first_result + k].needed;
            reached |=
                ref->values[s.first_result + k].reached && ref->values[s.first_result + k].through;
        }
        ref->needed_statements += needed && !is_view(&s);
        for (size_t k = 0; k < s.n_operands; k++) {
            ref->values[s.operands[k]].needed |= needed;
            ref->values[s.operands[k]].reached |= reached && flows_in(ref, &s, k);
        }
        for (size_t k = 0; k < s.n_results; k++)
            ref->values[s.first_result + k].needed |= needed;
    }
}

/* ---- Forward ---------------------------------------------------------------------------------*/

static void forward(reference *ref, size_t index, uint64_t seed, uint64_t step)
{
    remat_statement_view s = remat_tape_statement(ref->tape, index);
    remat_tensor in[REMAT_OP_MAX_OPERANDS], out[REMAT_OP_MAX_RESULTS];
    remat_type in_types[REMAT_OP_MAX_OPERANDS], out_types[REMAT_OP_MAX_RESULTS];
    for (size_t k = 0; k < s.n_operands; k++) {
        in[k] = tensor_of(&ref->values[s.operands[k]], ref->values[s.operands[k]].data);
        in_types[k] = ref->values[s.operands[k]].type;
    }
    for (size_t k = 0; k < s.n_results; k++) {
        reference_value *result = &ref->values[s.first_result + k];
        result->owns_data = !is_view(&s);
        result->data = is_view(&s) ? in[0].data : calloc(1, result->bytes);
        out[k] = tensor_of(result, result->data);
        out_types[k] = result->type;
    }
    if (is_view(&s))
        return;
    remat_cost cost = {0};
    const remat_query query = {s.attributes, in_types, s.n_operands, out_types, s.n_results, 0};
    if (s.op->cost)
        s.op->cost(&query, &cost);
    size_t workspace = (cost.forward_workspace_bytes + 63) / 64 * 64;
    const remat_forward call = {.attributes = s.attributes,
                                .in = in,
                                .n_in = s.n_operands,
                                .out = out,
                                .n_out = s.n_results,
                                .workspace = workspace ? aligned_alloc(64, workspace) : NULL,
                                .random = {seed, step, index}};
    fake_require(s.op->forward(&call) == REMAT_OK);
    free(call.workspace);
}

/* ---- Backward --------------------------------------------------------------------------------*/

static reference_value *slot_of(reference *ref, uint32_t v)
{
    return &ref->values[ref->values[v].slot];
}

static remat_tensor gradient_to_write(reference *ref, uint32_t v, bool *accumulate)
{
    reference_value *slot = slot_of(ref, v);
    if (!slot->gradient)
        slot->gradient = calloc(1, slot->bytes);
    *accumulate = slot->has_gradient;
    slot->has_gradient = true;
    return tensor_of(&ref->values[v], slot->gradient);
}

static void add_seed(reference *ref, uint32_t v, uint32_t loss)
{
    bool seeded = ref->tape->values.data[v].flags & REMAT_VALUE_SEEDED, accumulate;
    if ((v != loss && !seeded) || !ref->values[v].wanted)
        return;
    const void *seed = seeded ? remat_tape_seed(ref->tape, v)->seed : NULL;
    remat_tensor gradient = gradient_to_write(ref, v, &accumulate);
    for (int64_t i = 0; i < remat_tensor_count(&gradient); i++) {
        remat_tensor from = gradient;
        from.data = (void *)(uintptr_t)seed;
        fake_give(&gradient, i, seed ? fake_get(&from, i) : 1.0, accumulate);
    }
}

/* The statement as its backward sees it. */
typedef struct backward_call {
    remat_type in_types[REMAT_OP_MAX_OPERANDS], out_types[REMAT_OP_MAX_RESULTS];
    remat_tensor in[REMAT_OP_MAX_OPERANDS], out[REMAT_OP_MAX_RESULTS];
    remat_tensor grad_in[REMAT_OP_MAX_OPERANDS], grad_out[REMAT_OP_MAX_RESULTS];
    bool accumulate[REMAT_OP_MAX_OPERANDS];
    uint64_t gradients;
} backward_call;

static bool take_gradients(reference *ref, const remat_statement_view *s, backward_call *c)
{
    bool any = false;
    for (size_t k = 0; k < s->n_results; k++) {
        uint32_t v = s->first_result + (uint32_t)k;
        bool has = ref->values[v].through && slot_of(ref, v)->has_gradient;
        any |= has && ref->values[v].reached;
        c->grad_out[k] = tensor_of(&ref->values[v], has ? slot_of(ref, v)->gradient : NULL);
    }
    for (size_t k = 0; any && k < s->n_operands; k++) {
        uint32_t v = s->operands[k];
        c->grad_in[k] = tensor_of(&ref->values[v], NULL);
        if (!flows_in(ref, s, k) || !ref->values[v].wanted)
            continue;
        c->gradients |= (uint64_t)1 << k;
        c->grad_in[k] = gradient_to_write(ref, v, &c->accumulate[k]);
    }
    return c->gradients != 0;
}

static void take_data(reference *ref, const remat_statement_view *s, backward_call *c,
                      remat_cost *cost)
{
    uint64_t operands = s->op->needs_operands, results = s->op->needs_results;
    for (size_t k = 0; k < s->n_operands; k++)
        c->in_types[k] = ref->values[s->operands[k]].type;
    for (size_t k = 0; k < s->n_results; k++)
        c->out_types[k] = ref->values[s->first_result + k].type;
    const remat_query query = {s->attributes, c->in_types,  s->n_operands,
                               c->out_types,  s->n_results, c->gradients};
    if (s->op->needs)
        s->op->needs(&query, &operands, &results);
    if (s->op->cost)
        s->op->cost(&query, cost);
    for (size_t k = 0; k < s->n_operands; k++) {
        reference_value *value = &ref->values[s->operands[k]];
        c->in[k] = tensor_of(value, operands >> k & 1 ? value->data : NULL);
    }
    for (size_t k = 0; k < s->n_results; k++) {
        reference_value *value = &ref->values[s->first_result + k];
        c->out[k] = tensor_of(value, results >> k & 1 ? value->data : NULL);
    }
}

static void backward(reference *ref, size_t index, uint64_t seed, uint64_t step)
{
    remat_statement_view s = remat_tape_statement(ref->tape, index);
    backward_call c = {0};
    remat_cost cost = {0};
    if (is_view(&s) && ref->values[s.first_result].slot != s.first_result)
        return;
    if (!take_gradients(ref, &s, &c))
        return;
    ref->gradient_statements++;
    take_data(ref, &s, &c, &cost);
    size_t workspace = (cost.backward_workspace_bytes + 63) / 64 * 64;
    const remat_backward call = {.attributes = s.attributes,
                                 .in = c.in,
                                 .out = c.out,
                                 .grad_out = c.grad_out,
                                 .grad_in = c.grad_in,
                                 .accumulate = c.accumulate,
                                 .n_in = s.n_operands,
                                 .n_out = s.n_results,
                                 .workspace = workspace ? aligned_alloc(64, workspace) : NULL,
                                 .random = {seed, step, index}};
    fake_require(s.op->backward(&call) == REMAT_OK);
    free(call.workspace);
}

/* ---- Life ------------------------------------------------------------------------------------*/

static void set_up(reference *ref, const remat_tape *tape)
{
    *ref = (reference){.tape = tape, .n_values = tape->values.count};
    ref->values = calloc(ref->n_values + 1, sizeof *ref->values);
    for (uint32_t v = 0; v < ref->n_values; v++) {
        reference_value *value = &ref->values[v];
        *value = (reference_value){.type = remat_tape_type(tape, v), .root = v, .slot = v};
        value->bytes = remat_tape_bytes(tape, v);
        if (tape->values.data[v].kind != REMAT_VALUE_RESULT)
            value->data = tape->leaves.data[tape->values.data[v].origin].data;
    }
}

void reference_run(reference *ref, const remat_tape *tape, remat_var loss, uint64_t seed,
                   uint64_t step)
{
    uint32_t end = remat_tape_index(tape, loss);
    set_up(ref, tape);
    mark_forward(ref);
    mark_backward(ref, end);
    for (size_t i = 0; i < tape->statements.count; i++)
        forward(ref, i, seed, step);
    for (size_t i = tape->statements.count; i-- > 0;) {
        remat_statement_view s = remat_tape_statement(tape, i);
        for (size_t k = 0; k < s.n_results; k++)
            add_seed(ref, s.first_result + (uint32_t)k, end);
        backward(ref, i, seed, step);
    }
    for (size_t i = 0; i < tape->leaves.count; i++)
        add_seed(ref, tape->leaves.data[i].value, end);
}

void reference_release(reference *ref)
{
    for (uint32_t v = 0; v < ref->n_values; v++) {
        if (ref->values[v].owns_data)
            free(ref->values[v].data);
        free(ref->values[v].gradient);
    }
    free(ref->values);
    *ref = (reference){0};
}

const void *reference_data(const reference *ref, remat_var v)
{
    return ref->values[remat_tape_index(ref->tape, v)].data;
}

const void *reference_gradient(const reference *ref, remat_var v)
{
    const reference_value *value = &ref->values[remat_tape_index(ref->tape, v)];
    const reference_value *slot = &ref->values[value->slot];
    return slot->has_gradient ? slot->gradient : NULL;
}
