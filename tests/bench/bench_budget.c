/* bench_budget.c - measured time of steps within a budget: keep-all, Chen's sqrt, what auto plans
 * within sqrt's own bytes, and within 1/2, 1/4 and 1/8 of keep-all's. One tape, in turn within one
 * process, so that a slow phase of the machine meets all of them; one thread.
 *
 *   bench_budget [--steps N]
 *
 * One JSON object per runner; ratios are to keep-all's step of the same round; gradients are
 * compared bit for bit after every step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "bench/support/measure.h"
#include "support/networks.h"

#define WARMUP 2

enum { KEEP_ALL, SQRT, AS_SQRT, HALF, QUARTER, EIGHTH, RUNNERS };

typedef struct runner {
    remat_exec *exec;
    remat_plan_summary summary;
    double *ms, *ratio, *cpu_ratio; /* per timed step */
    bool same_bits;                 /* as keep-all's, so far */
} runner;

static void create(const network *net, remat_var loss, remat_strategy strategy, size_t budget,
                   size_t steps, runner *r)
{
    remat_exec_options options = REMAT_EXEC_OPTIONS_INIT;
    options.strategy = strategy;
    options.budget_bytes = budget;
    options.overwrite_gradients = true;
    *r = (runner){.ms = bench_allocate(steps, sizeof *r->ms),
                  .ratio = bench_allocate(steps, sizeof *r->ratio),
                  .cpu_ratio = bench_allocate(steps, sizeof *r->cpu_ratio),
                  .same_bits = true};
    bench_require(remat_exec_create(net->tape, loss, &options, &r->exec),
                  remat_tape_message(net->tape));
    remat_plan_summarize(remat_exec_plan(r->exec), &r->summary);
}

static void create_all(const network *net, remat_var loss, size_t steps, runner *runners)
{
    create(net, loss, REMAT_STRATEGY_KEEP_ALL, 0, steps, &runners[KEEP_ALL]);
    create(net, loss, REMAT_STRATEGY_SQRT, 0, steps, &runners[SQRT]);
    size_t all = runners[KEEP_ALL].summary.arena_bytes;
    const size_t budgets[RUNNERS] = {[AS_SQRT] = runners[SQRT].summary.arena_bytes,
                                     [HALF] = all / 2,
                                     [QUARTER] = all / 4,
                                     [EIGHTH] = all / 8};
    for (int k = AS_SQRT; k < RUNNERS; k++)
        create(net, loss, REMAT_STRATEGY_AUTO, budgets[k], steps, &runners[k]);
}

static uint64_t hash_of_gradients(const network *net)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < net->n_buffers; i++)
        if (net->buffers[i].gradient)
            hash = remat_hash_bytes(hash, net->buffers[i].gradient,
                                    net->buffers[i].count * sizeof(float));
    return hash;
}

static void run_round(const network *net, runner *runners, size_t round)
{
    double keep_all = 1, keep_all_cpu = 1;
    uint64_t expected = 0;
    for (int k = 0; k < RUNNERS; k++) {
        runner *r = &runners[k];
        double began = bench_seconds(), cpu_began = bench_cpu_seconds();
        remat_exec_set_step(r->exec, round);
        bench_require(remat_exec_step(r->exec), remat_exec_message(r->exec));
        double took = bench_seconds() - began, cpu_took = bench_cpu_seconds() - cpu_began;
        uint64_t hash = hash_of_gradients(net);
        if (k == KEEP_ALL) {
            keep_all = took;
            keep_all_cpu = cpu_took;
            expected = hash;
        }
        r->same_bits &= hash == expected;
        if (round < WARMUP)
            continue;
        r->ms[round - WARMUP] = took * 1e3;
        r->ratio[round - WARMUP] = took / keep_all;
        r->cpu_ratio[round - WARMUP] = cpu_took / keep_all_cpu;
    }
}

static void report(const char *network_name, const char *name, const runner *r, size_t steps)
{
    const size_t timed = steps - WARMUP;
    const remat_plan_summary *s = &r->summary;
    const bench_spread ms = bench_spread_of(r->ms, timed);
    printf("{\"bench\":\"budget\",\"network\":\"%s\",\"runner\":\"%s\",\"strategy\":\"%s\","
           "\"arena_bytes\":%zu,\"arena_ratio\":%.4f,\"median_ms\":%.3f,\"min_ms\":%.3f,"
           "\"time_ratio\":%.4f,\"cpu_time_ratio\":%.4f,\"planned_time_ratio\":%.4f,"
           "\"replays\":%zu,\"gradients_identical\":%s}\n",
           network_name, name, remat_strategy_name(s->strategy), s->arena_bytes,
           (double)s->arena_bytes / (double)s->keep_all_bytes, ms.median, ms.min,
           bench_spread_of(r->ratio, timed).median, bench_spread_of(r->cpu_ratio, timed).median,
           1 + s->replay_cost / s->step_cost, s->replays, r->same_bits ? "true" : "false");
    fflush(stdout);
}

/* Whether all gradients were identical. */
static bool run(const char *name, const network *net, remat_var loss, size_t steps)
{
    static const char *const names[RUNNERS] = {"keep-all", "sqrt",     "auto as sqrt",
                                               "auto 1/2", "auto 1/4", "auto 1/8"};
    runner runners[RUNNERS];
    bool same = true;
    create_all(net, loss, steps, runners);
    for (size_t round = 0; round < steps; round++)
        run_round(net, runners, round);
    for (int k = 0; k < RUNNERS; k++) {
        report(name, names[k], &runners[k], steps);
        same &= runners[k].same_bits;
        remat_exec_destroy(runners[k].exec);
        free(runners[k].ms);
        free(runners[k].ratio);
        free(runners[k].cpu_ratio);
    }
    return same;
}

int main(int argc, char **argv)
{
    size_t steps = 30;
    network net;
    if (argc == 3 && strcmp(argv[1], "--steps") == 0)
        steps = (size_t)bench_number(argv[1], argv[2], WARMUP + 1);
    else if (argc > 1)
        bench_require(REMAT_INVALID_ARGUMENT, argv[1]);
    bench_require(remat_set_threads(1), NULL);
    network_create(true, &net);
    bool same = run("mlp 64 x 512, batch 256", &net, network_mlp(&net, 64, 256, 512, 0.0), steps);
    network_destroy(&net);
    network_create(true, &net);
    same &= run("transformer of 12 layers, 2 x 128 x 256", &net,
                network_transformer(&net, 12, 2, 128, 256, 0.1), steps);
    network_destroy(&net);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
