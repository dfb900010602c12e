/* derive.c - from a recorded tape to a planning problem: which statements run, which gradients
 * exist, whose memory is shared, and what every task reads and writes. */
#include "plan/derive_context.h"

#include <string.h>

/* ---- Analysis over the tape ------------------------------------------------------------------*/

bool remat_derive_flows(const remat_derive_context *c, const remat_statement_view *s,
                        size_t operand)
{
    uint32_t v = s->operands[operand];
    return !(s->op->no_gradient >> operand & 1) && c->tape->values.data[v].dtype != REMAT_I32;
}

static void find_roots(remat_derive_context *c)
{
    for (uint32_t v = 0; v < c->n_values; v++)
        c->d->root[v] = v;
    for (size_t i = 0; i < c->tape->statements.count; i++) {
        remat_statement_view s = remat_tape_statement(c->tape, i);
        if (s.op->flags & REMAT_OP_VIEW)
            c->d->root[s.first_result] = c->d->root[s.operands[0]];
    }
}

/* Forward over the tape: where gradients are wanted. */
static void find_required(remat_derive_context *c)
{
    if (c->options->forward_only)
        return;
    for (size_t i = 0; i < c->tape->gradients.count; i++)
        c->flags[c->tape->gradients.data[i].value] |= REQUIRES | REQUESTED;
    for (size_t i = 0; i < c->tape->statements.count; i++) {
        remat_statement_view s = remat_tape_statement(c->tape, i);
        bool any = false;
        for (size_t k = 0; s.op->backward && k < s.n_operands; k++)
            any |= remat_derive_flows(c, &s, k) && (c->flags[s.operands[k]] & REQUIRES);
        for (size_t k = 0; any && k < s.n_results; k++)
            if (!(s.op->no_gradient_results >> k & 1) &&
                c->tape->values.data[s.first_result + k].dtype != REMAT_I32)
                c->flags[s.first_result + k] |= REQUIRES | THROUGH;
    }
}

/* Backward over the tape: what forward must make, and which gradients get a contribution. */
static void find_needed_and_reached(remat_derive_context *c)
{
    for (size_t i = 0; i < c->tape->seeds.count; i++)
        c->flags[c->tape->seeds.data[i].value] |= NEEDED | REACHED;
    if (c->d->loss != REMAT_NONE)
        c->flags[c->d->loss] |= NEEDED | REACHED;
    for (size_t i = c->tape->statements.count; i-- > 0;) {
        remat_statement_view s = remat_tape_statement(c->tape, i);
        bool needed = s.op->flags & REMAT_OP_EFFECT, reached = false;
        for (size_t k = 0; k < s.n_results; k++) {
            unsigned char f = c->flags[s.first_result + k];
            const remat_value_record *value = &c->tape->values.data[s.first_result + k];
            needed |= (f & NEEDED) || value->policy == REMAT_POLICY_KEEP;
            reached |= (f & REACHED) && (f & THROUGH);
        }
        for (size_t k = 0; k < s.n_results && needed; k++)
            c->flags[s.first_result + k] |= NEEDED;
        for (size_t k = 0; k < s.n_operands; k++) {
            if (needed)
                c->flags[s.operands[k]] |= NEEDED;
            if (reached && remat_derive_flows(c, &s, k))
                c->flags[s.operands[k]] |= REACHED;
        }
    }
}

bool remat_derive_is_needed(const remat_derive_context *c, const remat_statement_view *s)
{
    if (s->op->flags & REMAT_OP_EFFECT)
        return true;
    return s->n_results > 0 && (c->flags[s->first_result] & NEEDED);
}

/* ---- Values ----------------------------------------------------------------------------------*/

static remat_policy policy_of(const remat_derive_context *c, uint32_t v)
{
    const remat_value_record *value = &c->tape->values.data[v];
    remat_policy answer = REMAT_POLICY_AUTO;
    if (c->options->policy && value->kind == REMAT_VALUE_RESULT)
        answer = c->options->policy(
            c->options->policy_context, c->tape->statements.data[value->origin].op->name,
            remat_tape_value_name(c->tape, v), remat_tape_bytes(c->tape, v));
    return answer == REMAT_POLICY_AUTO ? (remat_policy)value->policy : answer;
}

