/* dot.c - a tape and what a plan does with it, as a graph for Graphviz. Statements are tables with
 * a row per result, so that each value has its colour; HTML-like labels need one kind of escaping
 * only. */
#include <string.h>

#include "report/labels.h"
#include "report/text.h"

typedef enum fate { UNUSED, PASSING, KEPT, REPLAYED, N_FATES } fate;

/* Fills are light enough for text; edges have the same hue. */
static const struct {
    const char *fill, *edge, *text;
} fates[N_FATES] = {
    [UNUSED] = {"#FFFFFF", "#BBBBBB", "not computed"},
    [PASSING] = {"#E6E6E6", "#777777", "used and freed within the forward pass"},
    [KEPT] = {"#A6CFEA", "#0072B2", "kept after the forward pass"},
    [REPLAYED] = {"#FAD48A", "#C07F00", "dropped and replayed"},
};

typedef struct drawing {
    const remat_tape *tape;
    const remat_plan *plan;
    FILE *out;
    remat_fates fates;
    remat_report_segments segments;
    uint32_t *makers;     /* per statement: its forward task, REMAT_NONE if it has none */
    unsigned char *drawn; /* per value: leaves */
    uint32_t current, next_segment;
} drawing;

static fate fate_of(const drawing *d, uint32_t value)
{
    const remat_derivation *derivation = &d->plan->derivation;
    uint32_t activation = derivation->activation[derivation->root[value]];
    if (activation == REMAT_NONE)
        return d->tape->values.data[derivation->root[value]].kind == REMAT_VALUE_RESULT ? UNUSED
                                                                                        : KEPT;
    unsigned char bits = d->fates.of_value[activation];
    if (bits & REMAT_FATE_AGAIN)
        return REPLAYED;
    return bits & REMAT_FATE_KEPT ? KEPT : PASSING;
}

static void write_type_and_name(const drawing *d, uint32_t value)
{
    char text[160];
    remat_type type = remat_tape_type(d->tape, value);
    const char *name = remat_tape_value_name(d->tape, value);
    remat_write_xml(d->out, remat_type_text(&type, text, sizeof text));
    if (!name)
        return;
    fputs(" <i>", d->out);
    remat_write_xml(d->out, name);
    fputs("</i>", d->out);
}

/* ---- Nodes and edges -------------------------------------------------------------------------*/

static void draw_leaf(drawing *d, uint32_t value)
{
    static const char *const kinds[] = {
        [REMAT_VALUE_RESULT] = "",
        [REMAT_VALUE_INPUT] = "shape=box style=filled fillcolor=\"#DDDDDD\"",
        [REMAT_VALUE_PARAMETER] = "shape=box style=\"rounded,filled\" fillcolor=\"#CDEBDF\"",
        [REMAT_VALUE_CONSTANT] = "shape=box style=\"dashed\""};
    if (d->drawn[value])
        return;
    d->drawn[value] = 1;
    fprintf(d->out, "v%u [%s fontsize=8 margin=\"0.05,0.02\" height=0.2 label=<", (unsigned)value,
            kinds[d->tape->values.data[value].kind]);
    write_type_and_name(d, value);
    fputs(">]\n", d->out);
}

static void draw_edge(drawing *d, uint32_t value, uint32_t statement)
{
    const remat_value_record *v = &d->tape->values.data[value];
    if (v->kind != REMAT_VALUE_RESULT) {
        fprintf(d->out, "v%u -> s%u [color=\"#AAAAAA\" arrowsize=0.5]\n", (unsigned)value,
                (unsigned)statement);
        return;
    }
    uint32_t first = d->tape->statements.data[v->origin].first_result;
    fprintf(d->out, "s%u:r%u -> s%u [color=\"%s\"]\n", (unsigned)v->origin,
            (unsigned)(value - first), (unsigned)statement, fates[fate_of(d, value)].edge);
}

static void draw_statement(drawing *d, uint32_t index)
{
    remat_statement_view s = remat_tape_statement(d->tape, index);
    uint32_t replays = d->makers[index] == REMAT_NONE ? 0 : d->fates.replays[d->makers[index]];
    fprintf(d->out,
            "s%u [label=<<table border=\"0\" cellborder=\"1\" cellspacing=\"0\" cellpadding=\"3\">"
            "<tr><td bgcolor=\"#FFFFFF\">%u <b>",
            (unsigned)index, (unsigned)index);
    remat_write_xml(d->out, s.op->name);
    fputs(s.op->flags & REMAT_OP_VIEW ? "</b> (view)" : "</b>", d->out);
    if (replays > 0)
        fprintf(d->out, " +%u", (unsigned)replays);
    fputs("</td></tr>", d->out);
    for (size_t k = 0; k < s.n_results; k++) {
        uint32_t value = s.first_result + (uint32_t)k;
        fprintf(d->out, "<tr><td port=\"r%zu\" bgcolor=\"%s\">", k, fates[fate_of(d, value)].fill);
        write_type_and_name(d, value);
        fputs("</td></tr>", d->out);
    }
    fputs("</table>>]\n", d->out);
}

/* ---- Clusters --------------------------------------------------------------------------------*/

