/* dataset.h - a folder of IDX files as training and test set, and batches out of them. */
#ifndef MLP_DATASET_H
#define MLP_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct image_set {
    size_t count;
    unsigned char *pixels; /* [count, features] */
    unsigned char *labels; /* [count] */
} image_set;

typedef struct dataset {
    image_set train, test;
    size_t features, classes;
    float pixel_value[256]; /* what the network sees: mean 0, variance 1 over the training set */
} dataset;

/* folder NULL: Fashion-MNIST where Debian's package puts it, else the digits that come with this
 * example, after saying so. On failure says why on stderr, and there is nothing to destroy. */
bool dataset_load(const char *folder, dataset *data);
void dataset_destroy(dataset *data);

/* Copies images which[0..n) of a set: images [n, features], labels [n]. */
void dataset_gather(const dataset *data, const image_set *set, const uint32_t *which, size_t n,
                    float *images, int32_t *labels);

/* Batches of the training set in an order that depends on the seed and the epoch alone. What does
 * not fill the last batch of an epoch is left out. */
typedef struct sampler {
    uint32_t *order;
    size_t count, batch, position;
    uint64_t seed, epoch; /* epoch: how many have begun */
} sampler;

bool sampler_create(size_t count, size_t batch, uint64_t seed, sampler *s);
void sampler_destroy(sampler *s);
/* The `batch` images of the next batch; valid until the next call. */
const uint32_t *sampler_next(sampler *s);

#endif
