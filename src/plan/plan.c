/* plan.c - the pipeline: problem -> strategies -> schedule -> simulate -> lower -> layout ->
 * cheapest that fits -> check -> plan. */
#include "plan/plan.h"

#include <string.h>

#include "plan/strategy/strategy.h"

/* A strategy's schedule, judged and packed. */
typedef struct candidate {
    remat_strategy strategy;
    bool made;
    remat_schedule schedule;
    remat_buffers buffers;
    remat_bindings bindings;
    remat_ranges ranges;
    remat_simulation simulation;
    size_t arena_bytes;
} candidate;

static void candidate_release(const remat_allocator *allocator, candidate *c)
{
    remat_vector_release(allocator, &c->schedule);
    remat_vector_release(allocator, &c->buffers);
    remat_vector_release(allocator, &c->bindings);
    remat_vector_release(allocator, &c->ranges);
    c->made = false;
}

static remat_status internal_fault(remat_tape *tape, const candidate *c, const char *what)
{
    return remat_tape_complain(tape, REMAT_INTERNAL,
                               "planning with %s: %s (action %zu): please report this as a bug",
                               remat_strategy_name(c->strategy), what, c->simulation.at);
}

static remat_status candidate_make(remat_tape *tape, const remat_problem *problem,
                                   remat_strategy strategy, candidate *c)
{
    const remat_allocator *allocator = &problem->allocator;
    remat_runs runs = {0};
    *c = (candidate){.strategy = strategy};
    bool done = remat_strategy_find(strategy)->order(problem, &runs, &c->ranges) &&
                remat_schedule_complete(problem, &runs, &c->schedule) &&
                remat_schedule_simulate(problem, &c->schedule, &c->simulation);
    remat_vector_release(allocator, &runs);
    if (done && c->simulation.fault)
        return internal_fault(tape, c, c->simulation.fault);
    bool checked = true;
    done = done && remat_lower(problem, &c->schedule, &c->buffers, &c->bindings) &&
           remat_layout(allocator, &c->buffers, c->simulation.peak_bytes, &c->arena_bytes);
    if (done && !remat_layout_check(allocator, &c->buffers, c->arena_bytes, &checked) && checked)
        return internal_fault(tape, c, "buffers overlap");
    if (!done || !checked)
        return remat_tape_complain(tape, REMAT_OUT_OF_MEMORY, "out of memory while planning");
    c->made = true;
    return REMAT_OK;
}

/* ---- Choice ----------------------------------------------------------------------------------*/

/* The best so far, the smallest arena seen, and keep-all as the measure of both. */
typedef struct choice {
    remat_tape *tape;
    const remat_problem *problem;
    size_t budget_bytes;
    candidate best;
    size_t smallest_bytes, keep_all_bytes;
} choice;

static bool is_better(const choice *c, const candidate *other)
{
    if (c->budget_bytes > 0 && other->arena_bytes > c->budget_bytes)
        return false;
    if (!c->best.made)
        return true;
    if (other->simulation.replay_cost != c->best.simulation.replay_cost)
        return other->simulation.replay_cost < c->best.simulation.replay_cost;
    if (other->simulation.replays != c->best.simulation.replays)
        return other->simulation.replays < c->best.simulation.replays;
    return other->arena_bytes < c->best.arena_bytes;
}

static void swap_candidates(candidate *a, candidate *b)
{
    candidate t = *a;
    *a = *b;
    *b = t;
}

static remat_status consider(choice *c, remat_strategy strategy)
{
    candidate made;
    const remat_strategy_row *row = remat_strategy_find(strategy);
    if (row->applies && !row->applies(c->problem))
        return REMAT_OK;
    remat_status status = candidate_make(c->tape, c->problem, strategy, &made);
    if (status == REMAT_OK) {
        if (made.arena_bytes < c->smallest_bytes)
            c->smallest_bytes = made.arena_bytes;
        if (strategy == REMAT_STRATEGY_KEEP_ALL)
            c->keep_all_bytes = made.arena_bytes;
        if (is_better(c, &made))
            swap_candidates(&c->best, &made);
    }
    candidate_release(&c->problem->allocator, &made);
    return status;
}

/* A replaying strategy that was asked for replaces keep-all if it saves memory. */
static remat_status consider_instead(choice *c, remat_strategy strategy)
{
    candidate made;
    const remat_strategy_row *row = remat_strategy_find(strategy);
    if (strategy == REMAT_STRATEGY_KEEP_ALL || (row->applies && !row->applies(c->problem)))
        return REMAT_OK;
    remat_status status = candidate_make(c->tape, c->problem, strategy, &made);
    if (status == REMAT_OK && made.arena_bytes < c->smallest_bytes) {
        c->smallest_bytes = made.arena_bytes;
        swap_candidates(&c->best, &made);
    }
    candidate_release(&c->problem->allocator, &made);
    return status;
}

