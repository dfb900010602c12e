/* op_cases_shapes.c - conformance rows of reshape, permute, transpose and detach. */
#include "support/op_cases.h"

static remat_var record_reshape(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    return remat_reshape(tape, leaves[0], row->shape);
}

static remat_var record_permute(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    return remat_permute(tape, leaves[0], row->axes, row->n_axes);
}

static remat_var record_transpose(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    return remat_transpose(tape, leaves[0], row->axes[0], row->axes[1]);
}

static remat_var record_detach(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    (void)row;
    return remat_detach(tape, leaves[0]);
}

#define D(...)                OP_LEAF(__VA_ARGS__)
#define MOVE(label, f, ...)   OP_ROW(label, f, .takes_i32 = true, __VA_ARGS__)
#define RESHAPE(label, ...)   MOVE("reshape" label, record_reshape, __VA_ARGS__)
#define PERMUTE(label, ...)   MOVE("permute_" label, record_permute, __VA_ARGS__)
#define TRANSPOSE(label, ...) MOVE("transpose" label, record_transpose, __VA_ARGS__)
#define L(...)                OP_LEAVES(__VA_ARGS__)
#define LARGE                 .no_golden = true

static const op_case rows[] = {
    RESHAPE("", L(D(2, 2, 6)), .shape = OP_DIMS(2, 3, 4)),
    RESHAPE("_infer", L(D(3, 2, 3, 4)), .shape = OP_DIMS(2, -1, 2)),
    RESHAPE("_scalar", L(D(2, 1, 1)), .shape = {.ndim = 0}),
    PERMUTE("2_0_1", L(D(3, 2, 3, 4)), OP_AXES(3, 2, 0, 1)),
    PERMUTE("1_0_2", L(D(3, 2, 3, 4)), OP_AXES(3, 1, 0, 2)),
    PERMUTE("0_2_1", L(D(3, 2, 3, 4)), OP_AXES(3, 0, 2, 1)),
    PERMUTE("identity", L(D(3, 2, 3, 4)), OP_AXES(3, 0, 1, 2)),
    PERMUTE("heads", L(D(4, 2, 3, 2, 4)), OP_AXES(4, 0, 2, 1, 3)),
    PERMUTE("reverse", L(D(4, 2, 3, 2, 4)), OP_AXES(4, 3, 2, 1, 0)),
    PERMUTE("negative_axes", L(D(3, 2, 3, 4)), OP_AXES(3, -1, -3, -2), .no_golden = true),
    PERMUTE("large_heads", L(D(4, 2, 17, 3, 16)), OP_AXES(4, 0, 2, 1, 3), LARGE),
    PERMUTE("large", L(D(3, 33, 19, 3)), OP_AXES(3, 2, 1, 0), LARGE),
    TRANSPOSE("", L(D(2, 3, 5)), .axes = {0, 1}),
    TRANSPOSE("_last", L(D(3, 2, 3, 4)), .axes = {-1, -2}),
    TRANSPOSE("_outer", L(D(3, 2, 3, 4)), .axes = {0, 2}),
    TRANSPOSE("_large", L(D(2, 67, 35)), .axes = {0, 1}, LARGE),
    TRANSPOSE("_large_batched", L(D(3, 3, 33, 18)), .axes = {1, 2}, LARGE),
    TRANSPOSE("_same_axis", L(D(2, 3, 5)), .axes = {1, 1}, .no_golden = true),
    MOVE("detach", record_detach, L(D(2, 2, 3))),
};

const op_case_table op_shape_cases = OP_TABLE(rows);
