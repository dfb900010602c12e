/* read.c - what a step left: values, gradients, the loss, statistics. */
#include <math.h>
#include <string.h>

#include "exec/exec.h"

static remat_status find_value(remat_exec *exec, remat_var v, uint32_t *index)
{
    remat_status status = remat_exec_check_tape(exec);
    if (status != REMAT_OK)
        return status;
    *index = remat_tape_index(exec->tape, v);
    if (*index == UINT32_MAX || *index >= exec->plan->derivation.n_values)
        return remat_exec_fail(exec, REMAT_INVALID_HANDLE,
                               "the handle is unset, of another tape, or from before the exec's "
                               "record");
    return REMAT_OK;
}

/* Data of a value that is held after a pass; NULL: it is not. */
static const void *held_data(const remat_exec *exec, uint32_t index)
{
    const remat_derivation *d = &exec->plan->derivation;
    const remat_value_record *root = &exec->tape->values.data[d->root[index]];
    if (root->kind != REMAT_VALUE_RESULT)
        return exec->tape->leaves.data[root->origin].data;
    uint32_t activation = d->activation[d->root[index]];
    if (activation == REMAT_NONE || !d->problem.values.data[activation].pinned)
        return NULL;
    return exec->program.pointers[exec->program.final_pointer[activation]];
}

remat_status remat_exec_value(remat_exec *exec, remat_var v, const void **data)
{
    uint32_t index;
    if (!exec || !data)
        return REMAT_INVALID_ARGUMENT;
    remat_status status = find_value(exec, v, &index);
    if (status != REMAT_OK)
        return status;
    const remat_value_record *value = &exec->tape->values.data[exec->plan->derivation.root[index]];
    if (value->kind == REMAT_VALUE_RESULT && exec->state == REMAT_STATE_EMPTY)
        return remat_exec_fail(exec, REMAT_OUT_OF_ORDER,
                               "there is no value yet: no pass has completed since creation or "
                               "since the last error");
    const void *held = held_data(exec, index);
    if (!held && value->kind == REMAT_VALUE_RESULT)
        return remat_exec_fail(exec, REMAT_NOT_KEPT,
                               "the value is not held after its last use: mark it with "
                               "remat_keep() before planning");
    *data = held;
    return REMAT_OK;
}

remat_status remat_exec_gradient(remat_exec *exec, remat_var v, const void **data)
{
    uint32_t index;
    if (!exec || !data)
        return REMAT_INVALID_ARGUMENT;
    remat_status status = find_value(exec, v, &index);
    if (status != REMAT_OK)
        return status;
    if (!(exec->tape->values.data[index].flags & REMAT_VALUE_GRADIENT) || exec->plan->forward_only)
        return remat_exec_fail(exec, REMAT_NOT_KEPT,
                               "no gradient of this value was requested: call "
                               "remat_request_gradient() before planning");
    if (!exec->has_gradients)
        return remat_exec_fail(exec, REMAT_OUT_OF_ORDER, "no backward pass has completed yet");
    const remat_gradient_record *record = remat_tape_gradient(exec->tape, index);
    const remat_derivation *d = &exec->plan->derivation;
    size_t request = (size_t)(record - exec->tape->gradients.data);
    bool planned = request < exec->program.first_buffer - exec->program.first_gradient;
    uint32_t g = d->gradient[index];
    if (planned && !(g & REMAT_GRADIENT_EXTERNAL) && d->problem.values.data[g].pinned)
        *data = exec->program.pointers[exec->program.final_pointer[g]];
    else if (planned && record->buffer)
        *data = record->buffer;
    else
        return remat_exec_fail(exec, REMAT_NOT_KEPT,
                               "the gradient was requested, or its buffer taken away, after this "
                               "exec was planned");
    return REMAT_OK;
}

double remat_exec_loss(const remat_exec *exec)
{
    if (!exec || exec->state == REMAT_STATE_EMPTY || exec->tag != exec->tape->tag ||
        exec->plan->derivation.loss == REMAT_NONE)
        return NAN;
    uint32_t loss = exec->plan->derivation.loss;
    remat_type type = remat_tape_type(exec->tape, loss);
    const void *data = held_data(exec, loss);
    if (!data || remat_shape_count(&type.shape) != 1)
        return NAN;
    switch (type.dtype) {
    case REMAT_F32:
        return (double)*(const float *)data;
    case REMAT_F64:
        return *(const double *)data;
    case REMAT_I32:
        return (double)*(const int32_t *)data;
    }
    return NAN;
}

remat_status remat_exec_zero_gradients(remat_exec *exec)
{
    if (!exec)
        return REMAT_INVALID_ARGUMENT;
    remat_status status = remat_exec_check_tape(exec);
    if (status != REMAT_OK)
        return status;
    for (size_t i = 0; i < exec->program.used_gradients.count; i++) {
        const remat_gradient_record *gradient =
            &exec->tape->gradients.data[exec->program.used_gradients.data[i]];
        memset(gradient->buffer, 0, remat_tape_bytes(exec->tape, gradient->value));
    }
    return REMAT_OK;
}

void remat_exec_set_step(remat_exec *exec, uint64_t step)
{
    if (exec)
        exec->step = step;
}

const char *remat_exec_message(const remat_exec *exec)
{
    return exec ? exec->message : "the exec is NULL";
}

const remat_plan *remat_exec_plan(const remat_exec *exec)
{
    return exec ? exec->plan : NULL;
}

void remat_exec_get_statistics(const remat_exec *exec, remat_exec_statistics *statistics)
{
    if (statistics)
        *statistics = exec ? exec->statistics : (remat_exec_statistics){0};
}
