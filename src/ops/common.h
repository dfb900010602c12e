/* common.h - what the built-in operations share: checks for infer(), sizes for cost(). */
#ifndef REMAT_OPS_COMMON_H
#define REMAT_OPS_COMMON_H

#include <remat/op.h>

/* All operands must have one dtype, f32 or f64. */
remat_status remat_infer_same_float(remat_infer *infer);

/* The same, and result 0 has the type of operand 0. */
remat_status remat_infer_like_operand(remat_infer *infer);

/* Checks that an axis, counted from the end if negative, lies in ndim axes. */
remat_status remat_infer_axis(remat_infer *infer, int64_t axis, int32_t ndim);

/* The axis counted from 0. Precondition: it was checked by remat_infer_axis(). */
static inline int32_t remat_axis(int64_t axis, int32_t ndim)
{
    return (int32_t)(axis < 0 ? axis + ndim : axis);
}

/* Elements of dims[from..to). */
static inline int64_t remat_count_range(const int64_t *dims, int32_t from, int32_t to)
{
    int64_t count = 1;
    for (int32_t i = from; i < to; i++)
        count *= dims[i];
    return count;
}

static inline int64_t remat_type_count(const remat_type *type)
{
    return remat_count_range(type->shape.dims, 0, type->shape.ndim);
}

static inline size_t remat_type_bytes(const remat_type *type)
{
    return (size_t)remat_type_count(type) * remat_dtype_bytes(type->dtype);
}

static inline bool remat_gradient_asked(const remat_query *query, size_t operand)
{
    return (query->gradients >> operand) & 1;
}

/* dst = src, or dst += src if accumulate; both have the dtype and count of src. dst may be src if
 * not accumulating. */
void remat_write_or_add(const remat_tensor *src, const remat_tensor *dst, bool accumulate);

#endif
