/* bench_greedy.c - time and quality of the search for an order of runs.
 *
 * One JSON object per problem, budget (as a share of keep-all's peak) and effort: the milliseconds,
 * the cost of replays in percent of a step without, and the lower bound on it. Problems: U-shaped
 * networks, whose long skips leave no narrow cuts, and transformers. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/support/measure.h"
#include "bench/support/transformer_problem.h"
#include "plan/bound.h"
#include "plan/search.h"
#include "plan/strategy/strategy.h"

enum { MAX_LEVELS = 8, MAX_LAYERS = 8 * MAX_LEVELS };

static const char *const EFFORTS[] = {
    [REMAT_EFFORT_DEFAULT] = "default",
    [REMAT_EFFORT_FAST] = "fast",
    [REMAT_EFFORT_THOROUGH] = "thorough",
};

static void require(bool done)
{
    if (!done) {
        fputs("bench_greedy: failed\n", stderr);
        exit(EXIT_FAILURE);
    }
}

/* ---- A U-shaped network ----------------------------------------------------------------------*/

typedef struct unet_layer {
    uint32_t in[2]; /* layers; the value of layer i is i, its gradient n + i */
    size_t n_in, bytes;
    double cost;
} unet_layer;

typedef struct unet {
    unet_layer layers[MAX_LAYERS];
    uint32_t n;
} unet;

static uint32_t add_layer(unet *u, size_t n_in, uint32_t a, uint32_t b, size_t bytes, double cost)
{
    u->layers[u->n] = (unet_layer){{a, b}, n_in, bytes, cost};
    return u->n++;
}

/* Down: convolution, activation, pooling to half the bytes. Up: the reverse, with the skip. */
static void add_layers(unet *u, uint32_t levels)
{
    uint32_t skips[MAX_LEVELS];
    size_t bytes = (size_t)1 << 26;
    uint32_t x = add_layer(u, 0, 0, 0, bytes, 3);
    for (uint32_t l = 0; l < levels; l++, bytes /= 2) {
        x = add_layer(u, 1, x, 0, bytes, 12 + 3 * l);
        skips[l] = x = add_layer(u, 1, x, 0, bytes, 2);
        x = add_layer(u, 1, x, 0, bytes / 2, 1);
    }
    x = add_layer(u, 1, x, 0, bytes, 30);
    for (uint32_t l = levels; l-- > 0;) {
        bytes *= 2;
        x = add_layer(u, 1, x, 0, bytes, 3);
        x = add_layer(u, 2, x, skips[l], bytes, 15 + 3 * l);
        x = add_layer(u, 1, x, 0, bytes, 2);
    }
}

/* The backward of a layer reads its operands and its gradient and adds to its operands'. */
static void add_backward(const unet *u, uint32_t i, bool *made, remat_problem *problem)
{
    const unet_layer *layer = &u->layers[i];
    uint32_t reads[3], writes[2], adds[2];
    remat_task_spec spec = {2 * layer->cost, 0, reads, 0, writes, 0, adds, 0, false};
    for (size_t k = 0; k < layer->n_in; k++) {
        uint32_t gradient = u->n + layer->in[k];
        reads[spec.n_reads++] = layer->in[k];
        if (made[layer->in[k]])
            adds[spec.n_adds++] = gradient;
        else
            writes[spec.n_writes++] = gradient;
        made[layer->in[k]] = true;
    }
    if (made[i])
        reads[spec.n_reads++] = u->n + i;
    uint32_t task;
    require(remat_problem_add_backward(problem, &spec, &task) == REMAT_OK);
}

static remat_problem *unet_problem(uint32_t levels)
{
    remat_problem *problem;
    unet u = {.n = 0};
    bool made[MAX_LAYERS] = {false};
    uint32_t id;
    add_layers(&u, levels);
    require(remat_problem_create(NULL, &problem) == REMAT_OK);
    for (uint32_t i = 0; i < 2 * u.n; i++)
        require(remat_problem_add_value(problem, u.layers[i % u.n].bytes, false, &id) == REMAT_OK);
    for (uint32_t i = 0; i < u.n; i++) {
        const unet_layer *layer = &u.layers[i];
        remat_task_spec spec = {layer->cost, 0, layer->in, layer->n_in, &i, 1, NULL, 0, false};
        require(remat_problem_add_forward(problem, &spec, &id) == REMAT_OK);
    }
    for (uint32_t i = u.n; i-- > 0;)
        add_backward(&u, i, made, problem);
    return problem;
}

/* ---- Measuring -------------------------------------------------------------------------------*/

static remat_simulation simulate(const remat_problem *problem, const remat_runs *runs)
{
    remat_actions schedule = {0};
    remat_simulation simulation = {0};
    require(remat_schedule_complete(problem, runs, &schedule) &&
            remat_schedule_simulate(problem, &schedule, &simulation));
    remat_vector_release(&problem->allocator, &schedule);
    return simulation;
}

static void measure(const char *name, const remat_problem *problem, size_t keep_all, double share,
                    remat_effort effort)
{
    size_t budget = (size_t)(share * (double)keep_all);
    remat_runs runs = {0};
    bool feasible;
    double bound, start = bench_seconds();
    require(remat_order_greedy(problem, budget, effort, 0, &runs, &feasible));
    double seconds = bench_seconds() - start;
    require(remat_bound_cut(problem, budget, REMAT_EFFORT_FAST, &bound));
    printf("{\"bench\": \"greedy\", \"problem\": \"%s\", \"tasks\": %u, \"budget_share\": %.2f, "
           "\"effort\": \"%s\", \"milliseconds\": %.3f, \"feasible\": %s",
           name, problem->n_tasks, share, EFFORTS[effort], 1e3 * seconds,
           feasible ? "true" : "false");
    if (feasible) {
        remat_simulation s = simulate(problem, &runs);
        require(!s.fault && s.peak_bytes <= budget);
        printf(", \"replay_percent\": %.3f, \"bound_percent\": %.3f", 100 * s.replay_cost / s.cost,
               100 * bound / s.cost);
    }
    printf("}\n");
    remat_vector_release(&problem->allocator, &runs);
}

static void measure_all(const char *name, const remat_problem *problem, remat_effort most)
{
    static const double SHARES[] = {0.8, 0.6, 0.4, 0.2};
    remat_runs runs = {0};
    require(remat_order_by_segments(problem, NULL, 0, &runs));
    size_t keep_all = simulate(problem, &runs).peak_bytes;
    for (size_t k = 0; k < sizeof SHARES / sizeof *SHARES; k++)
        for (int effort = 0; effort <= (int)most; effort++)
            measure(name, problem, keep_all, SHARES[k], (remat_effort)effort);
    remat_vector_release(&problem->allocator, &runs);
}

int main(void)
{
    static const uint32_t LEVELS[] = {3, 5, 8};
    static const uint32_t BLOCKS[] = {3, 23, 417}; /* 76, 556, 10012 tasks */
    for (size_t i = 0; i < sizeof LEVELS / sizeof *LEVELS; i++) {
        remat_problem *problem = unet_problem(LEVELS[i]);
        measure_all("unet", problem, REMAT_EFFORT_THOROUGH);
        remat_problem_destroy(problem);
    }
    for (size_t i = 0; i < sizeof BLOCKS / sizeof *BLOCKS; i++) {
        remat_problem problem;
        require(bench_transformer_problem(BLOCKS[i], 512, 512, &problem));
        measure_all("transformer", &problem, REMAT_EFFORT_FAST);
        remat_problem_release(&problem);
    }
    return EXIT_SUCCESS;
}
