/* networks.h - networks to plan without writing one down. */
#ifndef PLAN_NETWORKS_H
#define PLAN_NETWORKS_H

#include <remat/remat.h>

typedef enum network_kind {
    NETWORK_NONE,
    NETWORK_MLP,         /* linear, ReLU, again and again */
    NETWORK_TRANSFORMER, /* pre-norm blocks: attention and a feed-forward part of 4 width */
    NETWORK_UNET,        /* halves the resolution per level, then doubles it, with long skips */
    NETWORK_RESNET,      /* residual blocks: norm, linear, ReLU, linear */
    NETWORK_KINDS
} network_kind;

typedef struct network_shape {
    size_t layers;   /* blocks, or levels of the U-Net */
    size_t width;    /* features; of the U-Net those of its finest level */
    size_t batch;    /* samples */
    size_t sequence; /* positions of a sample; of the U-Net those of its coarsest level */
} network_shape;

const char *network_name(network_kind kind);
/* Fills in what is 0. */
void network_complete(network_kind kind, network_shape *shape);
/* The most layers the network can have. */
size_t network_most_layers(network_kind kind);

/* Records the network for training, each block as a segment; no data is bound. Returns the loss;
 * errors stick to the tape. */
remat_var network_record(network_kind kind, const network_shape *shape, remat_tape *tape);

#endif
