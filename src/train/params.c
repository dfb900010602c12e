/* params.c - see params.h. */
#include "train/params.h"

#include <float.h>

static bool param_valid(const remat_param *param, size_t n_states)
{
    if (param->dtype != REMAT_F32 && param->dtype != REMAT_F64)
        return false;
    if (param->count == 0)
        return true;
    for (size_t k = 0; k < n_states; k++) {
        if (param->state[k] == NULL)
            return false;
    }
    return param->data != NULL && param->gradient != NULL;
}

bool remat_params_valid(const remat_param *params, size_t n, size_t n_states)
{
    if (params == NULL && n > 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!param_valid(&params[i], n_states))
            return false;
    }
    return true;
}

bool remat_hyperparameter_valid(double value)
{
    return value >= 0 && value <= (double)FLT_MAX;
}
