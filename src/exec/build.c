/* build.c - from a plan and its tape to a program: which pointer every argument of every task has.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"

typedef struct builder {
    const remat_allocator *allocator;
    const remat_tape *tape;
    const remat_plan *plan;
    remat_program *program;
    uint32_t *pointer_of; /* per value of the problem: its memory now; 0: none */
    uint32_t *last_use;   /* per gradient request: the instruction after which it is complete */
    unsigned char *begun; /* per gradient request: has had its first contribution */
    unsigned char *ran;   /* per task */
    uint32_t *request_of_leaf;
    size_t binding;  /* next of plan->bindings */
    size_t last_run; /* action */
} builder;

/* ---- Pointers --------------------------------------------------------------------------------*/

static uint32_t buffer_pointer(const builder *b, uint32_t buffer)
{
    return (uint32_t)(b->program->first_buffer + buffer);
}

static uint32_t data_pointer(const builder *b, uint32_t v)
{
    uint32_t root = b->plan->derivation.root[v];
    const remat_value_record *value = &b->tape->values.data[root];
    if (value->kind != REMAT_VALUE_RESULT)
        return 1 + value->origin;
    uint32_t activation = b->plan->derivation.activation[root];
    return activation == REMAT_NONE ? 0 : b->pointer_of[activation];
}

static uint32_t gradient_pointer(const builder *b, uint32_t gradient)
{
    if (gradient == REMAT_NONE)
        return 0;
    if (gradient & REMAT_GRADIENT_EXTERNAL)
        return (uint32_t)b->program->first_gradient + (gradient & ~REMAT_GRADIENT_EXTERNAL);
    return b->pointer_of[gradient];
}

static bool add_slot(builder *b, uint32_t pointer, uint32_t v)
{
    const remat_value_record *value = &b->tape->values.data[v];
    remat_slot slot = {pointer, 3 * value->shape + value->dtype};
    return remat_vector_push(b->allocator, &b->program->slots, slot);
}

/* ---- Instructions ----------------------------------------------------------------------------*/

static remat_instruction *current(builder *b)
{
    return &b->program->instructions.data[b->program->instructions.count - 1];
}

static bool begin_instruction(builder *b, uint32_t task)
{
    remat_program *program = b->program;
    const remat_problem *problem = &b->plan->derivation.problem;
    bool forward = task < problem->n_forward;
    remat_instruction i = {
        .statement = problem->tasks.data[task].statement,
        .subject = problem->tasks.data[task].subject,
        .slots = (uint32_t)program->slots.count,
        .begins = (uint32_t)program->begins.count,
        .ends = (uint32_t)program->ends.count,
        .kind = problem->tasks.data[task].kind,
        .phase = (uint8_t)(!forward       ? REMAT_PHASE_BACKWARD
                           : b->ran[task] ? REMAT_PHASE_REPLAY
                                          : REMAT_PHASE_FORWARD),
    };
    b->ran[task] = 1;
    return program->slots.count < UINT32_MAX - 4 * REMAT_OP_MAX_OPERANDS &&
           remat_vector_push(b->allocator, &program->instructions, i);
}

static bool take_buffer(builder *b, size_t at, uint32_t buffer)
{
    const remat_buffer *record = &b->plan->buffers.data[buffer];
    remat_instruction *i = current(b);
    if (record->offset + record->bytes > i->high_water)
        i->high_water = record->offset + record->bytes;
    return record->first != at || remat_vector_push(b->allocator, &b->program->begins, buffer);
}

/* Takes the buffers of the task's writes and workspace off the plan's list. */
static bool bind_buffers(builder *b, size_t at, uint32_t task)
{
    const remat_problem *problem = &b->plan->derivation.problem;
    for (uint32_t k = 0; k < remat_task_n_writes(problem, task); k++) {
        uint32_t buffer = b->plan->bindings.data[b->binding++];
        b->pointer_of[remat_task_writes(problem, task)[k].value] = buffer_pointer(b, buffer);
        if (!take_buffer(b, at, buffer))
            return false;
    }
    if (problem->tasks.data[task].workspace_bytes == 0)
        return true;
    uint32_t buffer = b->plan->bindings.data[b->binding++];
    current(b)->workspace = buffer_pointer(b, buffer);
    return take_buffer(b, at, buffer) && remat_vector_push(b->allocator, &b->program->ends, buffer);
}

/* The first contribution to a caller's buffer adds or overwrites as the options say. */
static bool accumulates(builder *b, uint32_t task, uint32_t gradient)
{
    const remat_problem *problem = &b->plan->derivation.problem;
    if (gradient & REMAT_GRADIENT_EXTERNAL) {
        uint32_t request = gradient & ~REMAT_GRADIENT_EXTERNAL;
        bool first = !b->begun[request];
        b->begun[request] = 1;
        b->last_use[request] = (uint32_t)b->program->instructions.count;
        return !(first && b->plan->overwrite_gradients);
    }
    for (uint32_t k = 0; k < remat_task_n_writes(problem, task); k++)
        if (remat_task_writes(problem, task)[k].value == gradient)
            return remat_task_writes(problem, task)[k].accumulate;
    return false;
}

