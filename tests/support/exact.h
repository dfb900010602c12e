/* exact.h - compares one recorded operation with plain loops through the public API, to the last
 * bit: data are small integers or powers of two, so every correct order of operations is exact. */
#ifndef EXACT_H
#define EXACT_H

#include <remat/remat.h>

enum { EXACT_MAX_LEAVES = 3 };

typedef struct exact_tensor {
    remat_shape shape;
    double *value;
    double *gradient; /* of a leaf: what is expected; of the result: the seed */
} exact_tensor;

typedef struct exact_case {
    remat_var (*record)(remat_tape *tape, const remat_var *leaves, const void *context);
    const void *context;
    size_t n_leaves;
    exact_tensor leaf[EXACT_MAX_LEAVES];
    exact_tensor result; /* what is expected */
} exact_case;

/* value is drawn by exact_integer(), gradient is zero. */
exact_tensor exact_tensor_create(remat_shape shape, uint64_t *state);
void exact_tensor_destroy(exact_tensor *tensor);
void exact_case_destroy(exact_case *exact);

/* An integer in [-4, 4]; changes the state. */
double exact_integer(uint64_t *state);

/* Runs the case in f32 and f64: on leaves, whose gradients are added to, and on results of another
 * operation, where the planner may work in place. Any difference fails the running test. */
void exact_check(const exact_case *exact);

/* Fails unless recording gives this status and a message. */
void exact_check_refused(const exact_case *exact, remat_status status);

/* Position of element `index` along each axis. */
void exact_position(const remat_shape *shape, size_t index, int64_t *position);

/* Element of a tensor at a position along ndim axes, counted from the right; where the tensor has
 * an extent of 1, that one. */
size_t exact_broadcast_index(const remat_shape *shape, int32_t ndim, const int64_t *position);

#endif
