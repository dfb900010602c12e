/* matmul.c - batched matrix products with broadcast leading axes. */
#include "cpu/gemm.h"
#include "ops/common.h"
#include "ops/nest.h"

typedef struct matmul_attributes {
    bool transpose_a, transpose_b;
} matmul_attributes;

/* The tensors of a statement, and their places in a nest's strides. */
enum { TENSOR_A, TENSOR_B, TENSOR_C };

/* C = op(A) op(B) for every position of `batch`. */
typedef struct matmul {
    bool transpose_a, transpose_b;
    remat_dtype dtype;
    int64_t m, n, k;
    remat_nest batch;
} matmul;

/* Matrices of A that follow each other and read one B are a single product with more rows. */
static void fold_rows(matmul *product)
{
    remat_nest *batch = &product->batch;
    const int last = batch->ndim - 1;
    if (last < 0 || product->transpose_a || batch->stride[TENSOR_B][last] != 0)
        return;
    const int64_t rows = product->m * batch->extent[last];
    if (!remat_gemm_fits(rows, product->n, product->k))
        return;
    product->m = rows;
    batch->ndim--;
}

static matmul make_matmul(const matmul_attributes *attributes, const remat_tensor *a,
                          const remat_tensor *b, const remat_tensor *c)
{
    matmul product = {.transpose_a = attributes->transpose_a,
                      .transpose_b = attributes->transpose_b,
                      .dtype = a->dtype,
                      .m = c->dims[c->ndim - 2],
                      .n = c->dims[c->ndim - 1],
                      .k = a->dims[a->ndim - (attributes->transpose_a ? 2 : 1)],
                      .batch = remat_nest_make(c->ndim - 2, c->dims)};
    const int64_t m = product.m, n = product.n, k = product.k;
    remat_nest_broadcast(&product.batch, TENSOR_A, a->ndim - 2, a->dims, m * k);
    remat_nest_broadcast(&product.batch, TENSOR_B, b->ndim - 2, b->dims, k * n);
    remat_nest_broadcast(&product.batch, TENSOR_C, c->ndim - 2, c->dims, m * n);
    remat_nest_collapse(&product.batch);
    fold_rows(&product);
    return product;
}

/* One operand of a product: its memory, which tensor it is, and how it is stored. */
typedef struct factor {
    const void *data;
    int tensor;
    bool transposed;
} factor;

/* left right -> result, for every position of the batch; where result is broadcast, the sum. The
 * extents of `gemm` are set by the caller, who knows which of m, n, k is which. */
static void run_products(const matmul *product, remat_gemm gemm, factor left, factor right,
                         int tensor, void *result, bool accumulate)
{
    const remat_nest *batch = &product->batch;
    const int outer = batch->ndim > 0 ? batch->ndim - 1 : 0;
    const remat_dtype dtype = product->dtype;
    remat_gemm_batch inner = {.count = 1};
    if (batch->ndim > 0)
        inner =
            (remat_gemm_batch){batch->extent[outer], batch->stride[left.tensor][outer],
                               batch->stride[right.tensor][outer], batch->stride[tensor][outer]};
    gemm.dtype = dtype;
    gemm.transpose_a = left.transposed;
    gemm.transpose_b = right.transposed;
    remat_nest_cursor at = {.index = {0}};
    do {
        gemm.accumulate = accumulate || remat_nest_visited(batch, outer, &at, tensor);
        remat_gemm_run_batch(&gemm, &inner, remat_element(left.data, at.offset[left.tensor], dtype),
                             remat_element(right.data, at.offset[right.tensor], dtype),
                             remat_element_to_write(result, at.offset[tensor], dtype));
    } while (remat_nest_next(batch, outer, &at));
}

static remat_status infer(remat_infer *call)
{
    const matmul_attributes *attributes = call->attributes;
    const remat_shape *a = &call->in[0].shape, *b = &call->in[1].shape;
    remat_type *c = call->out;
    remat_status status = remat_infer_same_float(call);
    if (status != REMAT_OK)
        return status;
    if (a->ndim < 2 || b->ndim < 2)
        return remat_infer_fail(call, REMAT_SHAPE_MISMATCH,
                                "operands of %d and %d axes; both need at least two: reshape "
                                "a vector to [1, n] or [n, 1]",
                                (int)a->ndim, (int)b->ndim);
    const int64_t m = a->dims[a->ndim - (attributes->transpose_a ? 1 : 2)];
    const int64_t k = a->dims[a->ndim - (attributes->transpose_a ? 2 : 1)];
    const int64_t k_b = b->dims[b->ndim - (attributes->transpose_b ? 1 : 2)];
    const int64_t n = b->dims[b->ndim - (attributes->transpose_b ? 2 : 1)];
    if (k != k_b)
        return remat_infer_fail(call, REMAT_SHAPE_MISMATCH,
                                "inner extents %lld and %lld differ; pass transpose_a or "
                                "transpose_b, or exchange the operands",
                                (long long)k, (long long)k_b);
    if (!remat_gemm_fits(m, n, k))
        return remat_infer_fail(call, REMAT_OVERFLOW,
                                "a product of %lld x %lld x %lld exceeds the BLAS library's "
                                "integers; split it",
                                (long long)m, (long long)n, (long long)k);
    c->dtype = call->in[0].dtype;
    status = remat_infer_broadcast(call, a->ndim - 2, b->ndim - 2, &c->shape);
    if (status != REMAT_OK)
        return status;
    c->shape.dims[c->shape.ndim++] = m;
    c->shape.dims[c->shape.ndim++] = n;
    return REMAT_OK;
}

