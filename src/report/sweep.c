/* sweep.c - the memory/time curve as a picture and as a table. */
#include <math.h>

#include "report/chart.h"
#include "report/text.h"

#define NO_PLAN_FILL "#EAEAEA"
#define MOST_POINTS  1500
#define TAME_PERCENT 100.0 /* this much is always shown */
#define STEEP_END    0.1   /* share of the curve's bytes in which it may be cut */

typedef struct sweep {
    const remat_plan_point *points;
    size_t n;
    double step_cost;
    remat_chart chart;
    size_t n_shown; /* evenly thinned; first and last always */
} sweep;

static bool is_cost(double seconds)
{
    return isfinite(seconds) && seconds >= 0.0;
}

static bool is_valid(const remat_plan_point *points, size_t n, double step_cost)
{
    if (!points || n == 0 || !is_cost(step_cost))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_cost(points[i].extra_cost) || !is_cost(points[i].bound) ||
            (i > 0 && points[i].arena_bytes <= points[i - 1].arena_bytes))
            return false;
    return true;
}

static double percent(double seconds, double step_cost)
{
    return step_cost > 0.0 ? 100.0 * seconds / step_cost : 0.0;
}

/* ---- Table -----------------------------------------------------------------------------------*/

remat_status remat_sweep_write_csv(const remat_plan_point *points, size_t n, double step_cost,
                                   FILE *out)
{
    if (!out || !is_valid(points, n, step_cost))
        return REMAT_INVALID_ARGUMENT;
    char extra[32], extra_percent[32], bound[32], bound_percent[32];
    fputs("arena_bytes,extra_seconds,extra_percent,bound_seconds,bound_percent,replays,strategy\n",
          out);
    for (size_t i = 0; i < n; i++) {
        const remat_plan_point *p = &points[i];
        fprintf(out, "%zu,%s,%s,%s,%s,%zu,%s\n", p->arena_bytes,
                remat_number_text(p->extra_cost, extra),
                remat_number_text(percent(p->extra_cost, step_cost), extra_percent),
                remat_number_text(p->bound, bound),
                remat_number_text(percent(p->bound, step_cost), bound_percent), p->replays,
                remat_strategy_name(p->strategy));
    }
    return remat_report_status(out);
}

/* ---- Picture ---------------------------------------------------------------------------------*/

static const remat_plan_point *shown(const sweep *s, size_t k)
{
    return &s->points[s->n_shown > 1 ? k * (s->n - 1) / (s->n_shown - 1) : 0];
}

static int x_of(const sweep *s, size_t k)
{
    return k < s->n_shown ? remat_chart_x(&s->chart, (double)shown(s, k)->arena_bytes)
                          : s->chart.right;
}

static int extra_y(const sweep *s, size_t k)
{
    return remat_chart_y(&s->chart, percent(shown(s, k)->extra_cost, s->step_cost));
}

/* From point k to the next one. A bound at fewer bytes need not hold for more, but a bound at more
 * bytes holds for fewer. */
static int bound_y(const sweep *s, size_t k)
{
    size_t next = k + 1 < s->n_shown ? k + 1 : k;
    return remat_chart_y(&s->chart, percent(shown(s, next)->bound, s->step_cost));
}

/* Between the curve and the bound: where the best possible is. */
static void draw_unknown(const sweep *s)
{
    FILE *out = s->chart.out;
    fprintf(out, "<path fill=\"" REMAT_SKY "\" fill-opacity=\".35\" d=\"M%d %d", x_of(s, 0),
            extra_y(s, 0));
    for (size_t k = 1; k < s->n_shown; k++)
        fprintf(out, "H%dV%d", x_of(s, k), extra_y(s, k));
    fprintf(out, "H%d", s->chart.right);
    for (size_t k = s->n_shown; k-- > 0;)
        fprintf(out, "V%dH%d", bound_y(s, k), x_of(s, k));
    fputs("Z\"/>\n", out);
}

static void draw_steps(const sweep *s, int y_of(const sweep *, size_t), const char *stroke,
                       int width)
{
    fprintf(s->chart.out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%d\" d=\"M%d %d",
            stroke, width, x_of(s, 0), y_of(s, 0));
    for (size_t k = 1; k < s->n_shown; k++)
        fprintf(s->chart.out, "H%dV%d", x_of(s, k), y_of(s, k));
    fprintf(s->chart.out, "H%d\"/>\n", s->chart.right);
}

