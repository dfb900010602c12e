/* adam.c - Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019). */
#include <math.h>

#include "cpu/kernels.h"
#include "train/params.h"

static bool adam_valid(const remat_adam *adam)
{
    return adam != NULL && remat_hyperparameter_valid(adam->learning_rate) &&
           remat_hyperparameter_valid(adam->epsilon) &&
           remat_hyperparameter_valid(adam->weight_decay) && adam->beta1 >= 0 && adam->beta1 < 1 &&
           adam->beta2 >= 0 && adam->beta2 < 1 && adam->step < UINT64_MAX;
}

static remat_status step(remat_adam *adam, const remat_param *params, size_t n, bool decoupled)
{
    if (!adam_valid(adam) || !remat_params_valid(params, n, 2))
        return REMAT_INVALID_ARGUMENT;
    adam->step++;
    const double t = (double)adam->step;
    const remat_adam_coefficients coefficients = {
        .beta1 = adam->beta1,
        .beta2 = adam->beta2,
        .epsilon = adam->epsilon,
        .rate = adam->learning_rate / (1 - pow(adam->beta1, t)),
        .root_scale = 1 / sqrt(1 - pow(adam->beta2, t)),
        .weight_decay = decoupled ? 0 : adam->weight_decay,
        .shrink = decoupled ? 1 - adam->learning_rate * adam->weight_decay : 1,
        .zero_gradients = adam->zero_gradients,
    };
    const remat_optimizer_kernels *kernels = remat_cpu_kernels()->optimizer;
    for (size_t i = 0; i < n; i++) {
        const remat_param *p = &params[i];
        kernels[p->dtype].adam(&coefficients, p->count, p->data, p->gradient, p->state[0],
                               p->state[1]);
    }
    return REMAT_OK;
}

remat_status remat_adam_step(remat_adam *adam, const remat_param *params, size_t n)
{
    return step(adam, params, n, false);
}

remat_status remat_adamw_step(remat_adam *adam, const remat_param *params, size_t n)
{
    return step(adam, params, n, true);
}
