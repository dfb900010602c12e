/* exec.c - life of an exec: planning, memory, passes, and reading what a step left. */
#include "exec/exec.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

remat_status remat_exec_fail(remat_exec *exec, remat_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(exec->message, sizeof exec->message, format, arguments);
    va_end(arguments);
    return status;
}

/* ---- Memory ----------------------------------------------------------------------------------*/

/* Touches every page now, so that no step meets a page fault. */
static void prepare_arena(remat_exec *exec)
{
    if (exec->base_bytes > 0)
        memset(exec->base, exec->options.poison ? 0xFF : 0, exec->base_bytes);
}

static remat_status take_arena(remat_exec *exec, size_t bytes, char *message, size_t n)
{
    if (exec->options.separate_buffers)
        return REMAT_OK;
    if (exec->options.arena) {
        if ((uintptr_t)exec->options.arena % REMAT_ALIGNMENT != 0 ||
            exec->options.arena_bytes < bytes) {
            snprintf(message, n,
                     "options.arena must be aligned to %d bytes and hold %zu bytes; it has %zu",
                     REMAT_ALIGNMENT, bytes, exec->options.arena_bytes);
            return REMAT_INVALID_ARGUMENT;
        }
        exec->base = exec->options.arena;
    } else if (!exec->arena.data || exec->base_bytes < bytes) {
        remat_arena larger;
        if (!remat_arena_allocate(&exec->allocator, exec->allocator_is_default, bytes, &larger)) {
            snprintf(message, n, "out of memory for an arena of %zu bytes", bytes);
            return REMAT_OUT_OF_MEMORY;
        }
        remat_arena_release(&exec->allocator, &exec->arena);
        exec->arena = larger;
        exec->base = larger.data;
    } else {
        return REMAT_OK; /* large enough, and its pages are there */
    }
    exec->base_bytes = bytes;
    prepare_arena(exec);
    return REMAT_OK;
}

static void point_to_buffers(remat_exec *exec)
{
    void **pointers = exec->program.pointers + exec->program.first_buffer;
    for (size_t i = 0; i < exec->plan->buffers.count && !exec->separate; i++)
        pointers[i] = exec->base + exec->plan->buffers.data[i].offset;
}

/* ---- Plan and program ------------------------------------------------------------------------*/

static void remember_plan(remat_exec *exec, const remat_plan *plan)
{
    size_t last = REMAT_PLAN_CACHE - 1;
    for (size_t i = 0; i < last; i++)
        if (!exec->cache[i] || exec->cache[i] == plan)
            last = i;
    if (exec->cache[last] != plan) {
        remat_plan_destroy((remat_plan *)(uintptr_t)exec->cache[last]);
        remat_plan_retain(plan);
    }
    memmove(&exec->cache[1], &exec->cache[0], last * sizeof exec->cache[0]);
    exec->cache[0] = plan;
}

static void drop_separate(remat_exec *exec)
{
    remat_exec_free_separate(exec, 0);
    remat_memory_release(&exec->allocator, exec->separate, exec->n_separate,
                         sizeof *exec->separate);
    exec->separate = NULL;
    exec->n_separate = 0;
}

/* Replaces plan, program and memory, or leaves everything as it was. */
static remat_status adopt(remat_exec *exec, const remat_plan *plan, char *message, size_t n)
{
    remat_program program;
    remat_arena *separate = NULL;
    bool verify = exec->options.verify_replay, apart = exec->options.separate_buffers;
    size_t n_buffers = plan->buffers.count;
    if (!remat_program_build(&exec->allocator, exec->tape, plan, verify, &program)) {
        snprintf(message, n, "out of memory for the program of a step");
        return REMAT_OUT_OF_MEMORY;
    }
    if (apart)
        separate = remat_memory_allocate(&exec->allocator, n_buffers, sizeof *separate);
    remat_status status = apart && !separate
                              ? REMAT_OUT_OF_MEMORY
                              : take_arena(exec, plan->summary.arena_bytes, message, n);
    if (status != REMAT_OK) {
        remat_program_release(&exec->allocator, &program);
        remat_memory_release(&exec->allocator, separate, n_buffers, sizeof *separate);
        return status;
    }
    drop_separate(exec);
    remat_program_release(&exec->allocator, &exec->program);
    exec->program = program;
    exec->separate = separate;
    exec->n_separate = apart ? n_buffers : 0;
    remember_plan(exec, plan);
    exec->plan = plan;
    exec->tag = exec->tape->tag;
    exec->state = REMAT_STATE_EMPTY;
    exec->has_gradients = false;
    exec->statistics.planned_peak_bytes =
        apart ? plan->summary.live_bytes : plan->summary.arena_bytes;
    exec->statistics.measured_peak_bytes = 0;
    point_to_buffers(exec);
    return REMAT_OK;
}