static void draw_tooltips(const sweep *s)
{
    FILE *out = s->chart.out;
    fputs("<g class=\"hits\" fill=\"none\" pointer-events=\"all\">\n", out);
    for (size_t k = 0; k < s->n_shown; k++) {
        const remat_plan_point *p = shown(s, k);
        char bytes[24];
        double step = s->step_cost + p->bound;
        fprintf(out, "<path d=\"M%d %dH%dV%dH%dZ\"><title>from %s on: %s, %zu replays\n",
                x_of(s, k), REMAT_CHART_TOP, x_of(s, k + 1), REMAT_CHART_BOTTOM, x_of(s, k),
                remat_bytes_text(p->arena_bytes, bytes), remat_strategy_name(p->strategy),
                p->replays);
        fprintf(out,
                "extra time %.2f %%, lower bound %.2f %%\n"
                "at most %.2f %% above the best possible</title></path>\n",
                percent(p->extra_cost, s->step_cost), percent(p->bound, s->step_cost),
                step > 0.0 ? 100.0 * (p->extra_cost - p->bound) / step : 0.0);
    }
    fputs("</g>\n", out);
}

static void write_head(const sweep *s)
{
    const remat_plan_point *first = s->points, *last = &s->points[s->n - 1];
    char title[256], subtitle[256], least[24], most[24], step[24];
    snprintf(title, sizeof title, "Memory and time: %s to %s",
             remat_bytes_text(first->arena_bytes, least),
             remat_bytes_text(last->arena_bytes, most));
    snprintf(subtitle, sizeof subtitle,
             "%zu plans; estimated step without replays %s; the smallest arena adds %.1f %%", s->n,
             remat_seconds_text(s->step_cost, step), percent(first->extra_cost, s->step_cost));
    remat_chart_begin(&s->chart, title, subtitle);
}

/* The steep end of a curve may rise so high that the rest of it would look flat: then it is cut. */
static double height_of(const sweep *s)
{
    double least = (double)s->points[0].arena_bytes;
    double most = (double)s->points[s->n - 1].arena_bytes, worst = 0.0, tame = 0.0;
    for (size_t i = 0; i < s->n; i++) {
        const remat_plan_point *p = &s->points[i];
        double high = percent(fmax(p->extra_cost, p->bound), s->step_cost);
        worst = fmax(worst, high);
        if ((double)p->arena_bytes >= least + STEEP_END * (most - least))
            tame = fmax(tame, high);
    }
    double height = fmin(worst, fmax(tame, TAME_PERCENT));
    return height > 0.0 ? 1.08 * height : 1.0;
}

/* From zero, unless the curve would be squeezed to the right. */
static void set_axes(sweep *s)
{
    double least = (double)s->points[0].arena_bytes;
    double most = (double)s->points[s->n - 1].arena_bytes;
    double reach = most > least ? most - least : 0.1 * most + 1.0;
    s->chart.y =
        (remat_axis){.high = height_of(s), .unit = 1.0, .label = "extra time of a step (%)"};
    s->chart.x = (remat_axis){.low = 2.0 * least > most ? fmax(least - 0.3 * reach, 0.0) : 0.0,
                              .high = most + 0.05 * reach};
}

/* Says how high the curve is where it is cut. */
static void label_cut(const sweep *s)
{
    size_t k = 0;
    double highest = percent(s->points[0].extra_cost, s->step_cost);
    while (k < s->n_shown && percent(shown(s, k)->extra_cost, s->step_cost) > s->chart.y.high)
        k++;
    if (k > 0)
        fprintf(s->chart.out,
                "<text x=\"%d\" y=\"%d\" fill=\"" REMAT_BLUE "\">up to %.0f %%</text>\n",
                x_of(s, k) + 80, REMAT_CHART_TOP + 110, highest);
}

static void draw(sweep *s)
{
    char x_label[64];
    snprintf(x_label, sizeof x_label, "arena (%s)",
             remat_bytes_unit(s->chart.x.high, &s->chart.x.unit));
    s->chart.x.label = x_label;
    write_head(s);
    remat_chart_band(&s->chart, REMAT_CHART_LEFT, x_of(s, 0), NO_PLAN_FILL);
    remat_chart_axes(&s->chart);
    draw_unknown(s);
    draw_steps(s, bound_y, REMAT_VERMILLION, 18);
    draw_steps(s, extra_y, REMAT_BLUE, 26);
    label_cut(s);
    draw_tooltips(s);
    remat_chart_legend(&s->chart, REMAT_BLUE, "plans");
    remat_chart_legend(&s->chart, REMAT_VERMILLION, "lower bound of any schedule");
    remat_chart_legend(&s->chart, "#C5E3F6", "the best possible lies here");
    remat_chart_legend(&s->chart, NO_PLAN_FILL, "no plan found");
    remat_chart_end(&s->chart);
}

remat_status remat_sweep_write_svg(const remat_plan_point *points, size_t n, double step_cost,
                                   FILE *out)
{
    if (!out || !is_valid(points, n, step_cost))
        return REMAT_INVALID_ARGUMENT;
    sweep s = {.points = points,
               .n = n,
               .step_cost = step_cost,
               .chart = {.out = out, .right = REMAT_CHART_RIGHT}};
    s.n_shown = n < MOST_POINTS ? n : MOST_POINTS;
    set_axes(&s);
    draw(&s);
    return remat_report_status(out);
}
