/* element.h - single elements of float tensors, for code that is written once for f32 and f64. */
#ifndef REMAT_OPS_ELEMENT_H
#define REMAT_OPS_ELEMENT_H

#include <remat/op.h>

/* The address `offset` elements after data. */
static inline const void *remat_element(const void *data, int64_t offset, remat_dtype dtype)
{
    return (const char *)data + offset * (int64_t)remat_dtype_bytes(dtype);
}

static inline void *remat_element_to_write(void *data, int64_t offset, remat_dtype dtype)
{
    return (char *)data + offset * (int64_t)remat_dtype_bytes(dtype);
}

static inline double remat_element_load(const remat_tensor *tensor, int64_t offset)
{
    if (tensor->dtype == REMAT_F32)
        return (double)((const float *)tensor->data)[offset];
    return ((const double *)tensor->data)[offset];
}

static inline void remat_element_store(const remat_tensor *tensor, int64_t offset, double value)
{
    if (tensor->dtype == REMAT_F32)
        ((float *)tensor->data)[offset] = (float)value;
    else
        ((double *)tensor->data)[offset] = value;
}

#endif
