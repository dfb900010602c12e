/* nest.c - see nest.h. */
#include "ops/nest.h"

#include <string.h>

remat_nest remat_nest_make(int ndim, const int64_t *extents)
{
    remat_nest nest = {.ndim = ndim};
    memcpy(nest.extent, extents, (size_t)ndim * sizeof *extents);
    return nest;
}

void remat_nest_broadcast(remat_nest *nest, int t, int ndim, const int64_t *dims, int64_t scale)
{
    int64_t stride = scale;
    for (int i = ndim - 1, axis = nest->ndim - 1; i >= 0; i--, axis--) {
        nest->stride[t][axis] = dims[i] == 1 ? 0 : stride;
        stride *= dims[i];
    }
}

/* Whether every tensor's stride over `axis` equals a whole turn of `inner`. */
static bool can_merge(const remat_nest *nest, int axis, int inner)
{
    for (int t = 0; t < REMAT_NEST_TENSORS; t++)
        if (nest->stride[t][axis] != nest->stride[t][inner] * nest->extent[inner])
            return false;
    return true;
}

void remat_nest_copy_axis(remat_nest *nest, int to, const remat_nest *from, int axis)
{
    nest->extent[to] = from->extent[axis];
    for (int t = 0; t < REMAT_NEST_TENSORS; t++)
        nest->stride[t][to] = from->stride[t][axis];
}

void remat_nest_collapse(remat_nest *nest)
{
    int kept = 0;
    for (int axis = 0; axis < nest->ndim; axis++) {
        if (nest->extent[axis] == 1)
            continue;
        if (kept > 0 && can_merge(nest, kept - 1, axis)) {
            int64_t outer = nest->extent[kept - 1];
            remat_nest_copy_axis(nest, kept - 1, nest, axis);
            nest->extent[kept - 1] *= outer;
        } else {
            remat_nest_copy_axis(nest, kept++, nest, axis);
        }
    }
    nest->ndim = kept;
}

bool remat_nest_next(const remat_nest *nest, int outer, remat_nest_cursor *cursor)
{
    for (int axis = outer - 1; axis >= 0; axis--) {
        const bool wraps = ++cursor->index[axis] == nest->extent[axis];
        const int64_t steps = wraps ? 1 - nest->extent[axis] : 1;
        for (int t = 0; t < REMAT_NEST_TENSORS; t++)
            cursor->offset[t] += steps * nest->stride[t][axis];
        if (!wraps)
            return true;
        cursor->index[axis] = 0;
    }
    return false;
}

bool remat_nest_visited(const remat_nest *nest, int outer, const remat_nest_cursor *cursor, int t)
{
    for (int axis = 0; axis < outer; axis++)
        if (nest->stride[t][axis] == 0 && cursor->index[axis] > 0)
            return true;
    return false;
}

remat_status remat_infer_broadcast(remat_infer *infer, int n_a, int n_b, remat_shape *shape)
{
    const int ndim = n_a > n_b ? n_a : n_b;
    for (int i = 0; i < ndim; i++) {
        const int axis_a = i - (ndim - n_a), axis_b = i - (ndim - n_b);
        const int64_t a = axis_a < 0 ? 1 : infer->in[0].shape.dims[axis_a];
        const int64_t b = axis_b < 0 ? 1 : infer->in[1].shape.dims[axis_b];
        if (a != b && a != 1 && b != 1)
            return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH,
                                    "extents %lld and %lld do not broadcast; counted from the "
                                    "right, extents must be equal or 1",
                                    (long long)a, (long long)b);
        shape->dims[i] = a == 1 ? b : a;
    }
    shape->ndim = ndim;
    return REMAT_OK;
}
