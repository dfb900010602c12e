/* run.c - the loop over instructions. Nothing here allocates, except in separate_buffers mode. */
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "exec/exec.h"

static inline remat_tensor tensor_at(const remat_exec *exec, uint32_t slot)
{
    remat_slot s = exec->program.slots.data[slot];
    remat_tensor tensor = exec->program.types[s.type];
    tensor.data = exec->program.pointers[s.pointer];
    return tensor;
}

/* ---- Failures --------------------------------------------------------------------------------*/

static remat_status op_failed(remat_exec *exec, const remat_instruction *in, remat_status status)
{
    const char *const passes[] = {"forward", "replay", "backward"};
    if ((int)status < 0 || status >= REMAT_STATUS_COUNT)
        status = REMAT_OP_FAILED;
    const char *reason = exec->op_message[0] ? exec->op_message : remat_status_text(status);
    return remat_exec_fail(exec, status, "%s (statement %u, %s): %s",
                           exec->tape->statements.data[in->statement].op->name, in->statement,
                           passes[in->phase], reason);
}

static bool is_unset(const remat_tensor *tensors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!tensors[i].data)
            return true;
    return false;
}

/* ---- Tasks -----------------------------------------------------------------------------------*/

static remat_status verify_results(remat_exec *exec, const remat_instruction *in,
                                   const remat_statement_view *s, const remat_tensor *out)
{
    for (size_t k = 0; k < s->n_results; k++) {
        size_t bytes = (size_t)remat_tensor_count(&out[k]) * remat_dtype_bytes(out[k].dtype);
        uint64_t sum = remat_hash_bytes(0, out[k].data, bytes);
        uint64_t *first = &exec->program.checksums[s->first_result + k];
        if (in->phase == REMAT_PHASE_FORWARD)
            *first = sum;
        else if (*first != sum)
            return remat_exec_fail(
                exec, REMAT_REPLAY_MISMATCH,
                "%s (statement %u): result %zu of the replay differs from the first run: the "
                "operation is not a function of its operands and attributes (flag it "
                "REMAT_OP_EFFECT, or mark all its results with remat_keep()), or an input changed "
                "between the forward and the backward pass",
                s->op->name, in->statement, k);
    }
    return REMAT_OK;
}

static remat_random_key random_key(const remat_exec *exec, const remat_instruction *in)
{
    return (remat_random_key){exec->options.seed, exec->pass_step, in->statement};
}

static remat_status run_forward(remat_exec *exec, const remat_instruction *in,
                                const remat_statement_view *s)
{
    remat_tensor tensors[REMAT_OP_MAX_OPERANDS + REMAT_OP_MAX_RESULTS];
    size_t n = s->n_operands + s->n_results;
    for (uint32_t k = 0; k < n; k++)
        tensors[k] = tensor_at(exec, in->slots + k);
    if (is_unset(tensors, n))
        return remat_exec_fail(exec, REMAT_INTERNAL, "statement %u reads a dropped value",
                               in->statement);
    remat_forward call = {.attributes = s->attributes,
                          .in = tensors,
                          .n_in = s->n_operands,
                          .out = tensors + s->n_operands,
                          .n_out = s->n_results,
                          .workspace = exec->program.pointers[in->workspace],
                          .random = random_key(exec, in),
                          .replay = in->phase == REMAT_PHASE_REPLAY,
                          .message = exec->op_message,
                          .message_bytes = sizeof exec->op_message};
    remat_status status = s->op->forward(&call);
    if (status != REMAT_OK)
        return op_failed(exec, in, status);
    return exec->program.checksums ? verify_results(exec, in, s, call.out) : REMAT_OK;
}

static remat_status run_backward(remat_exec *exec, const remat_instruction *in,
                                 const remat_statement_view *s)
{
    remat_tensor tensors[2 * (REMAT_OP_MAX_OPERANDS + REMAT_OP_MAX_RESULTS)];
    bool accumulate[REMAT_OP_MAX_OPERANDS];
    size_t n_in = s->n_operands, n_out = s->n_results;
    for (uint32_t k = 0; k < 2 * (n_in + n_out); k++)
        tensors[k] = tensor_at(exec, in->slots + k);
    for (size_t k = 0; k < n_in; k++)
        accumulate[k] = in->accumulate >> k & 1;
    remat_backward call = {.attributes = s->attributes,
                           .in = tensors,
                           .out = tensors + n_in,
                           .grad_out = tensors + n_in + n_out,
                           .grad_in = tensors + n_in + 2 * n_out,
                           .accumulate = accumulate,
                           .n_in = n_in,
                           .n_out = n_out,
                           .workspace = exec->program.pointers[in->workspace],
                           .random = random_key(exec, in),
                           .message = exec->op_message,
                           .message_bytes = sizeof exec->op_message};
    remat_status status = s->op->backward(&call);
    return status == REMAT_OK ? REMAT_OK : op_failed(exec, in, status);
}

static void run_gradient_task(remat_exec *exec, const remat_instruction *in)
{
    remat_tensor gradient = tensor_at(exec, in->slots);
    size_t n = (size_t)remat_tensor_count(&gradient);
    if (in->kind == REMAT_TASK_EMIT) {
        remat_tensor target = tensor_at(exec, in->slots + 1);
        remat_gradient_fill(target.data, gradient.data, 0.0, in->accumulate, target.dtype, n);
    } else if (in->kind == REMAT_TASK_SEED) {
        const remat_seed_record *seed =
            exec->tape->values.data[in->subject].flags & REMAT_VALUE_SEEDED
                ? remat_tape_seed(exec->tape, in->subject)
                : NULL;
        remat_gradient_fill(gradient.data, seed ? seed->seed : NULL, 1.0, in->accumulate,
                            gradient.dtype, n);
    } else {
        remat_gradient_fill(gradient.data, NULL, 0.0, false, gradient.dtype, n);
    }
}

