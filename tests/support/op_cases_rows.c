/* op_cases_rows.c - conformance rows of softmax, log_softmax, layer_norm and the reductions. */
#include "support/op_cases.h"

static remat_var record_softmax(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    return remat_softmax(tape, leaves[0], row->axes[0]);
}

static remat_var record_log_softmax(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    return remat_log_softmax(tape, leaves[0], row->axes[0]);
}

/* flag_a: has a weight; flag_b: has a bias; number: epsilon, 0 for 1e-5. */
static remat_var record_layer_norm(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    const remat_var none = {0};
    const remat_var weight = row->flag_a ? leaves[1] : none;
    const remat_var bias = row->flag_b ? leaves[row->flag_a ? 2 : 1] : none;
    return remat_layer_norm(tape, leaves[0], weight, bias, row->number != 0 ? row->number : 1e-5);
}

static remat_var record_norm_itself(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    (void)row;
    return remat_layer_norm(tape, leaves[0], leaves[0], leaves[0], 1e-5);
}

/* flag_a: keep_dims. */
static remat_var record_sum(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    const int *axes = row->n_axes > 0 ? row->axes : NULL;
    return remat_sum(tape, leaves[0], axes, row->n_axes, row->flag_a);
}

static remat_var record_mean(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    const int *axes = row->n_axes > 0 ? row->axes : NULL;
    return remat_mean(tape, leaves[0], axes, row->n_axes, row->flag_a);
}

#define D(...) OP_LEAF(__VA_ARGS__)
#define L(...) OP_LEAVES(__VA_ARGS__)
#define LARGE  .no_golden = true, .f32_tolerance = 5e-6

#define SOFTMAX(op, f)                                                                          \
    OP_ROW(op "_axis_0", f, L(D(3, 2, 3, 4)), .axes = {0}),                                     \
        OP_ROW(op "_axis_1", f, L(D(3, 2, 3, 4)), .axes = {1}),                                 \
        OP_ROW(op "_axis_2", f, L(D(3, 2, 3, 4)), .axes = {2}),                                 \
        OP_ROW(op "_axis_minus_2", f, L(D(3, 2, 3, 4)), .axes = {-2}),                          \
        OP_ROW(op "_wide", f, L(OP_RANGE(-300, 300, 2, 3, 7)), .axes = {-1}, .absolute = 1e-7), \
        OP_ROW(op "_vector", f, L(D(1, 6)), .axes = {0}),                                       \
        OP_ROW(op "_one", f, L(D(2, 3, 1)), .axes = {1}),                                       \
        OP_ROW(op "_large", f, L(D(2, 13, 131)), .axes = {-1}, LARGE),                          \
        OP_ROW(op "_blocks", f, L(D(2, 3, 2503)), .axes = {-1}, LARGE),                         \
        OP_ROW(op "_blocks_axis_0", f, L(D(2, 35, 301)), .axes = {0}, LARGE),                   \
        OP_ROW(op "_large_axis_0", f, L(D(2, 131, 13)), .axes = {0}, LARGE),                    \
        OP_ROW(op "_large_axis_1", f, L(D(3, 3, 35, 17)), .axes = {1}, LARGE)

#define NORM(label, ...) OP_ROW("layer_norm" label, record_layer_norm, __VA_ARGS__)
#define WEIGHT           .flag_a = true, .optional = 2
#define BIAS             .flag_b = true, .optional = 2
#define BOTH             .flag_a = true, .flag_b = true, .optional = 6
#define NEITHER          .flag_a = false

#define REDUCED(op, f, axes, ...)                                             \
    OP_ROW(op "_axes_" axes, f, L(D(3, 2, 3, 4)), OP_AXES(__VA_ARGS__)),      \
        OP_ROW(op "_axes_" axes "_keep", f, L(D(3, 2, 3, 4)), .flag_a = true, \
               OP_AXES(__VA_ARGS__))
