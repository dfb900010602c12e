/* bench_overhead.c - what a statement costs beyond its kernels: tapes of n statements whose
 * operation does next to nothing.
 *
 *   bench_overhead [--statements N]      without it: 10^3, 10^4, 10^5, 10^6
 *
 * Prints one JSON object per n and strategy, with nanoseconds per statement: record, plan, create
 * (the exec: program and arena, without planning), step (forward, replay, backward) and the
 * kernels' own share of a step, measured by calling them in a loop. Everything runs on a thread
 * with a stack of 256 KiB: nothing recurses over the tape. */
#define _POSIX_C_SOURCE 200809L /* pthread_attr_setstacksize */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <remat/op.h>

#include "bench/support/measure.h"

#define STACK_BYTES ((size_t)256 << 10)
#define REPEATS     3 /* the least of so many runs counts */
#define ROUND_STEPS 5

/* ---- The operation: y = x / 2 + 1 on one element
 * ------------------------------------------------*/

static remat_status infer(remat_infer *call)
{
    call->out[0] = call->in[0];
    return REMAT_OK;
}

static void cost(const remat_query *query, remat_cost *cost)
{
    (void)query;
    cost->forward_flops = cost->backward_flops = 2;
    cost->forward_bytes = cost->backward_bytes = 2 * sizeof(float);
}

static remat_status forward(const remat_forward *call)
{
    const float *x = call->in[0].data;
    float *y = call->out[0].data;
    *y = *x * 0.5F + 1.0F;
    return REMAT_OK;
}

/* Says that it needs x, so that checkpointing has something to drop. */
static remat_status backward(const remat_backward *call)
{
    const float *dy = call->grad_out[0].data;
    float *dx = call->grad_in[0].data;
    *dx = call->accumulate[0] ? *dx + *dy * 0.5F : *dy * 0.5F;
    return REMAT_OK;
}

static const remat_op tiny_op = {.name = "tiny",
                                 .min_operands = 1,
                                 .max_operands = 1,
                                 .n_results = 1,
                                 .needs_operands = 1,
                                 .infer = infer,
                                 .cost = cost,
                                 .forward = forward,
                                 .backward = backward};

/* ---- One run ---------------------------------------------------------------------------------*/

typedef struct times {
    double record, plan, create, step; /* seconds */
} times;

typedef struct run {
    size_t statements, segment;
    remat_strategy strategy;
    times best;
    double kernels; /* seconds of a step */
    float loss, gradient;
    size_t arena_bytes, replays;
} run;

static remat_var record(remat_tape *tape, const run *r, float *x, float *gradient)
{
    remat_var h = remat_parameter(tape, "x", REMAT_F32, REMAT_SHAPE(1), x, gradient);
    for (size_t i = 0; i < r->statements; i++) {
        if (i % r->segment == 0)
            remat_segment_begin(tape, NULL);
        remat_var operand = h;
        remat_apply(tape, &tiny_op, NULL, &operand, 1, &h, 1);
        if (i % r->segment == r->segment - 1 || i == r->statements - 1)
            remat_segment_end(tape);
    }
    bench_require(remat_tape_status(tape), remat_tape_message(tape));
    return h;
}

static double best_step(remat_exec *exec)
{
    double best = INFINITY;
    for (int i = 0; i < ROUND_STEPS; i++) {
        double began = bench_seconds();
        bench_require(remat_exec_step(exec), remat_exec_message(exec));
        best = fmin(best, bench_seconds() - began);
    }
    return best;
}

/* Calls to the callbacks as the step makes them, on one statement's worth of memory. */
static double time_kernels(size_t forwards, size_t backwards)
{
    const int64_t one = 1;
    float data[4] = {0};
    const bool accumulate[1] = {false};
    remat_tensor t[4];
    for (size_t i = 0; i < 4; i++)
        t[i] = (remat_tensor){&data[i], &one, 1, REMAT_F32};
    const remat_forward f = {.in = &t[0], .n_in = 1, .out = &t[1], .n_out = 1};
    const remat_backward b = {.in = &t[0],
                              .out = &t[1],
                              .grad_out = &t[2],
                              .grad_in = &t[3],
                              .accumulate = accumulate,
                              .n_in = 1,
                              .n_out = 1};
    remat_status (*volatile run_forward)(const remat_forward *) = tiny_op.forward;
    remat_status (*volatile run_backward)(const remat_backward *) = tiny_op.backward;
    double began = bench_seconds();
    for (size_t i = 0; i < forwards; i++)
        bench_require(run_forward(&f), NULL);
    for (size_t i = 0; i < backwards; i++)
        bench_require(run_backward(&b), NULL);
    return bench_seconds() - began;
}

