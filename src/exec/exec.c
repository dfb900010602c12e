/* exec.c - life of an exec: its plan, its program, its memory. */
#include "exec/exec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* A gradient buffer of the caller's, and whose gradient it takes. */
typedef struct owned_buffer {
    uintptr_t address;
    uint32_t value;
} owned_buffer;

static int compare_owned(const void *a, const void *b)
{
    const owned_buffer *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

static const char *name_of(const remat_tape *tape, uint32_t value)
{
    const char *name = remat_tape_value_name(tape, value);
    return name ? name : "no name";
}

/* Two gradients in one buffer add up. But the second one cannot overwrite it, and the buffer is not
 * ready when the first one is. */
static remat_status check_gradient_buffers(const remat_exec *exec, char *message, size_t n)
{
    const remat_tape *tape = exec->tape;
    const size_t count = tape->gradients.count;
    if (exec->options.forward_only ||
        (!exec->options.overwrite_gradients && !exec->options.gradient_ready))
        return REMAT_OK;
    owned_buffer *owned = remat_memory_allocate(&exec->allocator, count, sizeof *owned);
    if (!owned)
        return REMAT_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++)
        owned[i] = (owned_buffer){(uintptr_t)tape->gradients.data[i].buffer,
                                  tape->gradients.data[i].value};
    qsort(owned, count, sizeof *owned, compare_owned);
    remat_status status = REMAT_OK;
    for (size_t i = 1; i < count && status == REMAT_OK; i++)
        if (owned[i].address != 0 && owned[i].address == owned[i - 1].address) {
            snprintf(message, n,
                     "values %u (%s) and %u (%s) share a gradient buffer, which neither "
                     "overwrite_gradients nor gradient_ready allows: record a shared weight as one "
                     "parameter",
                     (unsigned)owned[i - 1].value, name_of(tape, owned[i - 1].value),
                     (unsigned)owned[i].value, name_of(tape, owned[i].value));
            status = REMAT_INVALID_ARGUMENT;
        }
    remat_memory_release(&exec->allocator, owned, count, sizeof *owned);
    return status;
}

/* Replaces plan, program and memory, or leaves everything as it was. */
static remat_status adopt(remat_exec *exec, const remat_plan *plan, char *message, size_t n)
{
    remat_program program;
    remat_arena *separate = NULL;
    bool verify = exec->options.verify_replay, apart = exec->options.separate_buffers;
    size_t n_buffers = plan->buffers.count;
    remat_status status = check_gradient_buffers(exec, message, n);
    if (status != REMAT_OK)
        return status;
    if (!remat_program_build(&exec->allocator, exec->tape, plan, verify, &program)) {
        snprintf(message, n, "out of memory for the program of a step");
        return REMAT_OUT_OF_MEMORY;
    }
    if (apart)
        separate = remat_memory_allocate(&exec->allocator, n_buffers, sizeof *separate);
    status = apart && !separate ? REMAT_OUT_OF_MEMORY
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
