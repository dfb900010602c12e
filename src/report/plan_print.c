/* plan_print.c - a plan as a table that a person reads. */
#include <stdio.h>
#include <string.h>

#include "report/labels.h"
#include "report/text.h"

/* One segment's share of the plan. */
typedef struct row {
    size_t statements, kept_bytes, dropped_bytes, replays;
} row;

typedef struct table {
    const remat_plan *plan;
    remat_report_segments segments;
    remat_fates fates;
    row *rows;
    uint32_t *segment_of; /* per forward task */
} table;

/* ---- Figures ---------------------------------------------------------------------------------*/

static void find_segments(table *t)
{
    const remat_problem *p = &t->plan->derivation.problem;
    remat_segment_cursor cursor = {0, 0};
    for (uint32_t i = 0; i < p->n_forward; i++) {
        t->segment_of[i] = remat_segment_advance(&cursor, t->segments.data, t->segments.count,
                                                 p->tasks.data[i].statement);
        t->rows[t->segment_of[i]].statements++;
    }
}

/* What is dropped but only needed to make other values again costs nobody memory. */
static void sum_figures(table *t)
{
    const remat_problem *p = &t->plan->derivation.problem;
    for (uint32_t i = 0; i < p->n_forward; i++) {
        row *r = &t->rows[t->segment_of[i]];
        r->replays += t->fates.replays[i];
        for (uint32_t k = 0; k < remat_task_n_writes(p, i); k++) {
            uint32_t value = remat_task_writes(p, i)[k].value;
            unsigned char fate = t->fates.of_value[value];
            size_t bytes = p->values.data[value].raw_bytes;
            if ((fate & REMAT_FATE_AGAIN) && (fate & REMAT_FATE_WANTED))
                r->dropped_bytes += bytes;
            else if ((fate & REMAT_FATE_KEPT) && !(fate & REMAT_FATE_AGAIN))
                r->kept_bytes += bytes;
        }
    }
}

/* ---- Text ------------------------------------------------------------------------------------*/

static void print_part(FILE *out, const char *what, size_t bytes)
{
    char text[24];
    fprintf(out, "  %-36s %12s\n", what, remat_bytes_text(bytes, text));
}

static void print_head(const remat_plan *plan, FILE *out)
{
    const remat_plan_summary *s = &plan->summary;
    char arena[24], keep_all[24];
    double share =
        s->keep_all_bytes ? 100.0 * (double)s->arena_bytes / (double)s->keep_all_bytes : 100.0;
    double extra = s->step_cost > 0.0 ? 100.0 * s->replay_cost / s->step_cost : 0.0;
    fprintf(out, "plan %s: arena %s (%zu bytes), %.1f %% of keep-all's %s\n",
            remat_strategy_name(s->strategy), remat_bytes_text(s->arena_bytes, arena),
            s->arena_bytes, share, remat_bytes_text(s->keep_all_bytes, keep_all));
    fprintf(out,
            "one step: %zu forward runs, %zu replays, %zu backward runs; "
            "predicted extra cost %.1f %%\n",
            s->forward_runs, s->replays, s->backward_runs, extra);
    if (s->replays > 0)
        fprintf(out, "a step takes at most %.1f %% more than the best possible with these bytes\n",
                100.0 * plan->cost.gap);
    if (plan->n_statements > 0)
        fprintf(out, "peak at statement %zu (%s), in the %s pass:\n", s->peak_statement,
                plan->op_names[s->peak_statement], s->peak_in_backward ? "backward" : "forward");
    print_part(out, "activations, from the first run", s->boundary_bytes);
    print_part(out, "activations, replayed", s->replayed_bytes);
    print_part(out, "gradients", s->gradient_bytes);
    print_part(out, "workspace", s->workspace_bytes);
    print_part(out, "alignment", s->alignment_bytes);
    print_part(out, "packing", s->arena_bytes - s->live_bytes);
}

static const char *segment_name(const table *t, size_t segment)
{
    return remat_report_segment_name(t->plan, &t->segments, segment);
}

static bool is_alike(const table *t, size_t a, size_t b)
{
    return memcmp(&t->rows[a], &t->rows[b], sizeof(row)) == 0 &&
           strcmp(segment_name(t, a), segment_name(t, b)) == 0 &&
           t->segments.data[a].parent == t->segments.data[b].parent;
}

static void print_row(const table *t, FILE *out, size_t first, size_t last)
{
    char label[64], kept[24], dropped[24];
    const char *name = segment_name(t, first);
    if (first == 0)
        snprintf(label, sizeof label, "%s", t->segments.count > 1 ? "outside of segments" : "all");
    else if (first == last)
        snprintf(label, sizeof label, "%zu %s", first, name);
    else
        snprintf(label, sizeof label, "each of %zu - %zu %s", first, last, name);
    const row *r = &t->rows[first];
    fprintf(out, "%-28.28s %10zu %12s %12s %9zu\n", label, r->statements,
            remat_bytes_text(r->kept_bytes, kept), remat_bytes_text(r->dropped_bytes, dropped),
            r->replays);
}

/* Equal neighbours share a line: a thousand equal layers are one row. */
static void print_rows(const table *t, FILE *out)
{
    fprintf(out, "%-28s %10s %12s %12s %9s\n", t->segments.own ? "segment (planned)" : "segment",
            "statements", "kept", "dropped", "replays");
    for (size_t first = 0; first < t->segments.count;) {
        size_t last = first;
        while (first > 0 && last + 1 < t->segments.count && is_alike(t, first, last + 1))
            last++;
        print_row(t, out, first, last);
        first = last + 1;
    }
}

remat_status remat_plan_print(const remat_plan *plan, FILE *out)
{
    if (!plan || !out)
        return REMAT_INVALID_ARGUMENT;
    const remat_problem *p = &plan->derivation.problem;
    const remat_allocator *allocator = &plan->allocator;
    table t = {.plan = plan, .segments = remat_plan_segments(plan)};
    t.rows = remat_memory_allocate(allocator, t.segments.count, sizeof *t.rows);
    t.segment_of = remat_memory_allocate(allocator, p->n_forward, sizeof *t.segment_of);
    bool done = remat_fates_find(plan, &t.fates) && t.rows && t.segment_of;
    if (done) {
        find_segments(&t);
        sum_figures(&t);
        print_head(plan, out);
        print_rows(&t, out);
    }
    remat_fates_release(plan, &t.fates);
    remat_memory_release(allocator, t.rows, t.segments.count, sizeof *t.rows);
    remat_memory_release(allocator, t.segment_of, p->n_forward, sizeof *t.segment_of);
    return done ? remat_report_status(out) : REMAT_OUT_OF_MEMORY;
}
