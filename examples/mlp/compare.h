/* compare.h - the same training with and without recomputation, side by side. */
#ifndef MLP_COMPARE_H
#define MLP_COMPARE_H

#include "dataset.h"
#include "options.h"

/* Trains twice, step by step in turn: under keep-all and under o->strategy. Prints both. False if
 * the losses of any step differ in a bit, or on failure; it is said on stderr then. */
bool compare(const options *o, const dataset *data);

#endif
