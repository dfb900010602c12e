/* optimizer.c - see optimizer.h. */
#include "optimizer.h"

static const struct {
    const char *name;
    double rate;
} kinds[OPTIMIZER_KINDS] = {
    [SGD] = {"sgd", 0.05},
    [MOMENTUM] = {"momentum", 0.02},
    [ADAM] = {"adam", 0.001},
    [ADAMW] = {"adamw", 0.001},
};

const char *optimizer_name(optimizer_kind kind)
{
    return kinds[kind].name;
}

double optimizer_default_rate(optimizer_kind kind)
{
    return kinds[kind].rate;
}

optimizer optimizer_make(optimizer_kind kind)
{
    optimizer o = {.kind = kind, .sgd = REMAT_SGD_INIT, .adam = REMAT_ADAM_INIT};
    o.sgd.momentum = kind == MOMENTUM ? 0.9 : 0;
    o.adam.weight_decay = kind == ADAMW ? 0.01 : 0;
    return o;
}

remat_status optimizer_step(optimizer *o, double learning_rate, const remat_param *params, size_t n)
{
    o->sgd.learning_rate = learning_rate;
    o->adam.learning_rate = learning_rate;
    switch (o->kind) {
    case ADAM:
        return remat_adam_step(&o->adam, params, n);
    case ADAMW:
        return remat_adamw_step(&o->adam, params, n);
    default:
        return remat_sgd_step(&o->sgd, params, n);
    }
}
