/* derive.c - from a recorded tape to a planning problem: which statements run, which gradients
 * exist, whose memory is shared, and what every task reads and writes. */
#include "plan/derive.h"

#include <math.h>
#include <string.h>

#include "plan/costs.h"

/* Two machine constants turn flops and bytes into estimated seconds: one core of a current CPU. */
#define FLOPS_PER_SECOND 1e11
#define BYTES_PER_SECOND 2e10

enum {
    NEEDED = 1,    /* forward has to make this value */
    REQUIRES = 2,  /* its gradient is asked for, or that of something it was made from */
    THROUGH = 4,   /* the gradient flows on into the statement that made it */
    REACHED = 8,   /* a seed contributes to its gradient */
    REQUESTED = 16 /* the user asked for its gradient */
};

typedef struct derive {
    remat_tape *tape;
    const remat_exec_options *options;
    remat_derivation *d;
    remat_problem *problem;
    unsigned char *flags; /* per tape value */
    unsigned char *made;  /* per gradient value of the problem: has had its first write */
    size_t n_values;
} derive;

/* ---- Analysis over the tape ------------------------------------------------------------------*/

static bool flows(const derive *c, const remat_statement_view *s, size_t operand)
{
    uint32_t v = s->operands[operand];
    return !(s->op->no_gradient >> operand & 1) && c->tape->values.data[v].dtype != REMAT_I32;
}

static void find_roots(derive *c)
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
static void find_required(derive *c)
{
    if (c->options->forward_only)
        return;
    for (size_t i = 0; i < c->tape->gradients.count; i++)
        c->flags[c->tape->gradients.data[i].value] |= REQUIRES | REQUESTED;
    for (size_t i = 0; i < c->tape->statements.count; i++) {
        remat_statement_view s = remat_tape_statement(c->tape, i);
        bool any = false;
        for (size_t k = 0; s.op->backward && k < s.n_operands; k++)
            any |= flows(c, &s, k) && (c->flags[s.operands[k]] & REQUIRES);
        for (size_t k = 0; any && k < s.n_results; k++)
            if (!(s.op->no_gradient_results >> k & 1) &&
                c->tape->values.data[s.first_result + k].dtype != REMAT_I32)
                c->flags[s.first_result + k] |= REQUIRES | THROUGH;
    }
}

/* Backward over the tape: what forward must make, and which gradients get a contribution. */
static void find_needed_and_reached(derive *c)
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
            if (reached && flows(c, &s, k))
                c->flags[s.operands[k]] |= REACHED;
        }
    }
}

static bool statement_is_needed(const derive *c, const remat_statement_view *s)
{
    if (s->op->flags & REMAT_OP_EFFECT)
        return true;
    return s->n_results > 0 && (c->flags[s->first_result] & NEEDED);
}

/* ---- Values ----------------------------------------------------------------------------------*/

static remat_policy policy_of(const derive *c, uint32_t v)
{
    const remat_value_record *value = &c->tape->values.data[v];
    remat_policy answer = REMAT_POLICY_AUTO;
    if (c->options->policy && value->kind == REMAT_VALUE_RESULT)
        answer = c->options->policy(
            c->options->policy_context, c->tape->statements.data[value->origin].op->name,
            remat_tape_value_name(c->tape, v), remat_tape_bytes(c->tape, v));
    return answer == REMAT_POLICY_AUTO ? (remat_policy)value->policy : answer;
}

static bool add_value(derive *c, uint32_t origin, remat_value_class class, uint32_t *index)
{
    remat_problem_value value = {.origin = origin, .class = (uint8_t) class};
    value.raw_bytes = remat_tape_bytes(c->tape, origin);
    if (!remat_size_align(value.raw_bytes, &value.bytes) ||
        c->problem->values.count >= REMAT_GRADIENT_EXTERNAL)
        return false;
    *index = (uint32_t)c->problem->values.count;
    return remat_vector_push(&c->problem->allocator, &c->problem->values, value);
}

static bool add_activations(derive *c)
{
    for (size_t i = 0; i < c->tape->statements.count; i++) {
        remat_statement_view s = remat_tape_statement(c->tape, i);
        if ((s.op->flags & REMAT_OP_VIEW) || !statement_is_needed(c, &s))
            continue;
        for (uint32_t v = s.first_result; v < s.first_result + s.n_results; v++)
            if (!add_value(c, v, REMAT_CLASS_ACTIVATION, &c->d->activation[v]))
                return false;
    }
    return true;
}

/* Marks on any value that shares the memory count. */
static void apply_policies(derive *c)
{
    for (uint32_t v = 0; v < c->n_values; v++) {
        uint32_t a = c->d->activation[c->d->root[v]];
        if (a == REMAT_NONE || !(c->flags[v] & NEEDED))
            continue;
        remat_problem_value *value = &c->problem->values.data[a];
        remat_policy policy = policy_of(c, v);
        if (policy == REMAT_POLICY_KEEP || v == c->d->loss)
            value->pinned = true;
        else if (policy == REMAT_POLICY_RECOMPUTE)
            value->policy = REMAT_POLICY_RECOMPUTE;
    }
}

