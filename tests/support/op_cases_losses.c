/* op_cases_losses.c - conformance rows of cross_entropy and mse. */
#include "support/op_cases.h"

static remat_var record_cross_entropy(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    return remat_cross_entropy(tape, leaves[0], leaves[1], &row->cross_entropy);
}

static remat_var record_defaults(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    (void)row;
    return remat_cross_entropy(tape, leaves[0], leaves[1], NULL);
}

static remat_var record_mse(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    return remat_mse(tape, leaves[0], leaves[1], row->reduction);
}

static remat_var record_mse_itself(remat_tape *tape, const remat_var *leaves, const op_case *row)
{
    return remat_mse(tape, leaves[0], leaves[0], row->reduction);
}

#define D(...) OP_LEAF(__VA_ARGS__)
#define L(...) OP_LEAVES(__VA_ARGS__)
#define LABELS(classes, ...)                                       \
    {                                                              \
        .shape = __VA_ARGS__, .draw = OP_LABELS, .high = (classes) \
    }
#define SOME_LOST(classes, ...)                                       \
    {                                                                 \
        .shape = __VA_ARGS__, .draw = OP_SOME_LOST, .high = (classes) \
    }
#define ENTROPY(label, ...)        OP_ROW("cross_entropy_" label, record_cross_entropy, __VA_ARGS__)
#define DEFAULTS(label, ...)       OP_ROW("cross_entropy_" label, record_defaults, __VA_ARGS__)
#define MEAN(smoothing)            .cross_entropy = {REMAT_MEAN, smoothing, false, 0}
#define MEAN_BUT(label, smoothing) .cross_entropy = {REMAT_MEAN, smoothing, true, label}
#define SUM(smoothing)             .cross_entropy = {REMAT_SUM, smoothing, false, 0}
#define SUM_BUT(label, smoothing)  .cross_entropy = {REMAT_SUM, smoothing, true, label}
#define FOUR                       L(D(2, 4, 5), LABELS(5, OP_DIMS(1, 4)))
#define FOUR_LESS                  L(D(2, 4, 5), SOME_LOST(5, OP_DIMS(1, 4)))
#define SIX                        L(D(3, 2, 3, 5), LABELS(5, OP_DIMS(2, 2, 3)))
#define MSE(label, ...)            OP_ROW("mse_" label, record_mse, __VA_ARGS__)

static const op_case rows[] = {
    ENTROPY("mean", FOUR, MEAN(0)),
    ENTROPY("mean_ignore", FOUR_LESS, MEAN_BUT(-100, 0)),
    ENTROPY("mean_ignore_class", FOUR_LESS, MEAN_BUT(3, 0)),
    ENTROPY("mean_smooth", FOUR, MEAN(0.25)),
    ENTROPY("mean_smooth_ignore", FOUR_LESS, MEAN_BUT(-100, 0.25)),
    ENTROPY("mean_smooth_ignore_class", FOUR_LESS, MEAN_BUT(3, 0.25)),
    ENTROPY("sum", FOUR, SUM(0)),
    ENTROPY("sum_ignore", FOUR_LESS, SUM_BUT(-100, 0)),
    ENTROPY("sum_ignore_class", FOUR_LESS, SUM_BUT(3, 0)),
    ENTROPY("sum_smooth", FOUR, SUM(0.25)),
    ENTROPY("sum_smooth_ignore", FOUR_LESS, SUM_BUT(-100, 0.25)),
    ENTROPY("sum_smooth_ignore_class", FOUR_LESS, SUM_BUT(3, 0.25)),
    ENTROPY("3d_mean", SIX, MEAN(0)),
    ENTROPY("3d_sum", SIX, SUM(0)),
    ENTROPY("3d_smooth_ignore", L(D(3, 2, 3, 5), SOME_LOST(5, OP_DIMS(2, 2, 3))),
            MEAN_BUT(-7, 0.25)),
    DEFAULTS("vector", L(D(1, 5), LABELS(5, {.ndim = 0}))),
    DEFAULTS("one_class", L(D(2, 3, 1), LABELS(1, OP_DIMS(1, 3))), .absolute = 1e-7),
    DEFAULTS("wide", L(OP_RANGE(-300, 300, 2, 4, 5), LABELS(5, OP_DIMS(1, 4)))),
    ENTROPY("large", L(D(2, 19, 131), LABELS(131, OP_DIMS(1, 19))), MEAN(0), .no_golden = true),
    ENTROPY("blocks", L(D(2, 5, 2503), LABELS(2503, OP_DIMS(1, 5))), MEAN(0.1), .no_golden = true),
    ENTROPY("large_smooth_ignore", L(D(2, 19, 131), SOME_LOST(131, OP_DIMS(1, 19))),
            SUM_BUT(-1, 0.1), .no_golden = true),

    MSE("mean", L(D(2, 3, 4), D(2, 3, 4)), .reduction = REMAT_MEAN),
    MSE("sum", L(D(2, 3, 4), D(2, 3, 4)), .reduction = REMAT_SUM),
    MSE("scalar", L(OP_SCALAR_LEAF, OP_SCALAR_LEAF), .reduction = REMAT_MEAN),
    MSE("large", L(D(2, 37, 67), D(2, 37, 67)), .reduction = REMAT_MEAN, .no_golden = true),
    OP_ROW("mse_itself", record_mse_itself, L(D(2, 3, 4)), .reduction = REMAT_SUM,
           .no_golden = true),
};

const op_case_table op_loss_cases = OP_TABLE(rows);
