/* binary.c - add, subtract, multiply and divide with NumPy's broadcasting. */
#include "cpu/kernels.h"
#include "ops/binary_gradient.h"
#include "ops/common.h"

#include <string.h>

typedef struct binary_attributes {
    remat_binary op;
} binary_attributes;

static bool same_dims(const remat_tensor *a, const remat_tensor *b)
{
    return a->ndim == b->ndim && memcmp(a->dims, b->dims, (size_t)a->ndim * sizeof *a->dims) == 0;
}

static remat_nest make_nest(const remat_tensor *a, const remat_tensor *b, const remat_tensor *y)
{
    if (same_dims(a, b))
        return (remat_nest){
            .ndim = 1, .extent = {remat_tensor_count(a)}, .stride = {{1}, {1}, {1}}};
    remat_nest nest = remat_nest_make(y->ndim, y->dims);
    remat_nest_broadcast(&nest, REMAT_TENSOR_A, a->ndim, a->dims, 1);
    remat_nest_broadcast(&nest, REMAT_TENSOR_B, b->ndim, b->dims, 1);
    remat_nest_broadcast(&nest, REMAT_TENSOR_Y, y->ndim, y->dims, 1);
    remat_nest_collapse(&nest);
    return nest;
}

static remat_status infer(remat_infer *call)
{
    remat_status status = remat_infer_same_float(call);
    if (status != REMAT_OK)
        return status;
    call->out->dtype = call->in[0].dtype;
    return remat_infer_broadcast(call, call->in[0].shape.ndim, call->in[1].shape.ndim,
                                 &call->out->shape);
}

static remat_status forward(const remat_forward *call)
{
    const binary_attributes *attributes = call->attributes;
    const remat_dtype dtype = call->out->dtype;
    const remat_nest nest = make_nest(&call->in[0], &call->in[1], call->out);
    const remat_nest_plane plane = remat_nest_plane_of(&nest);
    remat_binary_forward *kernel = remat_cpu_kernels()->binary[dtype].forward[attributes->op];
    remat_plane a = {.row = remat_nest_row_stride(&nest, REMAT_TENSOR_A),
                     .column = remat_nest_column_stride(&nest, REMAT_TENSOR_A)};
    remat_plane b = {.row = remat_nest_row_stride(&nest, REMAT_TENSOR_B),
                     .column = remat_nest_column_stride(&nest, REMAT_TENSOR_B)};
    remat_nest_cursor at = {.index = {0}};
    do {
        a.data = remat_element(call->in[0].data, at.offset[REMAT_TENSOR_A], dtype);
        b.data = remat_element(call->in[1].data, at.offset[REMAT_TENSOR_B], dtype);
        kernel(plane.rows, plane.columns, &a, &b,
               remat_element_to_write(call->out->data, at.offset[REMAT_TENSOR_Y], dtype));
    } while (remat_nest_next(&nest, plane.outer, &at));
    return REMAT_OK;
}

/* y or a, whichever is smaller, serves the gradient of a divisor; y where they are equal, so that
 * a's memory may be taken over. */
static bool quotient_from_a(int64_t count_a, int64_t count_y)
{
    return count_a < count_y;
}

static remat_binary_gradient make_gradient(const remat_backward *call, const remat_nest *nest,
                                           int target)
{
    const binary_attributes *attributes = call->attributes;
    remat_binary_gradient g = {.nest = nest,
                               .plane = remat_nest_plane_of(nest),
                               .dtype = call->grad_out->dtype,
                               .sign = 1,
                               .target = target,
                               .factor = attributes->op == REMAT_BINARY_MULTIPLY &&
                                                 target == REMAT_TENSOR_B
                                             ? REMAT_TENSOR_A
                                             : REMAT_TENSOR_B,
                               .dy = call->grad_out->data,
                               .data = {call->in[0].data, call->in[1].data, call->out->data},
                               .d = call->grad_in[target].data,
                               .accumulate = call->accumulate[target]};
    g.from_a =
        quotient_from_a(remat_tensor_count(&call->in[0]), remat_tensor_count(call->grad_out));
    if (attributes->op == REMAT_BINARY_SUBTRACT && target == REMAT_TENSOR_B)
        g.sign = -1;
    if (attributes->op == REMAT_BINARY_MULTIPLY)
        g.term = REMAT_TERM_PRODUCT;
    if (attributes->op == REMAT_BINARY_DIVIDE)
        g.term = target == REMAT_TENSOR_A ? REMAT_TERM_FRACTION : REMAT_TERM_QUOTIENT;
    return g;
}

