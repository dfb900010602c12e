/* reference.h - what a step must compute, found the slow and simple way: every statement runs once
 * on memory of its own, gradients follow in reverse order. Shares nothing with plan/ and exec/. */
#ifndef TESTS_CORE_REFERENCE_H
#define TESTS_CORE_REFERENCE_H

#include "tape/tape.h"

typedef struct reference_value {
    remat_type type;
    size_t bytes;
    void *data, *gradient; /* owned unless shared with `root` or a leaf */
    uint32_t root;         /* value whose data it shares; itself if none */
    uint32_t slot;         /* value whose gradient it shares; itself if none */
    bool owns_data;
    bool needed;       /* for a loss, a seed, a kept value or an EFFECT */
    bool wanted;       /* its gradient leads to a requested one */
    bool through;      /* and the statement that made it has a backward for it */
    bool reached;      /* a loss or seed contributes to it */
    bool has_gradient; /* a contribution was written */
} reference_value;

typedef struct reference {
    const remat_tape *tape;
    reference_value *values;
    size_t n_values;
    size_t needed_statements;   /* without views */
    size_t gradient_statements; /* whose backward has something to compute */
} reference;

/* Runs forward and backward with the leaves' present contents. EFFECTs happen. */
void reference_run(reference *ref, const remat_tape *tape, remat_var loss, uint64_t seed,
                   uint64_t step);
void reference_release(reference *ref);

/* Data of a value and its gradient; NULL: zeros. */
const void *reference_data(const reference *ref, remat_var v);
const void *reference_gradient(const reference *ref, remat_var v);

#endif
