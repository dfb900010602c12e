/* unary.c - the element-wise operations of one operand: one row each of `ops`. What a row's
 * backward reads is chosen so that little is kept: the result where the derivative can be written
 * in it (then the operand may be overwritten), the operand elsewhere. */
#include "ops/common.h"

#include <math.h>

#include "cpu/kernels.h"

typedef struct unary_attributes {
    double parameter;
    uint64_t map; /* remat_map */
} unary_attributes;

static unary_attributes attributes_of(const void *attributes)
{
    return *(const unary_attributes *)attributes;
}

static remat_status leaky_relu_infer(remat_infer *infer)
{
    double slope = attributes_of(infer->attributes).parameter;
    if (!(slope >= 0 && isfinite(slope)))
        return remat_infer_fail(infer, REMAT_INVALID_ARGUMENT,
                                "slope is %g; give a finite slope of 0 or more", slope);
    return remat_infer_like_operand(infer);
}

/* Estimates of arithmetic operations per element, forward and backward. */
static const struct {
    double forward, backward;
} flops[REMAT_MAP_COUNT] = {
    [REMAT_MAP_SCALE] = {1, 1},      [REMAT_MAP_EXP] = {20, 1},   [REMAT_MAP_LOG] = {25, 1},
    [REMAT_MAP_SQRT] = {1, 2},       [REMAT_MAP_SQUARE] = {1, 2}, [REMAT_MAP_RELU] = {1, 1},
    [REMAT_MAP_LEAKY_RELU] = {2, 2}, [REMAT_MAP_GELU] = {50, 55}, [REMAT_MAP_GELU_TANH] = {30, 40},
    [REMAT_MAP_SILU] = {25, 30},     [REMAT_MAP_TANH] = {35, 3},  [REMAT_MAP_SIGMOID] = {25, 3},
};

static void unary_cost(const remat_query *query, remat_cost *cost)
{
    uint64_t map = attributes_of(query->attributes).map;
    double count = (double)remat_type_count(&query->in[0]);
    double bytes = (double)remat_type_bytes(&query->in[0]);
    cost->forward_flops = flops[map].forward * count;
    cost->forward_bytes = 2 * bytes;
    cost->backward_flops = flops[map].backward * count;
    cost->backward_bytes = (map == REMAT_MAP_SCALE ? 2 : 3) * bytes;
}

static remat_status unary_forward(const remat_forward *call)
{
    unary_attributes a = attributes_of(call->attributes);
    const remat_tensor *x = &call->in[0];
    remat_cpu_kernels()->map[x->dtype].forward[a.map](x->data, call->out[0].data,
                                                      remat_tensor_count(x), a.parameter);
    return REMAT_OK;
}

static remat_status unary_backward(const remat_backward *call)
{
    unary_attributes a = attributes_of(call->attributes);
    const remat_tensor *dy = &call->grad_out[0], *dx = &call->grad_in[0];
    const void *kept = call->out[0].data ? call->out[0].data : call->in[0].data;
    if (dx->data)
        remat_cpu_kernels()->map[dx->dtype].backward[a.map](
            kept, dy->data, dx->data, remat_tensor_count(dx), a.parameter, call->accumulate[0]);
    return REMAT_OK;
}

#define ROW(text, keeps_operand, keeps_result, infer_function)                        \
    {                                                                                 \
        .name = text, .min_operands = 1, .max_operands = 1, .n_results = 1,           \
        .attribute_bytes = sizeof(unary_attributes), .needs_operands = keeps_operand, \
        .needs_results = keeps_result, .in_place = 1, .gradient_in_place = 1,         \
        .infer = infer_function, .cost = unary_cost, .forward = unary_forward,        \
        .backward = unary_backward                                                    \
    }
#define READS_NOTHING(text) ROW(text, 0, 0, remat_infer_like_operand)
#define READS_OPERAND(text) ROW(text, 1, 0, remat_infer_like_operand)
#define READS_RESULT(text)  ROW(text, 0, 1, remat_infer_like_operand)

static const remat_op negate_op = READS_NOTHING("negate");
static const remat_op ops[REMAT_MAP_COUNT] = {
    [REMAT_MAP_SCALE] = READS_NOTHING("scale"),
    [REMAT_MAP_EXP] = READS_RESULT("exp"),
    [REMAT_MAP_LOG] = READS_OPERAND("log"),
    [REMAT_MAP_SQRT] = READS_RESULT("sqrt"),
    [REMAT_MAP_SQUARE] = READS_OPERAND("square"),
    [REMAT_MAP_RELU] = READS_RESULT("relu"),
    [REMAT_MAP_LEAKY_RELU] = ROW("leaky_relu", 0, 1, leaky_relu_infer),
    [REMAT_MAP_GELU] = READS_OPERAND("gelu"),
    [REMAT_MAP_GELU_TANH] = READS_OPERAND("gelu_tanh"),
    [REMAT_MAP_SILU] = READS_OPERAND("silu"),
    [REMAT_MAP_TANH] = READS_RESULT("tanh"),
    [REMAT_MAP_SIGMOID] = READS_RESULT("sigmoid"),
};

static remat_var record(remat_tape *tape, const remat_op *op, remat_map map, remat_var x,
                        double parameter)
{
    unary_attributes attributes = {.parameter = parameter, .map = map};
    remat_var y = {0};
    remat_apply(tape, op, &attributes, &x, 1, &y, 1); /* an error sticks to the tape, y is unset */
    return y;
}

remat_var remat_scale(remat_tape *tape, remat_var x, double factor)
{
    return record(tape, &ops[REMAT_MAP_SCALE], REMAT_MAP_SCALE, x, factor);
}

remat_var remat_negate(remat_tape *tape, remat_var x)
{
    return record(tape, &negate_op, REMAT_MAP_SCALE, x, -1);
}

/* A slope of 0 would give 0 * -infinity. */
remat_var remat_leaky_relu(remat_tape *tape, remat_var x, double slope)
{
    remat_map map = slope == 0 ? REMAT_MAP_RELU : REMAT_MAP_LEAKY_RELU;
    return record(tape, &ops[map], map, x, slope);
}

#define RECORD(NAME, name)                                                   \
    remat_var remat_##name(remat_tape *tape, remat_var x)                    \
    {                                                                        \
        return record(tape, &ops[REMAT_MAP_##NAME], REMAT_MAP_##NAME, x, 0); \
    }

RECORD(EXP, exp)
RECORD(LOG, log)
RECORD(SQRT, sqrt)
RECORD(SQUARE, square)
RECORD(RELU, relu)
RECORD(GELU, gelu)
RECORD(GELU_TANH, gelu_tanh)
RECORD(SILU, silu)
RECORD(TANH, tanh)
RECORD(SIGMOID, sigmoid)
