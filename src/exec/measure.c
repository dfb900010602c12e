/* measure.c - times the tasks of steps, for planning with costs as they are on this machine. */
#include <string.h>

#include "base/clock.h"
#include "exec/exec.h"
#include "plan/costs.h"

#define ROUNDS 9 /* most samples of a task */

typedef struct measurement {
    remat_exec *exec;
    double end; /* of the time allowed */
    size_t n_statements;
    float *samples; /* [2][n_statements][ROUNDS]: forward, backward */
    unsigned char *n_samples;
    remat_arena scratch; /* takes the place of the caller's gradients */
    size_t scratch_bytes;
} measurement;

/* ---- Samples ---------------------------------------------------------------------------------*/

static void add_sample(measurement *m, const remat_instruction *in, double seconds)
{
    if (in->kind != REMAT_TASK_FORWARD && in->kind != REMAT_TASK_BACKWARD)
        return;
    size_t row = in->statement + (in->kind == REMAT_TASK_BACKWARD ? m->n_statements : 0);
    if (m->n_samples[row] < ROUNDS)
        m->samples[row * ROUNDS + m->n_samples[row]++] = (float)seconds;
}

/* The lower one of an even number. */
static double median(float *samples, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        float x = samples[i];
        size_t k = i;
        for (; k > 0 && samples[k - 1] > x; k--)
            samples[k] = samples[k - 1];
        samples[k] = x;
    }
    return (double)samples[(n - 1) / 2];
}

static void take_medians(measurement *m, remat_costs *costs)
{
    for (size_t row = 0; row < 2 * m->n_statements; row++) {
        double *to =
            row < m->n_statements ? &costs->forward[row] : &costs->backward[row - m->n_statements];
        if (m->n_samples[row] > 0)
            *to = median(&m->samples[row * ROUNDS], m->n_samples[row]);
    }
}

/* ---- Steps -----------------------------------------------------------------------------------*/

/* False: the sum overflows. */
static bool count_gradient_bytes(const remat_exec *exec, size_t *bytes)
{
    *bytes = 0;
    for (size_t i = 0; i < exec->program.used_gradients.count; i++) {
        uint32_t request = exec->program.used_gradients.data[i];
        size_t more = remat_tape_bytes(exec->tape, exec->tape->gradients.data[request].value);
        if (!remat_size_align(more, &more) || !remat_size_add(*bytes, more, bytes))
            return false;
    }
    return true;
}

static void redirect_gradients(measurement *m)
{
    remat_program *program = &m->exec->program;
    unsigned char *at = m->scratch.data;
    for (size_t i = 0; i < program->used_gradients.count; i++) {
        uint32_t request = program->used_gradients.data[i];
        uint32_t value = m->exec->tape->gradients.data[request].value;
        size_t bytes = 0;
        remat_size_align(remat_tape_bytes(m->exec->tape, value), &bytes);
        program->pointers[program->first_gradient + request] = at;
        at += bytes;
    }
}

/* One step; all but the first end when the time is over. */
static remat_status run_step(measurement *m, bool first)
{
    remat_exec *exec = m->exec;
    remat_status status = remat_exec_begin(exec);
    if (status != REMAT_OK)
        return status;
    redirect_gradients(m);
    double before = remat_clock_seconds();
    for (size_t i = 0; i + 1 < exec->program.instructions.count; i++) {
        const remat_instruction *in = &exec->program.instructions.data[i];
        if ((status = remat_exec_run_one(exec, in)) != REMAT_OK)
            return status;
        double after = remat_clock_seconds();
        add_sample(m, in, after - before);
        before = after;
        if (!first && after > m->end)
            return REMAT_OK;
    }
    return REMAT_OK;
}

/* Steps that leave no trace in the exec, but for the contents of its arena. */
static remat_status run_steps(measurement *m)
{
    remat_exec *exec = m->exec;
    const remat_exec_statistics statistics = exec->statistics;
    const remat_exec_options options = exec->options;
    remat_status status = REMAT_OK;
    exec->options.gradient_ready = NULL;
    if (m->scratch_bytes > 0)
        memset(m->scratch.data, 0, m->scratch_bytes);
    for (int k = 0; k < ROUNDS && status == REMAT_OK; k++) {
        status = run_step(m, k == 0);
        if (remat_clock_seconds() > m->end)
            break;
    }
    exec->options = options;
    exec->statistics = statistics;
    remat_exec_free_separate(exec, 0);
    return status;
}

/* ---- The call --------------------------------------------------------------------------------*/

static remat_status measure(measurement *m, remat_costs *costs)
{
    remat_exec *exec = m->exec;
    bool addressable = count_gradient_bytes(exec, &m->scratch_bytes);
    m->samples =
        remat_memory_allocate(&exec->allocator, m->n_statements, 2 * ROUNDS * sizeof *m->samples);
    m->n_samples = remat_memory_allocate(&exec->allocator, m->n_statements, 2);
    if (!addressable || !m->samples || !m->n_samples ||
        !remat_arena_allocate(&exec->allocator, exec->allocator_is_default, m->scratch_bytes,
                              &m->scratch))
        return remat_exec_fail(exec, REMAT_OUT_OF_MEMORY, "out of memory for measuring");
    remat_status status = run_steps(m);
    if (status == REMAT_OK)
        take_medians(m, costs);
    return status;
}

remat_status remat_cost_measure(remat_exec *exec, double time_limit_seconds, remat_costs **costs)
{
    if (!exec || !costs)
        return REMAT_INVALID_ARGUMENT;
    if (!(time_limit_seconds > 0.0))
        return remat_exec_fail(exec, REMAT_INVALID_ARGUMENT, "the time limit must be positive");
    remat_status status = remat_exec_check_tape(exec);
    if (status != REMAT_OK)
        return status;
    size_t n = exec->tape->statements.count;
    measurement m = {
        .exec = exec, .end = remat_clock_seconds() + time_limit_seconds, .n_statements = n};
    remat_costs *made = remat_costs_allocate(&exec->allocator, exec->plan->summary.fingerprint, n);
    if (!made)
        return remat_exec_fail(exec, REMAT_OUT_OF_MEMORY, "out of memory for measuring");
    status = measure(&m, made);
    remat_memory_release(&exec->allocator, m.samples, n, 2 * ROUNDS * sizeof *m.samples);
    remat_memory_release(&exec->allocator, m.n_samples, n, 2);
    remat_arena_release(&exec->allocator, &m.scratch);
    if (status == REMAT_OK)
        *costs = made;
    else
        remat_costs_destroy(made);
    return status;
}
