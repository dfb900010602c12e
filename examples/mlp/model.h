/* model.h - a multilayer perceptron: `depth` hidden layers of linear, ReLU and dropout, then a
 * linear layer to the classes. */
#ifndef MLP_MODEL_H
#define MLP_MODEL_H

#include <remat/remat.h>

typedef struct layer {
    size_t inputs, outputs;
    float *weight, *bias; /* [outputs, inputs], [outputs] */
} layer;

/* One block of memory holds four parts of n_floats each: parameters, their gradients, and the two
 * state buffers of the optimizer. An element has the same place in each part. */
typedef struct model {
    size_t n_layers; /* depth + 1 */
    layer *layers;
    float *memory;
    size_t n_floats, n_parameters; /* n_floats includes padding to whole cache lines */
    double dropout;
} model;

/* Weights by He et al. 2015, biases 0. On failure says why on stderr. */
bool model_create(size_t features, size_t depth, size_t width, size_t classes, double dropout,
                  uint64_t seed, model *m);
void model_destroy(model *m);

/* Records the network on a tape and returns the logits [batch, classes].
 * segment: hidden layers per checkpoint_segment(); 0: no segments.
 * training: with dropout, and parameters have gradients. */
remat_var model_record(const model *m, remat_tape *tape, remat_var images, size_t segment,
                       bool training);

/* Points the states of a tape's parameters into the model's memory. */
void model_bind_states(const model *m, remat_param *params, size_t n);

#endif
