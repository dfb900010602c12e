/* op_cases_products.c - conformance rows of matmul and linear. */
#include "support/op_cases.h"

static remat_var record_matmul(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    return remat_matmul(tape, leaves[0], leaves[1], row->flag_a, row->flag_b);
}

static remat_var record_square(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    return remat_matmul(tape, leaves[0], leaves[0], row->flag_a, row->flag_b);
}

static remat_var record_linear(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    const remat_var none = {0};
    return remat_linear(tape, leaves[0], leaves[1], row->n_leaves > 2 ? leaves[2] : none);
}

static remat_var record_weight_is_x(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    (void)row;
    return remat_linear(tape, leaves[0], leaves[0], leaves[1]);
}

static remat_var record_bias_is_x(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    (void)row;
    return remat_linear(tape, leaves[0], leaves[1], leaves[0]);
}

#define D(...)             OP_LEAF(__VA_ARGS__)
#define MATMUL(label, ...) OP_ROW("matmul" label, record_matmul, __VA_ARGS__)
#define SQUARE(label, ...) \
    OP_ROW("matmul_itself" label, record_square, .no_golden = true, __VA_ARGS__)
#define LINEAR(label, ...) OP_ROW("linear" label, record_linear, __VA_ARGS__)
#define L(...)             OP_LEAVES(__VA_ARGS__)
#define TA                 .flag_a = true
#define TB                 .flag_b = true
#define TA_TB              .flag_a = true, .flag_b = true
#define BIAS               .optional = 4 /* leaf 2 */
#define LARGE              .no_golden = true, .f32_tolerance = 5e-6

static const op_case rows[] = {
    MATMUL("", L(D(2, 2, 3), D(2, 3, 4))),
    MATMUL("_ta", L(D(2, 3, 2), D(2, 3, 4)), TA),
    MATMUL("_tb", L(D(2, 2, 3), D(2, 4, 3)), TB),
    MATMUL("_ta_tb", L(D(2, 3, 2), D(2, 4, 3)), TA_TB),
    MATMUL("_one", L(D(2, 1, 1), D(2, 1, 1))),
    MATMUL("_row_column", L(D(2, 1, 5), D(2, 5, 1))),
    MATMUL("_column_row", L(D(2, 4, 1), D(2, 1, 3))),
    MATMUL("_batched", L(D(3, 2, 3, 4), D(3, 2, 4, 5))),
    MATMUL("_batched_ta", L(D(3, 2, 4, 3), D(3, 2, 4, 5)), TA),
    MATMUL("_batched_tb", L(D(3, 2, 3, 4), D(3, 2, 5, 4)), TB),
    MATMUL("_batched_ta_tb", L(D(3, 2, 4, 3), D(3, 2, 5, 4)), TA_TB),
    MATMUL("_shared_b", L(D(3, 2, 3, 4), D(2, 4, 5))),
    MATMUL("_shared_b_ta", L(D(3, 2, 4, 3), D(2, 4, 5)), TA),
    MATMUL("_shared_b_tb", L(D(3, 2, 3, 4), D(2, 5, 4)), TB),
    MATMUL("_shared_a", L(D(2, 3, 4), D(3, 2, 4, 5))),
    MATMUL("_shared_a_ta_tb", L(D(2, 4, 3), D(3, 2, 5, 4)), TA_TB),
    MATMUL("_broadcast_batch", L(D(4, 2, 1, 3, 4), D(3, 5, 4, 2))),
    MATMUL("_broadcast_both", L(D(4, 3, 1, 2, 4), D(4, 1, 2, 4, 3))),
    MATMUL("_broadcast_both_ta_tb", L(D(4, 3, 1, 4, 2), D(4, 1, 2, 3, 4)), TA_TB),
    MATMUL("_broadcast_one", L(D(3, 1, 2, 3), D(3, 4, 3, 2))),
    MATMUL("_large", L(D(2, 65, 33), D(2, 33, 47)), LARGE),
    MATMUL("_large_ta", L(D(2, 33, 65), D(2, 33, 47)), LARGE, TA),
    MATMUL("_large_tb", L(D(2, 65, 33), D(2, 47, 33)), LARGE, TB),
    MATMUL("_large_ta_tb", L(D(2, 33, 65), D(2, 47, 33)), LARGE, TA_TB),
    MATMUL("_large_shared_b", L(D(3, 3, 17, 33), D(2, 33, 31)), LARGE),
    MATMUL("_large_shared_a", L(D(2, 17, 33), D(4, 2, 3, 33, 15)), LARGE),
    SQUARE("", L(D(2, 4, 4))),
    SQUARE("_ta", L(D(2, 3, 4)), TA),
    SQUARE("_tb", L(D(2, 3, 4)), TB),
    SQUARE("_ta_tb", L(D(3, 2, 4, 4)), TA_TB),

    LINEAR("", L(D(2, 5, 3), D(2, 4, 3), D(1, 4)), BIAS),
    LINEAR("_no_bias", L(D(2, 5, 3), D(2, 4, 3))),
    LINEAR("_3d", L(D(3, 2, 3, 5), D(2, 4, 5), D(1, 4)), BIAS),
    LINEAR("_3d_no_bias", L(D(3, 2, 3, 5), D(2, 4, 5))),
    LINEAR("_vector", L(D(1, 3), D(2, 4, 3), D(1, 4)), BIAS),
    LINEAR("_one_out", L(D(2, 6, 4), D(2, 1, 4), D(1, 1)), BIAS),
    LINEAR("_one_in", L(D(2, 6, 1), D(2, 3, 1), D(1, 3)), BIAS),
    LINEAR("_large", L(D(2, 33, 65), D(2, 17, 65), D(1, 17)), LARGE, BIAS),
    LINEAR("_many_out", L(D(2, 9, 20), D(2, 301, 20), D(1, 301)), LARGE, BIAS),
    LINEAR("_large_no_bias", L(D(3, 3, 11, 65), D(2, 34, 65)), LARGE),
    OP_ROW("linear_weight_is_x", record_weight_is_x, L(D(2, 4, 4), D(1, 4)), .no_golden = true,
           .optional = 2),
    OP_ROW("linear_bias_is_x", record_bias_is_x, L(D(1, 4), D(2, 4, 4)), .no_golden = true),
};

const op_case_table op_product_cases = OP_TABLE(rows);
