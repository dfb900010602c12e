/* plan_network.c - a built-in network: recorded on a tape, planned, never run. */
#include "common/fail.h"
#include "common/file.h"
#include "subject.h"

typedef struct network {
    const options *options;
    remat_tape *tape;
    remat_var loss;
} network;

static remat_exec_options exec_options(const network *n, remat_strategy strategy, size_t budget)
{
    remat_exec_options wanted = REMAT_EXEC_OPTIONS_INIT;
    wanted.strategy = strategy;
    wanted.budget_bytes = budget;
    wanted.effort = n->options->effort;
    wanted.time_limit_seconds = n->options->time_limit;
    return wanted;
}

static remat_status make(void *state, remat_strategy strategy, size_t budget, void **plan,
                         outcome *found)
{
    const network *n = state;
    remat_exec_options wanted = exec_options(n, strategy, budget);
    remat_plan *made = NULL;
    remat_status status = remat_plan_create(n->tape, n->loss, &wanted, &made);
    if (status != REMAT_OK)
        return status;
    remat_plan_summary summary;
    remat_plan_summarize(made, &summary);
    remat_plan_get_cost(made, &found->cost);
    found->name = remat_strategy_name(summary.strategy);
    found->peak_bytes = summary.arena_bytes;
    found->replays = summary.replays;
    *plan = made;
    return REMAT_OK;
}

static void discard(void *plan)
{
    remat_plan_destroy(plan);
}

static remat_status smallest(void *state, remat_strategy strategy, size_t *budget_bytes)
{
    const network *n = state;
    remat_exec_options wanted = exec_options(n, strategy, 0);
    return remat_plan_min_budget(n->tape, n->loss, &wanted, budget_bytes);
}

static remat_status sweep(void *state, remat_plan_point *points, size_t capacity, size_t *count)
{
    const network *n = state;
    remat_exec_options wanted = exec_options(n, n->options->strategy, 0);
    return remat_plan_sweep(n->tape, n->loss, &wanted, points, capacity, count);
}

static const char *message(const void *state)
{
    const network *n = state;
    return remat_tape_message(n->tape);
}

/* ---- Files -----------------------------------------------------------------------------------*/

/* What the writers below get. */
typedef struct result {
    const remat_tape *tape;
    const remat_plan *plan;
} result;

static remat_status write_schedule(FILE *out, const void *what)
{
    return remat_plan_save(((const result *)what)->plan, out);
}

static remat_status write_svg(FILE *out, const void *what)
{
    return remat_plan_write_timeline_svg(((const result *)what)->plan, out);
}

static remat_status write_csv(FILE *out, const void *what)
{
    return remat_plan_write_timeline_csv(((const result *)what)->plan, out);
}

static remat_status write_dot(FILE *out, const void *what)
{
    const result *r = what;
    return remat_plan_write_dot(r->tape, r->plan, out);
}

static remat_status write_table(FILE *out, const void *what)
{
    return remat_plan_print(((const result *)what)->plan, out);
}

static bool write_wanted(const options *o, const result *r)
{
    return (!o->print_plan || file_write("-", write_table, r)) &&
           (!o->schedule || file_write(o->schedule, write_schedule, r)) &&
           (!o->svg || file_write(o->svg, write_svg, r)) &&
           (!o->csv || file_write(o->csv, write_csv, r)) &&
           (!o->dot || file_write(o->dot, write_dot, r));
}

/* ---- Planning --------------------------------------------------------------------------------*/

static bool plan_recorded(const options *o, network *n)
{
    const subject s = {n, make, discard, smallest, sweep, message};
    if (remat_tape_status(n->tape) != REMAT_OK)
        return fail("%s: lower --layers, --width, --batch or --sequence",
                    remat_tape_message(n->tape));
    if (!is_quiet(o))
        printf("%s: %zu layers of %zu, batch %zu, sequence %zu; %zu statements\n",
               network_name(o->network), o->shape.layers, o->shape.width, o->shape.batch,
               o->shape.sequence, remat_tape_statement_count(n->tape));
    if (o->sweep)
        return subject_sweep(&s, o);
    void *plan = NULL;
    bool ok = subject_plan(&s, o, &plan);
    const result r = {n->tape, plan};
    ok = ok && write_wanted(o, &r);
    discard(plan);
    return ok;
}

bool plan_network(const options *o)
{
    network n = {.options = o};
    if (remat_tape_create(NULL, &n.tape) != REMAT_OK)
        return fail("not enough memory");
    n.loss = network_record(o->network, &o->shape, n.tape);
    bool ok = plan_recorded(o, &n);
    remat_tape_destroy(n.tape);
    return ok;
}
