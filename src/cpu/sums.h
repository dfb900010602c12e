/* sums.h - kernels that add up planes of rows and columns, in double and in an order that depends
 * on the extents only. */
#ifndef REMAT_CPU_SUMS_H
#define REMAT_CPU_SUMS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct remat_sums_kernels {
    /* total[j] += sum over i of x[i stride + j]. Rows are taken eight at a time. */
    void (*add_columns)(int64_t rows, int64_t columns, const void *x, int64_t stride,
                        double *total);
    /* dst[j] = (accumulate ? dst[j] : 0) + sign total[j] */
    void (*store)(int64_t count, const double *total, double sign, void *dst, bool accumulate);
    /* The sum of x[0..count) */
    double (*sum)(int64_t count, const void *x);
} remat_sums_kernels;

/* Columns whose totals are held at once: the rows of a block are a KiB or more of floats, and the
 * totals stay in the first-level cache. */
#define REMAT_SUMS_COLUMNS 256

#endif
