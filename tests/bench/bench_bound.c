/* bench_bound.c - time and value of the lower bound on problems shaped like transformers.
 *
 * One JSON object per number of tasks, budget (as a share of keep-all's peak) and effort: the
 * milliseconds for the bound, and the bound in percent of the cost of a step without replays. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/support/measure.h"
#include "bench/support/transformer_problem.h"
#include "plan/bound.h"
#include "plan/strategy/strategy.h"

#define REPEATS 5

static const char *const efforts[] = {
    [REMAT_EFFORT_DEFAULT] = "default",
    [REMAT_EFFORT_FAST] = "fast",
    [REMAT_EFFORT_THOROUGH] = "thorough",
};

static void require(bool done)
{
    if (!done) {
        fputs("bench_bound: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
}

static remat_simulation keep_all(const remat_problem *problem)
{
    remat_runs runs = {0};
    remat_actions schedule = {0};
    remat_simulation simulation = {0};
    require(remat_order_by_segments(problem, NULL, 0, &runs) &&
            remat_schedule_complete(problem, &runs, &schedule) &&
            remat_schedule_simulate(problem, &schedule, &simulation));
    remat_vector_release(&problem->allocator, &runs);
    remat_vector_release(&problem->allocator, &schedule);
    return simulation;
}

static void measure(const remat_problem *problem, const remat_simulation *kept, double share,
                    remat_effort effort)
{
    size_t budget = (size_t)(share * (double)kept->peak_bytes);
    double bound = 0, least = 1e300;
    for (int i = 0; i < (effort == REMAT_EFFORT_THOROUGH ? 1 : REPEATS); i++) {
        double start = bench_seconds();
        require(remat_bound_cut(problem, budget, effort, &bound));
        double seconds = bench_seconds() - start;
        least = seconds < least ? seconds : least;
    }
    printf("{\"bench\": \"bound\", \"tasks\": %u, \"budget_share\": %.2f, \"effort\": \"%s\", "
           "\"milliseconds\": %.3f, \"bound_percent\": %.3f}\n",
           problem->n_tasks, share, efforts[effort], 1e3 * least, 100 * bound / kept->cost);
}

int main(void)
{
    static const uint32_t blocks[] = {12, 23, 42, 417}; /* 292, 556, 1012, 10012 tasks */
    static const double shares[] = {0.9, 0.7, 0.5, 0.4, 0.3, 0.2, 0.15};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        remat_problem problem;
        require(bench_transformer_problem(blocks[i], 512, 512, &problem));
        remat_simulation kept = keep_all(&problem);
        for (size_t k = 0; k < sizeof shares / sizeof *shares; k++)
            for (int effort = 0; effort < (problem.n_tasks < 5000 ? 3 : 2); effort++)
                measure(&problem, &kept, shares[k], (remat_effort)effort);
        remat_problem_release(&problem);
    }
    return EXIT_SUCCESS;
}
