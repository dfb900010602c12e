/* lanes.h - sums that vectorise without reassociation: partial sums side by side, added up as a
 * tree at the end. The order depends on the number of terms only. */
#ifndef REMAT_CPU_LANES_H
#define REMAT_CPU_LANES_H

#include <stdint.h>

#define LANES ((int64_t)32)

static inline double sum_lanes(double lane[LANES])
{
    for (int64_t width = LANES / 2; width > 0; width /= 2)
        for (int64_t j = 0; j < width; j++)
            lane[j] += lane[j + width];
    return lane[0];
}

#endif