static bool add_operand_gradients(builder *b, uint32_t task, const remat_statement_view *s,
                                  uint64_t mask)
{
    const uint32_t *gradient = b->plan->derivation.gradient;
    for (size_t k = 0; k < s->n_operands; k++) {
        uint32_t g = mask >> k & 1 ? gradient[s->operands[k]] : REMAT_NONE;
        bool again = false; /* an earlier operand is the same value */
        for (size_t j = 0; j < k; j++)
            again |= (mask >> j & 1) && gradient[s->operands[j]] == g;
        if (g != REMAT_NONE && (accumulates(b, task, g) || again))
            current(b)->accumulate |= 1u << k;
        if (!add_slot(b, gradient_pointer(b, g), s->operands[k]))
            return false;
    }
    return true;
}

static bool add_backward(builder *b, uint32_t task, const remat_statement_view *s)
{
    const uint32_t *gradient = b->plan->derivation.gradient;
    uint64_t mask = remat_derive_gradient_mask(b->tape, gradient, s), operands, results;
    remat_derive_needs(b->tape, s, mask, &operands, &results);
    bool done = true;
    for (size_t k = 0; k < s->n_operands && done; k++)
        done = add_slot(b, operands >> k & 1 ? data_pointer(b, s->operands[k]) : 0, s->operands[k]);
    for (uint32_t k = 0; k < s->n_results && done; k++)
        done = add_slot(b, results >> k & 1 ? data_pointer(b, s->first_result + k) : 0,
                        s->first_result + k);
    for (uint32_t k = 0; k < s->n_results && done; k++)
        done = add_slot(b, gradient_pointer(b, remat_derive_result_gradient(gradient, s, k)),
                        s->first_result + k);
    return done && add_operand_gradients(b, task, s, mask);
}

static bool add_forward(builder *b, const remat_statement_view *s)
{
    for (size_t k = 0; k < s->n_operands; k++)
        if (!add_slot(b, data_pointer(b, s->operands[k]), s->operands[k]))
            return false;
    return true; /* results follow once their buffers are bound */
}

static bool add_results(builder *b, const remat_statement_view *s)
{
    for (uint32_t k = 0; k < s->n_results; k++)
        if (!add_slot(b, data_pointer(b, s->first_result + k), s->first_result + k))
            return false;
    return true;
}

static bool add_gradient_task(builder *b, uint32_t task)
{
    uint32_t v = current(b)->subject, g = b->plan->derivation.gradient[v];
    if (current(b)->kind == REMAT_TASK_EMIT) {
        uint32_t request = (uint32_t)(remat_tape_gradient(b->tape, v) - b->tape->gradients.data);
        uint32_t target = REMAT_GRADIENT_EXTERNAL | request;
        current(b)->accumulate = accumulates(b, task, target);
        return add_slot(b, gradient_pointer(b, g), v) &&
               add_slot(b, gradient_pointer(b, target), v);
    }
    current(b)->accumulate = accumulates(b, task, g);
    return add_slot(b, gradient_pointer(b, g), v);
}

/* Operands are looked up before the writes are bound and results after: in place, an operand's
 * buffer becomes the result's. */
static bool add_run(builder *b, size_t at, uint32_t task)
{
    if (!begin_instruction(b, task))
        return false;
    remat_statement_view s = {0};
    uint8_t kind = current(b)->kind;
    if (b->tape->statements.count > 0)
        s = remat_tape_statement(b->tape, current(b)->statement);
    if (kind == REMAT_TASK_FORWARD)
        return add_forward(b, &s) && bind_buffers(b, at, task) && add_results(b, &s);
    if (kind == REMAT_TASK_BACKWARD)
        return bind_buffers(b, at, task) && add_backward(b, task, &s);
    return bind_buffers(b, at, task) && add_gradient_task(b, task);
}

/* A dropped value's buffer ends with the last run, unless it was handed over to a result. */
static bool add_drop(builder *b, uint32_t value)
{
    uint32_t pointer = b->pointer_of[value];
    b->pointer_of[value] = 0;
    if (pointer == 0)
        return true;
    uint32_t buffer = (uint32_t)(pointer - b->program->first_buffer);
    if (b->plan->buffers.data[buffer].last != b->last_run)
        return true;
    for (size_t i = current(b)->ends; i < b->program->ends.count; i++)
        if (b->program->ends.data[i] == buffer)
            return true;
    return remat_vector_push(b->allocator, &b->program->ends, buffer);
}

