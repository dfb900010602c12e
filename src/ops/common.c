/* common.c - what the built-in operations share. */
#include "ops/common.h"

#include "cpu/kernels.h"

remat_status remat_infer_same_float(remat_infer *infer)
{
    for (size_t i = 0; i < infer->n_in; i++) {
        remat_dtype dtype = infer->in[i].dtype;
        if (dtype != REMAT_F32 && dtype != REMAT_F64)
            return remat_infer_fail(infer, REMAT_DTYPE_MISMATCH,
                                    "operand %zu is %s; record it as f32 or f64", i,
                                    remat_dtype_name(dtype));
        if (dtype != infer->in[0].dtype)
            return remat_infer_fail(
                infer, REMAT_DTYPE_MISMATCH,
                "operand 0 is %s and operand %zu is %s; record all operands with one dtype",
                remat_dtype_name(infer->in[0].dtype), i, remat_dtype_name(dtype));
    }
    return REMAT_OK;
}

remat_status remat_infer_like_operand(remat_infer *infer)
{
    infer->out[0] = infer->in[0];
    return remat_infer_same_float(infer);
}

remat_status remat_infer_axis(remat_infer *infer, int64_t axis, int32_t ndim)
{
    if (axis >= -(int64_t)ndim && axis < ndim)
        return REMAT_OK;
    if (ndim == 0)
        return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH,
                                "axis %lld of a scalar; give the operand at least one axis",
                                (long long)axis);
    return remat_infer_fail(infer, REMAT_SHAPE_MISMATCH, "axis %lld is not in [%d, %d]",
                            (long long)axis, (int)-ndim, (int)ndim - 1);
}

void remat_write_or_add(const remat_tensor *src, const remat_tensor *dst, bool accumulate)
{
    const remat_map_kernels *map = &remat_cpu_kernels()->map[src->dtype];
    map->backward[REMAT_MAP_SCALE](NULL, src->data, dst->data, remat_tensor_count(src), 1.0,
                                   accumulate);
}
