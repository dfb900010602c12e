/* lanes.h - sums that vectorise although the compiler may not reassociate: partial sums side by
 * side, joined at the end. The order depends on the number of terms only, not on where they lie. */
#ifndef REMAT_CPU_LANES_H
#define REMAT_CPU_LANES_H

#include <stdint.h>

#define LANES ((int64_t)32)

static inline double sum_lanes(const double lane[LANES])
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < LANES; j++)
        sum += lane[j];
    return sum;
}

#endif
