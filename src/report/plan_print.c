/* plan_print.c - a plan as a table that a person reads. */
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"

/* One segment's share of the plan. */
typedef struct row {
    size_t statements, kept_bytes, dropped_bytes, replays;
} row;

typedef struct table {
    const remat_plan *plan;
    const remat_segment_range *segments;
    size_t n_segments;
    bool own_segments; /* the strategy's, not the user's */
    row *rows;
    uint32_t *segment_of;  /* per forward task */
    unsigned char *held;   /* per value: in memory between forward and backward pass */
    unsigned char *again;  /* per value: made again */
    unsigned char *wanted; /* per value: read by the backward pass itself */
} table;

static const char *bytes_text(size_t bytes, char text[24])
{
    const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double amount = (double)bytes;
    int unit = 0;
    for (; amount >= 1000.0 && unit < 4; unit++)
        amount /= 1000.0;
    snprintf(text, 24, unit == 0 ? "%.0f %s" : "%.2f %s", amount, units[unit]);
    return text;
}

/* ---- Figures ---------------------------------------------------------------------------------*/

static void find_segments(table *t)
{
    const remat_problem *p = &t->plan->derivation.problem;
    remat_segment_cursor cursor = {0, 0};
    for (uint32_t i = 0; i < p->n_forward; i++) {
        t->segment_of[i] =
            remat_segment_advance(&cursor, t->segments, t->n_segments, p->tasks.data[i].statement);
        t->rows[t->segment_of[i]].statements++;
    }
}

static void follow_schedule(table *t, unsigned char *ran)
{
    const remat_problem *p = &t->plan->derivation.problem;
    const remat_schedule *schedule = &t->plan->schedule;
    bool in_forward = true;
    for (size_t i = 0; i < schedule->count; i++) {
        uint32_t id = remat_action_id(schedule->data[i]);
        bool is_drop = remat_action_is_drop(schedule->data[i]);
        in_forward = in_forward && (is_drop || (id < p->n_forward && !ran[id]));
        if (is_drop && in_forward)
            t->held[id] = 0;
        if (is_drop || id >= p->n_forward)
            continue;
        for (uint32_t k = 0; k < remat_task_n_writes(p, id); k++) {
            uint32_t value = remat_task_writes(p, id)[k].value;
            t->held[value] |= in_forward;
            t->again[value] |= ran[id];
        }
        t->rows[t->segment_of[id]].replays += ran[id];
        ran[id] = 1;
    }
}

/* What is dropped but only needed to make other values again costs nobody memory. */
static void sum_bytes(table *t)
{
    const remat_problem *p = &t->plan->derivation.problem;
    for (uint32_t i = p->n_forward; i < p->n_tasks; i++)
        for (uint32_t k = 0; k < remat_task_n_reads(p, i); k++)
            t->wanted[remat_task_reads(p, i)[k]] = 1;
    for (uint32_t i = 0; i < p->n_forward; i++)
        for (uint32_t k = 0; k < remat_task_n_writes(p, i); k++) {
            uint32_t value = remat_task_writes(p, i)[k].value;
            row *r = &t->rows[t->segment_of[i]];
            size_t bytes = p->values.data[value].raw_bytes;
            if (t->again[value] && t->wanted[value])
                r->dropped_bytes += bytes;
            else if (t->held[value] && !t->again[value])
                r->kept_bytes += bytes;
        }
}

/* ---- Text ------------------------------------------------------------------------------------*/

static void print_part(FILE *out, const char *what, size_t bytes)
{
    char text[24];
    fprintf(out, "  %-36s %12s\n", what, bytes_text(bytes, text));
}

