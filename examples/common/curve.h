/* curve.h - a memory/time curve on paper. */
#ifndef EXAMPLES_COMMON_CURVE_H
#define EXAMPLES_COMMON_CURVE_H

#include "common/file.h"

typedef struct curve {
    const remat_plan_point *points;
    size_t n;
    double step_cost; /* without replays */
    bool no_bounds;   /* the points have no lower bounds */
} curve;

void curve_print(const curve *c); /* on stdout */

/* For file_write(): `what` is a curve. */
file_writer curve_svg, curve_csv;

#endif
