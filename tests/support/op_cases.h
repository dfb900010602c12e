/* op_cases.h - the table of the conformance suite: one row = one operation with one set of shapes
 * and options. The suite (tests/ops) runs every check on every row, so a new operation is tested by
 * adding rows here. */
#ifndef OP_CASES_H
#define OP_CASES_H

#include <remat/op.h>

#define OP_MAX_LEAVES 4

typedef struct op_case op_case;

/* How the elements of a leaf are drawn. */
typedef enum op_draw {
    OP_UNIFORM,  /* uniform in [low, high]; both 0: [-2, 2] */
    OP_NONZERO,  /* the same, at least 1/16 away from 0, where a kink may be */
    OP_LABELS,   /* i32 in [0, high) */
    OP_SOME_LOST /* i32 labels in [0, high), every third one is the ignore index */
} op_draw;

typedef struct op_leaf {
    remat_shape shape;
    op_draw draw;
    double low, high;
} op_leaf;

struct op_case {
    const char *name;
    /* Records the one statement under test. */
    remat_var (*record)(remat_tape *tape, const remat_var *leaves, const op_case *row);
    op_leaf leaves[OP_MAX_LEAVES];
    size_t n_leaves;

    /* Options of the operation; a row sets what its record function reads. */
    double number;
    bool flag_a, flag_b;
    int axes[4];
    size_t n_axes;
    remat_shape shape;
    remat_reduction reduction;
    remat_cross_entropy_options cross_entropy;

    /* Facts about the row. */
    double f32_tolerance; /* of f32 against f64, relative to the largest element; 0: 2e-6 */
    double absolute;   /* tolerance in f32 (f64: 1e-8 of it) where all is small by cancellation */
    uint32_t optional; /* leaves that may be unset */
    bool takes_i32;    /* moves elements of any dtype */
    bool no_golden;    /* not in the golden file: too large, aliased or random */
};

typedef struct op_case_table {
    const op_case *rows;
    size_t count;
} op_case_table;

/* One table per family of operations. */
extern const op_case_table op_product_cases;
extern const op_case_table op_elementwise_cases;
extern const op_case_table op_row_cases;
extern const op_case_table op_shape_cases;
extern const op_case_table op_loss_cases;

/* All rows, numbered through. op_case_at() returns NULL past the end. */
size_t op_case_count(void);
const op_case *op_case_at(size_t index);
const op_case *op_case_find(const char *name);

/* For rows: OP_ROW("name", record, OP_LEAVES(OP_LEAF(2, 3, 4), OP_SCALAR_LEAF), .number = 1). The
 * number before extents is ndim. */
#define OP_ROW(label, function, ...)                       \
    {                                                      \
        .name = (label), .record = (function), __VA_ARGS__ \
    }
#define OP_LEAVES(...) \
    .leaves = {__VA_ARGS__}, .n_leaves = sizeof((const op_leaf[]){__VA_ARGS__}) / sizeof(op_leaf)
#define OP_DIMS(n, ...)                      \
    {                                        \
        .ndim = (n), .dims = { __VA_ARGS__ } \
    }
#define OP_LEAF(n, ...)                  \
    {                                    \
        .shape = OP_DIMS(n, __VA_ARGS__) \
    }
#define OP_SCALAR_LEAF        \
    {                         \
        .shape = {.ndim = 0 } \
    }
#define OP_RANGE(lo, hi, n, ...)                                    \
    {                                                               \
        .shape = OP_DIMS(n, __VA_ARGS__), .low = (lo), .high = (hi) \
    }
#define OP_AXES(n, ...) .n_axes = (n), .axes = {__VA_ARGS__}
#define OP_TABLE(rows)                           \
    {                                            \
        (rows), sizeof(rows) / sizeof((rows)[0]) \
    }

#endif