static void needs(const remat_query *query, uint64_t *operands, uint64_t *results)
{
    *operands =
        (remat_gradient_asked(query, 1) ? 1U : 0U) | (remat_gradient_asked(query, 0) ? 2U : 0U);
    *results = 0;
}

static void cost(const remat_query *query, remat_cost *cost)
{
    const matmul_attributes *attributes = query->attributes;
    const remat_shape *a = &query->in[0].shape;
    const int64_t k = a->dims[a->ndim - (attributes->transpose_a ? 2 : 1)];
    const int gradients = (int)remat_gradient_asked(query, 0) + remat_gradient_asked(query, 1);
    cost->forward_flops = 2.0 * (double)k * (double)remat_type_count(query->out);
    cost->forward_bytes = (double)remat_type_bytes(&query->in[0]) +
                          (double)remat_type_bytes(&query->in[1]) +
                          (double)remat_type_bytes(query->out);
    cost->backward_flops = gradients * cost->forward_flops;
    cost->backward_bytes = gradients * cost->forward_bytes;
}

static remat_status forward(const remat_forward *call)
{
    const matmul product = make_matmul(call->attributes, &call->in[0], &call->in[1], call->out);
    run_products(&product, (remat_gemm){.m = product.m, .n = product.n, .k = product.k},
                 (factor){call->in[0].data, TENSOR_A, product.transpose_a},
                 (factor){call->in[1].data, TENSOR_B, product.transpose_b}, TENSOR_C,
                 call->out->data, false);
    return REMAT_OK;
}

/* dA [m, k] = dC op(B)^T, or where A is stored [k, m]: dA = op(B) dC^T. */
static void gradient_a(const matmul *product, const remat_backward *call)
{
    const void *dc = call->grad_out->data, *b = call->in[1].data;
    if (product->transpose_a)
        run_products(product, (remat_gemm){.m = product->k, .n = product->m, .k = product->n},
                     (factor){b, TENSOR_B, product->transpose_b}, (factor){dc, TENSOR_C, true},
                     TENSOR_A, call->grad_in[0].data, call->accumulate[0]);
    else
        run_products(product, (remat_gemm){.m = product->m, .n = product->k, .k = product->n},
                     (factor){dc, TENSOR_C, false}, (factor){b, TENSOR_B, !product->transpose_b},
                     TENSOR_A, call->grad_in[0].data, call->accumulate[0]);
}

/* dB [k, n] = op(A)^T dC, or where B is stored [n, k]: dB = dC^T op(A). */
static void gradient_b(const matmul *product, const remat_backward *call)
{
    const void *dc = call->grad_out->data, *a = call->in[0].data;
    if (product->transpose_b)
        run_products(product, (remat_gemm){.m = product->n, .n = product->k, .k = product->m},
                     (factor){dc, TENSOR_C, true}, (factor){a, TENSOR_A, product->transpose_a},
                     TENSOR_B, call->grad_in[1].data, call->accumulate[1]);
    else
        run_products(product, (remat_gemm){.m = product->k, .n = product->n, .k = product->m},
                     (factor){a, TENSOR_A, !product->transpose_a}, (factor){dc, TENSOR_C, false},
                     TENSOR_B, call->grad_in[1].data, call->accumulate[1]);
}

static remat_status backward(const remat_backward *call)
{
    const matmul product =
        make_matmul(call->attributes, &call->in[0], &call->in[1], call->grad_out);
    if (call->grad_in[0].data)
        gradient_a(&product, call);
    if (call->grad_in[1].data)
        gradient_b(&product, call);
    return REMAT_OK;
}

static const remat_op matmul_op = {
    .name = "matmul",
    .min_operands = 2,
    .max_operands = 2,
    .n_results = 1,
    .attribute_bytes = sizeof(matmul_attributes),
    .needs_operands = 3,
    .needs = needs,
    .infer = infer,
    .cost = cost,
    .forward = forward,
    .backward = backward,
    .kernel_id = remat_gemm_kernel_id,
};

remat_var remat_matmul(remat_tape *tape, remat_var a, remat_var b, bool transpose_a,
                       bool transpose_b)
{
    const matmul_attributes attributes = {transpose_a, transpose_b};
    remat_var c = {0};
    remat_apply(tape, &matmul_op, &attributes, (remat_var[]){a, b}, 2, &c, 1);
    return c;
}
