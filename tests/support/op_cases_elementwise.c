/* op_cases_elementwise.c - conformance rows of the binary, unary and activation operations. */
#include "support/op_cases.h"

#define RECORD_BINARY(op)                                                                       \
    static remat_var record_##op(remat_tape *tape, const remat_var *leaves, const op_case *row) \
    {                                                                                           \
        (void)row;                                                                              \
        return remat_##op(tape, leaves[0], leaves[1]);                                          \
    }                                                                                           \
    static remat_var record_##op##_itself(remat_tape *tape, const remat_var *leaves,            \
                                          const op_case *row)                                   \
    {                                                                                           \
        (void)row;                                                                              \
        return remat_##op(tape, leaves[0], leaves[0]);                                          \
    }
#define RECORD_UNARY(op)                                                                        \
    static remat_var record_##op(remat_tape *tape, const remat_var *leaves, const op_case *row) \
    {                                                                                           \
        (void)row;                                                                              \
        return remat_##op(tape, leaves[0]);                                                     \
    }
#define RECORD_WITH_NUMBER(op)                                                                  \
    static remat_var record_##op(remat_tape *tape, const remat_var *leaves, const op_case *row) \
    {                                                                                           \
        return remat_##op(tape, leaves[0], row->number);                                        \
    }

RECORD_BINARY(add)
RECORD_BINARY(subtract)
RECORD_BINARY(multiply)
RECORD_BINARY(divide)
RECORD_WITH_NUMBER(scale)
RECORD_UNARY(negate)
RECORD_UNARY(exp)
RECORD_UNARY(log)
RECORD_UNARY(sqrt)
RECORD_UNARY(square)
RECORD_UNARY(relu)
RECORD_WITH_NUMBER(leaky_relu)
RECORD_UNARY(gelu)
RECORD_UNARY(gelu_tanh)
RECORD_UNARY(silu)
RECORD_UNARY(tanh)
RECORD_UNARY(sigmoid)
RECORD_WITH_NUMBER(dropout)

#define D(...) OP_LEAF(__VA_ARGS__)
#define S(least)                                        \
    {                                                   \
        .shape = {.ndim = 0}, .low = (least), .high = 2 \
    }
#define R(least, ...) OP_RANGE(least, 2, __VA_ARGS__)
#define L(...)        OP_LEAVES(__VA_ARGS__)
#define LARGE         .no_golden = true

/* Every broadcasting pair; `low` is the least element of the second operand. */
#define BINARY_SMALL(op, f, least)                                          \
    OP_ROW(op "_same", f, L(D(2, 3, 4), R(least, 2, 3, 4))),                \
        OP_ROW(op "_row", f, L(D(2, 3, 4), R(least, 1, 4))),                \
        OP_ROW(op "_column", f, L(D(2, 3, 4), R(least, 2, 3, 1))),          \
        OP_ROW(op "_outer", f, L(D(2, 3, 1), R(least, 2, 1, 4))),           \
        OP_ROW(op "_left", f, L(D(1, 4), R(least, 3, 2, 3, 4))),            \
        OP_ROW(op "_scalar", f, L(D(2, 2, 3), S(least))),                   \
        OP_ROW(op "_scalar_left", f, L(OP_SCALAR_LEAF, R(least, 2, 2, 3))), \
        OP_ROW(op "_one", f, L(D(1, 1), R(least, 2, 2, 3))),                \
        OP_ROW(op "_middle", f, L(D(3, 2, 3, 4), R(least, 3, 2, 1, 4))),    \
        OP_ROW(op "_mixed", f, L(D(3, 2, 1, 4), R(least, 2, 3, 1))),        \
        OP_ROW(op "_scalars", f, L(OP_SCALAR_LEAF, S(least)))
#define BINARY_LARGE(op, f, least)                                                      \
    OP_ROW(op "_large", f, L(D(2, 37, 67), R(least, 2, 37, 67)), LARGE),                \
        OP_ROW(op "_large_row", f, L(D(2, 37, 67), R(least, 1, 67)), LARGE),            \
        OP_ROW(op "_large_column", f, L(D(2, 37, 67), R(least, 2, 37, 1)), LARGE),      \
        OP_ROW(op "_large_left", f, L(D(1, 67), R(least, 2, 37, 67)), LARGE),           \
        OP_ROW(op "_large_middle", f, L(D(3, 5, 1, 35), R(least, 3, 1, 9, 35)), LARGE), \
        OP_ROW(op "_deep", f, L(D(6, 2, 1, 3, 1, 2, 1), R(least, 6, 1, 2, 1, 3, 1, 2)), LARGE)
