/* plan_chain.c - a chain of stages from a file: exact, with the whole curve from one solution. */
#include <stdlib.h>

#include "common/curve.h"
#include "common/fail.h"
#include "subject.h"

/* The time to solve a chain grows with the cube of its different stages. Up to so many, chains are
 * solved exactly; more are solved with bytes rounded up here and there; many, without holes. */
#define EXACT_STAGES 96
#define HOLE_STAGES  384
#define FINE_POINTS  32
#define FAST_POINTS  12

typedef struct chain {
    const options *options;
    const input *input;
    const remat_chain *chain;
    size_t whole; /* bytes that keep-all takes */
} chain;

static remat_chain_settings settings_for(const chain *c, bool persistent)
{
    remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
    const uint32_t n = c->chain->n_stages;
    settings.persistent = persistent;
    if (c->options->effort == REMAT_EFFORT_THOROUGH ||
        (c->options->effort == REMAT_EFFORT_DEFAULT && n <= EXACT_STAGES))
        return settings;
    settings.hole_options = 1;
    settings.persistent = persistent || n > HOLE_STAGES;
    settings.max_points =
        c->options->effort == REMAT_EFFORT_FAST || n > HOLE_STAGES ? FAST_POINTS : FINE_POINTS;
    return settings;
}

/* budget 0: the whole curve. */
static bool solve(const chain *c, bool persistent, size_t budget, remat_chain_solution **solution)
{
    remat_chain_fault fault;
    remat_chain_settings settings = settings_for(c, persistent);
    remat_status status =
        budget > 0 ? remat_chain_solve_for(NULL, c->chain, &settings, budget, solution, &fault)
                   : remat_chain_solve(NULL, c->chain, &settings, solution, &fault);
    if (status == REMAT_OK)
        return true;
    if (fault.text == NULL)
        return fail("%s: %s", c->options->input, remat_status_text(status));
    return fail("%s: stage %u, option %u: %s", c->options->input, fault.index, fault.option,
                fault.text);
}

/* ---- Keep-all --------------------------------------------------------------------------------*/

