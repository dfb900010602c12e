/* op_golden.h - reads tests/data/op_golden.txt (the format is described there). */
#ifndef OP_GOLDEN_H
#define OP_GOLDEN_H

#include <stdio.h>

#include "support/op_harness.h"

typedef struct golden_tensor {
    bool present, is_float;
    remat_shape shape;
    double *elements;
} golden_tensor;

typedef struct golden_case {
    char name[64];
    golden_tensor leaf[OP_MAX_LEAVES], result[OP_MAX_OUT];
    golden_tensor upstream[OP_MAX_OUT], gradient[OP_MAX_LEAVES];
} golden_case;

/* Reads the next case; false at the end of the file. Anything else that is not a case fails the
 * running test. */
bool golden_read(FILE *file, golden_case *golden);
void golden_free(golden_case *golden);

#endif
