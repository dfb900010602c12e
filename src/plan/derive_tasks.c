/* derive_tasks.c - what every task of a step reads, writes and costs. */
#include <math.h>

#include "plan/costs.h"
#include "plan/derive_context.h"

/* Two machine constants turn flops and bytes into estimated seconds: one core of a current CPU. */
#define FLOPS_PER_SECOND 1e11
#define BYTES_PER_SECOND 2e10

uint64_t remat_derive_gradient_mask(const remat_tape *tape, const uint32_t *gradient,
                                    const remat_statement_view *s)
{
    uint64_t mask = 0;
    for (size_t k = 0; k < s->n_operands; k++)
        if (!(s->op->no_gradient >> k & 1) && gradient[s->operands[k]] != REMAT_NONE &&
            tape->values.data[s->operands[k]].dtype != REMAT_I32)
            mask |= (uint64_t)1 << k;
    return mask;
}

uint32_t remat_derive_result_gradient(const uint32_t *gradient, const remat_statement_view *s,
                                      size_t k)
{
    uint32_t g = gradient[s->first_result + k];
    bool flows_in = !(s->op->no_gradient_results >> k & 1) && !(g & REMAT_GRADIENT_EXTERNAL);
    return flows_in ? g : REMAT_NONE;
}

typedef struct typed_statement {
    remat_type in[REMAT_OP_MAX_OPERANDS], out[REMAT_OP_MAX_RESULTS];
    remat_query query;
} typed_statement;

static void query_statement(const remat_tape *tape, const remat_statement_view *s,
                            uint64_t gradients, typed_statement *typed)
{
    for (size_t k = 0; k < s->n_operands; k++)
        typed->in[k] = remat_tape_type(tape, s->operands[k]);
    for (size_t k = 0; k < s->n_results; k++)
        typed->out[k] = remat_tape_type(tape, s->first_result + (uint32_t)k);
    typed->query =
        (remat_query){s->attributes, typed->in, s->n_operands, typed->out, s->n_results, gradients};
}

void remat_derive_needs(const remat_tape *tape, const remat_statement_view *s, uint64_t gradients,
                        uint64_t *operands, uint64_t *results)
{
    *operands = s->op->needs_operands;
    *results = s->op->needs_results;
    if (!s->op->needs)
        return;
    typed_statement typed;
    query_statement(tape, s, gradients, &typed);
    s->op->needs(&typed.query, operands, results);
    *operands &= s->op->needs_operands; /* may narrow, not widen */
    *results &= s->op->needs_results;
}

static bool begin_task(remat_derive_context *c, remat_task_kind kind, uint32_t statement,
                       uint32_t subject)
{
    remat_problem *p = c->problem;
    remat_task task = {.statement = statement,
                       .subject = subject,
                       .reads = (uint32_t)p->reads.count,
                       .writes = (uint32_t)p->writes.count,
                       .reuses = (uint32_t)p->reuses.count,
                       .kind = (uint8_t)kind};
    return p->reads.count < REMAT_NONE - REMAT_OP_MAX_OPERANDS &&
           p->writes.count < REMAT_NONE - REMAT_OP_MAX_OPERANDS &&
           remat_vector_push(&p->allocator, &p->tasks, task);
}

static remat_task *current_task(remat_derive_context *c)
{
    return &c->problem->tasks.data[c->problem->tasks.count - 1];
}

static bool add_read(remat_derive_context *c, uint32_t value)
{
    remat_problem *p = c->problem;
    if (value == REMAT_NONE)
        return true; /* the caller's memory */
    for (size_t i = current_task(c)->reads; i < p->reads.count; i++)
        if (p->reads.data[i] == value)
            return true;
    return remat_vector_push(&p->allocator, &p->reads, value);
}

static bool add_write(remat_derive_context *c, uint32_t value, bool accumulate)
{
    remat_problem *p = c->problem;
    for (size_t i = current_task(c)->writes; i < p->writes.count; i++)
        if (p->writes.data[i].value == value)
            return true;
    remat_write write = {value, accumulate};
    return remat_vector_push(&p->allocator, &p->writes, write);
}