/* The option that runs a stage once in the least time; of equal ones that with the fewest bytes. */
static const remat_chain_option *cheapest(const remat_chain_stage *stage)
{
    const remat_chain_option *best = stage->options;
    for (uint32_t k = 1; k < stage->n_options; k++) {
        const remat_chain_option *option = &stage->options[k];
        double cost = option->forward_cost + option->backward_cost;
        double least = best->forward_cost + best->backward_cost;
        if (cost < least || (cost == least && option->saved_bytes < best->saved_bytes))
            best = option;
    }
    return best;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Sums of sizes that overflow are refused when the chain is solved. */
static size_t keep_all_bytes(const remat_chain *c)
{
    const uint32_t n = c->n_stages;
    size_t kept = c->activation_bytes[0] + c->gradient_bytes[n], peak = kept;
    for (uint32_t i = 0; i < n; i++) {
        const remat_chain_option *option = cheapest(&c->stages[i]);
        kept += option->saved_bytes;
        peak = larger(peak, kept + option->forward_extra_bytes);
    }
    for (uint32_t i = n; i-- > 0;) {
        const remat_chain_option *option = cheapest(&c->stages[i]);
        peak = larger(peak, kept + c->gradient_bytes[i] + option->backward_extra_bytes);
        kept -= option->saved_bytes + c->gradient_bytes[i + 1];
        kept += c->gradient_bytes[i];
    }
    return peak;
}

/* ---- Orders ----------------------------------------------------------------------------------*/

static size_t count_replays(const remat_chain_ops *ops, uint32_t n_stages)
{
    size_t runs = 0;
    for (size_t i = 0; i < ops->count; i++)
        runs += ops->data[i].kind == REMAT_CHAIN_MOVE || ops->data[i].kind == REMAT_CHAIN_STORE ||
                ops->data[i].kind == REMAT_CHAIN_SAVE;
    return runs - n_stages;
}

/* The least budget with the cost that `budget` buys: what the order may take in truth. */
static size_t least_bytes(const remat_chain_solution *solution, size_t budget)
{
    size_t i = remat_chain_curve_count(solution);
    while (i > 1 && remat_chain_curve(solution, i - 1).budget_bytes > budget)
        i--;
    return remat_chain_curve(solution, i - 1).budget_bytes;
}

static const char *op_name(const remat_chain_op *op)
{
    static const char *const names[] = {[REMAT_CHAIN_MOVE] = "move",
                                        [REMAT_CHAIN_STORE] = "store",
                                        [REMAT_CHAIN_SAVE] = "save",
                                        [REMAT_CHAIN_BACKWARD] = "backward",
                                        [REMAT_CHAIN_DROP] = "drop"};
    return names[op->kind];
}

typedef struct result {
    const input *input;
    const remat_chain_ops *ops;
} result;

/* "store 3 0 name": kind, stage, option, name; "drop 3": of an activation */
static remat_status write_schedule(FILE *out, const void *what)
{
    const result *r = what;
    for (size_t i = 0; i < r->ops->count; i++) {
        const remat_chain_op *op = &r->ops->data[i];
        if (op->kind == REMAT_CHAIN_DROP) {
            fprintf(out, "%s %u\n", op_name(op), op->index);
            continue;
        }
        fprintf(out, "%s %u %u", op_name(op), op->index, op->option);
        write_name(out, r->input->stage_names[op->index]);
    }
    return REMAT_OK;
}

/* ---- Planning --------------------------------------------------------------------------------*/

/* The row of a family; *ops: its order, empty if the budget is too small. */
static bool show_family(const chain *c, const remat_chain_solution *solution, const char *name,
                        double begun, size_t budget, remat_chain_ops *ops)
{
    char why[96];
    outcome found = {.name = name, .no_bound = true};
    remat_status status = remat_chain_emit(solution, budget, NULL, ops);
    found.seconds = seconds_now() - begun;
    if (status != REMAT_OK && status != REMAT_INFEASIBLE_BUDGET)
        return fail("%s", remat_status_text(status));
    if (is_quiet(c->options))
        return true;
    if (status == REMAT_INFEASIBLE_BUDGET) {
        snprintf(why, sizeof why, "needs at least %zu bytes; the budget is %zu",
                 remat_chain_min_budget(solution), budget);
        table_failure(name, why);
        return true;
    }
    found.peak_bytes = least_bytes(solution, budget);
    found.replays = count_replays(ops, c->chain->n_stages);
    found.cost.step = remat_chain_least_cost(solution);
    found.cost.extra = remat_chain_cost(solution, budget) - found.cost.step;
    table_row(&found, c->whole);
    return true;
}

static void print_title(const chain *c)
{
    printf("%s: %u stages\n", c->input->description ? c->input->description : c->options->input,
           c->chain->n_stages);
}

static void show_keep_all(const chain *c, const remat_chain_solution *solution)
{
    const outcome all = {.name = "keep-all",
                         .peak_bytes = c->whole,
                         .no_bound = true,
                         .cost.step = remat_chain_least_cost(solution)};
    if (is_quiet(c->options))
        return;
    print_title(c);
    table_head();
    table_row(&all, c->whole);
}

/* Without a budget: whole, so that nothing is replayed. */
static bool plan_within(const chain *c, size_t budget)
{
    const char *const names[] = {"persistent", "with holes"};
    remat_chain_ops ops = {0};
    size_t smallest = 0;
    bool ok = true, is_shown = false;
    for (int holes = c->options->every_strategy ? 0 : 1; holes < 2 && ok; holes++) {
        const double begun = seconds_now();
        remat_chain_solution *solution = NULL;
        ok = solve(c, !holes, budget, &solution);
        if (ok && !is_shown)
            show_keep_all(c, solution);
        is_shown = true;
        const char *name = names[!settings_for(c, !holes).persistent];
        ok = ok && show_family(c, solution, name, begun, budget, &ops);
        smallest = ok ? remat_chain_min_budget(solution) : 0;
        remat_chain_solution_destroy(solution);
    }
    const result r = {c->input, &ops};
    if (ok && ops.count == 0)
        ok = fail("the smallest budget is %zu bytes; %zu were given", smallest, budget);
    if (ok && !is_quiet(c->options) && !budget_is_given(&c->options->budget))
        table_smallest(smallest, c->whole);
    ok = ok && (!c->options->schedule || file_write(c->options->schedule, write_schedule, &r));
    remat_chain_ops_release(NULL, &ops);
    return ok;
}

/* ---- Curve -----------------------------------------------------------------------------------*/

static bool fill_points(const chain *c, const remat_chain_solution *solution, memory_curve *curve,
                        remat_plan_point *points)
{
    const size_t all = remat_chain_curve_count(solution);
    remat_chain_ops ops = {0};
    curve->n = all < c->options->points ? all : c->options->points;
    remat_status status = REMAT_OK;
    for (size_t k = 0; k < curve->n && status == REMAT_OK; k++) {
        size_t index = curve->n > 1 ? k * (all - 1) / (curve->n - 1) : all - 1;
        remat_chain_breakpoint point = remat_chain_curve(solution, index);
        status = remat_chain_emit(solution, point.budget_bytes, NULL, &ops);
        points[k] = (remat_plan_point){.arena_bytes = point.budget_bytes,
                                       .extra_cost = point.cost - curve->step_cost,
                                       .replays = count_replays(&ops, c->chain->n_stages),
                                       .strategy = REMAT_STRATEGY_BLOCKS};
    }
    remat_chain_ops_release(NULL, &ops);
    return status == REMAT_OK || fail("%s", remat_status_text(status));
}

static bool sweep_chain(const chain *c, const remat_chain_solution *solution)
{
    const options *o = c->options;
    remat_plan_point *points = calloc(o->points, sizeof *points);
    memory_curve curve = {
        .points = points, .step_cost = remat_chain_least_cost(solution), .unbounded = "chain"};
    bool ok = points ? fill_points(c, solution, &curve, points)
                     : fail("not enough memory for %zu points: lower --points", o->points);
    if (ok)
        print_title(c);
    if (ok)
        curve_print(&curve);
    ok = ok && (!o->svg || file_write(o->svg, curve_svg, &curve)) &&
         (!o->csv || file_write(o->csv, curve_csv, &curve));
    free(points);
    return ok;
}

bool plan_chain(const options *o, const input *in)
{
    const chain c = {o, in, in->chain, keep_all_bytes(in->chain)};
    remat_chain_solution *solution = NULL;
    if (o->strategy != REMAT_STRATEGY_AUTO)
        return fail("a chain has strategies of its own: --strategy is auto or all");
    if (!o->sweep)
        return plan_within(&c, budget_is_given(&o->budget) ? budget_bytes(&o->budget, c.whole)
                                                           : c.whole);
    bool ok = solve(&c, false, 0, &solution) && sweep_chain(&c, solution);
    remat_chain_solution_destroy(solution);
    return ok;
}
