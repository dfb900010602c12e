/* sgd.c - stochastic gradient descent with momentum, as PyTorch's. */
#include "cpu/kernels.h"
#include "train/params.h"

static bool sgd_valid(const remat_sgd *sgd)
{
    return sgd != NULL && remat_hyperparameter_valid(sgd->learning_rate) &&
           remat_hyperparameter_valid(sgd->momentum) &&
           remat_hyperparameter_valid(sgd->weight_decay) && (!sgd->nesterov || sgd->momentum > 0);
}

remat_status remat_sgd_step(const remat_sgd *sgd, const remat_param *params, size_t n)
{
    if (!sgd_valid(sgd) || !remat_params_valid(params, n, sgd->momentum > 0 ? 1 : 0))
        return REMAT_INVALID_ARGUMENT;
    const remat_optimizer_kernels *kernels = remat_cpu_kernels()->optimizer;
    for (size_t i = 0; i < n; i++) {
        const remat_param *p = &params[i];
        kernels[p->dtype].sgd(sgd, p->count, p->data, p->gradient, p->state[0]);
    }
    return REMAT_OK;
}
