/* norm.h - kernels of layer normalisation over the rows of [rows, n]. */
#ifndef REMAT_CPU_NORM_H
#define REMAT_CPU_NORM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct remat_norm_forward {
    int64_t rows, n;
    const void *x, *weight, *bias; /* [rows, n]; [n] or NULL */
    double epsilon;
    void *y, *mean, *rstd; /* [rows, n], [rows], [rows]; y may be x */
} remat_norm_forward;

typedef struct remat_norm_backward {
    int64_t rows, n;
    const void *x, *weight, *mean, *rstd; /* as above; x, mean and rstd NULL if only dbias is asked
                                             for, weight NULL also if dx is not */
    const void *dy;
    void *dx; /* NULL: not asked for; may be dy unless accumulating */
    bool accumulate;
    double *dweight, *dbias; /* [n] totals that are added to; NULL: not asked for */
} remat_norm_backward;

typedef struct remat_norm_kernels {
    void (*forward)(const remat_norm_forward *call);
    void (*backward)(const remat_norm_backward *call);
} remat_norm_kernels;

#endif
