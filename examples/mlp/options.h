/* options.h - the command line. */
#ifndef MLP_OPTIONS_H
#define MLP_OPTIONS_H

#include <remat/remat.h>

#include "common/bytes.h"
#include "optimizer.h"

/* 0 (learning_rate: 0, segment: 0) stands for "not given": see options_complete(). */
typedef struct options {
    const char *data; /* folder; NULL: as dataset_load() chooses */
    size_t depth, width, batch, epochs, segment, steps;
    double learning_rate, dropout;
    optimizer_kind optimizer;
    remat_strategy strategy;
    uint64_t seed;
    int threads;
    size_budget budget;
    const char *plan_svg; /* file; NULL: none */
    bool compare, print_plan, sweep;
} options;

typedef enum options_result { OPTIONS_RUN, OPTIONS_HELP_SHOWN, OPTIONS_WRONG } options_result;

/* OPTIONS_WRONG: the reason is on stderr. */
options_result options_parse(int argc, char **argv, options *o);

/* Fills in what depends on the data: small sets need small batches and many epochs. False, with the
 * reason on stderr, if the batch is larger than the training set. */
bool options_complete(options *o, size_t training_images);

#endif
