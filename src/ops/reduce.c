/* reduce.c - sum and mean over any axes. Sums are in double, in an order that depends on the shape
 * only. */
#include "ops/common.h"

#include "cpu/kernels.h"
#include "ops/element.h"
#include "ops/nest.h"

/* Tensors of a nest: the longer one (x, or its gradient) and the shorter one (y, or its). */
enum { LONG, SHORT };

typedef struct reduce_attributes {
    int32_t axes[REMAT_MAX_DIMS]; /* negative: from the end */
    uint32_t n_axes; /* 0: all; REMAT_MAX_DIMS + 1: no list, or too long: infer refuses */
    uint16_t keep_dims, mean;
} reduce_attributes;

static const reduce_attributes *attributes_of(const void *attributes)
{
    return attributes;
}

/* Bit i: axis i is reduced. */
static uint32_t reduced_axes(const reduce_attributes *a, int32_t ndim)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < a->n_axes; i++)
        mask |= 1u << remat_axis(a->axes[i], ndim);
    return a->n_axes == 0 ? (1u << ndim) - 1 : mask;
}

static remat_status check_axes(remat_infer *infer, const reduce_attributes *a, int32_t ndim)
{
    uint32_t seen = 0;
    if (a->n_axes > REMAT_MAX_DIMS)
        return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH,
                                "axes are NULL or more than %d; name each axis at most once",
                                REMAT_MAX_DIMS);
    for (uint32_t i = 0; i < a->n_axes; i++) {
        remat_status status = remat_infer_axis(infer, a->axes[i], ndim);
        if (status != REMAT_OK)
            return status;
        uint32_t bit = 1u << remat_axis(a->axes[i], ndim);
        if (seen & bit)
            return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH,
                                    "axis %d is given twice; name each axis at most once",
                                    (int)a->axes[i]);
        seen |= bit;
    }
    return REMAT_OK;
}

static remat_status infer(remat_infer *infer)
{
    const reduce_attributes *a = attributes_of(infer->attributes);
    const remat_shape *x = &infer->in[0].shape;
    remat_type y = {.dtype = infer->in[0].dtype};
    remat_status status = check_axes(infer, a, x->ndim);
    if (status != REMAT_OK)
        return status;
    uint32_t reduced = reduced_axes(a, x->ndim);
    for (int32_t i = 0; i < x->ndim; i++) {
        if (!((reduced >> i) & 1))
            y.shape.dims[y.shape.ndim++] = x->dims[i];
        else if (a->keep_dims)
            y.shape.dims[y.shape.ndim++] = 1;
    }
    infer->out[0] = y;
    return remat_infer_same_float(infer);
}

static void cost(const remat_query *query, remat_cost *cost)
{
    cost->forward_flops = cost->backward_flops = (double)remat_type_count(&query->in[0]);
    cost->forward_bytes = cost->backward_bytes =
        (double)remat_type_bytes(&query->in[0]) + (double)remat_type_bytes(&query->out[0]);
}

/* After collapsing, kept and reduced axes alternate. */
static remat_nest make_nest(const reduce_attributes *a, const remat_tensor *x)
{
    remat_nest nest = remat_nest_make(x->ndim, x->dims);
    uint32_t reduced = reduced_axes(a, x->ndim);
    int64_t short_stride = 1;
    remat_nest_broadcast(&nest, LONG, x->ndim, x->dims, 1);
    for (int32_t i = x->ndim - 1; i >= 0; i--) {
        bool kept = !((reduced >> i) & 1);
        nest.stride[SHORT][i] = kept ? short_stride : 0;
        short_stride *= kept ? x->dims[i] : 1;
    }
    remat_nest_collapse(&nest);
    return nest;
}

static double factor_of(const reduce_attributes *a, int64_t long_count, int64_t short_count)
{
    return a->mean ? (double)short_count / (double)long_count : 1;
}

/* The axes of a nest, but the innermost, that are kept or that are reduced. */
static remat_nest outer_axes(const remat_nest *nest, bool kept)
{
    remat_nest part = {.ndim = 0};
    for (int axis = 0; axis + 1 < nest->ndim; axis++)
        if ((nest->stride[SHORT][axis] != 0) == kept)
            remat_nest_copy_axis(&part, part.ndim++, nest, axis);
    return part;
}

typedef struct reduction {
    const remat_sums_kernels *sums;
    remat_nest kept, reduced; /* the axes around the innermost one */
    int64_t inner;            /* extent of the innermost axis */
    remat_dtype dtype;
    double factor;
    const void *x;
    void *y;
} reduction;

/* The innermost axis is reduced: one number for each position of the kept axes, which are those of
 * y in order; stored REMAT_SUMS_COLUMNS at a time. */
static void sum_rows(const reduction *r)
{
    double totals[REMAT_SUMS_COLUMNS];
    int64_t done = 0, filled = 0;
    bool more = true;
    remat_nest_cursor outer = {.index = {0}};
    while (more) {
        remat_nest_cursor at = {.index = {0}};
        totals[filled] = 0;
        do
            totals[filled] += r->sums->sum(
                r->inner, remat_element(r->x, outer.offset[LONG] + at.offset[LONG], r->dtype));
        while (remat_nest_next(&r->reduced, r->reduced.ndim, &at));
        totals[filled++] *= r->factor;
        more = remat_nest_next(&r->kept, r->kept.ndim, &outer);
        if (more && filled < REMAT_SUMS_COLUMNS)
            continue;
        r->sums->store(filled, totals, 1, remat_element_to_write(r->y, done, r->dtype), false);
        done += filled;
        filled = 0;
    }
}

