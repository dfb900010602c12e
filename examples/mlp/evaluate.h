/* evaluate.h - test accuracy. */
#ifndef MLP_EVALUATE_H
#define MLP_EVALUATE_H

#include "dataset.h"
#include "model.h"

/* Share of the test set whose largest logit is the label's, in batches of `batch`. False, with the
 * reason on stderr, on failure. */
bool evaluate(const model *m, const dataset *data, size_t batch, double *accuracy);

#endif
