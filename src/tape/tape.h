/* tape.h - the record: compact arrays of statements and values. Recording is the public API
 * (remat.h, op.h); planning and running read these arrays. */
#ifndef REMAT_TAPE_H
#define REMAT_TAPE_H

#include <stdatomic.h>

#include <remat/op.h>

#include "base/vector.h"

typedef enum remat_value_kind {
    REMAT_VALUE_RESULT,
    REMAT_VALUE_INPUT,
    REMAT_VALUE_PARAMETER,
    REMAT_VALUE_CONSTANT
} remat_value_kind;

enum {
    REMAT_VALUE_NAMED = 1,
    REMAT_VALUE_GRADIENT = 2, /* has an entry in gradients */
    REMAT_VALUE_SEEDED = 4    /* has an entry in seeds */
};

typedef struct remat_value_record {
    uint32_t shape;    /* index into shapes */
    uint32_t origin;   /* statement that made it; for leaves the index into leaves */
    uint32_t gradient; /* index into gradients, if it has the flag */
    uint32_t name;     /* offset into text, if it has the flag */
    uint8_t dtype, kind, policy, flags;
} remat_value_record;

typedef struct remat_statement_record {
    const remat_op *op;
    uint32_t attributes; /* offset into attributes, in units of REMAT_ATTRIBUTE_ALIGNMENT */
    uint32_t operands;   /* offset into operands */
    uint32_t first_result;
    uint32_t segment; /* innermost segment; 0 is the whole tape */
    uint16_t n_operands, n_results;
} remat_statement_record;

#define REMAT_ATTRIBUTE_ALIGNMENT 16

typedef struct remat_leaf_record {
    void *data;
    uint32_t value;
} remat_leaf_record;

typedef struct remat_gradient_record {
    void *buffer; /* NULL: held in the arena */
    uint32_t value;
} remat_gradient_record;

typedef struct remat_seed_record {
    const void *seed; /* NULL: ones */
    uint32_t value;
} remat_seed_record;

/* Statements [first, end) in tape order. Segment 0 is the whole tape. */
typedef struct remat_segment_record {
    uint32_t parent, first, end;
    uint32_t name; /* offset into text, UINT32_MAX: none */
} remat_segment_record;

struct remat_tape {
    remat_allocator allocator;
    bool allocator_is_default;
    atomic_uint references; /* the caller's, and one for each exec */
    uint32_t tag;           /* identity and generation; the upper bits of every handle */
    uint32_t generation;
    remat_status status; /* of recording; sticky */
    char message[1024];
    uint32_t open_segment;

    REMAT_VECTOR(remat_statement_record) statements;
    REMAT_VECTOR(remat_value_record) values;
    REMAT_VECTOR(remat_shape) shapes;
    REMAT_VECTOR(uint32_t) operands;
    REMAT_VECTOR(unsigned char) attributes;
    REMAT_VECTOR(remat_leaf_record) leaves;
    REMAT_VECTOR(remat_gradient_record) gradients;
    REMAT_VECTOR(remat_seed_record) seeds;
    REMAT_VECTOR(char) text;
    REMAT_VECTOR(remat_segment_record) segments;
};

/* One recorded statement. Operands and results are value indices (not handles). */
typedef struct remat_statement_view {
    const remat_op *op;
    const void *attributes;
    const uint32_t *operands;
    size_t n_operands;
    uint32_t first_result; /* results are consecutive values */
    size_t n_results;
    uint32_t segment;
} remat_statement_view;

remat_statement_view remat_tape_statement(const remat_tape *tape, size_t index);

/* Type of a value by index. */
remat_type remat_tape_type(const remat_tape *tape, uint32_t value);

/* Bytes of a value by index; cannot overflow, it was checked when recorded. */
size_t remat_tape_bytes(const remat_tape *tape, uint32_t value);

/* Index of a value, or UINT32_MAX if the handle is not of this tape and generation. */
uint32_t remat_tape_index(const remat_tape *tape, remat_var v);
remat_var remat_tape_handle(const remat_tape *tape, uint32_t value);

/* Name of a value or a segment; NULL if it has none. */
const char *remat_tape_value_name(const remat_tape *tape, uint32_t value);
const char *remat_tape_segment_name(const remat_tape *tape, uint32_t segment);

/* The record of a requested gradient or seed; the value has the flag. */
remat_gradient_record *remat_tape_gradient(const remat_tape *tape, uint32_t value);
remat_seed_record *remat_tape_seed(const remat_tape *tape, uint32_t value);

/* Sets the sticky recording error, unless there is one already; returns the tape's status. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
remat_status
remat_tape_fail(remat_tape *tape, remat_status status, const char *format, ...);

/* Sets the message only: for failures of planning and exec creation. Returns status. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
remat_status
remat_tape_complain(remat_tape *tape, remat_status status, const char *format, ...);

void remat_tape_retain(remat_tape *tape);

#endif
