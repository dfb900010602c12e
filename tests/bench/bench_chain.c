/* bench_chain.c - time to solve chains: equal blocks as in a transformer, and stages that all
 * differ; persistent and with holes; with all options and few. One JSON object per line.
 *
 * usage: bench_chain [name]   only cases whose name contains it */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/support/measure.h"
#include "plan/chain.h"

enum { MOST_STAGES = 256, MOST_OPTIONS = 8 };

typedef struct bench_chain {
    remat_chain chain;
    remat_chain_stage stages[MOST_STAGES];
    remat_chain_option options[MOST_STAGES][MOST_OPTIONS];
    size_t activation_bytes[MOST_STAGES + 1], gradient_bytes[MOST_STAGES + 1];
} bench_chain;

typedef enum bench_variety {
    BLOCKS,  /* equal blocks between a different first and last stage */
    LAYERS,  /* random small integers, like the golden chain random_n64 */
    NETWORKS /* random sizes of many bytes and real costs: no two sums are equal */
} bench_variety;

static const char *const variety_names[] = {"blocks", "layers", "networks"};

typedef struct bench_run {
    bench_variety variety;
    uint32_t n_stages, n_options;
    bool holes;
    uint32_t hole_options, max_points;
    bool one_budget; /* only that in the middle is of interest */
} bench_run;

static const bench_run runs[] = {
    {BLOCKS, 24, 8, false, 0, 0, false},   {BLOCKS, 24, 8, true, 0, 0, false},
    {BLOCKS, 24, 8, true, 2, 0, false},    {BLOCKS, 24, 8, true, 0, 0, true},
    {BLOCKS, 24, 8, true, 2, 0, true},     {BLOCKS, 64, 8, false, 0, 0, false},
    {BLOCKS, 64, 8, true, 2, 0, true},     {BLOCKS, 128, 8, false, 0, 0, false},
    {BLOCKS, 128, 8, true, 1, 0, true},    {BLOCKS, 256, 8, false, 0, 0, false},
    {BLOCKS, 256, 8, true, 1, 64, false},  {LAYERS, 24, 1, false, 0, 0, false},
    {LAYERS, 24, 1, true, 0, 0, false},    {LAYERS, 64, 1, false, 0, 0, false},
    {LAYERS, 64, 1, true, 0, 0, false},    {LAYERS, 64, 1, true, 0, 0, true},
    {LAYERS, 100, 1, false, 0, 0, false},  {LAYERS, 100, 1, true, 0, 0, true},
    {LAYERS, 128, 1, false, 0, 0, false},  {LAYERS, 128, 1, true, 0, 0, false},
    {LAYERS, 128, 1, true, 0, 64, false},  {LAYERS, 256, 1, false, 0, 0, false},
    {LAYERS, 256, 1, true, 0, 64, false},  {NETWORKS, 24, 1, true, 0, 0, false},
    {NETWORKS, 24, 8, false, 0, 0, false}, {NETWORKS, 24, 8, true, 2, 0, false},
    {NETWORKS, 24, 8, true, 2, 0, true},   {NETWORKS, 24, 8, true, 0, 64, false},
    {NETWORKS, 64, 1, true, 0, 0, true},   {NETWORKS, 64, 1, true, 0, 64, false}};

static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static size_t draw(uint64_t *state, size_t least, size_t most)
{
    return least + (size_t)(mix(state) % (most - least + 1));
}

static void make_stage(bench_chain *c, uint32_t i, uint32_t n_options, bench_variety variety,
                       uint64_t *state)
{
    bool bytes = variety == NETWORKS;
    size_t unit = bytes ? (size_t)draw(state, 1 << 14, 1 << 16) * 64 : 1;
    double second = bytes ? 1e-3 + (double)draw(state, 0, 1 << 20) * 0x1p-20 : 1;
    double forward = (double)draw(state, 2, 10) * second;
    c->activation_bytes[i + 1] = variety == BLOCKS ? 4 : draw(state, 1, 8) * unit;
    c->gradient_bytes[i + 1] = c->activation_bytes[i + 1];
    c->stages[i] = (remat_chain_stage){forward, unit, c->options[i], n_options};
    for (uint32_t k = 0; k < n_options; k++) { /* the more is saved, the less is replayed inside */
        double inside = (double)(n_options - 1 - k) * forward / MOST_OPTIONS;
        size_t saved = c->activation_bytes[i + 1] + (k + 1) * draw(state, 3, 5) * unit;
        c->options[i][k] = (remat_chain_option){forward, 2 * forward + inside, saved, unit,
                                                (n_options - k) * 2 * unit};
    }
}

