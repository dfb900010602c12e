/* chart.h - the frame of a diagram as SVG: title, axes, marks and legend. Lengths are tenths of a
 * pixel in whole numbers, so that no locale can spoil them. Needs no memory. */
#ifndef REMAT_REPORT_CHART_H
#define REMAT_REPORT_CHART_H

#include <stdio.h>

#include <remat/remat.h>

/* Where the diagram stands on the sheet. */
enum {
    REMAT_CHART_WIDTH = 9600,
    REMAT_CHART_HEIGHT = 4700,
    REMAT_CHART_LEFT = 760,
    REMAT_CHART_RIGHT = 9350,        /* of a diagram without texts beside it */
    REMAT_CHART_RIGHT_NARROW = 8250, /* of one with */
    REMAT_CHART_TOP = 700,
    REMAT_CHART_BOTTOM = 3800
};

/* Colours of Okabe and Ito, which nearly everybody can tell apart. */
#define REMAT_BLUE       "#0072B2"
#define REMAT_ORANGE     "#E69F00"
#define REMAT_GREEN      "#009E73"
#define REMAT_PURPLE     "#CC79A7"
#define REMAT_VERMILLION "#D55E00"
#define REMAT_SKY        "#56B4E9"
#define REMAT_GREY       "#8A8A8A"
#define REMAT_INK        "#222222"

/* One direction: values low .. high, printed in units of `unit`. */
typedef struct remat_axis {
    double low, high, unit;
    const char *label;
} remat_axis;

typedef struct remat_chart {
    FILE *out;
    int right; /* edge of the diagram */
    remat_axis x, y;
    int legend_x, legend_row; /* where the next entry goes */
} remat_chart;

/* Opens the picture and writes its head, two lines of text. */
void remat_chart_begin(const remat_chart *chart, const char *title, const char *subtitle);
/* Closes it. */
void remat_chart_end(const remat_chart *chart);

/* Places on the sheet, clamped to the diagram. */
int remat_chart_x(const remat_chart *chart, double value);
int remat_chart_y(const remat_chart *chart, double value);

/* Grid, ticks and labels of both axes. */
void remat_chart_axes(const remat_chart *chart);

/* A filled rectangle over the diagram's full height. */
void remat_chart_band(const remat_chart *chart, int x0, int x1, const char *fill);

/* Text beside the diagram's right edge, its middle at y. */
void remat_chart_side_text(const remat_chart *chart, int y, const char *fill, const char *text);

/* A horizontal line over the diagram's full width; dashes may be NULL. */
void remat_chart_line(const remat_chart *chart, double value, const char *stroke,
                      const char *dashes);

/* A coloured square with a text, in rows below the diagram. */
void remat_chart_legend(remat_chart *chart, const char *fill, const char *text);
/* The next entry starts a row. */
void remat_chart_legend_row(remat_chart *chart);

#endif
