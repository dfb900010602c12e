/* timeline_svg.c - what memory holds over a step, stacked by kind, as a picture. */
#include "report/chart.h"
#include "report/labels.h"
#include "report/text.h"

#define MOST_COLUMNS   1500
#define BUDGET_IN_VIEW 1.4 /* a budget above so many times the arena would flatten the picture */

/* Neighbouring task runs that share a place in the picture: it shows the one with most bytes. */
typedef struct column {
    size_t first, end; /* runs */
    size_t highest;    /* run */
    uint32_t task;     /* of that run */
    remat_phase phase;
    remat_breakdown bytes;
    size_t runs_of[REMAT_PHASE_COUNT];
    double seconds; /* of all of them */
} column;

typedef struct timeline {
    const remat_plan *plan;
    remat_chart chart;
    size_t n_runs, n_columns;
    column *columns;
} timeline;

/* From the bottom of the stack. */
typedef enum layer { FIRST_RUN, REPLAYED, GRADIENTS, WORKSPACE, ALIGNMENT, N_LAYERS } layer;

static const struct {
    const char *fill, *text;
} layers[N_LAYERS] = {{REMAT_BLUE, "activations, first run"},
                      {REMAT_ORANGE, "activations, replayed"},
                      {REMAT_GREEN, "gradients"},
                      {REMAT_PURPLE, "workspace"},
                      {REMAT_GREY, "alignment"}};

static const struct {
    const char *fill, *text;
} phases[REMAT_PHASE_COUNT] = {
    {"#E9F2F9", "forward"}, {"#FBE7C0", "replay"}, {"#EEEEEE", "backward"}};

static size_t layer_bytes(const remat_breakdown *b, layer k)
{
    const size_t bytes[N_LAYERS] = {b->first_run, b->replayed, b->gradients, b->workspace,
                                    b->alignment};
    return bytes[k];
}

/* ---- Columns ---------------------------------------------------------------------------------*/

static void add_run(column *c, const remat_walk *walk, size_t run)
{
    if (c->end == 0 || remat_breakdown_total(&walk->bytes) > remat_breakdown_total(&c->bytes)) {
        c->first = c->end == 0 ? run : c->first;
        c->highest = run;
        c->task = walk->task;
        c->phase = walk->phase;
        c->bytes = walk->bytes;
    }
    c->end = run + 1;
    c->runs_of[walk->phase]++;
    c->seconds += walk->problem->tasks.data[walk->task].cost;
}

static bool fill_columns(timeline *t)
{
    remat_walk walk;
    bool opened = remat_walk_open(&walk, &t->plan->derivation.problem, &t->plan->schedule);
    for (size_t run = 0; opened && remat_walk_next(&walk); run++)
        add_run(&t->columns[run * t->n_columns / t->n_runs], &walk, run);
    remat_walk_close(&walk);
    return opened;
}

static remat_phase most_frequent_phase(const column *c)
{
    remat_phase most = REMAT_PHASE_FORWARD;
    for (int k = 1; k < REMAT_PHASE_COUNT; k++)
        if (c->runs_of[k] > c->runs_of[most])
            most = (remat_phase)k;
    return most;
}

/* ---- Drawing ---------------------------------------------------------------------------------*/

static int left_of(const timeline *t, size_t index)
{
    return remat_chart_x(&t->chart, index < t->n_columns ? (double)t->columns[index].first
                                                         : (double)t->n_runs);
}

static void draw_phases(const timeline *t)
{
    for (size_t first = 0, end; first < t->n_columns; first = end) {
        remat_phase phase = most_frequent_phase(&t->columns[first]);
        for (end = first + 1; end < t->n_columns; end++)
            if (most_frequent_phase(&t->columns[end]) != phase)
                break;
        remat_chart_band(&t->chart, left_of(t, first), left_of(t, end), phases[phase].fill);
    }
}

/* Height of the stack's lowest n layers. */
static int stack_y(const timeline *t, size_t index, int n)
{
    size_t bytes = 0;
    for (int k = 0; k < n; k++)
        bytes += layer_bytes(&t->columns[index].bytes, (layer)k);
    return remat_chart_y(&t->chart, (double)bytes);
}

/* Along the top of the layer to the right, then along its bottom back to the left. */
static void draw_layer(const timeline *t, layer k)
{
    FILE *out = t->chart.out;
    int y = -1;
    fprintf(out, "<path fill=\"%s\" d=\"M%d %d", layers[k].fill, REMAT_CHART_LEFT,
            stack_y(t, 0, (int)k));
    for (size_t i = 0; i < t->n_columns; i++) {
        int next = stack_y(t, i, (int)k + 1);
        if (next != y)
            fprintf(out, "H%dV%d", left_of(t, i), next);
        y = next;
    }
    fprintf(out, "H%d", t->chart.right);
    for (size_t i = t->n_columns; i-- > 0;) {
        int next = stack_y(t, i, (int)k);
        if (next != y)
            fprintf(out, "H%dV%d", left_of(t, i + 1), next);
        y = next;
    }
    fprintf(out, "H%dZ\"/>\n", REMAT_CHART_LEFT);
}

