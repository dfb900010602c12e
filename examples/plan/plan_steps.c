/* plan_steps.c - n equal steps with s slots: closed forms, and the order as a stream. */
#include <inttypes.h>

#include "common/fail.h"
#include "common/file.h"
#include "subject.h"

/* Of the table that finds mixed orders: n^2 s / 2 additions. */
#define MOST_WORK ((uint64_t)1 << 36)

static bool check_steps(const options *o, const input *in)
{
    const uint64_t n = in->steps, s = in->slots < n ? in->slots : n;
    if (budget_is_given(&o->budget) || o->strategy != REMAT_STRATEGY_AUTO || o->every_strategy ||
        o->svg || o->csv)
        return fail("equal steps have slots, and one strategy: leave --budget, --strategy, --svg "
                    "and --csv out");
    if (n < 1 || n > REMAT_REVOLVE_MAX_STEPS)
        return fail("%s: \"equal_steps\" is not from 1 to %" PRIu64, o->input,
                    REMAT_REVOLVE_MAX_STEPS);
    if (n > 1 && s == 0)
        return fail("%s: \"slots\" is 0, but %" PRIu64 " steps need at least one", o->input, n);
    if (in->mixed && (n > REMAT_MIXED_MAX_STEPS || n * n > MOST_WORK / (s + 1)))
        return fail("%s: mixed orders of so many steps take too long to find: n^2 slots may be "
                    "%" PRIu64 " at most",
                    o->input, MOST_WORK);
    return true;
}

/* ---- Schedule --------------------------------------------------------------------------------*/

typedef struct stream {
    remat_revolve *revolve; /* or */
    remat_mixed *mixed;
    uint64_t most;
} stream;

static bool next(const stream *s, remat_revolve_action *action)
{
    return s->mixed ? remat_mixed_next(s->mixed, action) : remat_revolve_next(s->revolve, action);
}

static void write_action(FILE *out, const remat_revolve_action *a)
{
    switch (a->kind) {
    case REMAT_REVOLVE_ADVANCE:
        fprintf(out, "advance %" PRIu64 " %" PRIu64 "\n", a->step, a->end);
        break;
    case REMAT_REVOLVE_STORE:
        fprintf(out, "store %" PRIu64 " %" PRIu32 "\n", a->step, a->slot);
        break;
    case REMAT_REVOLVE_RESTORE:
        fprintf(out, "restore %" PRIu64 " %" PRIu32 "\n", a->step, a->slot);
        break;
    case REMAT_REVOLVE_FREE:
        fprintf(out, "free %" PRIu64 " %" PRIu32 "\n", a->step, a->slot);
        break;
    case REMAT_REVOLVE_ADJOINT:
        fprintf(out, "adjoint %" PRIu64 "\n", a->step);
        break;
    case REMAT_REVOLVE_TAPE:
        fprintf(out, "tape %" PRIu64 " %" PRIu32 "\n", a->step, a->slot);
        break;
    case REMAT_REVOLVE_ADJOINT_TAPED:
        fprintf(out, "adjoint-taped %" PRIu64 " %" PRIu32 "\n", a->step, a->slot);
        break;
    }
}

static remat_status write_schedule(FILE *out, const void *what)
{
    const stream *s = what;
    remat_revolve_action action;
    for (uint64_t i = 0; (s->most == 0 || i < s->most) && !ferror(out) && next(s, &action); i++)
        write_action(out, &action);
    return REMAT_OK;
}

static bool open_stream(const input *in, stream *s)
{
    remat_status status = in->mixed ? remat_mixed_create(NULL, in->steps, in->slots, &s->mixed)
                                    : remat_revolve_create(NULL, in->steps, in->slots, &s->revolve);
    return status == REMAT_OK || fail("%s", remat_status_text(status));
}

/* ---- Numbers ---------------------------------------------------------------------------------*/

/* Forward runs of all steps, taped ones included, as a double: one slot takes more than 2^64. */
static double forward_runs(const stream *s, uint64_t n, uint64_t slots)
{
    uint64_t low = 0, high = 0;
    if (s->mixed)
        return (double)remat_mixed_total_forward(s->mixed);
    remat_revolve_extra_forward(n, slots, &low, &high);
    return (double)n + (double)low + 0x1p64 * (double)high;
}

static void print_row(uint64_t n, uint64_t slots, double runs)
{
    printf("%14" PRIu64 " %22.0f %12.3f\n", slots, runs, runs / (double)n);
}

static void print_head(const input *in, const options *o)
{
    printf("%s: %" PRIu64 " equal steps, %s orders\n", in->description ? in->description : o->input,
           in->steps, in->mixed ? "mixed" : "revolve");
    printf("%14s %22s %12s\n", "slots", "forward runs", "per step");
}

/* Slots 1, 2, 4, ... up to those that save everything. */
static bool sweep_steps(const options *o, const input *in)
{
    input at = *in;
    print_head(in, o);
    for (at.slots = 1;; at.slots = at.slots * 2 < in->steps ? at.slots * 2 : in->steps) {
        stream s = {0};
        if (!check_steps(o, &at) || (in->mixed && !open_stream(&at, &s)))
            return false;
        print_row(in->steps, at.slots, forward_runs(&s, in->steps, at.slots));
        remat_mixed_destroy(s.mixed);
        if (at.slots >= in->steps)
            return true;
    }
}

bool plan_steps(const options *o, const input *in)
{
    stream s = {.most = o->actions};
    if (!check_steps(o, in))
        return false;
    if (o->sweep)
        return sweep_steps(o, in);
    if (!open_stream(in, &s))
        return false;
    if (!is_quiet(o)) {
        print_head(in, o);
        print_row(in->steps, in->slots, forward_runs(&s, in->steps, in->slots));
    }
    bool ok = o->schedule == NULL || file_write(o->schedule, write_schedule, &s);
    remat_revolve_destroy(s.revolve);
    remat_mixed_destroy(s.mixed);
    return ok;
}
