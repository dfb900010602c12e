/* trial.h - trains one network in every way the library offers, and expects the bits of a training
 * that drops nothing: losses, weights, gradients, and whatever else the network changes. */
#ifndef TRIAL_H
#define TRIAL_H

#include <remat/op.h>

#include "support/op_buffer.h"

enum { TRIAL_LEAVES = 160, TRIAL_STEPS = 3 };

/* One recording and the memory of its leaves: f32 numbers in [-1, 1) that depend only on the order
 * of the leaves; between canaries. */
typedef struct trial {
    remat_tape *tape;
    op_buffer data[TRIAL_LEAVES], gradient[TRIAL_LEAVES]; /* gradient.data NULL: none asked for */
    bool changes[TRIAL_LEAVES];                           /* a parameter that is trained */
    size_t n_leaves;
} trial;

typedef struct trial_network {
    remat_var (*record)(trial *t, void *context); /* returns the loss; unset: seeds are used */
    void *context;
    size_t context_bytes; /* bytes that steps may change: the same before each training, compared
                             after it */
    size_t steps;         /* 0: TRIAL_STEPS */
    bool smooth;          /* gradients are compared with differences of losses as well */
    size_t budgets;       /* between the smallest and keep-all; 0: some */
} trial_network;

/* Leaves: trained; with a gradient of their own, but not trained; without; labels below classes. */
remat_var trial_parameter(trial *t, remat_shape shape);
remat_var trial_input_with_gradient(trial *t, remat_shape shape);
remat_var trial_input(trial *t, remat_shape shape);
remat_var trial_constant(trial *t, remat_shape shape);
remat_var trial_labels(trial *t, remat_shape shape, int32_t classes);

void trial_segment_begin(trial *t);
void trial_segment_end(trial *t);

/* A dense layer with its own weights: x [rows, in] -> [rows, out]. */
remat_var trial_dense(trial *t, remat_var x, int64_t in, int64_t out);
remat_var trial_mean_square(trial *t, remat_var x);

/* Records; the caller closes. */
remat_var trial_open(trial *t, const trial_network *network);
void trial_close(trial *t);
remat_exec *trial_exec(const trial *t, remat_var loss, remat_exec_options options);

/* Trains under every strategy, debug mode and many budgets, and compares. Returns how many of these
 * trainings replayed anything. */
size_t trial_check(const trial_network *network);

/* Trains once with these options and expects the bits of keep-all; returns replays per step. */
uint64_t trial_check_with(const trial_network *network, remat_exec_options options);

#endif