static remat_status choose(choice *c, remat_strategy strategy)
{
    size_t budget = c->budget_bytes;
    bool any = strategy == REMAT_STRATEGY_AUTO && budget > 0;
    if (!any)
        c->budget_bytes = 0; /* compared below, once the strategy that was asked for is made */
    remat_status status = consider(c, REMAT_STRATEGY_KEEP_ALL);
    for (int s = REMAT_STRATEGY_KEEP_ALL + 1; any && s < REMAT_STRATEGY_COUNT; s++)
        if (status == REMAT_OK && !(c->best.made && c->best.simulation.replays == 0))
            status = consider(c, (remat_strategy)s);
    if (status == REMAT_OK && !any)
        status = consider_instead(c, strategy == REMAT_STRATEGY_AUTO ? REMAT_STRATEGY_SEGMENTS
                                                                     : strategy);
    c->budget_bytes = budget;
    if (status != REMAT_OK)
        return status;
    if (c->best.made && (budget == 0 || c->best.arena_bytes <= budget))
        return REMAT_OK;
    return remat_tape_complain(
        c->tape, REMAT_INFEASIBLE_BUDGET,
        "the smallest arena found needs %.1f MB (%zu bytes); the budget is %.1f MB (%zu bytes)",
        (double)c->smallest_bytes / 1e6, c->smallest_bytes, (double)budget / 1e6, budget);
}

/* ---- Assembly --------------------------------------------------------------------------------*/

static bool summarize(remat_plan *plan, const choice *c, uint64_t fingerprint)
{
    const remat_problem *problem = &plan->derivation.problem;
    const remat_simulation *s = &c->best.simulation;
    remat_breakdown parts = {0};
    if (!remat_schedule_breakdown(problem, &plan->schedule, s->peak_at, &parts))
        return false;
    remat_plan_summary *summary = &plan->summary;
    *summary = (remat_plan_summary){
        .strategy = c->best.strategy,
        .fingerprint = fingerprint,
        .arena_bytes = c->best.arena_bytes,
        .live_bytes = s->peak_bytes,
        .keep_all_bytes = c->keep_all_bytes,
        .boundary_bytes = parts.first_run,
        .replayed_bytes = parts.replayed,
        .gradient_bytes = parts.gradients,
        .workspace_bytes = parts.workspace,
        .alignment_bytes = parts.alignment,
        .forward_runs = s->forward_runs,
        .replays = s->replays,
        .backward_runs = s->backward_runs,
        .step_cost = s->cost,
        .replay_cost = s->replay_cost,
    };
    for (size_t i = 0; i <= s->peak_at && i < plan->schedule.count; i++) {
        uint32_t id = remat_action_id(plan->schedule.data[i]);
        if (remat_action_is_drop(plan->schedule.data[i]))
            continue;
        summary->peak_in_backward |= id >= problem->n_forward;
        summary->peak_statement = problem->tasks.data[id].statement;
    }
    return true;
}

static bool copy_labels(remat_plan *plan, const remat_tape *tape)
{
    const remat_allocator *allocator = &plan->allocator;
    plan->n_statements = tape->statements.count;
    plan->op_names = remat_memory_allocate(allocator, plan->n_statements, sizeof *plan->op_names);
    if (!plan->op_names)
        return false;
    for (size_t i = 0; i < plan->n_statements; i++)
        plan->op_names[i] = tape->statements.data[i].op->name;
    for (uint32_t i = 0; i < tape->segments.count; i++) {
        const char *name = remat_tape_segment_name(tape, i);
        uint32_t offset = name ? (uint32_t)plan->text.count : REMAT_NONE;
        size_t bytes = name ? strlen(name) + 1 : 0;
        if (!remat_vector_reserve(allocator, &plan->text, bytes) ||
            !remat_vector_push(allocator, &plan->segment_names, offset))
            return false;
        if (bytes > 0)
            memcpy(plan->text.data + plan->text.count, name, bytes);
        plan->text.count += bytes;
    }
    return true;
}

static void plan_release(remat_plan *plan)
{
    const remat_allocator allocator = plan->allocator;
    remat_derivation_release(&plan->derivation);
    remat_vector_release(&allocator, &plan->schedule);
    remat_vector_release(&allocator, &plan->buffers);
    remat_vector_release(&allocator, &plan->bindings);
    remat_vector_release(&allocator, &plan->ranges);
    remat_memory_release(&allocator, plan->op_names, plan->n_statements, sizeof *plan->op_names);
    remat_vector_release(&allocator, &plan->text);
    remat_vector_release(&allocator, &plan->segment_names);
    remat_memory_release(&allocator, plan, 1, sizeof *plan);
}

static remat_status build(remat_plan *plan, remat_tape *tape, uint32_t loss,
                          const remat_exec_options *options)
{
    const remat_allocator *allocator = &plan->allocator;
    remat_status status = remat_derive(tape, loss, options, allocator, &plan->derivation);
    if (status != REMAT_OK)
        return status;
    if (!remat_problem_invariant(&plan->derivation.problem))
        return remat_tape_complain(tape, REMAT_INTERNAL, "the derived problem is inconsistent");
    choice c = {.tape = tape,
                .problem = &plan->derivation.problem,
                .budget_bytes = options->budget_bytes,
                .smallest_bytes = SIZE_MAX};
    status = choose(&c, options->strategy);
    if (status == REMAT_OK) {
        plan->schedule = c.best.schedule;
        plan->buffers = c.best.buffers;
        plan->bindings = c.best.bindings;
        plan->ranges = c.best.ranges;
        if (!summarize(plan, &c, remat_tape_fingerprint(tape)) || !copy_labels(plan, tape))
            return remat_tape_complain(tape, REMAT_OUT_OF_MEMORY, "out of memory while planning");
        return REMAT_OK;
    }
    candidate_release(allocator, &c.best);
    return status;
}

