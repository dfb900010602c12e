/* optimizer.h - kernels of the optimizers: one pass over a tensor's memory per step. */
#ifndef REMAT_CPU_OPTIMIZER_H
#define REMAT_CPU_OPTIMIZER_H

#include <remat/remat.h>

/* m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
 * p = shrink p - rate m / (sqrt(v) root_scale + epsilon), with g = gradient + weight_decay p. */
typedef struct remat_adam_coefficients {
    double beta1, beta2, epsilon;
    double rate;         /* learning rate / (1 - beta1^t) */
    double root_scale;   /* 1 / sqrt(1 - beta2^t) */
    double weight_decay; /* Adam's; 0 for AdamW */
    double shrink;       /* 1 - learning rate * weight decay for AdamW; 1 for Adam */
    bool zero_gradients;
} remat_adam_coefficients;

/* Loops over one tensor of `count` elements; its buffers do not overlap. velocity is not touched if
 * momentum is 0. */
typedef struct remat_optimizer_kernels {
    void (*sgd)(const remat_sgd *sgd, size_t count, void *data, void *gradient, void *velocity);
    void (*adam)(const remat_adam_coefficients *c, size_t count, void *data, void *gradient,
                 void *first_moment, void *second_moment);
    /* Sum of (factor x)^2, in double, in the same order at every level. */
    double (*sum_of_squares)(size_t count, const void *x, double factor);
    void (*scale)(size_t count, void *x, double factor);
} remat_optimizer_kernels;

#endif
