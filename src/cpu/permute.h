/* permute.h - kernels that exchange the two axes of a plane. */
#ifndef REMAT_CPU_PERMUTE_H
#define REMAT_CPU_PERMUTE_H

#include <stdint.h>

/* y[i y_row + j] = x[i + j x_column], or += ; i < rows, j < columns. x and y do not overlap. */
typedef void remat_permute_plane(int64_t rows, int64_t columns, const void *x, int64_t x_column,
                                 void *y, int64_t y_row);

typedef struct remat_permute_kernels {
    remat_permute_plane *copy; /* by the element's bits: that of f32 serves i32 too */
    remat_permute_plane *add;
} remat_permute_kernels;

#endif
