/* train.h - a network in training. */
#ifndef MLP_TRAIN_H
#define MLP_TRAIN_H

#include "dataset.h"
#include "model.h"
#include "options.h"

typedef struct trainer {
    const dataset *data;
    model model;
    optimizer optimizer;
    size_t batch;
    float *images;   /* [batch, features] */
    int32_t *labels; /* [batch] */
    remat_tape *tape;
    remat_var loss_value;
    remat_exec *exec;
    remat_param *params;
    size_t n_params;
    double loss; /* of the last step */
} trainer;

/* Records, plans, allocates. On failure says why on stderr, and there is nothing to destroy. */
bool trainer_create(const options *o, const dataset *data, remat_strategy strategy, trainer *t);

/* The same, but without a plan and memory for steps: for a look at the tape. */
bool trainer_record(const options *o, const dataset *data, remat_strategy strategy, trainer *t);
void trainer_destroy(trainer *t);

/* One step on the images which[0..batch) of the training set. */
remat_status trainer_step(trainer *t, const uint32_t *which, double learning_rate);

/* A line about the network on stdout, and of the plan what the options ask for. */
bool trainer_print(const trainer *t, const options *o);

/* Says on stderr why a step failed; returns false. */
bool trainer_fail(const trainer *t, remat_status status);

/* The learning rate of a step: falls in a straight line to 0. */
double learning_rate_at(const options *o, size_t step);

/* o->steps steps with a progress display. False if a step failed; it is said on stderr then. */
bool train(trainer *t, const options *o);

#endif
