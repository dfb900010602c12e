/* clip.c - gradient clipping by the global norm (Pascanu, Mikolov, Bengio 2013). */
#include <math.h>

#include "cpu/kernels.h"
#include "train/params.h"

static double global_norm(const remat_optimizer_kernels *kernels, const remat_param *params,
                          size_t n, double factor)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += kernels[params[i].dtype].sum_of_squares(params[i].count, params[i].gradient, factor);
    return sqrt(sum) / factor;
}

/* The squares of f64 gradients can leave the range of double though their norm does not: such are
 * summed again, scaled by a power of two, which rounds nothing. */
static double robust_norm(const remat_optimizer_kernels *kernels, const remat_param *params,
                          size_t n)
{
    double norm = global_norm(kernels, params, n, 1);
    if (norm > 0x1p500)
        return global_norm(kernels, params, n, 0x1p-600);
    if (norm < 0x1p-480)
        return global_norm(kernels, params, n, 0x1p600);
    return norm;
}

remat_status remat_clip_gradients(const remat_param *params, size_t n, double max_norm,
                                  double *norm)
{
    if (!(max_norm > 0) || !remat_params_valid(params, n, 0))
        return REMAT_INVALID_ARGUMENT;
    const remat_optimizer_kernels *kernels = remat_cpu_kernels()->optimizer;
    double found = robust_norm(kernels, params, n);
    /* Where the norm is infinite or NaN no factor helps: the caller sees it in *norm. */
    if (found > max_norm && isfinite(found)) {
        for (size_t i = 0; i < n; i++)
            kernels[params[i].dtype].scale(params[i].count, params[i].gradient, max_norm / found);
    }
    if (norm != NULL)
        *norm = found;
    return REMAT_OK;
}