/* A view's gradient is its operand's gradient, unless the user asked for the view's own. */
static bool shares_gradient(const derive *c, uint32_t v)
{
    const remat_value_record *value = &c->tape->values.data[v];
    if (value->kind != REMAT_VALUE_RESULT || (c->flags[v] & REQUESTED))
        return false;
    remat_statement_view s = remat_tape_statement(c->tape, value->origin);
    return (s.op->flags & REMAT_OP_VIEW) && flows(c, &s, 0) && (c->flags[s.operands[0]] & REQUIRES);
}

static uint32_t gradient_request(const remat_tape *tape, uint32_t v)
{
    return (uint32_t)(remat_tape_gradient(tape, v) - tape->gradients.data);
}

/* A requested gradient goes to the caller's buffer directly if no backward reads it. */
static bool add_gradients(derive *c)
{
    for (uint32_t v = 0; v < c->n_values; v++) {
        unsigned char f = c->flags[v];
        if (!(f & REQUIRES) || !((f & REACHED) || (f & REQUESTED)))
            continue;
        if (shares_gradient(c, v)) {
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

/* ---- Tasks -----------------------------------------------------------------------------------*/

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

static bool begin_task(derive *c, remat_task_kind kind, uint32_t statement, uint32_t subject)
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

static remat_task *current_task(derive *c)
{
    return &c->problem->tasks.data[c->problem->tasks.count - 1];
}

static bool add_read(derive *c, uint32_t value)
{
    remat_problem *p = c->problem;
    if (value == REMAT_NONE)
        return true; /* the caller's memory */
    for (size_t i = current_task(c)->reads; i < p->reads.count; i++)
        if (p->reads.data[i] == value)
            return true;
    return remat_vector_push(&p->allocator, &p->reads, value);
}

static bool add_write(derive *c, uint32_t value, bool accumulate)
{
    remat_problem *p = c->problem;
    for (size_t i = current_task(c)->writes; i < p->writes.count; i++)
        if (p->writes.data[i].value == value)
            return true;
    remat_write write = {value, accumulate};
    return remat_vector_push(&p->allocator, &p->writes, write);
}

static bool add_gradient_write(derive *c, uint32_t gradient)
{
    if (gradient & REMAT_GRADIENT_EXTERNAL)
        return true; /* REMAT_NONE included */
    bool accumulate = c->made[gradient];
    c->made[gradient] = 1;
    return add_write(c, gradient, accumulate);
}

static bool add_reuse(derive *c, uint32_t from, uint32_t to)
{
    const remat_problem_value *values = c->problem->values.data;
    if (from == REMAT_NONE || values[from].bytes != values[to].bytes ||
        values[from].raw_bytes != values[to].raw_bytes)
        return true;
    remat_reuse reuse = {from, to};
    return remat_vector_push(&c->problem->allocator, &c->problem->reuses, reuse);
}

static uint32_t activation_of(const derive *c, uint32_t v)
{
    return c->d->activation[c->d->root[v]];
}

/* In place only if every operand that shares the memory allows it. */
static bool add_forward_reuses(derive *c, const remat_statement_view *s)
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

static bool set_cost(derive *c, const remat_statement_view *s, uint64_t gradients, bool backward)
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

static bool add_forward_tasks(derive *c)
{
    for (uint32_t i = 0; i < c->tape->statements.count; i++) {
        remat_statement_view s = remat_tape_statement(c->tape, i);
        if ((s.op->flags & REMAT_OP_VIEW) || !statement_is_needed(c, &s))
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
static bool add_gradient_tasks(derive *c, uint32_t v, uint32_t statement)
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
static bool add_backward_reuses(derive *c, const remat_statement_view *s, uint64_t mask)
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

static bool add_backward_reads(derive *c, const remat_statement_view *s, uint64_t mask)
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

static bool add_backward_task(derive *c, uint32_t statement, const remat_statement_view *s)
{
    bool reached = false;
    for (size_t k = 0; k < s->n_results; k++) {
        unsigned char f = c->flags[s->first_result + k];
        reached |= (f & REACHED) && (f & THROUGH);
    }
    uint64_t mask = remat_derive_gradient_mask(c->tape, c->d->gradient, s);
    if (!reached || mask == 0 ||
        ((s->op->flags & REMAT_OP_VIEW) && shares_gradient(c, s->first_result)))
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

static bool add_backward_tasks(derive *c)
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

static bool copy_segments(derive *c)
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

/* ---- Assembly --------------------------------------------------------------------------------*/

static bool allocate_maps(derive *c)
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

static bool build(derive *c)
{
    if (!allocate_maps(c))
        return false;
    find_roots(c);
    find_required(c);
    find_needed_and_reached(c);
    if (!add_activations(c) || !add_gradients(c))
        return false;
    apply_policies(c);
    c->made = remat_memory_allocate(&c->problem->allocator, c->problem->values.count, 1);
    return c->made && add_forward_tasks(c) && add_backward_tasks(c) && copy_segments(c);
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
    derive c = {.tape = tape,
                .options = options,
                .d = derivation,
                .problem = &derivation->problem,
                .n_values = tape->values.count};
    bool built = build(&c);
    remat_memory_release(allocator, c.flags, c.n_values, 1);
    remat_memory_release(allocator, c.made, derivation->problem.values.count, 1);
    bool fits = built && all_sizes_add_up(&derivation->problem);
    if (fits)
        return REMAT_OK;
    remat_derivation_release(derivation);
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
