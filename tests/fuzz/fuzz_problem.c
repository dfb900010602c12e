/* fuzz_problem.c - arbitrary bytes as calls of plan.h: problems of tasks and values, chains, equal
 * steps. Refused with a reason, or planned; plans are followed action by action. */
#include <math.h>
#include <remat/plan.h>

#include "core/support/fake_ops.h"
#include "core/support/naive_walk.h"
#include "fuzz/bytes.h"
#include "fuzz/fuzz.h"
#include "plan/chain.h"

enum { MOST_VALUES = 24, MOST_TASKS = 24, MOST_LIST = 6, MOST_STAGES = 12, MOST_ACTIONS = 2000 };

size_t fuzz_accepted;

/* ---- Problems --------------------------------------------------------------------------------*/

static const uint32_t *take_list(fuzz_bytes *in, uint32_t *list, size_t *n)
{
    *n = fuzz_below(in, MOST_LIST + 1);
    for (size_t i = 0; i < *n; i++)
        list[i] = fuzz_below(in, 64) == 63 ? UINT32_MAX : fuzz_below(in, MOST_VALUES + 1);
    return *n == 0 && fuzz_below(in, 2) ? NULL : list;
}

static void add_task(fuzz_bytes *in, remat_problem *problem)
{
    uint32_t reads[MOST_LIST], writes[MOST_LIST], adds[MOST_LIST], task = UINT32_MAX;
    remat_task_spec spec = REMAT_TASK_SPEC_INIT;
    const uint32_t flags = fuzz_below(in, 256), n_tasks = problem->n_tasks;
    spec.cost = fuzz_cost(in);
    spec.workspace_bytes = flags & 1 ? fuzz_size(in) : 0;
    spec.once = flags & 2;
    spec.reads = take_list(in, reads, &spec.n_reads);
    spec.writes = take_list(in, writes, &spec.n_writes);
    if (flags & 4)
        spec.adds = take_list(in, adds, &spec.n_adds);
    remat_status status = flags & 8 ? remat_problem_add_backward(problem, &spec, &task)
                                    : remat_problem_add_forward(problem, &spec, &task);
    if (status == REMAT_OK) {
        fake_require(task == n_tasks && problem->n_tasks == n_tasks + 1);
    } else {
        fake_require(problem->n_tasks == n_tasks && remat_problem_message(problem)[0]);
    }
}

static void build(fuzz_bytes *in, remat_problem *problem)
{
    uint32_t value;
    while (in->left > 0 && problem->n_tasks < MOST_TASKS) {
        if (fuzz_below(in, 3) > 0)
            add_task(in, problem);
        else if (problem->values.count < MOST_VALUES)
            remat_problem_add_value(problem, fuzz_size(in), fuzz_below(in, 8) == 0, &value);
        fake_require(remat_problem_invariant(problem));
    }
}

static bool is_near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

static void check_schedule(const remat_problem *problem, const remat_schedule *schedule,
                           size_t budget)
{
    remat_schedule_summary summary;
    remat_schedule_summarize(schedule, &summary);
    naive_walk walked = naive_walk_schedule(problem, schedule);
    fake_require(walked.peak_bytes == summary.peak_bytes);
    fake_require(budget == 0 || walked.peak_bytes <= budget);
    fake_require(walked.replays == summary.replays);
    fake_require(is_near(walked.replay_cost, summary.cost.extra));
    fake_require(summary.cost.bound <= summary.cost.extra && summary.cost.gap >= 0.0);
    fuzz_accepted++;
}

static void plan(remat_problem *problem, const remat_schedule_options *options)
{
    remat_schedule *schedule = NULL;
    size_t smallest = 0;
    remat_status status = remat_schedule_create(problem, options, &schedule);
    if (status == REMAT_OK)
        check_schedule(problem, schedule, options->budget_bytes);
    else
        fake_require(!schedule && remat_problem_message(problem)[0]);
    fake_require(status != REMAT_INTERNAL);
    remat_schedule_destroy(schedule);
    if (status != REMAT_INFEASIBLE_BUDGET)
        return;
    fake_require(remat_schedule_min_budget(problem, options, &smallest) == REMAT_OK);
    fake_require(smallest > options->budget_bytes);
}

static void sweep(remat_problem *problem, const remat_schedule_options *options)
{
    remat_plan_point points[8];
    size_t n = 0;
    if (remat_schedule_sweep(problem, options, points, 8, &n) != REMAT_OK)
        return;
    fake_require(n > 0);
    for (size_t i = 1; i < n; i++)
        fake_require(points[i].arena_bytes > points[i - 1].arena_bytes &&
                     points[i].extra_cost < points[i - 1].extra_cost);
}

static void try_problem(fuzz_bytes *in)
{
    remat_schedule_options options = REMAT_SCHEDULE_OPTIONS_INIT;
    remat_problem *problem = NULL;
    options.strategy = (remat_strategy)fuzz_below(in, REMAT_STRATEGY_COUNT);
    options.effort = REMAT_EFFORT_FAST;
    const uint32_t share = fuzz_below(in, 256);
    const bool sweeps = fuzz_below(in, 4) == 3; /* it takes long */
    fake_require(remat_problem_create(NULL, &problem) == REMAT_OK);
    build(in, problem);
    plan(problem, &options);
    options.budget_bytes = problem->total_bytes / 256 * share + share;
    plan(problem, &options);
    if (sweeps)
        sweep(problem, &options);
    remat_problem_destroy(problem);
}