static bool add_actions(builder *b)
{
    const remat_actions *schedule = &b->plan->schedule;
    for (size_t at = 0; at < schedule->count; at++) {
        uint32_t id = remat_action_id(schedule->data[at]);
        if (remat_action_is_drop(schedule->data[at])) {
            if (!add_drop(b, id))
                return false;
            continue;
        }
        b->last_run = at;
        if (!add_run(b, at, id))
            return false;
        if (id < b->plan->derivation.problem.n_forward && current(b)->phase == REMAT_PHASE_FORWARD)
            b->program->n_forward = b->program->instructions.count;
    }
    remat_instruction sentinel = {.slots = (uint32_t)b->program->slots.count,
                                  .begins = (uint32_t)b->program->begins.count,
                                  .ends = (uint32_t)b->program->ends.count};
    return remat_vector_push(b->allocator, &b->program->instructions, sentinel);
}

/* ---- What follows from the finished list -----------------------------------------------------*/

static int compare_words(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A gradient is complete after its last contribution and after the last task of the backward pass
 * that reads the leaf itself: then the caller may update the leaf. */
static void extend_to_last_reader(builder *b)
{
    const remat_program *program = b->program;
    for (size_t i = program->n_forward; i + 1 < program->instructions.count; i++) {
        const remat_instruction *in = &program->instructions.data[i];
        for (uint32_t k = in->slots; k < in[1].slots; k++) {
            uint32_t pointer = program->slots.data[k].pointer;
            if (pointer == 0 || pointer >= program->first_gradient)
                continue;
            uint32_t request = b->request_of_leaf[pointer - 1];
            if (request != REMAT_NONE && b->last_use[request] != 0 && b->last_use[request] <= i)
                b->last_use[request] = (uint32_t)i + 1;
        }
    }
}

static bool list_ready(builder *b)
{
    remat_program *program = b->program;
    size_t n = b->tape->gradients.count, n_used = 0;
    uint64_t *order = remat_memory_allocate(b->allocator, n, sizeof *order);
    bool done = order != NULL;
    for (size_t r = 0; done && r < n; r++) {
        if (b->last_use[r] != 0)
            order[n_used++] = (uint64_t)(b->last_use[r] - 1) << 32 | r;
        else if (b->tape->gradients.data[r].buffer && !b->plan->forward_only)
            done = remat_vector_push(b->allocator, &program->ready_at_end, (uint32_t)r);
    }
    if (done && n_used > 0)
        qsort(order, n_used, sizeof *order, compare_words);
    size_t next = 0;
    for (size_t i = 0; done && i < program->instructions.count; i++) {
        program->instructions.data[i].ready = (uint32_t)program->ready.count;
        for (; done && next < n_used && order[next] >> 32 == i; next++)
            done = remat_vector_push(b->allocator, &program->ready,
                                     (uint32_t)(order[next] & UINT32_MAX));
    }
    remat_memory_release(b->allocator, order, n, sizeof *order);
    return done;
}

/* Which leaves and gradient buffers the slots name: only these need to be bound. */
static bool list_used(builder *b)
{
    remat_program *program = b->program;
    unsigned char *used = remat_memory_allocate(b->allocator, program->first_buffer, 1);
    bool done = used != NULL;
    for (size_t i = 0; done && i < program->slots.count; i++)
        if (program->slots.data[i].pointer < program->first_buffer)
            used[program->slots.data[i].pointer] = 1;
    for (size_t i = 1; done && i < program->first_buffer; i++) {
        if (!used[i])
            continue;
        bool leaf = i < program->first_gradient;
        done = leaf ? remat_vector_push(b->allocator, &program->used_leaves, (uint32_t)(i - 1))
                    : remat_vector_push(b->allocator, &program->used_gradients,
                                        (uint32_t)(i - program->first_gradient));
    }
    remat_memory_release(b->allocator, used, program->first_buffer, 1);
    return done;
}

static bool list_kernel_ids(builder *b)
{
    remat_program *program = b->program;
    for (size_t i = 0; i + 1 < program->instructions.count; i++) {
        if (program->instructions.data[i].kind != REMAT_TASK_FORWARD)
            continue;
        const remat_op *op = b->tape->statements.data[program->instructions.data[i].statement].op;
        bool known = !op->kernel_id;
        for (size_t k = 0; k < program->kernel_ops.count && !known; k++)
            known = program->kernel_ops.data[k]->kernel_id == op->kernel_id;
        if (!known && (!remat_vector_push(b->allocator, &program->kernel_ops, op) ||
                       !remat_vector_push(b->allocator, &program->kernel_ids, 0)))
            return false;
    }
    return true;
}

/* ---- Assembly --------------------------------------------------------------------------------*/

static bool make_types(builder *b)
{
    remat_program *program = b->program;
    program->n_shapes = b->tape->shapes.count;
    program->shapes =
        remat_memory_allocate(b->allocator, program->n_shapes, sizeof *program->shapes);
    program->types =
        remat_memory_allocate(b->allocator, 3 * program->n_shapes, sizeof *program->types);
    if (!program->shapes || !program->types)
        return false;
    for (size_t i = 0; i < program->n_shapes; i++) {
        program->shapes[i] = b->tape->shapes.data[i];
        for (size_t dtype = 0; dtype < 3; dtype++)
            program->types[3 * i + dtype] = (remat_tensor){
                NULL, program->shapes[i].dims, program->shapes[i].ndim, (remat_dtype)dtype};
    }
    return true;
}

static bool allocate(builder *b, bool checksums)
{
    remat_program *program = b->program;
    const remat_problem *problem = &b->plan->derivation.problem;
    size_t n_requests = b->tape->gradients.count;
    program->first_gradient = 1 + b->tape->leaves.count;
    program->first_buffer = program->first_gradient + n_requests;
    program->n_pointers = program->first_buffer + b->plan->buffers.count;
    program->pointers =
        remat_memory_allocate(b->allocator, program->n_pointers, sizeof *program->pointers);
    program->n_final = problem->values.count;
    program->final_pointer =
        remat_memory_allocate(b->allocator, program->n_final, sizeof *program->final_pointer);
    program->n_checksums = checksums ? b->tape->values.count : 0;
    if (checksums)
        program->checksums =
            remat_memory_allocate(b->allocator, program->n_checksums, sizeof *program->checksums);
    b->pointer_of = program->final_pointer; /* what it holds at the end is what stays */
    b->last_use = remat_memory_allocate(b->allocator, n_requests, sizeof *b->last_use);
    b->begun = remat_memory_allocate(b->allocator, n_requests, 1);
    b->ran = remat_memory_allocate(b->allocator, problem->n_tasks, 1);
    b->request_of_leaf =
        remat_memory_allocate(b->allocator, b->tape->leaves.count, sizeof *b->request_of_leaf);
    if (!b->last_use || !b->begun || !b->ran || !b->request_of_leaf)
        return false;
    memset(b->request_of_leaf, 0xFF, b->tape->leaves.count * sizeof *b->request_of_leaf);
    for (uint32_t r = 0; r < n_requests; r++) {
        const remat_value_record *v = &b->tape->values.data[b->tape->gradients.data[r].value];
        if (v->kind != REMAT_VALUE_RESULT)
            b->request_of_leaf[v->origin] = r;
    }
    return program->pointers && program->final_pointer && (program->checksums || !checksums) &&
           program->n_pointers < UINT32_MAX;
}

bool remat_program_build(const remat_allocator *allocator, const remat_tape *tape,
                         const remat_plan *plan, bool checksums, remat_program *program)
{
    *program = (remat_program){0};
    builder b = {.allocator = allocator, .tape = tape, .plan = plan, .program = program};
    bool done = allocate(&b, checksums) && make_types(&b) && add_actions(&b);
    if (done) {
        extend_to_last_reader(&b);
        done = list_ready(&b) && list_used(&b) && list_kernel_ids(&b);
    }
    size_t n_requests = tape->gradients.count;
    remat_memory_release(allocator, b.last_use, n_requests, sizeof *b.last_use);
    remat_memory_release(allocator, b.begun, n_requests, 1);
    remat_memory_release(allocator, b.ran, plan->derivation.problem.n_tasks, 1);
    remat_memory_release(allocator, b.request_of_leaf, tape->leaves.count,
                         sizeof *b.request_of_leaf);
    if (!done)
        remat_program_release(allocator, program);
    return done;
}

void remat_program_release(const remat_allocator *allocator, remat_program *program)
{
    remat_vector_release(allocator, &program->instructions);
    remat_vector_release(allocator, &program->slots);
    remat_vector_release(allocator, &program->begins);
    remat_vector_release(allocator, &program->ends);
    remat_vector_release(allocator, &program->ready);
    remat_vector_release(allocator, &program->ready_at_end);
    remat_vector_release(allocator, &program->used_leaves);
    remat_vector_release(allocator, &program->used_gradients);
    remat_vector_release(allocator, &program->kernel_ops);
    remat_vector_release(allocator, &program->kernel_ids);
    remat_memory_release(allocator, program->pointers, program->n_pointers, sizeof(void *));
    remat_memory_release(allocator, program->types, 3 * program->n_shapes, sizeof(remat_tensor));
    remat_memory_release(allocator, program->shapes, program->n_shapes, sizeof(remat_shape));
    remat_memory_release(allocator, program->final_pointer, program->n_final, sizeof(uint32_t));
    remat_memory_release(allocator, program->checksums, program->n_checksums, sizeof(uint64_t));
    *program = (remat_program){0};
}