static remat_status check_plan(remat_tape *tape, const remat_plan *plan,
                               const remat_exec_options *options)
{
    if (tape->status != REMAT_OK)
        return tape->status;
    if (plan->summary.fingerprint != remat_tape_fingerprint(tape))
        return remat_tape_complain(tape, REMAT_STALE,
                                   "the plan was made for another tape, or the tape has changed "
                                   "since: plan again");
    if (plan->forward_only != options->forward_only || plan->retain != options->retain ||
        plan->overwrite_gradients != options->overwrite_gradients)
        return remat_tape_complain(tape, REMAT_INVALID_ARGUMENT,
                                   "the plan was made with another forward_only, retain or "
                                   "overwrite_gradients");
    return REMAT_OK;
}

remat_status remat_exec_create_with_plan(remat_tape *tape, const remat_plan *plan,
                                         const remat_exec_options *options, remat_exec **exec)
{
    const remat_exec_options defaults = REMAT_EXEC_OPTIONS_INIT;
    if (!tape || !plan || !exec)
        return REMAT_INVALID_ARGUMENT;
    if (!options)
        options = &defaults;
    remat_status status = check_plan(tape, plan, options);
    if (status != REMAT_OK)
        return status;
    const remat_allocator allocator = options->allocator ? *options->allocator : tape->allocator;
    remat_exec *made = remat_memory_allocate(&allocator, 1, sizeof *made);
    if (!made)
        return remat_tape_complain(tape, REMAT_OUT_OF_MEMORY, "out of memory for an exec");
    made->allocator = allocator;
    made->allocator_is_default = !options->allocator && tape->allocator_is_default;
    made->options = *options;
    made->options.allocator = NULL; /* copied; the caller's struct may be gone */
    made->options.costs = NULL;     /* they served the plan; another one is for another tape */
    made->tape = tape;
    remat_tape_retain(tape);
    char message[sizeof made->message] = "";
    status = adopt(made, plan, message, sizeof message);
    if (status != REMAT_OK) {
        remat_exec_destroy(made);
        return remat_tape_complain(tape, status, "%s",
                                   message[0] ? message : remat_status_text(status));
    }
    *exec = made;
    return REMAT_OK;
}

remat_status remat_exec_create(remat_tape *tape, remat_var loss, const remat_exec_options *options,
                               remat_exec **exec)
{
    remat_plan *plan = NULL;
    if (!exec)
        return REMAT_INVALID_ARGUMENT;
    remat_status status = remat_plan_create(tape, loss, options, &plan);
    if (status != REMAT_OK)
        return status;
    status = remat_exec_create_with_plan(tape, plan, options, exec);
    remat_plan_destroy(plan);
    return status;
}

void remat_exec_destroy(remat_exec *exec)
{
    if (!exec)
        return;
    const remat_allocator allocator = exec->allocator;
    drop_separate(exec);
    remat_program_release(&allocator, &exec->program);
    remat_arena_release(&allocator, &exec->arena);
    for (size_t i = 0; i < REMAT_PLAN_CACHE; i++)
        remat_plan_destroy((remat_plan *)(uintptr_t)exec->cache[i]);
    remat_tape *tape = exec->tape;
    remat_memory_release(&allocator, exec, 1, sizeof *exec);
    remat_tape_destroy(tape); /* gives back the exec's reference */
}

/* Planning options are the exec's own; a cached plan serves if it was made for the same record. */
static const remat_plan *cached_plan(const remat_exec *exec, remat_var loss)
{
    uint64_t fingerprint = remat_tape_fingerprint(exec->tape);
    uint32_t index = loss.id ? remat_tape_index(exec->tape, loss) : REMAT_NONE;
    for (size_t i = 0; i < REMAT_PLAN_CACHE; i++)
        if (exec->cache[i] && exec->cache[i]->summary.fingerprint == fingerprint &&
            exec->cache[i]->derivation.loss == index)
            return exec->cache[i];
    return NULL;
}

remat_status remat_exec_update(remat_exec *exec, remat_var loss)
{
    if (!exec)
        return REMAT_INVALID_ARGUMENT;
    if (exec->tape->status != REMAT_OK)
        return remat_exec_fail(exec, exec->tape->status, "%s", exec->tape->message);
    char message[sizeof exec->message] = "";
    const remat_plan *plan = cached_plan(exec, loss);
    remat_plan *made = NULL;
    if (!plan) {
        remat_exec_options options = exec->options;
        options.allocator = &exec->allocator;
        remat_status status = remat_plan_create(exec->tape, loss, &options, &made);
        if (status != REMAT_OK)
            return remat_exec_fail(exec, status, "%s", exec->tape->message);
        plan = made;
    }
    remat_status status = adopt(exec, plan, message, sizeof message);
    remat_plan_destroy(made);
    if (status != REMAT_OK)
        return remat_exec_fail(exec, status, "%s",
                               message[0] ? message : remat_status_text(status));
    return REMAT_OK;
}

/* ---- Passes ----------------------------------------------------------------------------------*/

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

/* ---- Reading ---------------------------------------------------------------------------------*/

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
