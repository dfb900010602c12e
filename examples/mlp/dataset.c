/* dataset.c - see dataset.h. */
#include "dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/fail.h"
#include "idx.h"

#define FASHION_FOLDER "/usr/share/datasets/fashion-mnist"
#define DIGITS_FOLDER  REMAT_EXAMPLE_DATA "/digits"
#define PATH_BYTES     4096

static bool is_readable(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file != NULL)
        fclose(file);
    return file != NULL;
}

/* FOLDER/PREFIX-WHAT if that is there, else the same with .gz. */
static bool find_path(const char *folder, const char *prefix, const char *what,
                      char path[PATH_BYTES])
{
    static const char *const endings[] = {"", ".gz"};
    for (size_t k = 0; k < 2; k++) {
        int length = snprintf(path, PATH_BYTES, "%s/%s-%s%s", folder, prefix, what, endings[k]);
        if (length < 0 || length >= PATH_BYTES)
            return fail("the name of the folder is too long");
        if (is_readable(path))
            break;
    }
    return true;
}

/* images and labels are owned by the caller whatever is returned. */
static bool read_pair(const char *folder, const char *prefix, idx *images, idx *labels)
{
    char images_path[PATH_BYTES], labels_path[PATH_BYTES];
    if (!find_path(folder, prefix, "images-idx3-ubyte", images_path) ||
        !find_path(folder, prefix, "labels-idx1-ubyte", labels_path) ||
        !idx_read(images_path, 3, images) || !idx_read(labels_path, 1, labels))
        return false;
    if (images->dims[0] != labels->dims[0])
        return fail("%s has %zu images but %s has %zu labels: they do not belong together",
                    images_path, images->dims[0], labels_path, labels->dims[0]);
    if (images->dims[0] > UINT32_MAX / 2)
        return fail("%s has too many images", images_path);
    return true;
}

static unsigned largest_label(const image_set *set)
{
    unsigned largest = 0;
    for (size_t i = 0; i < set->count; i++)
        largest = set->labels[i] > largest ? set->labels[i] : largest;
    return largest;
}

/* Scales pixels to mean 0 and variance 1 over the training set. */
static bool normalise(const char *folder, dataset *data)
{
    uint64_t histogram[256] = {0};
    size_t n_pixels = data->train.count * data->features;
    for (size_t i = 0; i < n_pixels; i++)
        histogram[data->train.pixels[i]]++;
    double mean = 0, variance = 0;
    for (int p = 0; p < 256; p++)
        mean += p * ((double)histogram[p] / (double)n_pixels);
    for (int p = 0; p < 256; p++)
        variance += (p - mean) * (p - mean) * ((double)histogram[p] / (double)n_pixels);
    if (!(variance > 0))
        return fail("all pixels of the training set in %s are equal", folder);
    for (int p = 0; p < 256; p++)
        data->pixel_value[p] = (float)((p - mean) / sqrt(variance));
    return true;
}

static bool check(const char *folder, const idx *train, const idx *test, dataset *data)
{
    if (train->dims[1] != test->dims[1] || train->dims[2] != test->dims[2])
        return fail("%s: training images are %zu x %zu but test images %zu x %zu", folder,
                    train->dims[1], train->dims[2], test->dims[1], test->dims[2]);
    data->features = train->dims[1] * train->dims[2];
    data->classes = (size_t)largest_label(&data->train) + 1;
    if (data->classes < 2)
        return fail("%s: all training labels are 0, there is nothing to learn", folder);
    if (largest_label(&data->test) >= data->classes)
        return fail("%s: the test set has label %u, the training set only 0 to %zu", folder,
                    largest_label(&data->test), data->classes - 1);
    return normalise(folder, data);
}

static bool load_folder(const char *folder, dataset *data)
{
    idx train[2] = {{0}, {0}}, test[2] = {{0}, {0}};
    bool ok = read_pair(folder, "train", &train[0], &train[1]) &&
              read_pair(folder, "t10k", &test[0], &test[1]);
    data->train = (image_set){train[0].dims[0], train[0].values, train[1].values};
    data->test = (image_set){test[0].dims[0], test[0].values, test[1].values};
    if (ok && check(folder, &train[0], &test[0], data))
        return true;
    dataset_destroy(data);
    return false;
}

bool dataset_load(const char *folder, dataset *data)
{
    *data = (dataset){0};
    if (folder == NULL && is_readable(FASHION_FOLDER "/train-images-idx3-ubyte.gz"))
        folder = FASHION_FOLDER;
    if (folder == NULL) {
        printf("Fashion-MNIST is not in %s (Debian: apt-get install dataset-fashion-mnist): "
               "using the bundled UCI digits\n",
               FASHION_FOLDER);
        folder = DIGITS_FOLDER;
    }
    if (!load_folder(folder, data))
        return fail("no data set from %s: --data wants a folder with train-images-idx3-ubyte.gz, "
                    "train-labels-idx1-ubyte.gz and the same of t10k",
                    folder);
    printf("data: %s, %zu training and %zu test images, %zu features, %zu classes\n", folder,
           data->train.count, data->test.count, data->features, data->classes);
    return true;
}

void dataset_destroy(dataset *data)
{
    free(data->train.pixels);
    free(data->train.labels);
    free(data->test.pixels);
    free(data->test.labels);
    *data = (dataset){0};
}

void dataset_gather(const dataset *data, const image_set *set, const uint32_t *which, size_t n,
                    float *images, int32_t *labels)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char *pixels = set->pixels + which[i] * data->features;
        float *image = images + i * data->features;
        for (size_t j = 0; j < data->features; j++)
            image[j] = data->pixel_value[pixels[j]];
        labels[i] = set->labels[which[i]];
    }
}

bool sampler_create(size_t count, size_t batch, uint64_t seed, sampler *s)
{
    *s = (sampler){.count = count, .batch = batch, .position = count, .seed = seed};
    s->order = malloc(count * sizeof *s->order);
    if (s->order == NULL)
        return fail("not enough memory for the order of %zu images", count);
    return true;
}

void sampler_destroy(sampler *s)
{
    free(s->order);
    s->order = NULL;
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Fisher and Yates. The bias of the modulo is below count / 2^64. */
static void shuffle(sampler *s)
{
    uint64_t state = s->seed ^ s->epoch * UINT64_C(0xD1B54A32D192ED03);
    for (size_t i = 0; i < s->count; i++)
        s->order[i] = (uint32_t)i;
    for (size_t i = s->count - 1; i > 0; i--) {
        size_t j = (size_t)(next_random(&state) % (i + 1));
        uint32_t swapped = s->order[i];
        s->order[i] = s->order[j];
        s->order[j] = swapped;
    }
}

const uint32_t *sampler_next(sampler *s)
{
    if (s->count - s->position < s->batch) {
        shuffle(s);
        s->epoch++;
        s->position = 0;
    }
    const uint32_t *which = s->order + s->position;
    s->position += s->batch;
    return which;
}
