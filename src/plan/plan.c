/* plan.c - the pipeline: problem -> strategies -> schedule -> simulate -> lower -> layout ->
 * cheapest that fits -> check -> plan. */
#include "plan/plan.h"

#include <string.h>

#include "plan/choose.h"
#include "plan/costs.h"

remat_status remat_plan_report_failure(remat_tape *tape, const remat_choice *c, remat_status status)
{
    switch (status) {
    case REMAT_INFEASIBLE_BUDGET:
        return remat_tape_complain(
            tape, status,
            "the smallest arena found needs %.1f MB (%zu bytes); the budget is %.1f MB (%zu "
            "bytes)",
            (double)c->smallest_bytes / 1e6, c->smallest_bytes, (double)c->budget_bytes / 1e6,
            c->budget_bytes);
    case REMAT_INTERNAL:
        return remat_tape_complain(tape, status, "planning: %s: please report this as a bug",
                                   c->fault);
    default:
        return remat_tape_complain(tape, status, "out of memory while planning");
    }
}

/* ---- Assembly --------------------------------------------------------------------------------*/

static bool summarize(remat_plan *plan, const remat_choice *c)
{
    const remat_problem *problem = &plan->derivation.problem;
    const remat_simulation *s = &c->best.simulation;
    remat_breakdown parts = {0};
    if (!remat_schedule_breakdown(problem, &plan->schedule, s->peak_at, &parts))
        return false;
    remat_plan_summary *summary = &plan->summary;
    *summary = (remat_plan_summary){
        .strategy = c->best.strategy,
        .fingerprint = plan->summary.fingerprint,
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
    size_t begun = 0; /* forward tasks; the backward pass begins when all of them have */
    for (size_t i = 0; i <= s->peak_at && i < plan->schedule.count; i++) {
        uint32_t id = remat_action_id(plan->schedule.data[i]);
        if (remat_action_is_drop(plan->schedule.data[i]))
            continue;
        bool first_run = id == begun && id < problem->n_forward; /* these are in order */
        begun += first_run;
        summary->peak_in_backward = begun == problem->n_forward && !first_run;
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

remat_status remat_plan_finish(remat_plan *plan, remat_tape *tape, remat_choice *choice,
                               remat_status status)
{
    if (status != REMAT_OK) {
        remat_candidate_release(&plan->allocator, &choice->best);
        return remat_plan_report_failure(tape, choice, status);
    }
    plan->budget_bytes = choice->budget_bytes;
    plan->schedule = choice->best.schedule;
    plan->buffers = choice->best.buffers;
    plan->bindings = choice->best.bindings;
    plan->ranges = choice->best.ranges;
    if (!summarize(plan, choice) || !remat_choice_certify(choice, &plan->cost) ||
        !copy_labels(plan, tape))
        return remat_plan_report_failure(tape, choice, REMAT_OUT_OF_MEMORY);
    return REMAT_OK;
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

remat_status remat_plan_check_request(remat_tape *tape, remat_var loss,
                                      const remat_exec_options **given, uint32_t *index)
{
    static const remat_exec_options defaults = REMAT_EXEC_OPTIONS_INIT;
    if (!*given)
        *given = &defaults;
    const remat_exec_options *options = *given;
    if (tape->status != REMAT_OK)
        return tape->status;
    if (tape->open_segment != 0)
        return remat_tape_complain(tape, REMAT_OUT_OF_ORDER,
                                   "a segment is open: call remat_segment_end() before planning");
    if ((int)options->strategy < 0 || options->strategy >= REMAT_STRATEGY_COUNT)
        return remat_tape_complain(tape, REMAT_INVALID_ARGUMENT, "options.strategy %d is unknown",
                                   (int)options->strategy);
    if ((int)options->effort < 0 || options->effort > REMAT_EFFORT_THOROUGH ||
        !(options->time_limit_seconds >= 0.0))
        return remat_tape_complain(tape, REMAT_INVALID_ARGUMENT,
                                   "options.effort is unknown, or the time limit is negative");
    if (options->forward_only && options->retain)
        return remat_tape_complain(tape, REMAT_INVALID_ARGUMENT,
                                   "options.retain makes no sense with forward_only: there is no "
                                   "backward pass");
    if (options->allocator && !options->allocator->reallocate)
        return remat_tape_complain(tape, REMAT_INVALID_ARGUMENT,
                                   "options.allocator has no reallocate function");
    if (options->costs && options->costs->fingerprint != remat_tape_fingerprint(tape))
        return remat_tape_complain(tape, REMAT_STALE,
                                   "options.costs are those of another tape, or the tape has "
                                   "changed since: measure again");
    return check_loss(tape, loss, options, index);
}

remat_status remat_plan_begin(remat_tape *tape, remat_var loss, const remat_exec_options **options,
                              remat_plan **plan)
{
    uint32_t index = REMAT_NONE;
    remat_status status = remat_plan_check_request(tape, loss, options, &index);
    if (status != REMAT_OK)
        return status;
    const remat_exec_options *o = *options;
    const remat_allocator *allocator = o->allocator ? o->allocator : &tape->allocator;
    remat_plan *made = remat_memory_allocate(allocator, 1, sizeof *made);
    if (!made)
        return remat_tape_complain(tape, REMAT_OUT_OF_MEMORY, "out of memory while planning");
    made->allocator = *allocator;
    atomic_init(&made->references, 1);
    made->forward_only = o->forward_only;
    made->retain = o->retain;
    made->overwrite_gradients = o->overwrite_gradients;
    made->summary.fingerprint = remat_tape_fingerprint(tape);
    status = remat_derive(tape, index, o, allocator, &made->derivation);
    if (status == REMAT_OK && !remat_problem_invariant(&made->derivation.problem))
        status = remat_tape_complain(tape, REMAT_INTERNAL, "the derived problem is inconsistent");
    if (status != REMAT_OK) {
        plan_release(made);
        return status;
    }
    *plan = made;
    return REMAT_OK;
}

remat_status remat_plan_create(remat_tape *tape, remat_var loss, const remat_exec_options *options,
                               remat_plan **plan)
{
    remat_plan *made = NULL;
    if (!tape || !plan)
        return REMAT_INVALID_ARGUMENT;
    remat_status status = remat_plan_begin(tape, loss, &options, &made);
    if (status != REMAT_OK)
        return status;
    remat_choice choice = {.problem = &made->derivation.problem,
                           .strategy = options->strategy,
                           .effort = options->effort,
                           .time_limit_seconds = options->time_limit_seconds,
                           .budget_bytes = options->budget_bytes};
    status = remat_plan_finish(made, tape, &choice, remat_choose(&choice));
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

void remat_plan_get_cost(const remat_plan *plan, remat_plan_cost *cost)
{
    *cost = plan ? plan->cost : (remat_plan_cost){0};
}