static void make_chain(bench_chain *c, const bench_run *run)
{
    uint64_t state = 3;
    uint32_t n = run->n_stages;
    c->chain = (remat_chain){n, c->stages, c->activation_bytes, c->gradient_bytes};
    c->activation_bytes[0] = c->gradient_bytes[0] = 4;
    for (uint32_t i = 0; i < n; i++) {
        if (run->variety == BLOCKS && i > 0 && i + 1 < n)
            state = 5;
        make_stage(c, i, run->n_options, run->variety, &state);
    }
}

static remat_chain_solution *solve(const bench_chain *c, const remat_chain_settings *settings)
{
    remat_allocator allocator = remat_allocator_default();
    remat_chain_solution *solution;
    bench_require(remat_chain_solve(&allocator, &c->chain, settings, &solution, NULL), "solve");
    return solution;
}

/* Halfway between the smallest budget and that of no replay. */
static size_t middle_budget(const remat_chain_solution *solution)
{
    size_t last = remat_chain_curve_count(solution) - 1;
    size_t low = remat_chain_min_budget(solution);
    return low + (remat_chain_curve(solution, last).budget_bytes - low) / 2;
}

/* For the budget in the middle only; what finds that budget is not timed. */
static remat_chain_solution *solve_timed(const bench_chain *c, const bench_run *run,
                                         const remat_chain_settings *settings, size_t budget,
                                         double *seconds)
{
    remat_allocator allocator = remat_allocator_default();
    remat_chain_solution *solution;
    double start = bench_cpu_seconds();
    if (run->one_budget)
        bench_require(
            remat_chain_solve_for(&allocator, &c->chain, settings, budget, &solution, NULL),
            "solve");
    else
        solution = solve(c, settings);
    *seconds = bench_cpu_seconds() - start;
    return solution;
}

static size_t find_middle_budget(const bench_chain *c)
{
    remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
    settings.persistent = true;
    settings.max_points = 16;
    remat_chain_solution *solution = solve(c, &settings);
    size_t budget = middle_budget(solution);
    remat_chain_solution_destroy(solution);
    return budget;
}

static void run_one(bench_chain *c, const bench_run *run)
{
    make_chain(c, run);
    remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
    settings.persistent = !run->holes;
    settings.hole_options = run->hole_options;
    settings.max_points = run->max_points;
    remat_allocator allocator = remat_allocator_default();
    enum { SAMPLES = 3 };
    double samples[SAMPLES], emit_seconds = 0;
    remat_chain_solution *solution = NULL;
    size_t budget = find_middle_budget(c);
    for (int i = 0; i < SAMPLES; i++) {
        remat_chain_solution_destroy(solution);
        solution = solve_timed(c, run, &settings, budget, &samples[i]);
    }
    remat_chain_ops ops = {0};
    double start = bench_cpu_seconds();
    bench_require(remat_chain_emit(solution, budget, &allocator, &ops), "emit");
    emit_seconds = bench_cpu_seconds() - start;
    remat_chain_statistics statistics = remat_chain_solution_statistics(solution);
    printf("{\"benchmark\": \"chain\", \"case\": \"%s\", \"stages\": %u, \"options\": %u, "
           "\"holes\": %s, \"hole_options\": %u, \"max_points\": %u, \"one_budget\": %s, "
           "\"solve_ms\": %.3f, \"emit_ms\": %.3f, \"functions\": %zu, \"points\": %zu, "
           "\"curve\": %zu, \"middle_cost\": %.4f}\n",
           variety_names[run->variety], run->n_stages, run->n_options,
           run->holes ? "true" : "false", run->hole_options, run->max_points,
           run->one_budget ? "true" : "false", bench_spread_of(samples, SAMPLES).median * 1e3,
           emit_seconds * 1e3, statistics.functions, statistics.points,
           remat_chain_curve_count(solution),
           remat_chain_cost(solution, budget) / remat_chain_least_cost(solution));
    (void)fflush(stdout);
    remat_vector_release(&allocator, &ops);
    remat_chain_solution_destroy(solution);
}

int main(int argc, char **argv)
{
    bench_chain *c = bench_allocate(1, sizeof *c);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        if (argc < 2 || strstr(variety_names[runs[i].variety], argv[1]))
            run_one(c, &runs[i]);
    return 0;
}
