/* bench_checkpoint.c - what recomputation costs and saves: one perceptron (numbers of
 * support/mlp.h) trained under keep-all, marked segments of 8 layers, and sqrt, in turn within one
 * process so that a slow phase of the machine meets all three.
 *
 *   bench_checkpoint [--depth N --width N --batch N] [--steps N]
 *
 * Without a depth: 64 x 512 at batch 256, and 1000 x 64 at batch 256. One JSON object per strategy;
 * ratios are to keep-all, losses are compared bit for bit after every step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/support/measure.h"
#include "bench/support/mlp.h"

#define SEGMENT 8
#define WARMUP  2

enum { KEEP_ALL, SEGMENTS, SQRT, RUNNERS };

typedef struct runner {
    bench_mlp mlp;
    double *ms, *ratio, *cpu_ratio; /* per timed step; ratios to keep-all's of the same round */
    bool same_losses;               /* as keep-all's, so far */
    double loss;
} runner;

static void create(runner *r, const bench_mlp_case *shape, remat_strategy strategy, size_t steps)
{
    const bench_mlp_options options = {.strategy = strategy, .segment = SEGMENT};
    *r = (runner){.ms = bench_allocate(steps, sizeof *r->ms),
                  .ratio = bench_allocate(steps, sizeof *r->ratio),
                  .cpu_ratio = bench_allocate(steps, sizeof *r->cpu_ratio),
                  .same_losses = true};
    bench_mlp_create(shape, &options, &r->mlp);
}

static void destroy(runner *r)
{
    bench_mlp_destroy(&r->mlp);
    free(r->ms);
    free(r->ratio);
    free(r->cpu_ratio);
}

/* One step of each; the first rounds are warm-up. */
static void run_round(runner *runners, size_t round)
{
    double keep_all = 1, keep_all_cpu = 1;
    for (int k = 0; k < RUNNERS; k++) {
        runner *r = &runners[k];
        double began = bench_seconds(), cpu_began = bench_cpu_seconds();
        r->loss = bench_mlp_step(&r->mlp);
        double took = bench_seconds() - began, cpu_took = bench_cpu_seconds() - cpu_began;
        r->same_losses &= memcmp(&r->loss, &runners[KEEP_ALL].loss, sizeof r->loss) == 0;
        if (k == KEEP_ALL) {
            keep_all = took;
            keep_all_cpu = cpu_took;
        }
        if (round < WARMUP)
            continue;
        r->ms[round - WARMUP] = took * 1e3;
        r->ratio[round - WARMUP] = took / keep_all;
        r->cpu_ratio[round - WARMUP] = cpu_took / keep_all_cpu;
    }
}

static void report(const runner *r, const bench_mlp_case *shape, size_t steps)
{
    const size_t timed = steps - WARMUP;
    const bench_spread ms = bench_spread_of(r->ms, timed);
    const double ratio = bench_spread_of(r->ratio, timed).median;
    const double cpu_ratio = bench_spread_of(r->cpu_ratio, timed).median;
    remat_plan_summary plan;
    remat_plan_summarize(remat_exec_plan(r->mlp.exec), &plan);
    printf("{\"bench\":\"checkpoint\",\"depth\":%lld,\"width\":%lld,\"batch\":%lld,"
           "\"strategy\":\"%s\",\"steps\":%zu,\"median_ms\":%.3f,\"min_ms\":%.3f,"
           "\"time_ratio\":%.4f,\"cpu_time_ratio\":%.4f,\"arena_bytes\":%zu,\"arena_ratio\":%.4f,"
           "\"replays\":%zu,"
           "\"loss\":%.9g,\"losses_identical\":%s}\n",
           (long long)shape->hidden, (long long)shape->width, (long long)shape->batch,
           remat_strategy_name(plan.strategy), steps, ms.median, ms.min, ratio, cpu_ratio,
           plan.arena_bytes, (double)plan.arena_bytes / (double)plan.keep_all_bytes, plan.replays,
           r->loss, r->same_losses ? "true" : "false");
    fflush(stdout);
}

/* Whether all losses were identical. */
static bool run_shape(const bench_mlp_case *shape, size_t steps)
{
    const remat_strategy strategies[RUNNERS] = {REMAT_STRATEGY_KEEP_ALL, REMAT_STRATEGY_SEGMENTS,
                                                REMAT_STRATEGY_SQRT};
    runner runners[RUNNERS];
    bool same = true;
    for (int k = 0; k < RUNNERS; k++)
        create(&runners[k], shape, strategies[k], steps);
    for (size_t round = 0; round < steps; round++)
        run_round(runners, round);
    for (int k = 0; k < RUNNERS; k++) {
        report(&runners[k], shape, steps);
        same &= runners[k].same_losses;
    }
    for (int k = 0; k < RUNNERS; k++)
        destroy(&runners[k]);
    return same;
}

int main(int argc, char **argv)
{
    bench_mlp_case shapes[] = {
        {.hidden = 64, .width = 512, .batch = 256},
        {.hidden = 1000, .width = 64, .batch = 256},
    };
    size_t n_shapes = sizeof shapes / sizeof shapes[0];
    long steps = 50;
    for (int i = 1; i < argc; i += 2) {
        const long number = bench_number(argv[i], i + 1 < argc ? argv[i + 1] : NULL, 1);
        if (strcmp(argv[i], "--steps") == 0) {
            steps = number;
            continue;
        }
        n_shapes = 1;
        if (strcmp(argv[i], "--depth") == 0)
            shapes[0].hidden = number;
        else if (strcmp(argv[i], "--width") == 0)
            shapes[0].width = number;
        else if (strcmp(argv[i], "--batch") == 0)
            shapes[0].batch = number;
        else
            bench_require(REMAT_INVALID_ARGUMENT, argv[i]);
    }
    if (steps <= WARMUP)
        steps = WARMUP + 1;
    bench_require(remat_set_threads(1), NULL);
    bool same = true;
    for (size_t i = 0; i < n_shapes; i++) {
        shapes[i].inputs = shapes[i].width;
        shapes[i].outputs = 10;
        shapes[i].labels = true;
        shapes[i].learning_rate = 1e-4;
        same &= run_shape(&shapes[i], (size_t)steps);
    }
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
