/* op_harness.h - calls an operation as its descriptor says, without plan or exec: records a row of
 * the conformance table, reads the statement back from the tape, and runs forward and backward in
 * guarded memory. The harness is the strictest caller the contract of op.h allows: uninitialised
 * memory is filled, workspaces have exactly the declared size, operands and results that are not
 * needed are NULL, inputs must stay as they are. A breach fails the running cmocka test. */
#ifndef OP_HARNESS_H
#define OP_HARNESS_H

#include "support/op_buffer.h"
#include "support/op_cases.h"
#include "tape/tape.h"

enum { OP_MAX_IN = 4, OP_MAX_OUT = 4 };

/* A row, recorded for one dtype. */
typedef struct op_subject {
    const op_case *row;
    remat_dtype dtype;
    remat_tape *tape;
    const remat_op *op;
    const void *attributes;
    size_t n_leaves, n_in, n_out;
    remat_type leaf[OP_MAX_LEAVES], in[OP_MAX_IN], out[OP_MAX_OUT];
    size_t leaf_of[OP_MAX_IN]; /* the leaf that an operand is; several may be the same */
    uint32_t differentiable;   /* leaves whose gradient can be asked for */
    uint32_t active;           /* results through which gradients flow */
} op_subject;

/* Elements as doubles; each is exact in f32. */
typedef struct op_values {
    double *leaf[OP_MAX_LEAVES];
    double *upstream[OP_MAX_OUT]; /* gradients of active results */
} op_values;

remat_dtype op_leaf_dtype(const op_leaf *leaf, remat_dtype dtype);

/* Records a row's leaves on a tape, without memory. */
void op_record_leaves(remat_tape *tape, const op_case *row, remat_dtype dtype, remat_var *leaves);

op_subject op_subject_open(const op_case *row, remat_dtype dtype);
void op_subject_close(op_subject *subject);

/* Bit i: the gradient of operand i is asked for, if those of these leaves are. */
uint64_t op_operand_gradients(const op_subject *subject, uint32_t leaves);
remat_query op_query(const op_subject *subject, uint32_t leaves);

/* What backward reads if the gradients of these leaves are asked for. */
void op_needs(const op_subject *subject, uint32_t leaves, uint64_t *operands, uint64_t *results);

/* The leaf is one operand only. */
bool op_leaf_is_single(const op_subject *subject, size_t leaf);

size_t op_type_count(const remat_type *type);
size_t op_type_bytes(const remat_type *type);

/* Random numbers of a row, the same for every dtype. */
op_values op_values_draw(const op_subject *subject);
void op_values_free(op_values *values);

/* Uniform in [0, 1), from a state of the caller's. */
double op_uniform(uint64_t *state);

/* One run. Which memory it gets: */
typedef struct op_memory {
    bool misaligned;    /* leaves and their gradients are one element off a 64-byte boundary */
    unsigned char fill; /* of memory that is handed over uninitialised */
} op_memory;

typedef struct op_run {
    const op_subject *subject;
    op_memory memory;
    op_buffer leaf[OP_MAX_LEAVES], out[OP_MAX_OUT];
    op_buffer grad_out[OP_MAX_OUT], grad_leaf[OP_MAX_LEAVES];
    void *result[OP_MAX_OUT];      /* where a result is: out[], or a leaf if in place */
    void *gradient[OP_MAX_LEAVES]; /* likewise: grad_leaf[], or grad_out[0] if in place */
    remat_random_key random;
    bool replay;
    bool may_be_infinite; /* results and gradients need not be finite */
    char message[256];    /* of a call that failed */
} op_run;

enum { OP_OUT_OF_PLACE = -1 };

/* Takes memory and stores the values in it. */
void op_run_open(op_run *run, const op_subject *subject, const op_values *values, op_memory memory);
void op_run_close(op_run *run);

/* Result 0 takes over the memory of operand in_place, unless that is OP_OUT_OF_PLACE. The
 * workspace is that of a step with these gradients. */
remat_status op_run_forward(op_run *run, uint32_t gradients, int in_place);

/* Gradients of the leaves in the mask. prefill: their elements before, to be added to; NULL: the
 * gradients are to be written. The gradient of operand in_place takes over that of result 0. */
remat_status op_run_backward(op_run *run, const op_values *values, uint32_t gradients,
                             double *const *prefill, int in_place);

/* Forward and backward for all gradients, out of place, which must succeed. */
void op_run_all(op_run *run, const op_subject *subject, const op_values *values, op_memory memory);

/* Bitwise equal? */
bool op_same_results(const op_run *a, const op_run *b);
bool op_same_gradients(const op_run *a, const op_run *b, uint32_t leaves);

/* Elements as doubles, in memory to be freed. */
double *op_read(const void *data, const remat_type *type);

#endif