static bool add_value(remat_derive_context *c, uint32_t origin, remat_value_class class,
                      uint32_t *index)
{
    remat_problem_value value = {.origin = origin, .class = (uint8_t) class};
    value.raw_bytes = remat_tape_bytes(c->tape, origin);
    if (!remat_size_align(value.raw_bytes, &value.bytes) ||
        c->problem->values.count >= REMAT_GRADIENT_EXTERNAL)
        return false;
    *index = (uint32_t)c->problem->values.count;
    return remat_vector_push(&c->problem->allocator, &c->problem->values, value);
}

static bool add_activations(remat_derive_context *c)
{
    for (size_t i = 0; i < c->tape->statements.count; i++) {
        remat_statement_view s = remat_tape_statement(c->tape, i);
        if ((s.op->flags & REMAT_OP_VIEW) || !remat_derive_is_needed(c, &s))
            continue;
        for (uint32_t v = s.first_result; v < s.first_result + s.n_results; v++)
            if (!add_value(c, v, REMAT_CLASS_ACTIVATION, &c->d->activation[v]))
                return false;
    }
    return true;
}

/* Marks on any value that shares the memory count. */
static remat_status apply_policies(remat_derive_context *c)
{
    for (uint32_t v = 0; v < c->n_values; v++) {
        uint32_t a = c->d->activation[c->d->root[v]];
        if (a == REMAT_NONE || !(c->flags[v] & NEEDED))
            continue;
        remat_problem_value *value = &c->problem->values.data[a];
        remat_policy policy = policy_of(c, v);
        if ((int)policy < 0 || policy > REMAT_POLICY_RECOMPUTE)
            return remat_tape_complain(
                c->tape, REMAT_INVALID_ARGUMENT,
                "options.policy answered %d for a result of %s: it must be a remat_policy",
                (int)policy, c->tape->statements.data[c->tape->values.data[v].origin].op->name);
        if (policy == REMAT_POLICY_KEEP || v == c->d->loss)
            value->pinned = true;
        else if (policy == REMAT_POLICY_RECOMPUTE)
            value->policy = REMAT_POLICY_RECOMPUTE;
    }
    return REMAT_OK;
}

/* A view's gradient is its operand's gradient, unless the user asked for the view's own. */
bool remat_derive_shares_gradient(const remat_derive_context *c, uint32_t v)
{
    const remat_value_record *value = &c->tape->values.data[v];
    if (value->kind != REMAT_VALUE_RESULT || (c->flags[v] & REQUESTED))
        return false;
    remat_statement_view s = remat_tape_statement(c->tape, value->origin);
    return (s.op->flags & REMAT_OP_VIEW) && remat_derive_flows(c, &s, 0) &&
           (c->flags[s.operands[0]] & REQUIRES);
}

static uint32_t gradient_request(const remat_tape *tape, uint32_t v)
{
    return (uint32_t)(remat_tape_gradient(tape, v) - tape->gradients.data);
}

/* A requested gradient goes to the caller's buffer directly if no backward reads it. */
static bool add_gradients(remat_derive_context *c)
{
    for (uint32_t v = 0; v < c->n_values; v++) {
        unsigned char f = c->flags[v];
        if (!(f & REQUIRES) || !((f & REACHED) || (f & REQUESTED)))
            continue;
        if (remat_derive_shares_gradient(c, v)) {
            uint32_t operand =
                remat_tape_statement(c->tape, c->tape->values.data[v].origin).operands[0];
            c->d->gradient[v] = c->d->gradient[operand];
            continue;
        }
        const remat_gradient_record *request =
            (f & REQUESTED) ? remat_tape_gradient(c->tape, v) : NULL;
        bool read_by_backward = (f & THROUGH) && (f & REACHED);
        if (request && request->buffer && !read_by_backward) {
            c->d->gradient[v] = REMAT_GRADIENT_EXTERNAL | gradient_request(c->tape, v);
            continue;
        }
        if (!add_value(c, v, REMAT_CLASS_GRADIENT, &c->d->gradient[v]))
            return false;
        if (request && !request->buffer)
            c->problem->values.data[c->d->gradient[v]].pinned = true;
    }
    return true;
}

/* ---- Assembly --------------------------------------------------------------------------------*/