static void measure_once(run *r)
{
    float x = 1.0F;
    remat_tape *tape = NULL;
    remat_plan *plan = NULL;
    remat_exec *exec = NULL;
    remat_exec_options options = REMAT_EXEC_OPTIONS_INIT;
    options.strategy = r->strategy;
    options.overwrite_gradients = true;

    double at[4];
    at[0] = bench_seconds();
    bench_require(remat_tape_create(NULL, &tape), NULL);
    remat_var loss = record(tape, r, &x, &r->gradient);
    at[1] = bench_seconds();
    bench_require(remat_plan_create(tape, loss, &options, &plan), remat_tape_message(tape));
    at[2] = bench_seconds();
    bench_require(remat_exec_create_with_plan(tape, plan, &options, &exec),
                  remat_tape_message(tape));
    at[3] = bench_seconds();
    const double step = best_step(exec);
    r->best.record = fmin(r->best.record, at[1] - at[0]);
    r->best.plan = fmin(r->best.plan, at[2] - at[1]);
    r->best.create = fmin(r->best.create, at[3] - at[2]);
    r->best.step = fmin(r->best.step, step);
    r->loss = (float)remat_exec_loss(exec);

    remat_plan_summary summary;
    remat_plan_summarize(plan, &summary);
    r->arena_bytes = summary.arena_bytes;
    r->replays = summary.replays;
    r->kernels = fmin(r->kernels,
                      time_kernels(summary.forward_runs + summary.replays, summary.backward_runs));
    remat_exec_destroy(exec);
    remat_plan_destroy(plan);
    remat_tape_destroy(tape);
}

static void *measure(void *context)
{
    run *r = context;
    for (int i = 0; i < REPEATS; i++)
        measure_once(r);
    return NULL;
}

/* ---- Report ----------------------------------------------------------------------------------*/

static void run_on_small_stack(run *r)
{
    pthread_t thread;
    pthread_attr_t attributes;
    bool done = pthread_attr_init(&attributes) == 0 &&
                pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
                pthread_create(&thread, &attributes, measure, r) == 0 &&
                pthread_join(thread, NULL) == 0;
    bench_require(done ? REMAT_OK : REMAT_OUT_OF_MEMORY, "a thread with a small stack");
    pthread_attr_destroy(&attributes);
}

static void report(const run *r)
{
    const double each = 1e9 / (double)r->statements;
    printf("{\"bench\":\"overhead\",\"statements\":%zu,\"strategy\":\"%s\",\"segment\":%zu,"
           "\"record_ns\":%.1f,\"plan_ns\":%.1f,\"create_ns\":%.1f,\"step_ns\":%.1f,"
           "\"kernels_ns\":%.1f,\"record_and_step_overhead_ns\":%.1f,\"replays\":%zu,"
           "\"arena_bytes\":%zu,\"stack_bytes\":%zu,\"loss\":%.9g}\n",
           r->statements, remat_strategy_name(r->strategy), r->segment, each * r->best.record,
           each * r->best.plan, each * r->best.create, each * r->best.step, each * r->kernels,
           each * (r->best.record + r->best.step - r->kernels), r->replays, r->arena_bytes,
           STACK_BYTES, (double)r->loss);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const remat_strategy strategies[] = {REMAT_STRATEGY_KEEP_ALL, REMAT_STRATEGY_SEGMENTS,
                                         REMAT_STRATEGY_SQRT};
    long only = 0;
    if (argc > 1 && strcmp(argv[1], "--statements") == 0)
        only = bench_number(argv[1], argc > 2 ? argv[2] : NULL, 1);
    for (size_t n = 1000; n <= 1000000; n *= 10) {
        for (size_t s = 0; s < sizeof strategies / sizeof strategies[0]; s++) {
            run r = {.statements = only ? (size_t)only : n,
                     .strategy = strategies[s],
                     .best = {INFINITY, INFINITY, INFINITY, INFINITY},
                     .kernels = INFINITY};
            r.segment = (size_t)sqrt((double)r.statements);
            run_on_small_stack(&r);
            report(&r);
        }
        if (only)
            break;
    }
    return 0;
}