/* ---- Chains ----------------------------------------------------------------------------------*/

typedef struct arrays {
    double uf[MOST_STAGES], ub[MOST_STAGES];
    size_t wa[MOST_STAGES + 1], wd[MOST_STAGES + 1];
    size_t wabar[MOST_STAGES], of[MOST_STAGES], ob[MOST_STAGES];
} arrays;

static void take_arrays(fuzz_bytes *in, arrays *a, uint32_t n)
{
    for (uint32_t i = 0; i <= n; i++) {
        a->wa[i] = fuzz_size(in);
        a->wd[i] = fuzz_size(in);
    }
    for (uint32_t i = 0; i < n; i++) {
        a->uf[i] = fuzz_cost(in);
        a->ub[i] = fuzz_cost(in);
        a->wabar[i] = a->wa[i + 1] + (fuzz_below(in, 64) == 63 ? SIZE_MAX : fuzz_below(in, 64));
        a->of[i] = fuzz_below(in, 16);
        a->ob[i] = fuzz_size(in);
    }
}

static void check_order(const remat_chain *chain, const remat_chain_solution *solution,
                        size_t budget)
{
    const remat_allocator allocator = remat_allocator_default();
    remat_chain_ops ops = {0};
    remat_chain_replayed replayed;
    remat_status status = remat_chain_emit(solution, budget, NULL, &ops);
    if (status == REMAT_OK) {
        fake_require(remat_chain_replay(&allocator, chain, ops.data, ops.count, &replayed));
        fake_require(!replayed.fault && replayed.peak_bytes <= budget);
        fake_require(replayed.cost <= remat_chain_cost(solution, budget) * (1 + 1e-9));
        fuzz_accepted++;
    } else {
        fake_require(status == REMAT_INFEASIBLE_BUDGET && ops.count == 0);
        fake_require(remat_chain_min_budget(solution) > budget);
    }
    remat_chain_ops_release(NULL, &ops);
}

static void try_chain(fuzz_bytes *in)
{
    arrays a;
    remat_chain *chain = NULL;
    remat_chain_solution *solution = NULL;
    remat_chain_fault fault;
    remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
    const uint32_t n = fuzz_below(in, MOST_STAGES + 1), flags = fuzz_below(in, 256);
    take_arrays(in, &a, n);
    const remat_chain_arrays given = {n,
                                      a.uf,
                                      a.ub,
                                      a.wa,
                                      a.wabar,
                                      flags & 1 ? a.wd : NULL,
                                      flags & 2 ? a.of : NULL,
                                      flags & 4 ? a.ob : NULL};
    settings.persistent = flags & 8;
    settings.max_points = flags & 16 ? fuzz_below(in, 8) : 0;
    const size_t budget = fuzz_below(in, 4096);
    if (remat_chain_create(NULL, &given, &chain) != REMAT_OK) {
        fake_require(n == 0 && !chain);
        return;
    }
    remat_status status =
        flags & 32 ? remat_chain_solve(NULL, chain, &settings, &solution, &fault)
                   : remat_chain_solve_for(NULL, chain, &settings, budget, &solution, &fault);
    fake_require((status == REMAT_OK) == (solution != NULL));
    fake_require((status == REMAT_OK) == (fault.text == NULL));
    if (solution)
        check_order(chain, solution, budget);
    remat_chain_solution_destroy(solution);
    remat_chain_destroy(chain);
}

/* ---- Equal steps -----------------------------------------------------------------------------*/

static void try_steps(fuzz_bytes *in)
{
    const bool mixed = fuzz_below(in, 2);
    const uint64_t n = mixed ? fuzz_below(in, 256) : fuzz_size(in) % (REMAT_REVOLVE_MAX_STEPS + 2);
    const uint64_t slots = fuzz_below(in, 300);
    remat_revolve *revolve = NULL;
    remat_mixed *taped = NULL;
    remat_revolve_action action;
    remat_status status = mixed ? remat_mixed_create(NULL, n, slots, &taped)
                                : remat_revolve_create(NULL, n, slots, &revolve);
    fake_require((status == REMAT_OK) == (taped || revolve));
    for (int i = 0; i < MOST_ACTIONS && status == REMAT_OK; i++) {
        if (!(mixed ? remat_mixed_next(taped, &action) : remat_revolve_next(revolve, &action)))
            break;
        fake_require(action.step < n && action.end <= n);
        fake_require(action.slot < slots || slots == 0);
        fuzz_accepted++;
    }
    remat_revolve_destroy(revolve);
    remat_mixed_destroy(taped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes in = {data, size};
    switch (fuzz_below(&in, 8)) {
    case 0:
        try_steps(&in);
        break;
    case 1:
    case 2:
        try_chain(&in);
        break;
    default:
        try_problem(&in);
    }
    return 0;
}
