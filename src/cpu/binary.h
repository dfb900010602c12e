/* binary.h - element-wise kernels of two variables, over planes of rows and columns. */
#ifndef REMAT_CPU_BINARY_H
#define REMAT_CPU_BINARY_H

#include <stdbool.h>
#include <stdint.h>

typedef enum remat_binary {
    REMAT_BINARY_ADD,
    REMAT_BINARY_SUBTRACT,
    REMAT_BINARY_MULTIPLY,
    REMAT_BINARY_DIVIDE,
    REMAT_BINARY_COUNT
} remat_binary;

/* Element (i, j) is data[i row + j column]; column is 1, or 0 for one value per row. */
typedef struct remat_plane {
    const void *data;
    int64_t row, column;
} remat_plane;

/* y [rows, columns] = a op b, y without gaps; a or b has column 1, unless columns is 1. y may be
 * where a plane without gaps is. */
typedef void remat_binary_forward(int64_t rows, int64_t columns, const remat_plane *a,
                                  const remat_plane *b, void *y);

/* d [rows, columns] = -dy y / b, the gradient of y = a / b with respect to b. dy has column 1. y is
 * given, or from_a is set and it is a; both ways give the same bits. */
typedef void remat_binary_quotient(int64_t rows, int64_t columns, const remat_plane *dy,
                                   const remat_plane *y, bool from_a, const remat_plane *b,
                                   void *d);

typedef struct remat_binary_kernels {
    remat_binary_forward *forward[REMAT_BINARY_COUNT];
    remat_binary_quotient *quotient;
} remat_binary_kernels;

#endif
