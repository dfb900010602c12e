/* pass.c - forward and backward passes: what may follow what, and what the caller has bound. */
#include <string.h>

#include "base/clock.h"
#include "exec/exec.h"

remat_status remat_exec_check_tape(remat_exec *exec)
{
    if (exec->tag == exec->tape->tag)
        return REMAT_OK;
    return remat_exec_fail(exec, REMAT_STALE,
                           "the tape was cleared since this exec was made: call "
                           "remat_exec_update() after recording again");
}

static const char *leaf_name(const remat_exec *exec, uint32_t value)
{
    const char *name = remat_tape_value_name(exec->tape, value);
    return name ? name : "a leaf without a name";
}

/* The caller's pointers, as they are bound now. */
static remat_status bind_pointers(remat_exec *exec)
{
    remat_program *program = &exec->program;
    for (size_t i = 0; i < program->used_leaves.count; i++) {
        const remat_leaf_record *leaf = &exec->tape->leaves.data[program->used_leaves.data[i]];
        if (!leaf->data)
            return remat_exec_fail(exec, REMAT_UNBOUND,
                                   "%s has no memory: give it when recording or call remat_bind()",
                                   leaf_name(exec, leaf->value));
        program->pointers[1 + program->used_leaves.data[i]] = leaf->data;
    }
    for (size_t i = 0; i < program->used_gradients.count; i++) {
        uint32_t request = program->used_gradients.data[i];
        const remat_gradient_record *gradient = &exec->tape->gradients.data[request];
        if (!gradient->buffer)
            return remat_exec_fail(exec, REMAT_UNBOUND,
                                   "the gradient buffer of %s was taken away after planning: call "
                                   "remat_bind_gradient()",
                                   leaf_name(exec, gradient->value));
        program->pointers[program->first_gradient + request] = gradient->buffer;
    }
    for (size_t i = 0; i < program->ready_at_end.count; i++) {
        uint32_t request = program->ready_at_end.data[i];
        program->pointers[program->first_gradient + request] =
            exec->tape->gradients.data[request].buffer;
    }
    return REMAT_OK;
}

remat_status remat_exec_begin(remat_exec *exec)
{
    remat_status status = remat_exec_check_tape(exec);
    if (status != REMAT_OK)
        return status;
    exec->state = REMAT_STATE_EMPTY;
    exec->has_gradients = false;
    if ((status = bind_pointers(exec)) != REMAT_OK)
        return status;
    if (exec->separate)
        remat_exec_free_separate(exec, 0);
    else if (exec->options.poison && exec->base_bytes > 0)
        memset(exec->base, 0xFF, exec->base_bytes);
    remat_program *program = &exec->program;
    for (size_t i = 0; i < program->kernel_ids.count; i++)
        program->kernel_ids.data[i] = program->kernel_ops.data[i]->kernel_id();
    exec->pass_step = exec->step;
    exec->op_message[0] = '\0';
    return REMAT_OK;
}

remat_status remat_exec_forward(remat_exec *exec)
{
    if (!exec)
        return REMAT_INVALID_ARGUMENT;
    remat_status status = remat_exec_begin(exec);
    if (status != REMAT_OK)
        return status;
    double began = remat_clock_seconds();
    status = remat_exec_run(exec, 0, exec->program.n_forward);
    exec->statistics.forward_seconds = remat_clock_seconds() - began;
    if (status != REMAT_OK)
        return status;
    exec->state = REMAT_STATE_FORWARD;
    exec->statistics.steps++;
    exec->step++;
    return REMAT_OK;
}

static remat_status check_backward(remat_exec *exec)
{
    remat_status status = remat_exec_check_tape(exec);
    if (status != REMAT_OK)
        return status;
    if (exec->plan->forward_only)
        return remat_exec_fail(exec, REMAT_OUT_OF_ORDER,
                               "this exec was made with options.forward_only: it has no backward "
                               "pass");
    if (exec->state == REMAT_STATE_EMPTY)
        return remat_exec_fail(exec, REMAT_OUT_OF_ORDER,
                               "a backward pass needs a complete forward pass before it: call "
                               "remat_exec_forward() first");
    if (exec->state == REMAT_STATE_BACKWARD && !exec->plan->retain)
        return remat_exec_fail(
            exec, REMAT_CONSUMED,
            "the backward pass has used up the values of this forward pass: call "
            "remat_exec_forward() again, or set options.retain");
    const remat_program *program = &exec->program;
    for (size_t i = 0; i < program->kernel_ids.count; i++)
        if (program->kernel_ids.data[i] != program->kernel_ops.data[i]->kernel_id())
            return remat_exec_fail(exec, REMAT_REPLAY_MISMATCH,
                                   "%s would run another code path than in the forward pass (the "
                                   "number of threads has changed?): call remat_exec_forward() "
                                   "again",
                                   program->kernel_ops.data[i]->name);
    return REMAT_OK;
}

remat_status remat_exec_backward(remat_exec *exec)
{
    if (!exec)
        return REMAT_INVALID_ARGUMENT;
    remat_status status = check_backward(exec);
    if (status != REMAT_OK)
        return status;
    exec->state = REMAT_STATE_EMPTY;
    exec->has_gradients = false;
    remat_exec_free_separate(exec, exec->program.n_forward); /* gradients of an earlier pass */
    exec->statistics.replays = 0;
    exec->statistics.replay_seconds = 0.0;
    double began = remat_clock_seconds();
    status = remat_exec_run(exec, exec->program.n_forward, exec->program.instructions.count - 1);
    exec->statistics.backward_seconds =
        remat_clock_seconds() - began - exec->statistics.replay_seconds;
    if (status == REMAT_OK)
        status = remat_exec_notify_untouched(exec);
    if (status != REMAT_OK)
        return status;
    exec->state = REMAT_STATE_BACKWARD;
    exec->has_gradients = true;
    return REMAT_OK;
}

remat_status remat_exec_step(remat_exec *exec)
{
    remat_status status = remat_exec_forward(exec);
    if (status != REMAT_OK || exec->plan->forward_only)
        return status;
    return remat_exec_backward(exec);
}