static bool copy_segments(remat_derive_context *c)
{
    remat_problem *p = c->problem;
    p->n_statements = (uint32_t)c->tape->statements.count;
    for (size_t i = 0; i < c->tape->segments.count; i++) {
        const remat_segment_record *s = &c->tape->segments.data[i];
        remat_segment_range range = {s->parent, s->first, i == 0 ? p->n_statements : s->end};
        if (!remat_vector_push(&p->allocator, &p->segments, range))
            return false;
    }
    return true;
}

static bool allocate_maps(remat_derive_context *c)
{
    const remat_allocator *allocator = &c->problem->allocator;
    size_t n = c->n_values;
    c->flags = remat_memory_allocate(allocator, n, 1);
    c->d->n_values = (uint32_t)n;
    c->d->root = remat_memory_allocate(allocator, n, sizeof(uint32_t));
    c->d->activation = remat_memory_allocate(allocator, n, sizeof(uint32_t));
    c->d->gradient = remat_memory_allocate(allocator, n, sizeof(uint32_t));
    if (!c->flags || !c->d->root || !c->d->activation || !c->d->gradient)
        return false;
    memset(c->d->activation, 0xFF, n * sizeof(uint32_t));
    memset(c->d->gradient, 0xFF, n * sizeof(uint32_t));
    return true;
}

static bool build(remat_derive_context *c, remat_status *policies)
{
    if (!allocate_maps(c))
        return false;
    find_roots(c);
    find_required(c);
    find_needed_and_reached(c);
    if (!add_activations(c) || !add_gradients(c))
        return false;
    *policies = apply_policies(c);
    c->made = remat_memory_allocate(&c->problem->allocator, c->problem->values.count, 1);
    return c->made && remat_derive_forward_tasks(c) && remat_derive_backward_tasks(c) &&
           copy_segments(c);
}

/* Then so can be whatever is in use at once, and no later sum needs a check. */
static bool all_sizes_add_up(const remat_problem *p)
{
    size_t total = 0, workspace = 0, aligned;
    for (uint32_t t = 0; t < p->n_tasks; t++)
        if (p->tasks.data[t].workspace_bytes > workspace)
            workspace = p->tasks.data[t].workspace_bytes;
    for (size_t v = 0; v < p->values.count; v++)
        if (!remat_size_add(total, p->values.data[v].bytes, &total))
            return false;
    return remat_size_align(workspace, &aligned) && remat_size_add(total, aligned, &total);
}

remat_status remat_derive(remat_tape *tape, uint32_t loss, const remat_exec_options *options,
                          const remat_allocator *allocator, remat_derivation *derivation)
{
    memset(derivation, 0, sizeof *derivation);
    derivation->loss = loss;
    derivation->problem.allocator = *allocator;
    derivation->problem.retain = options->retain;
    remat_derive_context c = {.tape = tape,
                              .options = options,
                              .d = derivation,
                              .problem = &derivation->problem,
                              .n_values = tape->values.count};
    remat_status policies = REMAT_OK;
    bool built = build(&c, &policies);
    remat_memory_release(allocator, c.flags, c.n_values, 1);
    remat_memory_release(allocator, c.made, derivation->problem.values.count, 1);
    if (built && policies == REMAT_OK && all_sizes_add_up(&derivation->problem))
        return REMAT_OK;
    remat_derivation_release(derivation);
    if (policies != REMAT_OK)
        return policies;
    if (built)
        return remat_tape_complain(tape, REMAT_OVERFLOW,
                                   "the values and the workspace of a step have more bytes in all "
                                   "than can be addressed");
    return remat_tape_complain(tape, REMAT_OUT_OF_MEMORY, "out of memory while planning");
}

void remat_derivation_release(remat_derivation *derivation)
{
    const remat_allocator allocator = derivation->problem.allocator;
    if (!allocator.reallocate)
        return;
    remat_problem_release(&derivation->problem);
    remat_memory_release(&allocator, derivation->root, derivation->n_values, sizeof(uint32_t));
    remat_memory_release(&allocator, derivation->activation, derivation->n_values,
                         sizeof(uint32_t));
    remat_memory_release(&allocator, derivation->gradient, derivation->n_values, sizeof(uint32_t));
    memset(derivation, 0, sizeof *derivation);
}