static void open_cluster(drawing *d, uint32_t segment)
{
    const char *name = remat_report_segment_name(d->plan, &d->segments, segment);
    fprintf(d->out, "subgraph cluster_%u {\nlabel=<segment %u%s", (unsigned)segment,
            (unsigned)segment, *name ? ": " : "");
    remat_write_xml(d->out, name);
    fputs(">\n", d->out);
    d->current = segment;
}

static void close_clusters(drawing *d, uint32_t statement)
{
    while (d->current != 0 && statement >= d->segments.data[d->current].end) {
        fputs("}\n", d->out);
        d->current = d->segments.data[d->current].parent;
    }
}

static void open_clusters(drawing *d, uint32_t statement)
{
    for (; d->next_segment < d->segments.count; d->next_segment++) {
        const remat_segment_range *s = &d->segments.data[d->next_segment];
        if (s->first > statement)
            return;
        if (s->end > statement)
            open_cluster(d, d->next_segment);
    }
}

/* ---- The graph -------------------------------------------------------------------------------*/

/* Parameters stand with the first statement that reads them, inputs outside of all clusters. */
static void draw_leaves(drawing *d, uint32_t statement, bool parameters)
{
    remat_statement_view s = remat_tape_statement(d->tape, statement);
    for (size_t k = 0; k < s.n_operands; k++) {
        uint8_t kind = d->tape->values.data[s.operands[k]].kind;
        if (kind != REMAT_VALUE_RESULT && (kind != REMAT_VALUE_INPUT) == parameters)
            draw_leaf(d, s.operands[k]);
    }
}

static void draw_legend(const drawing *d)
{
    fputs("subgraph cluster_legend {\nlabel=\"values\"\nlegend [label=<<table border=\"0\" "
          "cellborder=\"1\" cellspacing=\"0\" cellpadding=\"4\">",
          d->out);
    for (int k = N_FATES - 1; k >= 0; k--)
        fprintf(d->out, "<tr><td bgcolor=\"%s\">%s</td></tr>", fates[k].fill, fates[k].text);
    fputs("<tr><td bgcolor=\"#CDEBDF\">parameter</td></tr>"
          "<tr><td bgcolor=\"#FFFFFF\">+n: replayed n times</td></tr></table>>]\n}\n",
          d->out);
}

static void draw(drawing *d)
{
    const remat_plan_summary *summary = &d->plan->summary;
    uint32_t n = (uint32_t)d->tape->statements.count;
    char arena[24];
    fprintf(d->out,
            "digraph tape {\nlabelloc=t\nfontname=\"Helvetica\"\nfontsize=11\nlabel=\"plan %s: "
            "arena %s, %zu "
            "replays\"\ngraph [style=rounded color=\"#999999\" ranksep=0.3 nodesep=0.2]\n"
            "node [shape=plain fontname=\"Helvetica\" fontsize=10]\n"
            "edge [arrowsize=0.6 penwidth=1.4]\n",
            remat_strategy_name(summary->strategy), remat_bytes_text(summary->arena_bytes, arena),
            summary->replays);
    draw_legend(d);
    for (uint32_t i = 0; i < n; i++)
        draw_leaves(d, i, false);
    for (uint32_t i = 0; i < n; i++) {
        close_clusters(d, i);
        open_clusters(d, i);
        draw_leaves(d, i, true);
        draw_statement(d, i);
    }
    close_clusters(d, UINT32_MAX);
    for (uint32_t i = 0; i < n; i++) {
        remat_statement_view s = remat_tape_statement(d->tape, i);
        for (size_t k = 0; k < s.n_operands; k++)
            draw_edge(d, s.operands[k], i);
    }
    fputs("}\n", d->out);
}

static bool prepare(drawing *d)
{
    const remat_problem *p = &d->plan->derivation.problem;
    size_t n = d->tape->statements.count;
    d->segments = remat_plan_segments(d->plan);
    d->next_segment = 1; /* segment 0 is everything */
    d->makers = remat_memory_allocate(&p->allocator, n, sizeof *d->makers);
    d->drawn = remat_memory_allocate(&p->allocator, d->tape->values.count, 1);
    if (!remat_fates_find(d->plan, &d->fates) || !d->makers || !d->drawn)
        return false;
    memset(d->makers, 0xFF, n * sizeof *d->makers);
    for (uint32_t i = 0; i < p->n_forward; i++)
        d->makers[p->tasks.data[i].statement] = i;
    return true;
}

remat_status remat_plan_write_dot(const remat_tape *tape, const remat_plan *plan, FILE *out)
{
    if (!tape || !plan || !out)
        return REMAT_INVALID_ARGUMENT;
    if (remat_tape_fingerprint(tape) != plan->summary.fingerprint)
        return REMAT_STALE;
    drawing d = {.tape = tape, .plan = plan, .out = out};
    bool prepared = prepare(&d);
    if (prepared)
        draw(&d);
    remat_fates_release(plan, &d.fates);
    remat_memory_release(&plan->allocator, d.makers, tape->statements.count, sizeof *d.makers);
    remat_memory_release(&plan->allocator, d.drawn, tape->values.count, 1);
    return prepared ? remat_report_status(out) : REMAT_OUT_OF_MEMORY;
}
