/* plan_save.c - writes a plan as text; the format is described in remat.h. */
#include <inttypes.h>
#include <stdarg.h>

#include "plan/plan.h"
#include "plan/plan_text.h"

typedef struct writer {
    FILE *out;
    uint64_t checksum;
    char line[REMAT_PLAN_TEXT_LONGEST + 1];
    size_t length;
} writer;

/* Appends to the line; all that is ever appended fits. Integers only: no locale changes them. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
append(writer *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(w->line + w->length, sizeof w->line - w->length, format, arguments);
    va_end(arguments);
    if (n > 0)
        w->length += (size_t)n;
}

static void end_line(writer *w)
{
    append(w, "\n");
    for (size_t i = 0; i < w->length; i++)
        w->checksum = remat_plan_text_add(w->checksum, (unsigned char)w->line[i]);
    fwrite(w->line, 1, w->length, w->out);
    w->length = 0;
}

static void put_number(writer *w, const char *key, uint64_t number)
{
    append(w, "%s %" PRIu64, key, number);
    end_line(w);
}

static void put_hash(writer *w, const char *key, uint64_t hash)
{
    append(w, "%s %016" PRIx64, key, hash);
    end_line(w);
}

static void put_head(writer *w, const remat_plan *plan)
{
    const remat_derivation *d = &plan->derivation;
    put_number(w, "remat-plan", REMAT_PLAN_TEXT_VERSION);
    put_hash(w, "fingerprint", plan->summary.fingerprint);
    if (d->loss == REMAT_NONE) {
        append(w, "loss none");
        end_line(w);
    } else {
        put_number(w, "loss", d->loss);
    }
    put_number(w, "forward_only", plan->forward_only);
    put_number(w, "retain", plan->retain);
    put_number(w, "overwrite_gradients", plan->overwrite_gradients);
    put_hash(w, "problem", remat_problem_fingerprint(&d->problem));
    append(w, "strategy %s", remat_strategy_name(plan->summary.strategy));
    end_line(w);
    put_number(w, "budget", plan->budget_bytes);
    put_number(w, "forward_tasks", d->problem.n_forward);
    put_number(w, "backward_tasks", d->problem.n_tasks - d->problem.n_forward);
    put_number(w, "values", d->problem.values.count);
}

static void put_segments(writer *w, const remat_ranges *ranges)
{
    put_number(w, "segments", ranges->count);
    for (size_t i = 0; i < ranges->count; i++) {
        const remat_segment_range *s = &ranges->data[i];
        append(w, "segment %" PRIu32 " %" PRIu32 " %" PRIu32, s->parent, s->first, s->end);
        end_line(w);
    }
}

/* Actions that follow each other as RUN t, RUN t + 1 .. or DROP v, DROP v + 1 ..; their number. */
static size_t stretch(const remat_actions *schedule, size_t at)
{
    size_t n = 1;
    while (at + n < schedule->count &&
           schedule->data[at + n] == schedule->data[at] + 2 * (remat_action)n)
        n++;
    return n;
}

static void put_actions(writer *w, const remat_actions *schedule)
{
    const size_t widest = sizeof " 4294967295-4294967295" - 1;
    bool drops = false;
    put_number(w, "actions", schedule->count);
    for (size_t at = 0; at < schedule->count;) {
        bool drop = remat_action_is_drop(schedule->data[at]);
        uint32_t id = remat_action_id(schedule->data[at]);
        if (w->length > 0 && (drop != drops || w->length + widest > REMAT_PLAN_TEXT_COLUMNS))
            end_line(w);
        if (w->length == 0)
            append(w, "%s", drop ? "drop" : "run");
        size_t n = stretch(schedule, at);
        if (n > 1)
            append(w, " %" PRIu32 "-%" PRIu32, id, id + (uint32_t)(n - 1));
        else
            append(w, " %" PRIu32, id);
        drops = drop;
        at += n;
    }
    if (w->length > 0)
        end_line(w);
}

remat_status remat_plan_save(const remat_plan *plan, FILE *out)
{
    if (!plan || !out)
        return REMAT_INVALID_ARGUMENT;
    writer w = {.out = out, .checksum = REMAT_PLAN_TEXT_CHECKSUM};
    put_head(&w, plan);
    put_segments(&w, &plan->ranges);
    put_actions(&w, &plan->schedule);
    put_hash(&w, "end", w.checksum);
    return fflush(out) == 0 && !ferror(out) ? REMAT_OK : REMAT_INVALID_ARGUMENT;
}