static void write_tooltip(const timeline *t, const column *c)
{
    FILE *out = t->chart.out;
    char total[24], part[24], seconds[24];
    const remat_task *task = &t->plan->derivation.problem.tasks.data[c->task];
    remat_write_xml(out, remat_task_name(t->plan, c->task));
    fprintf(out, ", statement %u, %s\n", (unsigned)task->statement, remat_phase_name(c->phase));
    if (c->end - c->first > 1)
        fprintf(out, "highest of runs %zu - %zu", c->first, c->end - 1);
    else
        fprintf(out, "run %zu", c->first);
    fprintf(out, " of %zu, estimated %s\n%s in use", t->n_runs,
            remat_seconds_text(c->seconds, seconds),
            remat_bytes_text(remat_breakdown_total(&c->bytes), total));
    for (int k = 0; k < N_LAYERS; k++) {
        size_t bytes = layer_bytes(&c->bytes, (layer)k);
        if (bytes > 0)
            fprintf(out, "\n%s: %s", layers[k].text, remat_bytes_text(bytes, part));
    }
}

static void draw_tooltips(const timeline *t)
{
    FILE *out = t->chart.out;
    fputs("<g class=\"hits\" fill=\"none\" pointer-events=\"all\">\n", out);
    for (size_t i = 0; i < t->n_columns; i++) {
        int x = left_of(t, i);
        fprintf(out, "<path d=\"M%d %dH%dV%dH%dZ\"><title>", x, REMAT_CHART_TOP, left_of(t, i + 1),
                REMAT_CHART_BOTTOM, x);
        write_tooltip(t, &t->columns[i]);
        fputs("</title></path>\n", out);
    }
    fputs("</g>\n", out);
}

static void label_line(const timeline *t, int y, const char *fill, const char *what, size_t bytes)
{
    char amount[24], text[64];
    snprintf(text, sizeof text, "%s %s", what, remat_bytes_text(bytes, amount));
    remat_chart_side_text(&t->chart, y, fill, text);
}

/* The labels keep a distance even if the lines do not. */
static void draw_limits(const timeline *t)
{
    size_t arena = t->plan->summary.arena_bytes, budget = t->plan->budget_bytes;
    bool visible = budget > 0 && (double)budget <= t->chart.y.high;
    int arena_y = remat_chart_y(&t->chart, (double)arena);
    int budget_y = remat_chart_y(&t->chart, (double)budget);
    int apart = visible && arena_y - budget_y < 160 ? (160 - (arena_y - budget_y) + 1) / 2 : 0;
    remat_chart_line(&t->chart, (double)arena, REMAT_INK, NULL);
    label_line(t, arena_y + apart, REMAT_INK, "arena", arena);
    if (!visible)
        return;
    remat_chart_line(&t->chart, (double)budget, REMAT_VERMILLION, "80 50");
    label_line(t, budget_y - apart, REMAT_VERMILLION, "budget", budget);
}

/* Only what the picture shows. */
static void draw_legend(timeline *t)
{
    size_t most_of[N_LAYERS] = {0}, runs_of[REMAT_PHASE_COUNT] = {0};
    for (size_t i = 0; i < t->n_columns; i++) {
        for (int k = 0; k < N_LAYERS; k++) {
            size_t bytes = layer_bytes(&t->columns[i].bytes, (layer)k);
            most_of[k] = bytes > most_of[k] ? bytes : most_of[k];
        }
        for (int k = 0; k < REMAT_PHASE_COUNT; k++)
            runs_of[k] += t->columns[i].runs_of[k];
    }
    for (int k = 0; k < N_LAYERS; k++)
        if ((double)most_of[k] > 0.002 * t->chart.y.high)
            remat_chart_legend(&t->chart, layers[k].fill, layers[k].text);
    remat_chart_legend_row(&t->chart);
    for (int k = 0; k < REMAT_PHASE_COUNT; k++)
        if (runs_of[k] > 0)
            remat_chart_legend(&t->chart, phases[k].fill, phases[k].text);
}

