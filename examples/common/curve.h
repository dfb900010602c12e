/* curve.h - a memory/time curve on paper. */
#ifndef EXAMPLES_COMMON_CURVE_H
#define EXAMPLES_COMMON_CURVE_H

#include "common/file.h"

typedef struct memory_curve {
    const remat_plan_point *points;
    size_t n;
    double step_cost; /* without replays */
    /* Not NULL: what to call the strategy, which knows no lower bounds. */
    const char *unbounded;
} memory_curve;

void curve_print(const memory_curve *c); /* on stdout */

/* For file_write(): `what` is a curve. */
file_writer curve_svg, curve_csv;

#endif
