/* bench_plan.c - time to plan within half of keep-all's arena, certificate included, for networks
 * from hundreds to a million statements. One JSON object per line.
 *
 *   bench_plan [name]   only cases whose name contains it */
#include <stdio.h>
#include <string.h>

#include "bench/support/measure.h"
#include "support/networks.h"

enum { MOST_SAMPLES = 9 };

typedef struct bench_case {
    const char *name;
    int layers, samples;
    double mark_ms;
} bench_case;

static const bench_case cases[] = {{"transformer", 24, 9, 50}, {"transformer-long", 450, 3, 1000},
                                   {"mlp", 64, 9, 50},         {"mlp-long", 5000, 3, 1000},
                                   {"unet", 5, 3, 1000},       {"densenet", 6, 3, 1000},
                                   {"lstm", 60, 3, 1000},      {"mlp-huge", 500000, 1, 10000}};

static remat_var record(network *net, const bench_case *c)
{
    if (strncmp(c->name, "transformer", 11) == 0)
        return network_transformer(net, c->layers, 4, 512, 512, 0.0);
    if (strcmp(c->name, "unet") == 0)
        return network_unet(net, c->layers, 4, 1024, 64);
    if (strcmp(c->name, "densenet") == 0)
        return network_densenet(net, c->layers, 5, 256, 64);
    if (strcmp(c->name, "lstm") == 0)
        return network_lstm(net, c->layers, 32, 128);
    return network_mlp(net, c->layers, 256, 512, 0.0);
}

static remat_plan *plan_within(const network *net, remat_var loss, size_t budget)
{
    remat_exec_options options = REMAT_EXEC_OPTIONS_INIT;
    remat_plan *plan = NULL;
    options.budget_bytes = budget;
    bench_require(remat_plan_create(net->tape, loss, &options, &plan),
                  remat_tape_message(net->tape));
    return plan;
}

static void report(const bench_case *c, const network *net, const remat_plan *plan, double *ms,
                   double *cpu_ms)
{
    remat_plan_summary summary;
    remat_plan_cost cost;
    remat_plan_summarize(plan, &summary);
    remat_plan_get_cost(plan, &cost);
    const bench_spread wall = bench_spread_of(ms, (size_t)c->samples);
    const bench_spread cpu = bench_spread_of(cpu_ms, (size_t)c->samples);
    printf("{\"bench\":\"plan\",\"network\":\"%s\",\"statements\":%zu,\"strategy\":\"%s\","
           "\"median_ms\":%.3f,\"min_ms\":%.3f,\"cpu_median_ms\":%.3f,\"mark_ms\":%g,"
           "\"arena_ratio\":%.4f,\"extra\":%.5f,\"bound\":%.5f,\"gap\":%.5f}\n",
           c->name, remat_tape_statement_count(net->tape), remat_strategy_name(summary.strategy),
           wall.median, wall.min, cpu.median, c->mark_ms,
           (double)summary.arena_bytes / (double)summary.keep_all_bytes, cost.extra / cost.step,
           cost.bound / cost.step, cost.gap);
    fflush(stdout);
}

static void run(const bench_case *c)
{
    network net;
    double ms[MOST_SAMPLES], cpu_ms[MOST_SAMPLES];
    remat_plan_summary summary;
    network_create(false, &net);
    remat_var loss = record(&net, c);
    remat_plan *plan = plan_within(&net, loss, 0);
    remat_plan_summarize(plan, &summary);
    for (int i = 0; i < c->samples; i++) {
        remat_plan_destroy(plan);
        double began = bench_seconds(), cpu_began = bench_cpu_seconds();
        plan = plan_within(&net, loss, summary.keep_all_bytes / 2);
        ms[i] = (bench_seconds() - began) * 1e3;
        cpu_ms[i] = (bench_cpu_seconds() - cpu_began) * 1e3;
    }
    report(c, &net, plan, ms, cpu_ms);
    remat_plan_destroy(plan);
    network_destroy(&net);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (argc < 2 || strstr(cases[i].name, argv[1]))
            run(&cases[i]);
    return 0;
}