static remat_status backward(const remat_backward *call)
{
    const remat_nest nest = make_nest(&call->in[0], &call->in[1], call->grad_out);
    /* Operands in order, but the gradient that takes dy's memory last. */
    const bool b_first = call->grad_in[0].data == call->grad_out->data;
    for (int turn = 0; turn < 2; turn++) {
        const int target = b_first ? 1 - turn : turn;
        if (!call->grad_in[target].data)
            continue;
        const remat_binary_gradient g = make_gradient(call, &nest, target);
        remat_binary_gradient_run(&g);
    }
    return REMAT_OK;
}

static void needs(const remat_query *query, uint64_t *operands, uint64_t *results)
{
    const binary_attributes *attributes = query->attributes;
    const bool a_asked = remat_gradient_asked(query, 0), b_asked = remat_gradient_asked(query, 1);
    *operands = *results = 0;
    if (attributes->op == REMAT_BINARY_MULTIPLY)
        *operands = (b_asked ? 1U : 0U) | (a_asked ? 2U : 0U);
    if (attributes->op != REMAT_BINARY_DIVIDE)
        return;
    *operands = a_asked || b_asked ? 2U : 0U;
    if (b_asked && quotient_from_a(remat_type_count(&query->in[0]), remat_type_count(query->out)))
        *operands |= 1U;
    else if (b_asked)
        *results = 1U;
}

static void cost(const remat_query *query, remat_cost *cost)
{
    uint64_t operands = 0, results = 0;
    const double count = (double)remat_type_count(query->out);
    const double y_bytes = (double)remat_type_bytes(query->out);
    cost->forward_flops = count;
    cost->forward_bytes = y_bytes;
    needs(query, &operands, &results);
    cost->backward_bytes = results ? y_bytes : 0;
    for (size_t i = 0; i < 2; i++) {
        const double bytes = (double)remat_type_bytes(&query->in[i]);
        cost->forward_bytes += bytes;
        cost->backward_bytes += (operands >> i) & 1 ? bytes : 0;
        if (remat_gradient_asked(query, i)) {
            cost->backward_flops += 2 * count;
            cost->backward_bytes += y_bytes + bytes;
        }
    }
}

#define BINARY_OP(variable, text, operand_mask, result_mask) \
    static const remat_op variable = {                       \
        .name = text,                                        \
        .min_operands = 2,                                   \
        .max_operands = 2,                                   \
        .n_results = 1,                                      \
        .attribute_bytes = sizeof(binary_attributes),        \
        .needs_operands = operand_mask,                      \
        .needs_results = result_mask,                        \
        .needs = needs,                                      \
        .in_place = 3,                                       \
        .gradient_in_place = 3,                              \
        .infer = infer,                                      \
        .cost = cost,                                        \
        .forward = forward,                                  \
        .backward = backward,                                \
    }

BINARY_OP(add_op, "add", 0, 0);
BINARY_OP(subtract_op, "subtract", 0, 0);
BINARY_OP(multiply_op, "multiply", 3, 0);
BINARY_OP(divide_op, "divide", 3, 1);

static remat_var record(remat_tape *tape, const remat_op *op, remat_binary kind, remat_var a,
                        remat_var b)
{
    const binary_attributes attributes = {kind};
    remat_var y = {0};
    remat_apply(tape, op, &attributes, (remat_var[]){a, b}, 2, &y, 1);
    return y;
}

remat_var remat_add(remat_tape *tape, remat_var a, remat_var b)
{
    return record(tape, &add_op, REMAT_BINARY_ADD, a, b);
}

remat_var remat_subtract(remat_tape *tape, remat_var a, remat_var b)
{
    return record(tape, &subtract_op, REMAT_BINARY_SUBTRACT, a, b);
}

remat_var remat_multiply(remat_tape *tape, remat_var a, remat_var b)
{
    return record(tape, &multiply_op, REMAT_BINARY_MULTIPLY, a, b);
}

remat_var remat_divide(remat_tape *tape, remat_var a, remat_var b)
{
    return record(tape, &divide_op, REMAT_BINARY_DIVIDE, a, b);
}
