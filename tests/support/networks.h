/* networks.h - networks as people build them, recorded with the library's own operations: for tests
 * that train them and for tests and benchmarks that only plan them. */
#ifndef TESTS_SUPPORT_NETWORKS_H
#define TESTS_SUPPORT_NETWORKS_H

#include <remat/remat.h>

typedef struct network_buffer {
    float *data, *gradient; /* gradient NULL: an input */
    size_t count;
} network_buffer;

/* If it only plans, no memory stands behind the leaves. */
typedef struct network {
    remat_tape *tape;
    bool trains;
    network_buffer *buffers;
    size_t n_buffers;
} network;

/* Ends the program if memory is short. */
void network_create(bool trains, network *net);
void network_destroy(network *net);

/* Each records a network and returns its loss. Sizes are those of the activations: batch rows (or
 * sequences of `length`, or grids of `points`) of `width` channels. rate: of dropout, 0: none. */
remat_var network_mlp(network *net, int layers, int64_t batch, int64_t width, double rate);
remat_var network_transformer(network *net, int layers, int64_t batch, int64_t length,
                              int64_t width, double rate);
/* Halves the points and doubles nothing at each level, then goes back up over long skips. */
remat_var network_unet(network *net, int levels, int64_t batch, int64_t points, int64_t width);
remat_var network_resnet(network *net, int blocks, int64_t batch, int64_t points, int64_t width);
/* Blocks in which every layer reads all layers before it. */
remat_var network_densenet(network *net, int blocks, int layers, int64_t batch, int64_t width);
remat_var network_lstm(network *net, int steps, int64_t batch, int64_t width);

#endif