static void print_head(const remat_plan *plan, FILE *out)
{
    const remat_plan_summary *s = &plan->summary;
    char arena[24], keep_all[24];
    double share =
        s->keep_all_bytes ? 100.0 * (double)s->arena_bytes / (double)s->keep_all_bytes : 100.0;
    double extra = s->step_cost > 0.0 ? 100.0 * s->replay_cost / s->step_cost : 0.0;
    fprintf(out, "plan %s: arena %s (%zu bytes), %.1f %% of keep-all's %s\n",
            remat_strategy_name(s->strategy), bytes_text(s->arena_bytes, arena), s->arena_bytes,
            share, bytes_text(s->keep_all_bytes, keep_all));
    fprintf(out,
            "one step: %zu forward runs, %zu replays, %zu backward runs; "
            "predicted extra cost %.1f %%\n",
            s->forward_runs, s->replays, s->backward_runs, extra);
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
    uint32_t name = t->own_segments ? REMAT_NONE : t->plan->segment_names.data[segment];
    return name == REMAT_NONE ? "" : t->plan->text.data + name;
}

static bool is_alike(const table *t, size_t a, size_t b)
{
    return memcmp(&t->rows[a], &t->rows[b], sizeof(row)) == 0 &&
           strcmp(segment_name(t, a), segment_name(t, b)) == 0 &&
           t->segments[a].parent == t->segments[b].parent;
}

static void print_row(const table *t, FILE *out, size_t first, size_t last)
{
    char label[64], kept[24], dropped[24];
    const char *name = segment_name(t, first);
    if (first == 0)
        snprintf(label, sizeof label, "%s", t->n_segments > 1 ? "outside of segments" : "all");
    else if (first == last)
        snprintf(label, sizeof label, "%zu %s", first, name);
    else
        snprintf(label, sizeof label, "each of %zu - %zu %s", first, last, name);
    const row *r = &t->rows[first];
    fprintf(out, "%-28.28s %10zu %12s %12s %9zu\n", label, r->statements,
            bytes_text(r->kept_bytes, kept), bytes_text(r->dropped_bytes, dropped), r->replays);
}

/* Equal neighbours share a line: a thousand equal layers are one row. */
static void print_rows(const table *t, FILE *out)
{
    fprintf(out, "%-28s %10s %12s %12s %9s\n", t->own_segments ? "segment (planned)" : "segment",
            "statements", "kept", "dropped", "replays");
    for (size_t first = 0; first < t->n_segments;) {
        size_t last = first;
        while (first > 0 && last + 1 < t->n_segments && is_alike(t, first, last + 1))
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
    bool own = plan->ranges.count > 0;
    table t = {.plan = plan,
               .segments = own ? plan->ranges.data : p->segments.data,
               .n_segments = own ? plan->ranges.count : p->segments.count,
               .own_segments = own};
    t.rows = remat_memory_allocate(allocator, t.n_segments, sizeof *t.rows);
    t.segment_of = remat_memory_allocate(allocator, p->n_forward, sizeof *t.segment_of);
    t.held = remat_memory_allocate(allocator, p->values.count, 1);
    t.again = remat_memory_allocate(allocator, p->values.count, 1);
    t.wanted = remat_memory_allocate(allocator, p->values.count, 1);
    unsigned char *ran = remat_memory_allocate(allocator, p->n_tasks, 1);
    bool done = t.rows && t.segment_of && t.held && t.again && t.wanted && ran;
    if (done) {
        find_segments(&t);
        follow_schedule(&t, ran);
        sum_bytes(&t);
        print_head(plan, out);
        print_rows(&t, out);
    }
    remat_memory_release(allocator, t.rows, t.n_segments, sizeof *t.rows);
    remat_memory_release(allocator, t.segment_of, p->n_forward, sizeof *t.segment_of);
    remat_memory_release(allocator, t.held, p->values.count, 1);
    remat_memory_release(allocator, t.again, p->values.count, 1);
    remat_memory_release(allocator, t.wanted, p->values.count, 1);
    remat_memory_release(allocator, ran, p->n_tasks, 1);
    if (!done)
        return REMAT_OUT_OF_MEMORY;
    return ferror(out) ? REMAT_INVALID_ARGUMENT : REMAT_OK;
}
