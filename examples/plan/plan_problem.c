/* plan_problem.c - any network from a file, as tasks and values. */
#include "common/file.h"
#include "subject.h"

typedef struct network {
    const options *options;
    remat_problem *problem;
} network;

static remat_schedule_options schedule_options(const network *n, remat_strategy strategy,
                                               size_t budget)
{
    return (remat_schedule_options){.budget_bytes = budget,
                                    .strategy = strategy,
                                    .effort = n->options->effort,
                                    .time_limit_seconds = n->options->time_limit};
}

static remat_status make(void *state, remat_strategy strategy, size_t budget, void **plan,
                         outcome *found)
{
    const network *n = state;
    remat_schedule_options wanted = schedule_options(n, strategy, budget);
    remat_schedule *made = NULL;
    remat_status status = remat_schedule_create(n->problem, &wanted, &made);
    if (status != REMAT_OK)
        return status;
    remat_schedule_summary summary;
    remat_schedule_summarize(made, &summary);
    *found = (outcome){.name = remat_strategy_name(summary.strategy),
                       .peak_bytes = summary.peak_bytes,
                       .replays = summary.replays,
                       .cost = summary.cost};
    *plan = made;
    return REMAT_OK;
}

static void discard(void *plan)
{
    remat_schedule_destroy(plan);
}

static remat_status smallest(void *state, remat_strategy strategy, size_t *budget_bytes)
{
    const network *n = state;
    remat_schedule_options wanted = schedule_options(n, strategy, 0);
    return remat_schedule_min_budget(n->problem, &wanted, budget_bytes);
}

static remat_status sweep(void *state, remat_plan_point *points, size_t capacity, size_t *count)
{
    const network *n = state;
    remat_schedule_options wanted = schedule_options(n, n->options->strategy, 0);
    return remat_schedule_sweep(n->problem, &wanted, points, capacity, count);
}

static const char *message(const void *state)
{
    const network *n = state;
    return remat_problem_message(n->problem);
}

/* ---- Schedule --------------------------------------------------------------------------------*/

typedef struct result {
    const input *input;
    const remat_schedule *schedule;
} result;

/* "run 3 name", "replay 3 name", "drop 5 name" */
static remat_status write_schedule(FILE *out, const void *what)
{
    const result *r = what;
    for (size_t i = 0; i < remat_schedule_length(r->schedule); i++) {
        remat_schedule_action action = remat_schedule_at(r->schedule, i);
        bool drops = action.kind == REMAT_ACTION_DROP;
        const char *name =
            drops ? r->input->value_names[action.id] : r->input->task_names[action.id];
        fprintf(out, "%s %u", drops ? "drop" : action.replay ? "replay" : "run", action.id);
        write_name(out, name);
    }
    return REMAT_OK;
}

bool plan_problem(const options *o, const input *in)
{
    network n = {o, in->problem};
    const subject s = {&n, make, discard, smallest, sweep, message};
    if (!is_quiet(o))
        printf("%s: %zu tasks, %zu values\n", in->description ? in->description : o->input,
               in->n_tasks, in->n_values);
    if (o->sweep)
        return subject_sweep(&s, o);
    void *plan = NULL;
    bool ok = subject_plan(&s, o, &plan);
    const result r = {in, plan};
    ok = ok && (!o->schedule || file_write(o->schedule, write_schedule, &r));
    discard(plan);
    return ok;
}