/* Totals of `width` columns of x from an offset on, over all positions of the reduced axes. */
static void total_columns(const reduction *r, int64_t offset, int64_t width, double *totals)
{
    remat_nest walk = r->reduced; /* without its last axis, which the kernel takes */
    int64_t rows = 1, stride = 0;
    if (walk.ndim > 0) {
        walk.ndim--;
        rows = walk.extent[walk.ndim];
        stride = walk.stride[LONG][walk.ndim];
    }
    remat_nest_cursor at = {.index = {0}};
    for (int64_t j = 0; j < width; j++)
        totals[j] = 0;
    do
        r->sums->add_columns(rows, width, remat_element(r->x, offset + at.offset[LONG], r->dtype),
                             stride, totals);
    while (remat_nest_next(&walk, walk.ndim, &at));
}

/* The innermost axis is kept: columns are summed side by side. */
static void sum_columns(const reduction *r)
{
    double totals[REMAT_SUMS_COLUMNS];
    remat_nest_cursor outer = {.index = {0}};
    do {
        for (int64_t j = 0; j < r->inner; j += REMAT_SUMS_COLUMNS) {
            int64_t width = r->inner - j < REMAT_SUMS_COLUMNS ? r->inner - j : REMAT_SUMS_COLUMNS;
            total_columns(r, outer.offset[LONG] + j, width, totals);
            r->sums->store(width, totals, r->factor,
                           remat_element_to_write(r->y, outer.offset[SHORT] + j, r->dtype), false);
        }
    } while (remat_nest_next(&r->kept, r->kept.ndim, &outer));
}

static remat_status forward(const remat_forward *call)
{
    const reduce_attributes *a = attributes_of(call->attributes);
    const remat_tensor *x = &call->in[0], *y = &call->out[0];
    const remat_nest nest = make_nest(a, x);
    const reduction r = {
        .sums = &remat_cpu_kernels()->sums[x->dtype],
        .kept = outer_axes(&nest, true),
        .reduced = outer_axes(&nest, false),
        .inner = nest.ndim > 0 ? nest.extent[nest.ndim - 1] : 1,
        .dtype = x->dtype,
        .factor = factor_of(a, remat_tensor_count(x), remat_tensor_count(y)),
        .x = x->data,
        .y = y->data,
    };
    if (nest.ndim > 0 && nest.stride[SHORT][nest.ndim - 1] != 0)
        sum_columns(&r);
    else
        sum_rows(&r);
    return REMAT_OK;
}

/* dx is dy, broadcast and times the factor. */
static remat_status backward(const remat_backward *call)
{
    const reduce_attributes *a = attributes_of(call->attributes);
    const remat_tensor *dy = &call->grad_out[0], *dx = &call->grad_in[0];
    if (!dx->data)
        return REMAT_OK;
    const remat_map_kernels *map = &remat_cpu_kernels()->map[dx->dtype];
    const remat_nest nest = make_nest(a, dx);
    const int outer = nest.ndim > 0 ? nest.ndim - 1 : 0;
    const int64_t inner = nest.ndim > 0 ? nest.extent[outer] : 1;
    const bool copies = nest.ndim > 0 && nest.stride[SHORT][outer] != 0;
    const double factor = factor_of(a, remat_tensor_count(dx), remat_tensor_count(dy));
    remat_nest_cursor at = {.index = {0}};
    do {
        const void *from = remat_element(dy->data, at.offset[SHORT], dx->dtype);
        void *to = remat_element_to_write(dx->data, at.offset[LONG], dx->dtype);
        if (copies)
            map->backward[REMAT_MAP_SCALE](NULL, from, to, inner, factor, call->accumulate[0]);
        else
            map->spread(from, to, inner, factor, call->accumulate[0]);
    } while (remat_nest_next(&nest, outer, &at));
    return REMAT_OK;
}

#define REDUCE_OP(text)                                                             \
    {                                                                               \
        .name = text, .min_operands = 1, .max_operands = 1, .n_results = 1,         \
        .attribute_bytes = sizeof(reduce_attributes), .infer = infer, .cost = cost, \
        .forward = forward, .backward = backward,                                   \
    }

static const remat_op sum_op = REDUCE_OP("sum");
static const remat_op mean_op = REDUCE_OP("mean");

static remat_var record(remat_tape *tape, remat_var x, const int *axes, size_t n_axes,
                        bool keep_dims, bool mean)
{
    reduce_attributes attributes = {.keep_dims = keep_dims, .mean = mean};
    size_t limit = REMAT_MAX_DIMS + 1;
    attributes.n_axes = (uint32_t)(n_axes == 0 || (axes && n_axes < limit) ? n_axes : limit);
    for (size_t i = 0; axes && i < n_axes && i < REMAT_MAX_DIMS; i++)
        attributes.axes[i] = axes[i];
    remat_var y = {0};
    remat_apply(tape, mean ? &mean_op : &sum_op, &attributes, &x, 1, &y, 1);
    return y;
}

remat_var remat_sum(remat_tape *tape, remat_var x, const int *axes, size_t n_axes, bool keep_dims)
{
    return record(tape, x, axes, n_axes, keep_dims, false);
}

remat_var remat_mean(remat_tape *tape, remat_var x, const int *axes, size_t n_axes, bool keep_dims)
{
    return record(tape, x, axes, n_axes, keep_dims, true);
}
