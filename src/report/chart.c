/* chart.c - the frame of a diagram as SVG: title, axes, marks and legend. */
#include "report/chart.h"

#include <math.h>
#include <string.h>

#include "report/text.h"

#define SHADES_OF_GRID "#DDDDDD"

void remat_chart_begin(const remat_chart *chart, const char *title, const char *subtitle)
{
    fprintf(chart->out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" "
            "font-size=\"125\" fill=\"" REMAT_INK "\">\n"
            "<style>.hits *:hover{fill:#000;fill-opacity:.12}</style>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#FFFFFF\"/>\n<text x=\"%d\" y=\"260\" "
            "font-size=\"165\" font-weight=\"bold\">",
            REMAT_CHART_WIDTH / 10, REMAT_CHART_HEIGHT / 10, REMAT_CHART_WIDTH, REMAT_CHART_HEIGHT,
            REMAT_CHART_WIDTH, REMAT_CHART_HEIGHT, REMAT_CHART_LEFT);
    remat_write_xml(chart->out, title);
    fprintf(chart->out, "</text>\n<text x=\"%d\" y=\"480\" font-size=\"118\" fill=\"#555555\">",
            REMAT_CHART_LEFT);
    remat_write_xml(chart->out, subtitle);
    fputs("</text>\n", chart->out);
}

void remat_chart_end(const remat_chart *chart)
{
    fputs("</svg>\n", chart->out);
}

/* ---- Places ----------------------------------------------------------------------------------*/

static double share(const remat_axis *axis, double value)
{
    double s = axis->high > axis->low ? (value - axis->low) / (axis->high - axis->low) : 0.0;
    return s < 0.0 ? 0.0 : s > 1.0 ? 1.0 : s;
}

int remat_chart_x(const remat_chart *chart, double value)
{
    return REMAT_CHART_LEFT +
           (int)(share(&chart->x, value) * (chart->right - REMAT_CHART_LEFT) + 0.5);
}

int remat_chart_y(const remat_chart *chart, double value)
{
    return REMAT_CHART_BOTTOM -
           (int)(share(&chart->y, value) * (REMAT_CHART_BOTTOM - REMAT_CHART_TOP) + 0.5);
}

/* ---- Axes ------------------------------------------------------------------------------------*/

/* The least of 1, 2, 5 times a power of ten that cuts a range into at most `most` steps. */
static double tick_step(double range, int most)
{
    double power = pow(10.0, floor(log10(range / most)));
    const double factors[] = {1.0, 2.0, 5.0, 10.0};
    for (int i = 0; i < 4; i++)
        if (range / (power * factors[i]) <= most)
            return power * factors[i];
    return range;
}

/* The k-th tick from the axis' lower end; false beyond its upper end. */
static bool tick(const remat_axis *axis, int most, int k, double *value, char text[32])
{
    double range = (axis->high - axis->low) / axis->unit;
    if (!(range > 0.0))
        return false;
    double step = tick_step(range, most);
    double amount = (ceil(axis->low / axis->unit / step) + k) * step;
    *value = amount * axis->unit;
    remat_number_text(amount, text);
    return k <= most + 1 && *value <= axis->high;
}

void remat_chart_axes(const remat_chart *chart)
{
    double value;
    char text[32];
    FILE *out = chart->out;
    fputs("<g text-anchor=\"end\" stroke-width=\"8\">\n", out);
    for (int k = 0; tick(&chart->y, 6, k, &value, text); k++) {
        int y = remat_chart_y(chart, value);
        fprintf(out,
                "<path d=\"M%d %dH%d\" stroke=\"" SHADES_OF_GRID "\"/>"
                "<text x=\"%d\" y=\"%d\">%s</text>\n",
                REMAT_CHART_LEFT, y, chart->right, REMAT_CHART_LEFT - 60, y + 45, text);
    }
    fputs("</g>\n<g text-anchor=\"middle\">\n", out);
    for (int k = 0; tick(&chart->x, 10, k, &value, text); k++) {
        int x = remat_chart_x(chart, value);
        fprintf(out,
                "<path d=\"M%d %dv45\" stroke=\"" REMAT_INK "\" stroke-width=\"10\"/>"
                "<text x=\"%d\" y=\"%d\">%s</text>\n",
                x, REMAT_CHART_BOTTOM, x, REMAT_CHART_BOTTOM + 180, text);
    }
    int middle_x = (REMAT_CHART_LEFT + chart->right) / 2;
    int middle_y = (REMAT_CHART_TOP + REMAT_CHART_BOTTOM) / 2;
    fprintf(out, "<text x=\"%d\" y=\"%d\">", middle_x, REMAT_CHART_BOTTOM + 380);
    remat_write_xml(out, chart->x.label);
    fprintf(out, "</text>\n<text transform=\"translate(200 %d) rotate(-90)\">", middle_y);
    remat_write_xml(out, chart->y.label);
    fprintf(out,
            "</text>\n</g>\n<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"" REMAT_INK
            "\" stroke-width=\"10\"/>\n",
            REMAT_CHART_LEFT, REMAT_CHART_TOP, REMAT_CHART_BOTTOM, chart->right);
}

/* ---- Marks -----------------------------------------------------------------------------------*/

void remat_chart_band(const remat_chart *chart, int x0, int x1, const char *fill)
{
    fprintf(chart->out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", x0,
            REMAT_CHART_TOP, x1 - x0, REMAT_CHART_BOTTOM - REMAT_CHART_TOP, fill);
}

void remat_chart_side_text(const remat_chart *chart, int y, const char *fill, const char *text)
{
    fprintf(chart->out, "<text x=\"%d\" y=\"%d\" fill=\"%s\">", chart->right + 60, y + 45, fill);
    remat_write_xml(chart->out, text);
    fputs("</text>\n", chart->out);
}

void remat_chart_line(const remat_chart *chart, double value, const char *stroke,
                      const char *dashes)
{
    fprintf(chart->out,
            "<path d=\"M%d %dH%d\" stroke=\"%s\" stroke-width=\"16\" stroke-dasharray=\"%s\"/>\n",
            REMAT_CHART_LEFT, remat_chart_y(chart, value), chart->right, stroke,
            dashes ? dashes : "none");
}

void remat_chart_legend(remat_chart *chart, const char *fill, const char *text)
{
    int x = REMAT_CHART_LEFT + chart->legend_x;
    int y = REMAT_CHART_BOTTOM + 580 + 210 * chart->legend_row;
    fprintf(chart->out,
            "<rect x=\"%d\" y=\"%d\" width=\"130\" height=\"130\" fill=\"%s\" stroke=\"#888888\" "
            "stroke-width=\"5\"/><text x=\"%d\" y=\"%d\">",
            x, y - 110, fill, x + 190, y);
    remat_write_xml(chart->out, text);
    fputs("</text>\n", chart->out);
    chart->legend_x += 420 + 63 * (int)strlen(text); /* about the width of the letters */
}

void remat_chart_legend_row(remat_chart *chart)
{
    chart->legend_x = 0;
    chart->legend_row++;
}