/* ---- Checks of the request -------------------------------------------------------------------*/

static remat_status check_loss(remat_tape *tape, remat_var loss, const remat_exec_options *options,
                               uint32_t *index)
{
    *index = REMAT_NONE;
    if (loss.id == 0 && (options->forward_only || tape->seeds.count == 0))
        return remat_tape_complain(tape, REMAT_INVALID_HANDLE,
                                   "the loss is unset and remat_seed_gradient() was not used");
    if (loss.id == 0)
        return REMAT_OK;
    *index = remat_tape_index(tape, loss);
    if (*index == UINT32_MAX)
        return remat_tape_complain(tape, REMAT_INVALID_HANDLE,
                                   "the loss is a handle of another tape or from before "
                                   "remat_tape_clear()");
    const remat_value_record *value = &tape->values.data[*index];
    if (value->kind != REMAT_VALUE_RESULT)
        return remat_tape_complain(tape, REMAT_INVALID_ARGUMENT,
                                   "the loss is a leaf; it must be the result of an operation");
    if (options->forward_only)
        return REMAT_OK;
    if (value->dtype == REMAT_I32)
        return remat_tape_complain(tape, REMAT_DTYPE_MISMATCH,
                                   "the loss is an i32 value, which has no gradient");
    if (remat_shape_count(&tape->shapes.data[value->shape]) != 1 &&
        !(value->flags & REMAT_VALUE_SEEDED)) {
        char text[128];
        remat_type type = remat_tape_type(tape, *index);
        return remat_tape_complain(tape, REMAT_SHAPE_MISMATCH,
                                   "the loss is %s; it needs one element: reduce it with "
                                   "remat_mean(), or give a seed with remat_seed_gradient()",
                                   remat_type_text(&type, text, sizeof text));
    }
    return REMAT_OK;
}

static remat_status check_request(remat_tape *tape, remat_var loss,
                                  const remat_exec_options *options, uint32_t *index)
{
    if (tape->status != REMAT_OK)
        return tape->status;
    if (tape->open_segment != 0)
        return remat_tape_complain(tape, REMAT_OUT_OF_ORDER,
                                   "a segment is open: call remat_segment_end() before planning");
    if ((int)options->strategy < 0 || options->strategy >= REMAT_STRATEGY_COUNT)
        return remat_tape_complain(tape, REMAT_INVALID_ARGUMENT, "options.strategy %d is unknown",
                                   (int)options->strategy);
    if (options->forward_only && options->retain)
        return remat_tape_complain(tape, REMAT_INVALID_ARGUMENT,
                                   "options.retain makes no sense with forward_only: there is no "
                                   "backward pass");
    if (options->allocator && !options->allocator->reallocate)
        return remat_tape_complain(tape, REMAT_INVALID_ARGUMENT,
                                   "options.allocator has no reallocate function");
    return check_loss(tape, loss, options, index);
}

remat_status remat_plan_create(remat_tape *tape, remat_var loss, const remat_exec_options *options,
                               remat_plan **plan)
{
    const remat_exec_options defaults = REMAT_EXEC_OPTIONS_INIT;
    uint32_t index = REMAT_NONE;
    if (!tape || !plan)
        return REMAT_INVALID_ARGUMENT;
    if (!options)
        options = &defaults;
    remat_status status = check_request(tape, loss, options, &index);
    if (status != REMAT_OK)
        return status;
    const remat_allocator *allocator = options->allocator ? options->allocator : &tape->allocator;
    remat_plan *made = remat_memory_allocate(allocator, 1, sizeof *made);
    if (!made)
        return remat_tape_complain(tape, REMAT_OUT_OF_MEMORY, "out of memory while planning");
    made->allocator = *allocator;
    atomic_init(&made->references, 1);
    made->forward_only = options->forward_only;
    made->retain = options->retain;
    made->overwrite_gradients = options->overwrite_gradients;
    status = build(made, tape, index, options);
    if (status != REMAT_OK) {
        plan_release(made);
        return status;
    }
    *plan = made;
    return REMAT_OK;
}

void remat_plan_retain(const remat_plan *plan)
{
    atomic_fetch_add(&((remat_plan *)(uintptr_t)plan)->references, 1);
}

void remat_plan_destroy(remat_plan *plan)
{
    if (plan && atomic_fetch_sub(&plan->references, 1) == 1)
        plan_release(plan);
}

void remat_plan_summarize(const remat_plan *plan, remat_plan_summary *summary)
{
    *summary = plan ? plan->summary : (remat_plan_summary){0};
}