/* ---- Debug modes -----------------------------------------------------------------------------*/

void remat_exec_free_separate(remat_exec *exec, size_t first)
{
    if (!exec->separate)
        return;
    const remat_program *program = &exec->program;
    for (size_t k = program->instructions.data[first].begins; k < program->begins.count; k++) {
        uint32_t buffer = program->begins.data[k];
        if (!exec->separate[buffer].data)
            continue;
        remat_arena_release(&exec->allocator, &exec->separate[buffer]);
        program->pointers[program->first_buffer + buffer] = NULL;
        exec->separate_bytes -= exec->plan->buffers.data[buffer].bytes;
    }
}

static remat_status allocate_separate(remat_exec *exec, const remat_instruction *in)
{
    for (uint32_t k = in->begins; k < in[1].begins; k++) {
        uint32_t buffer = exec->program.begins.data[k];
        size_t bytes = exec->plan->buffers.data[buffer].raw_bytes;
        remat_arena *arena = &exec->separate[buffer];
        if (!remat_arena_allocate(&exec->allocator, exec->allocator_is_default, bytes, arena))
            return remat_exec_fail(exec, REMAT_OUT_OF_MEMORY,
                                   "out of memory for a buffer of %zu bytes (separate_buffers)",
                                   bytes);
        memset(arena->data, 0xFF, bytes);
        exec->program.pointers[exec->program.first_buffer + buffer] = arena->data;
        exec->separate_bytes += exec->plan->buffers.data[buffer].bytes;
    }
    return REMAT_OK;
}

/* Overwrites or frees the buffers that end with this instruction. */
static void end_buffers(remat_exec *exec, const remat_instruction *in)
{
    for (uint32_t k = in->ends; k < in[1].ends; k++) {
        uint32_t buffer = exec->program.ends.data[k];
        void **pointer = &exec->program.pointers[exec->program.first_buffer + buffer];
        const remat_buffer *record = &exec->plan->buffers.data[buffer];
        if (!exec->separate) {
            memset(*pointer, 0xFF, record->bytes);
        } else {
            remat_arena_release(&exec->allocator, &exec->separate[buffer]);
            exec->separate_bytes -= record->bytes;
            *pointer = NULL;
        }
    }
}

/* ---- The loop --------------------------------------------------------------------------------*/

static remat_status notify_ready(remat_exec *exec, const uint32_t *requests, size_t n)
{
    for (size_t k = 0; k < n && exec->options.gradient_ready; k++) {
        const remat_gradient_record *gradient = &exec->tape->gradients.data[requests[k]];
        void *buffer = exec->program.pointers[exec->program.first_gradient + requests[k]];
        if (!buffer) /* nothing contributes to it, and it was taken away after planning */
            continue;
        remat_status status =
            exec->options.gradient_ready(exec->options.gradient_ready_context,
                                         remat_tape_handle(exec->tape, gradient->value), buffer);
        if (status != REMAT_OK)
            return remat_exec_fail(exec, status, "options.gradient_ready returned %s",
                                   remat_status_name(status));
    }
    return REMAT_OK;
}

remat_status remat_exec_run_one(remat_exec *exec, const remat_instruction *in)
{
    remat_status status = REMAT_OK;
    if (exec->separate && (status = allocate_separate(exec, in)) != REMAT_OK)
        return status;
    size_t high = exec->separate ? exec->separate_bytes : in->high_water;
    if (high > exec->statistics.measured_peak_bytes)
        exec->statistics.measured_peak_bytes = high;
    if (in->kind == REMAT_TASK_FORWARD || in->kind == REMAT_TASK_BACKWARD) {
        remat_statement_view s = remat_tape_statement(exec->tape, in->statement);
        status =
            in->kind == REMAT_TASK_FORWARD ? run_forward(exec, in, &s) : run_backward(exec, in, &s);
    } else {
        run_gradient_task(exec, in);
    }
    if (status != REMAT_OK)
        return status;
    if (exec->options.poison || exec->separate)
        end_buffers(exec, in);
    if (in[1].ready != in->ready)
        return notify_ready(exec, remat_vector_at(&exec->program.ready, in->ready),
                            in[1].ready - in->ready);
    return REMAT_OK;
}

remat_status remat_exec_run(remat_exec *exec, size_t first, size_t end)
{
    const remat_instruction *instructions = exec->program.instructions.data;
    double replay_began = 0.0;
    exec->op_message[0] = '\0';
    for (size_t i = first; i < end; i++) {
        bool replay = instructions[i].phase == REMAT_PHASE_REPLAY;
        if (replay) {
            exec->statistics.replays++;
            if (i == first || instructions[i - 1].phase != REMAT_PHASE_REPLAY)
                replay_began = remat_clock_seconds();
        }
        remat_status status = remat_exec_run_one(exec, &instructions[i]);
        if (status != REMAT_OK)
            return status;
        if (replay && instructions[i + 1].phase != REMAT_PHASE_REPLAY)
            exec->statistics.replay_seconds += remat_clock_seconds() - replay_began;
    }
    return REMAT_OK;
}

remat_status remat_exec_notify_untouched(remat_exec *exec)
{
    const remat_program *program = &exec->program;
    return notify_ready(exec, program->ready_at_end.data, program->ready_at_end.count);
}
