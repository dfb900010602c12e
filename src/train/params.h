/* params.h - what the optimizers check before they change anything. */
#ifndef REMAT_TRAIN_PARAMS_H
#define REMAT_TRAIN_PARAMS_H

#include <remat/remat.h>

/* Whether every tensor has a float dtype, data, gradient and its first n_states state buffers. An
 * empty tensor needs no buffers. */
bool remat_params_valid(const remat_param *params, size_t n, size_t n_states);

/* Whether a hyperparameter is at least 0 and finite as a float, too. NaN is not. */
bool remat_hyperparameter_valid(double value);

#endif
