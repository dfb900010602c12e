/* binary_gradient.h - the gradient of one operand of an element-wise operation of two: terms, added
 * up over the axes along which the operand was broadcast. */
#ifndef REMAT_OPS_BINARY_GRADIENT_H
#define REMAT_OPS_BINARY_GRADIENT_H

#include "ops/nest.h"

/* The tensors of a statement, and their places in a nest's strides. */
enum { REMAT_TENSOR_A, REMAT_TENSOR_B, REMAT_TENSOR_Y };

/* What is summed up for every element of dy. */
typedef enum remat_term {
    REMAT_TERM_DY,       /* dy; the sign is applied to the sum */
    REMAT_TERM_PRODUCT,  /* dy times the other operand */
    REMAT_TERM_FRACTION, /* dy / b */
    REMAT_TERM_QUOTIENT  /* -dy y / b */
} remat_term;

/* One gradient: d (+)= sign sum of terms over the axes along which `target` is broadcast. */
typedef struct remat_binary_gradient {
    const remat_nest *nest;
    remat_nest_plane plane;
    remat_dtype dtype;
    remat_term term;
    double sign;
    int target;
    int factor;  /* the tensor that a product or fraction reads */
    bool from_a; /* the quotient reads a in place of y */
    const void *dy, *data[3];
    void *d;
    bool accumulate;
} remat_binary_gradient;

/* d may be dy where d is not broadcast and not accumulated. */
void remat_binary_gradient_run(const remat_binary_gradient *g);

#endif
