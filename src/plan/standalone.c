/* standalone.c - schedules for problems without a tape, through plan.h. */
#include <stdio.h>

#include "plan/choose.h"

struct remat_schedule {
    remat_allocator allocator;
    remat_actions actions;
    REMAT_VECTOR(unsigned char) replays; /* per action */
    remat_schedule_summary summary;
};

static remat_status prepare(remat_problem *problem, const remat_schedule_options *options,
                            remat_choice *choice)
{
    const remat_schedule_options defaults = REMAT_SCHEDULE_OPTIONS_INIT;
    if (!options)
        options = &defaults;
    *choice = (remat_choice){0};
    if ((int)options->strategy < 0 || options->strategy >= REMAT_STRATEGY_COUNT ||
        (int)options->effort < 0 || options->effort > REMAT_EFFORT_THOROUGH ||
        !(options->time_limit_seconds >= 0.0)) {
        snprintf(problem->message, sizeof problem->message,
                 "the options' strategy, effort or time limit is out of range");
        return REMAT_INVALID_ARGUMENT;
    }
    remat_problem_complete(problem);
    choice->problem = problem;
    choice->strategy = options->strategy;
    choice->effort = options->effort;
    choice->time_limit_seconds = options->time_limit_seconds;
    choice->unpacked = true;
    return REMAT_OK;
}

static remat_status report(const remat_choice *choice, remat_problem *problem, remat_status status)
{
    if (status == REMAT_INFEASIBLE_BUDGET)
        snprintf(problem->message, sizeof problem->message,
                 "the smallest budget found is %zu bytes; %zu were given", choice->smallest_bytes,
                 choice->budget_bytes);
    else if (status != REMAT_OK)
        snprintf(problem->message, sizeof problem->message, "%s",
                 choice->fault ? choice->fault : "out of memory");
    return status;
}

static remat_status choose(remat_problem *problem, const remat_schedule_options *options,
                           size_t budget_bytes, remat_choice *choice)
{
    remat_status status = prepare(problem, options, choice);
    choice->budget_bytes = budget_bytes;
    return status == REMAT_OK ? report(choice, problem, remat_choose(choice)) : status;
}

static bool mark_replays(remat_schedule *s, const remat_problem *problem)
{
    unsigned char *ran = remat_memory_allocate(&s->allocator, problem->n_tasks, 1);
    bool done = ran && remat_vector_reserve(&s->allocator, &s->replays, s->actions.count);
    for (size_t i = 0; done && i < s->actions.count; i++) {
        uint32_t id = remat_action_id(s->actions.data[i]);
        bool run = !remat_action_is_drop(s->actions.data[i]);
        s->replays.data[s->replays.count++] = run && ran[id];
        if (run)
            ran[id] = 1;
    }
    remat_memory_release(&s->allocator, ran, problem->n_tasks, 1);
    return done;
}

static bool summarize(remat_schedule *s, const remat_choice *choice)
{
    const remat_simulation *best = &choice->best.simulation;
    s->summary = (remat_schedule_summary){.strategy = choice->best.strategy,
                                          .peak_bytes = best->peak_bytes,
                                          .keep_all_peak_bytes = choice->keep_all_peak,
                                          .replays = best->replays};
    return remat_choice_certify(choice, &s->summary.cost);
}

remat_status remat_schedule_create(remat_problem *problem, const remat_schedule_options *options,
                                   remat_schedule **schedule)
{
    if (!problem || !schedule)
        return REMAT_INVALID_ARGUMENT;
    remat_choice choice;
    remat_status status = choose(problem, options, options ? options->budget_bytes : 0, &choice);
    remat_schedule *made = NULL;
    if (status == REMAT_OK) {
        made = remat_memory_allocate(&problem->allocator, 1, sizeof *made);
        if (made) {
            made->allocator = problem->allocator;
            made->actions = choice.best.schedule;
            choice.best.schedule = (remat_actions){0};
        }
        if (!made || !mark_replays(made, problem) || !summarize(made, &choice)) {
            snprintf(problem->message, sizeof problem->message, "out of memory");
            status = REMAT_OUT_OF_MEMORY;
        }
    }
    remat_candidate_release(&problem->allocator, &choice.best);
    if (status == REMAT_OK)
        *schedule = made;
    else
        remat_schedule_destroy(made);
    return status;
}

void remat_schedule_destroy(remat_schedule *schedule)
{
    if (!schedule)
        return;
    const remat_allocator allocator = schedule->allocator;
    remat_vector_release(&allocator, &schedule->actions);
    remat_vector_release(&allocator, &schedule->replays);
    remat_memory_release(&allocator, schedule, 1, sizeof *schedule);
}

size_t remat_schedule_length(const remat_schedule *schedule)
{
    return schedule ? schedule->actions.count : 0;
}

remat_schedule_action remat_schedule_at(const remat_schedule *schedule, size_t i)
{
    remat_action action = schedule->actions.data[i];
    return (remat_schedule_action){
        .kind = remat_action_is_drop(action) ? REMAT_ACTION_DROP : REMAT_ACTION_RUN,
        .id = remat_action_id(action),
        .replay = schedule->replays.data[i],
    };
}

void remat_schedule_summarize(const remat_schedule *schedule, remat_schedule_summary *summary)
{
    *summary = schedule ? schedule->summary : (remat_schedule_summary){0};
}

remat_status remat_schedule_min_budget(remat_problem *problem,
                                       const remat_schedule_options *options, size_t *budget_bytes)
{
    if (!problem || !budget_bytes)
        return REMAT_INVALID_ARGUMENT;
    remat_choice choice;
    remat_status status = choose(problem, options, 1, &choice); /* nothing fits */
    if (status == REMAT_OK || status == REMAT_INFEASIBLE_BUDGET) {
        *budget_bytes = choice.smallest_bytes;
        status = REMAT_OK;
    }
    remat_candidate_release(&problem->allocator, &choice.best);
    return status;
}

remat_status remat_schedule_sweep(remat_problem *problem, const remat_schedule_options *options,
                                  remat_plan_point *points, size_t capacity, size_t *count)
{
    if (!problem || !points || capacity == 0 || !count)
        return REMAT_INVALID_ARGUMENT;
    remat_choice choice;
    remat_status status = prepare(problem, options, &choice);
    if (status != REMAT_OK)
        return status;
    return report(&choice, problem, remat_choose_curve(&choice, points, capacity, count));
}