static bool add_gradient_write(remat_derive_context *c, uint32_t gradient)
{
    if (gradient & REMAT_GRADIENT_EXTERNAL)
        return true; /* REMAT_NONE included */
    bool accumulate = c->made[gradient];
    c->made[gradient] = 1;
    return add_write(c, gradient, accumulate);
}

static bool add_reuse(remat_derive_context *c, uint32_t from, uint32_t to)
{
    const remat_problem_value *values = c->problem->values.data;
    if (from == REMAT_NONE || values[from].bytes != values[to].bytes ||
        values[from].raw_bytes != values[to].raw_bytes)
        return true;
    remat_reuse reuse = {from, to};
    return remat_vector_push(&c->problem->allocator, &c->problem->reuses, reuse);
}

static uint32_t activation_of(const remat_derive_context *c, uint32_t v)
{
    return c->d->activation[c->d->root[v]];
}

/* In place only if every operand that shares the memory allows it. */
static bool add_forward_reuses(remat_derive_context *c, const remat_statement_view *s)
{
    for (size_t k = 0; k < s->n_operands && s->n_results > 0; k++) {
        uint32_t from = activation_of(c, s->operands[k]);
        bool allowed = s->op->in_place >> k & 1;
        for (size_t j = 0; j < s->n_operands; j++)
            if (activation_of(c, s->operands[j]) == from && !(s->op->in_place >> j & 1))
                allowed = false;
        if (allowed && !add_reuse(c, from, c->d->activation[s->first_result]))
            return false;
    }
    return true;
}

static bool set_cost(remat_derive_context *c, const remat_statement_view *s, uint64_t gradients,
                     bool backward)
{
    typed_statement typed;
    remat_cost cost = {0};
    query_statement(c->tape, s, gradients, &typed);
    if (s->op->cost)
        s->op->cost(&typed.query, &cost);
    remat_task *task = current_task(c);
    double flops = backward ? cost.backward_flops : cost.forward_flops;
    double bytes = backward ? cost.backward_bytes : cost.forward_bytes;
    const remat_costs *known = c->options->costs;
    double seconds = NAN;
    if (known)
        seconds = (backward ? known->backward : known->forward)[task->statement];
    task->cost = isnan(seconds) ? flops / FLOPS_PER_SECOND + bytes / BYTES_PER_SECOND : seconds;
    task->raw_workspace_bytes =
        backward ? cost.backward_workspace_bytes : cost.forward_workspace_bytes;
    return remat_size_align(task->raw_workspace_bytes, &task->workspace_bytes);
}

bool remat_derive_forward_tasks(remat_derive_context *c)
{
    for (uint32_t i = 0; i < c->tape->statements.count; i++) {
        remat_statement_view s = remat_tape_statement(c->tape, i);
        if ((s.op->flags & REMAT_OP_VIEW) || !remat_derive_is_needed(c, &s))
            continue;
        if (!begin_task(c, REMAT_TASK_FORWARD, i, REMAT_NONE))
            return false;
        current_task(c)->replayable = !(s.op->flags & REMAT_OP_EFFECT);
        if (!set_cost(c, &s, 0, false))
            return false;
        for (size_t k = 0; k < s.n_operands; k++)
            if (!add_read(c, activation_of(c, s.operands[k])))
                return false;
        for (uint32_t v = s.first_result; v < s.first_result + s.n_results; v++)
            if (!add_write(c, c->d->activation[v], false))
                return false;
        if (!add_forward_reuses(c, &s))
            return false;
    }
    c->problem->n_forward = (uint32_t)c->problem->tasks.count;
    return true;
}

/* Seed, zero fill and delivery of the gradient of v: all that happens between the last
 * contribution to it and the backward of the statement that made it. */
static bool add_gradient_tasks(remat_derive_context *c, uint32_t v, uint32_t statement)
{
    uint32_t g = c->d->gradient[v];
    if (g == REMAT_NONE)
        return true;
    bool external = g & REMAT_GRADIENT_EXTERNAL;
    if ((c->tape->values.data[v].flags & REMAT_VALUE_SEEDED) || v == c->d->loss) {
        if (!begin_task(c, REMAT_TASK_SEED, statement, v) || !add_gradient_write(c, g))
            return false;
    }
    if (!(c->flags[v] & REQUESTED))
        return true;
    if (!(c->flags[v] & REACHED) && (!external || c->options->overwrite_gradients)) {
        if (!begin_task(c, REMAT_TASK_ZERO, statement, v) || !add_gradient_write(c, g))
            return false;
    }
    if (!external && remat_tape_gradient(c->tape, v)->buffer)
        return begin_task(c, REMAT_TASK_EMIT, statement, v) && add_read(c, g);
    return true;
}