#define REDUCTIONS(op, f)                                                                        \
    REDUCED(op, f, "0", 1, 0), REDUCED(op, f, "1", 1, 1), REDUCED(op, f, "2", 1, 2),             \
        REDUCED(op, f, "minus_1", 1, -1), REDUCED(op, f, "0_1", 2, 0, 1),                        \
        REDUCED(op, f, "0_2", 2, 0, 2), REDUCED(op, f, "1_2", 2, 1, 2),                          \
        REDUCED(op, f, "2_0", 2, 2, 0), REDUCED(op, f, "0_1_2", 3, 0, 1, 2),                     \
        OP_ROW(op "_all", f, L(D(2, 3, 4))), OP_ROW(op "_one", f, L(D(2, 3, 1)), OP_AXES(1, 1)), \
        OP_ROW(op "_4d", f, L(D(4, 2, 3, 2, 3)), OP_AXES(2, 1, 3)),                              \
        OP_ROW(op "_scalar", f, L(OP_SCALAR_LEAF), .no_golden = true),                           \
        OP_ROW(op "_all_keep", f, L(D(2, 3, 4)), .flag_a = true, .no_golden = true),             \
        OP_ROW(op "_large_axis_0", f, L(D(2, 67, 35)), OP_AXES(1, 0), LARGE),                    \
        OP_ROW(op "_large_axis_1", f, L(D(2, 35, 67)), OP_AXES(1, 1), LARGE),                    \
        OP_ROW(op "_large_middle", f, L(D(3, 5, 35, 19)), OP_AXES(1, 1), LARGE),                 \
        OP_ROW(op "_large_outer", f, L(D(3, 5, 35, 19)), OP_AXES(2, 0, 2), LARGE),               \
        OP_ROW(op "_blocks_axis_0", f, L(D(2, 5, 301)), OP_AXES(1, 0), LARGE),                   \
        OP_ROW(op "_blocks_axis_1", f, L(D(2, 301, 5)), OP_AXES(1, 1), LARGE),                   \
        OP_ROW(op "_blocks_middle", f, L(D(3, 3, 5, 301)), OP_AXES(1, 1), LARGE),                \
        OP_ROW(op "_large_all", f, L(D(2, 67, 35)), LARGE)

static const op_case rows[] = {
    SOFTMAX("softmax", record_softmax),
    SOFTMAX("log_softmax", record_log_softmax),

    NORM("", L(D(2, 4, 6), D(1, 6), D(1, 6)), BOTH),
    NORM("_weight", L(D(2, 4, 6), D(1, 6)), WEIGHT),
    NORM("_bias", L(D(2, 4, 6), D(1, 6)), BIAS),
    NORM("_plain", L(D(2, 4, 6)), NEITHER),
    NORM("_epsilon", L(D(2, 4, 6), D(1, 6), D(1, 6)), BOTH, .number = 0.25),
    NORM("_3d", L(D(3, 2, 3, 5), D(1, 5), D(1, 5)), BOTH),
    NORM("_2_axes", L(D(3, 3, 2, 4), D(2, 2, 4), D(2, 2, 4)), BOTH),
    NORM("_2_axes_weight", L(D(3, 3, 2, 4), D(2, 2, 4)), WEIGHT),
    NORM("_2_axes_bias", L(D(3, 3, 2, 4), D(2, 2, 4)), BIAS),
    NORM("_vector", L(D(1, 6), D(1, 6), D(1, 6)), BOTH),
    NORM("_all_axes", L(D(2, 2, 5), D(2, 2, 5), D(2, 2, 5)), BOTH),
    NORM("_large", L(D(2, 9, 131), D(1, 131), D(1, 131)), BOTH, LARGE),
    NORM("_blocks", L(D(2, 5, 1203), D(1, 1203), D(1, 1203)), BOTH, LARGE),
    NORM("_large_plain", L(D(2, 9, 131)), NEITHER, LARGE),
    NORM("_offset", L(OP_RANGE(100, 104, 2, 5, 67), D(1, 67), D(1, 67)), BOTH, .no_golden = true,
         .f32_tolerance = 2e-5),
    OP_ROW("layer_norm_itself", record_norm_itself, L(D(1, 6)), .no_golden = true),

    REDUCTIONS("sum", record_sum),
    REDUCTIONS("mean", record_mean),
};

const op_case_table op_row_cases = OP_TABLE(rows);
