/* bench_revolve.c - time per action of the streams of optimal orders. One JSON object per line.
 *
 * usage: bench_revolve [actions]   how many actions of the long chain are drawn, default 10^8 */
#include <stdio.h>

#include "base/memory.h"
#include "bench/support/measure.h"
#include <remat/plan.h>

static void run_revolve(uint64_t n, uint64_t s, uint64_t most)
{
    remat_allocator allocator = remat_allocator_default();
    remat_revolve *revolve;
    remat_revolve_action action;
    uint64_t n_actions = 0, adjoints = 0, plain = 0;
    bench_require(remat_revolve_create(&allocator, n, s, &revolve), "revolve");
    double start = bench_cpu_seconds();
    while (n_actions < most && remat_revolve_next(revolve, &action)) {
        n_actions++;
        adjoints += action.kind == REMAT_REVOLVE_ADJOINT;
        plain += action.kind == REMAT_REVOLVE_ADVANCE ? action.end - action.step : 0;
    }
    double seconds = bench_cpu_seconds() - start;
    remat_revolve_destroy(revolve);
    printf("{\"benchmark\": \"revolve\", \"steps\": %llu, \"slots\": %llu, \"actions\": %llu, "
           "\"adjoints\": %llu, \"plain_steps\": %llu, \"ns_per_action\": %.2f}\n",
           (unsigned long long)n, (unsigned long long)s, (unsigned long long)n_actions,
           (unsigned long long)adjoints, (unsigned long long)plain,
           seconds * 1e9 / (double)n_actions);
}

static void run_mixed(uint64_t n, uint64_t s)
{
    remat_allocator allocator = remat_allocator_default();
    remat_mixed *mixed;
    remat_revolve_action action;
    uint64_t n_actions = 0;
    double start = bench_cpu_seconds();
    bench_require(remat_mixed_create(&allocator, n, s, &mixed), "mixed");
    double middle = bench_cpu_seconds();
    while (remat_mixed_next(mixed, &action))
        n_actions++;
    double end = bench_cpu_seconds();
    printf("{\"benchmark\": \"mixed\", \"steps\": %llu, \"slots\": %llu, \"actions\": %llu, "
           "\"total_forward\": %llu, \"table_ms\": %.3f, \"ns_per_action\": %.2f}\n",
           (unsigned long long)n, (unsigned long long)s, (unsigned long long)n_actions,
           (unsigned long long)remat_mixed_total_forward(mixed), (middle - start) * 1e3,
           (end - middle) * 1e9 / (double)n_actions);
    remat_mixed_destroy(mixed);
}

int main(int argc, char **argv)
{
    uint64_t most =
        argc > 1 ? (uint64_t)bench_number("the number of actions", argv[1], 1) : 100000000;
    run_revolve(1000000000, 50, most);
    run_revolve((uint64_t)1 << 40, 50, most / 10);
    run_revolve(1000000, 5, most);
    run_mixed(1000, 50);
    run_mixed(4000, 20);
    return 0;
}