/* grad_out[0]'s memory may go to one operand's gradient that is written first here and that no
 * other operand shares. */
static bool add_backward_reuses(remat_derive_context *c, const remat_statement_view *s,
                                uint64_t mask)
{
    uint32_t from = s->n_results > 0 ? c->d->gradient[s->first_result] : REMAT_NONE;
    if (from & REMAT_GRADIENT_EXTERNAL)
        return true;
    for (size_t k = 0; k < s->n_operands; k++) {
        uint32_t to = c->d->gradient[s->operands[k]];
        if (!(mask >> k & 1) || !(s->op->gradient_in_place >> k & 1) ||
            (to & REMAT_GRADIENT_EXTERNAL) || c->made[to])
            continue;
        bool shared = false;
        for (size_t j = 0; j < s->n_operands; j++)
            shared |= j != k && (mask >> j & 1) && c->d->gradient[s->operands[j]] == to;
        if (!shared && !add_reuse(c, from, to))
            return false;
    }
    return true;
}

static bool add_backward_reads(remat_derive_context *c, const remat_statement_view *s,
                               uint64_t mask)
{
    uint64_t operands, results;
    remat_derive_needs(c->tape, s, mask, &operands, &results);
    for (size_t k = 0; k < s->n_operands; k++)
        if ((operands >> k & 1) && !add_read(c, activation_of(c, s->operands[k])))
            return false;
    for (size_t k = 0; k < s->n_results; k++) {
        uint32_t v = s->first_result + (uint32_t)k;
        if ((results >> k & 1) && !add_read(c, activation_of(c, v)))
            return false;
        if (!add_read(c, remat_derive_result_gradient(c->d->gradient, s, k)))
            return false;
    }
    return true;
}

static bool add_backward_task(remat_derive_context *c, uint32_t statement,
                              const remat_statement_view *s)
{
    bool reached = false;
    for (size_t k = 0; k < s->n_results; k++) {
        unsigned char f = c->flags[s->first_result + k];
        reached |= (f & REACHED) && (f & THROUGH);
    }
    uint64_t mask = remat_derive_gradient_mask(c->tape, c->d->gradient, s);
    if (!reached || mask == 0 ||
        ((s->op->flags & REMAT_OP_VIEW) && remat_derive_shares_gradient(c, s->first_result)))
        return true;
    if (!begin_task(c, REMAT_TASK_BACKWARD, statement, REMAT_NONE))
        return false;
    if (!set_cost(c, s, mask, true) || !add_backward_reads(c, s, mask) ||
        !add_backward_reuses(c, s, mask))
        return false;
    for (size_t k = 0; k < s->n_operands; k++)
        if ((mask >> k & 1) && !add_gradient_write(c, c->d->gradient[s->operands[k]]))
            return false;
    return true;
}

bool remat_derive_backward_tasks(remat_derive_context *c)
{
    for (size_t i = c->tape->statements.count; i-- > 0 && !c->options->forward_only;) {
        remat_statement_view s = remat_tape_statement(c->tape, i);
        for (uint32_t v = s.first_result; v < s.first_result + s.n_results; v++)
            if (!add_gradient_tasks(c, v, (uint32_t)i))
                return false;
        if (!add_backward_task(c, (uint32_t)i, &s))
            return false;
    }
    for (size_t i = 0; i < c->tape->leaves.count && !c->options->forward_only; i++)
        if (!add_gradient_tasks(c, c->tape->leaves.data[i].value, 0))
            return false;
    c->problem->n_tasks = (uint32_t)c->problem->tasks.count;
    return begin_task(c, REMAT_TASK_BACKWARD, 0, REMAT_NONE); /* the sentinel */
}
