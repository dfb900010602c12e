/* sweep.h - what each amount of memory costs in time. */
#ifndef MLP_SWEEP_H
#define MLP_SWEEP_H

#include "dataset.h"
#include "options.h"

/* Prints the memory/time curve of the network, and draws it if o->plan_svg. On failure says why on
 * stderr. */
bool sweep(const options *o, const dataset *data);

#endif
