/* bench_mlp.c - time of a training step of the perceptrons of support/mlp.h.
 *
 *   bench_mlp [--case NAME] [--strategy NAME] [--segment LAYERS] [--threads N] [--steps N]
 *             [--warmup N]
 *
 * Without --case every case is run. One JSON object per case. A step is forward, backward into
 * overwritten gradients, and update. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/support/measure.h"
#include "bench/support/mlp.h"

typedef struct settings {
    const bench_mlp_case *only;
    bench_mlp_options mlp;
    long threads, steps, warmup; /* steps 0, warmup -1: as the case says */
} settings;

static void refuse(const char *option, const char *value)
{
    fprintf(stderr, "%s %s: not known; see the head of bench_mlp.c\n", option, value ? value : "");
    exit(EXIT_FAILURE);
}

static remat_strategy strategy_of(const char *name)
{
    for (int s = 0; s < REMAT_STRATEGY_COUNT; s++)
        if (name && strcmp(remat_strategy_name((remat_strategy)s), name) == 0)
            return (remat_strategy)s;
    refuse("--strategy", name);
    return REMAT_STRATEGY_AUTO;
}

static void read_option(const char *option, const char *value, settings *set)
{
    if (strcmp(option, "--case") == 0) {
        set->only = value ? bench_mlp_find(value) : NULL;
        if (!set->only)
            refuse(option, value);
    } else if (strcmp(option, "--strategy") == 0) {
        set->mlp.strategy = strategy_of(value);
    } else if (strcmp(option, "--segment") == 0) {
        set->mlp.segment = bench_number(option, value, 0);
    } else if (strcmp(option, "--threads") == 0) {
        set->threads = bench_number(option, value, 1);
    } else if (strcmp(option, "--steps") == 0) {
        set->steps = bench_number(option, value, 1);
    } else if (strcmp(option, "--warmup") == 0) {
        set->warmup = bench_number(option, value, 0);
    } else {
        refuse(option, value);
    }
}

typedef struct timing {
    bench_spread ms;
    double cpu_ms, faults; /* medians per step */
    double loss_first, loss_last;
} timing;

static timing time_steps(bench_mlp *m, size_t warmup, size_t steps)
{
    double *ms = bench_allocate(steps, sizeof *ms), *cpu_ms = bench_allocate(steps, sizeof *cpu_ms);
    double *faults = bench_allocate(steps, sizeof *faults);
    timing t = {0};
    for (size_t i = 0; i < warmup + steps; i++) {
        long faults_before = bench_page_faults();
        double began = bench_seconds(), cpu_began = bench_cpu_seconds();
        t.loss_last = bench_mlp_step(m);
        double took = bench_seconds() - began, cpu_took = bench_cpu_seconds() - cpu_began;
        if (i == 0)
            t.loss_first = t.loss_last;
        if (i < warmup)
            continue;
        ms[i - warmup] = took * 1e3;
        cpu_ms[i - warmup] = cpu_took * 1e3;
        faults[i - warmup] = (double)(bench_page_faults() - faults_before);
    }
    t.ms = bench_spread_of(ms, steps);
    t.cpu_ms = bench_spread_of(cpu_ms, steps).median;
    t.faults = bench_spread_of(faults, steps).median;
    free(ms);
    free(cpu_ms);
    free(faults);
    return t;
}

static void run_case(const bench_mlp_case *shape, const settings *set)
{
    const long warmup = set->warmup < 0 ? shape->warmup : set->warmup;
    const long steps = set->steps == 0 ? shape->steps : set->steps;
    bench_mlp m;
    bench_mlp_create(shape, &set->mlp, &m);
    const timing t = time_steps(&m, (size_t)warmup, (size_t)steps);
    remat_plan_summary plan;
    remat_plan_summarize(remat_exec_plan(m.exec), &plan);
    printf("{\"bench\":\"mlp\",\"case\":\"%s\",\"strategy\":\"%s\","
           "\"threads\":%d,\"steps\":%ld,\"median_ms\":%.5f,\"min_ms\":%.5f,\"max_ms\":%.5f,\"cpu_"
           "ms\":%.5f,"
           "\"loss_first\":%.9g,\"loss_last\":%.9g,\"arena_bytes\":%zu,\"keep_all_bytes\":%zu,"
           "\"replays\":%zu,\"faults_per_step\":%.1f,\"peak_resident_bytes\":%zu}\n",
           shape->name, remat_strategy_name(plan.strategy), remat_threads(), steps, t.ms.median,
           t.ms.min, t.ms.max, t.cpu_ms, t.loss_first, t.loss_last, plan.arena_bytes,
           plan.keep_all_bytes, plan.replays, t.faults, bench_peak_resident_bytes());
    fflush(stdout);
    bench_mlp_destroy(&m);
}

int main(int argc, char **argv)
{
    settings set = {.threads = 1, .warmup = -1};
    for (int i = 1; i < argc; i += 2)
        read_option(argv[i], i + 1 < argc ? argv[i + 1] : NULL, &set);
    bench_require(remat_set_threads((int)set.threads), NULL);
    for (size_t i = 0; i < bench_mlp_case_count; i++)
        if (!set.only || set.only == &bench_mlp_cases[i])
            run_case(&bench_mlp_cases[i], &set);
    return 0;
}
