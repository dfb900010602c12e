/* loss.h - kernels of the losses. */
#ifndef REMAT_CPU_LOSS_H
#define REMAT_CPU_LOSS_H

#include <stdbool.h>
#include <stdint.h>

/* What the softmax of a row is to be: `everywhere`, and at the label `at_label` more. */
typedef struct remat_row_target {
    int64_t label;
    double everywhere, at_label;
} remat_row_target;

typedef struct remat_loss_kernels {
    /* The largest of x[0..count), written to max, and the sum of exp(x[i] - max). */
    double (*sum_of_exp)(int64_t count, const void *x, double *max);
    /* d[i] = (accumulate ? d[i] : 0) + factor (exp(x[i] - log_sum) - target(i)) */
    void (*softmax_gradient)(int64_t count, const void *x, const remat_row_target *target,
                             double log_sum, double factor, void *d, bool accumulate);
    /* The sum of (a[i] - b[i])^2, in double. */
    double (*squared_distance)(int64_t count, const void *a, const void *b);
    /* d[i] = (accumulate ? d[i] : 0) + factor (a[i] - b[i]) */
    void (*difference)(int64_t count, const void *a, const void *b, double factor, void *d,
                       bool accumulate);
} remat_loss_kernels;

#endif
