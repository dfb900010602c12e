/* subject.c - see subject.h. */
#include "subject.h"

#include <stdlib.h>
#include <string.h>

#include "common/curve.h"
#include "common/fail.h"

bool is_quiet(const options *o)
{
    return o->schedule != NULL && strcmp(o->schedule, "-") == 0;
}

void write_name(FILE *out, const char *name)
{
    if (name != NULL)
        fputc(' ', out);
    for (; name != NULL && *name != '\0'; name++)
        fputc((unsigned char)*name < ' ' || *name == 0x7f ? ' ' : *name, out);
    fputc('\n', out);
}

static bool explain(const subject *s, remat_status status)
{
    const char *message = s->message(s->state);
    return fail("%s", *message ? message : remat_status_text(status));
}

static remat_status make_timed(const subject *s, remat_strategy strategy, size_t budget_bytes,
                               void **plan, outcome *found)
{
    double begun = seconds_now();
    remat_status status = s->make(s->state, strategy, budget_bytes, plan, found);
    found->seconds = seconds_now() - begun;
    return status;
}

/* A comparison in progress. */
typedef struct contest {
    const subject *subject;
    bool quiet, all;
    size_t whole, budget;
    void *best; /* the cheapest plan so far, or NULL */
    double least;
} contest;

/* Lets a strategy compete; a budget that is too small for it is no error. */
static remat_status compete(contest *c, remat_strategy strategy)
{
    void *plan = NULL;
    outcome found = {0};
    remat_status status = make_timed(c->subject, strategy, c->budget, &plan, &found);
    if (status != REMAT_OK) {
        if (status == REMAT_INFEASIBLE_BUDGET && c->all && !c->quiet)
            table_failure(remat_strategy_name(strategy), c->subject->message(c->subject->state));
        return status;
    }
    if (!c->quiet && (c->all || found.replays > 0)) /* else it is keep-all, and shown */
        table_row(&found, c->whole);
    if (c->best == NULL || found.cost.extra < c->least) {
        c->subject->discard(c->best);
        c->best = plan;
        c->least = found.cost.extra;
    } else {
        c->subject->discard(plan);
    }
    return REMAT_OK;
}

static bool compete_all(contest *c, const options *o)
{
    remat_strategy first = o->every_strategy ? REMAT_STRATEGY_KEEP_ALL + 1 : o->strategy;
    remat_strategy last = o->every_strategy ? REMAT_STRATEGY_COUNT - 1 : o->strategy;
    remat_status status = REMAT_OK;
    for (int k = (int)first; k <= (int)last; k++) {
        status = compete(c, (remat_strategy)k);
        if (status != REMAT_OK && status != REMAT_INFEASIBLE_BUDGET)
            return explain(c->subject, status);
    }
    if (c->best == NULL && o->every_strategy)
        return fail("no strategy fits the budget of %zu bytes", c->budget);
    return c->best != NULL || explain(c->subject, status);
}

/* What keep-all takes is the measure of everything. */
static bool measure(contest *c, const options *o)
{
    void *plan = NULL;
    outcome all = {0};
    remat_status status = make_timed(c->subject, REMAT_STRATEGY_KEEP_ALL, 0, &plan, &all);
    if (status != REMAT_OK)
        return explain(c->subject, status);
    c->whole = all.peak_bytes;
    c->budget = budget_bytes(&o->budget, c->whole);
    c->subject->discard(plan);
    if (!c->quiet) {
        table_head();
        table_row(&all, c->whole);
    }
    return true;
}

bool subject_plan(const subject *s, const options *o, void **plan)
{
    contest c = {.subject = s, .quiet = is_quiet(o), .all = o->every_strategy};
    size_t smallest;
    if (!measure(&c, o) || !compete_all(&c, o))
        return false;
    *plan = c.best;
    remat_strategy strategy = o->every_strategy ? REMAT_STRATEGY_AUTO : o->strategy;
    if (!c.quiet && !budget_is_given(&o->budget) &&
        s->smallest(s->state, strategy, &smallest) == REMAT_OK)
        table_smallest(smallest, c.whole);
    return true;
}

static bool show_curve(const options *o, const memory_curve *c)
{
    curve_print(c);
    return (o->svg == NULL || file_write(o->svg, curve_svg, c)) &&
           (o->csv == NULL || file_write(o->csv, curve_csv, c));
}

bool subject_sweep(const subject *s, const options *o)
{
    void *plan = NULL;
    outcome all = {0};
    remat_plan_point *points = calloc(o->points, sizeof *points);
    if (points == NULL)
        return fail("not enough memory for %zu points: lower --points", o->points);
    memory_curve c = {.points = points};
    remat_status status = s->make(s->state, REMAT_STRATEGY_KEEP_ALL, 0, &plan, &all);
    s->discard(plan);
    c.step_cost = all.cost.step;
    if (status == REMAT_OK)
        status = s->sweep(s->state, points, o->points, &c.n);
    bool ok = status == REMAT_OK ? show_curve(o, &c) : explain(s, status);
    free(points);
    return ok;
}