/* A triangle on top of the highest column. */
static void mark_peak(const timeline *t)
{
    size_t peak = 0, most = 0;
    for (size_t i = 0; i < t->n_columns; i++) {
        size_t bytes = remat_breakdown_total(&t->columns[i].bytes);
        peak = bytes > most ? i : peak;
        most = bytes > most ? bytes : most;
    }
    fprintf(t->chart.out, "<path d=\"M%d %dl-45 -90h90z\" fill=\"" REMAT_INK "\"/>\n",
            (left_of(t, peak) + left_of(t, peak + 1)) / 2, stack_y(t, peak, N_LAYERS));
}

/* ---- Text ------------------------------------------------------------------------------------*/

static void write_title(const remat_plan *plan, char *text, size_t bytes)
{
    const remat_plan_summary *s = &plan->summary;
    char arena[24], keep_all[24], budget[24];
    double share = s->keep_all_bytes ? (double)s->arena_bytes / (double)s->keep_all_bytes : 1.0;
    int used = snprintf(text, bytes, "Plan %s: arena %s, %.1f %% of keep-all's %s",
                        remat_strategy_name(s->strategy), remat_bytes_text(s->arena_bytes, arena),
                        100.0 * share, remat_bytes_text(s->keep_all_bytes, keep_all));
    if (plan->budget_bytes > 0)
        snprintf(text + used, bytes - (size_t)used, ", budget %s",
                 remat_bytes_text(plan->budget_bytes, budget));
}

static void write_subtitle(const remat_plan *plan, char *text, size_t bytes)
{
    const remat_plan_summary *s = &plan->summary;
    char step[24], peak[24];
    int used = snprintf(text, bytes, "peak %s", remat_bytes_text(s->live_bytes, peak));
    if (plan->n_statements > 0)
        used += snprintf(text + used, bytes - (size_t)used, " at statement %zu (%.24s), %s",
                         s->peak_statement, plan->op_names[s->peak_statement],
                         s->peak_in_backward ? "backward" : "forward");
    used += snprintf(text + used, bytes - (size_t)used, "; estimated %s",
                     remat_seconds_text(s->step_cost, step));
    if (s->replays > 0 && s->step_cost > 0.0)
        snprintf(text + used, bytes - (size_t)used,
                 ", replays add %.1f %%, at most %.1f %% above the best",
                 100.0 * s->replay_cost / s->step_cost, 100.0 * plan->cost.gap);
}

static void write_head(const timeline *t)
{
    char title[256], subtitle[512];
    write_title(t->plan, title, sizeof title);
    write_subtitle(t->plan, subtitle, sizeof subtitle);
    remat_chart_begin(&t->chart, title, subtitle);
}

static void write_axes(timeline *t)
{
    const remat_plan_summary *s = &t->plan->summary;
    char x_label[128], y_label[64];
    const char *unit = remat_bytes_unit(t->chart.y.high, &t->chart.y.unit);
    snprintf(x_label, sizeof x_label,
             "task runs in the order of a step: %zu forward, %zu replays, %zu backward",
             s->forward_runs, s->replays, s->backward_runs);
    snprintf(y_label, sizeof y_label, "memory in use (%s)", unit);
    t->chart.x.label = x_label;
    t->chart.y.label = y_label;
    remat_chart_axes(&t->chart);
}

static void draw(timeline *t)
{
    write_head(t);
    draw_phases(t);
    for (int k = 0; k < N_LAYERS && t->n_columns > 0; k++)
        draw_layer(t, (layer)k);
    write_axes(t);
    draw_limits(t);
    if (t->n_columns > 0)
        mark_peak(t);
    draw_tooltips(t);
    draw_legend(t);
    remat_chart_end(&t->chart);
}

remat_status remat_plan_write_timeline_svg(const remat_plan *plan, FILE *out)
{
    if (!plan || !out)
        return REMAT_INVALID_ARGUMENT;
    const remat_plan_summary *s = &plan->summary;
    timeline t = {.plan = plan, .chart = {.out = out, .right = REMAT_CHART_RIGHT_NARROW}};
    t.n_runs = s->forward_runs + s->replays + s->backward_runs;
    t.n_columns = t.n_runs < MOST_COLUMNS ? t.n_runs : MOST_COLUMNS;
    double arena = (double)s->arena_bytes, budget = (double)plan->budget_bytes;
    bool in_view = budget > arena && budget <= BUDGET_IN_VIEW * arena;
    t.chart.y = (remat_axis){.high = 1.06 * (in_view ? budget : arena), .unit = 1.0};
    t.chart.x = (remat_axis){.high = (double)t.n_runs, .unit = 1.0};
    t.columns = remat_memory_allocate(&plan->allocator, t.n_columns, sizeof *t.columns);
    bool done = t.columns && fill_columns(&t);
    if (done)
        draw(&t);
    remat_memory_release(&plan->allocator, t.columns, t.n_columns, sizeof *t.columns);
    return done ? remat_report_status(out) : REMAT_OUT_OF_MEMORY;
}
