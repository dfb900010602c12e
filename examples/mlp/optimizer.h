/* optimizer.h - the choice among remat's optimizers. */
#ifndef MLP_OPTIMIZER_H
#define MLP_OPTIMIZER_H

#include <remat/remat.h>

typedef enum optimizer_kind { SGD, MOMENTUM, ADAM, ADAMW, OPTIMIZER_KINDS } optimizer_kind;

const char *optimizer_name(optimizer_kind kind);
/* A learning rate that suits networks of a few layers. */
double optimizer_default_rate(optimizer_kind kind);

typedef struct optimizer {
    optimizer_kind kind;
    remat_sgd sgd;
    remat_adam adam;
} optimizer;

optimizer optimizer_make(optimizer_kind kind);
remat_status optimizer_step(optimizer *o, double learning_rate, const remat_param *params,
                            size_t n);

#endif
