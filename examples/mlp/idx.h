/* idx.h - reads IDX files, the format of MNIST: a header with the extents, then bytes. */
#ifndef MLP_IDX_H
#define MLP_IDX_H

#include <stdbool.h>
#include <stddef.h>

#define IDX_MAX_DIMS 3

typedef struct idx {
    size_t n_dims, dims[IDX_MAX_DIMS];
    unsigned char *values; /* C order; release with free() */
} idx;

/* Reads a file, gzipped or plain, that must have n_dims extents and bytes as elements. On failure
 * says why on stderr, and `out` is empty. */
bool idx_read(const char *path, size_t n_dims, idx *out);

#endif