/* More elements than the blocks in which terms are computed and summed. */
#define BINARY_BLOCKS(op, f, least)                                                 \
    OP_ROW(op "_blocks", f, L(D(2, 37, 301), R(least, 2, 37, 301)), LARGE),         \
        OP_ROW(op "_blocks_row", f, L(D(2, 37, 301), R(least, 1, 301)), LARGE),     \
        OP_ROW(op "_blocks_column", f, L(D(2, 2, 2503), R(least, 2, 2, 1)), LARGE), \
        OP_ROW(op "_blocks_left", f, L(D(1, 301), R(least, 2, 37, 301)), LARGE)
#define BINARY(op, least)                                                         \
    BINARY_SMALL(#op, record_##op, least), BINARY_LARGE(#op, record_##op, least), \
        BINARY_BLOCKS(#op, record_##op, least),                                   \
        OP_ROW(#op "_itself", record_##op##_itself, L(R(0.5, 2, 5, 7)), LARGE)

/* A small row for the golden file and a large one for vector bodies with a tail. */
#define UNARY(op, label, least, most, ...)                                                     \
    OP_ROW(#op label, record_##op, L(OP_RANGE(least, most, 2, 3, 7)), __VA_ARGS__),            \
        OP_ROW(#op label "_large", record_##op, L(OP_RANGE(least, most, 3, 2, 13, 67)), LARGE, \
               __VA_ARGS__)
#define KINKED(op, label, ...)                                                         \
    OP_ROW(#op label, record_##op, L({.shape = OP_DIMS(2, 3, 7), .draw = OP_NONZERO}), \
           __VA_ARGS__),                                                               \
        OP_ROW(#op label "_large", record_##op,                                        \
               L({.shape = OP_DIMS(3, 2, 13, 67), .draw = OP_NONZERO}), LARGE, __VA_ARGS__)
#define NO_NUMBER .number = 0

static const op_case rows[] = {
    BINARY(add, -2),
    BINARY(subtract, -2),
    BINARY(multiply, -2),
    BINARY(divide, 0.5),

    UNARY(scale, "", -2, 2, .number = -1.75),
    UNARY(negate, "", -2, 2, NO_NUMBER),
    UNARY(exp, "", -2, 2, NO_NUMBER),
    UNARY(log, "", 0.25, 3, NO_NUMBER),
    UNARY(sqrt, "", 0.25, 3, NO_NUMBER),
    UNARY(square, "", -2, 2, NO_NUMBER),
    KINKED(relu, "", NO_NUMBER),
    KINKED(leaky_relu, "", .number = 0.01),
    KINKED(leaky_relu, "_steep", .number = 1.5),
    KINKED(leaky_relu, "_zero", .number = 0),
    UNARY(gelu, "", -3, 3, NO_NUMBER),
    UNARY(gelu, "_wide", -40, 40, NO_NUMBER),
    UNARY(gelu_tanh, "", -3, 3, NO_NUMBER),
    UNARY(gelu_tanh, "_wide", -40, 40, NO_NUMBER),
    UNARY(silu, "", -3, 3, NO_NUMBER),
    UNARY(silu, "_wide", -80, 80, NO_NUMBER),
    UNARY(tanh, "", -3, 3, NO_NUMBER),
    UNARY(tanh, "_wide", -80, 80, .absolute = 1e-7),
    UNARY(tanh, "_small", -0.125, 0.125, NO_NUMBER),
    UNARY(sigmoid, "", -3, 3, NO_NUMBER),
    UNARY(sigmoid, "_wide", -80, 80, NO_NUMBER),
    OP_ROW("exp_scalar", record_exp, L(OP_SCALAR_LEAF)),
    OP_ROW("scale_by_zero", record_scale, L(D(2, 3, 5)), .no_golden = true),

    OP_ROW("dropout", record_dropout, L(D(2, 5, 7)), .number = 0.3, .no_golden = true),
    OP_ROW("dropout_large", record_dropout, L(D(3, 2, 13, 67)), .number = 0.75, .no_golden = true),
    OP_ROW("dropout_none", record_dropout, L(D(2, 5, 7)), .number = 0, .no_golden = true),
};

const op_case_table op_elementwise_cases = OP_TABLE(rows);
