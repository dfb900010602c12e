/* status.c - names and texts of statuses, the version, dtypes and shapes. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <remat/op.h>

const char *remat_version(void)
{
    return REMAT_VERSION_STRING;
}

const char *remat_status_name(remat_status status)
{
    switch (status) {
#define NAME(name, text) \
    case name:           \
        return #name;
        REMAT_STATUS_LIST(NAME)
#undef NAME
    case REMAT_STATUS_COUNT:
        break;
    }
    return "unknown";
}

const char *remat_status_text(remat_status status)
{
    switch (status) {
#define TEXT(name, text) \
    case name:           \
        return text;
        REMAT_STATUS_LIST(TEXT)
#undef TEXT
    case REMAT_STATUS_COUNT:
        break;
    }
    return "unknown";
}

size_t remat_dtype_bytes(remat_dtype dtype)
{
    switch (dtype) {
    case REMAT_F32:
        return sizeof(float);
    case REMAT_F64:
        return sizeof(double);
    case REMAT_I32:
        return sizeof(int32_t);
    }
    return 0;
}

const char *remat_dtype_name(remat_dtype dtype)
{
    switch (dtype) {
    case REMAT_F32:
        return "f32";
    case REMAT_F64:
        return "f64";
    case REMAT_I32:
        return "i32";
    }
    return "unknown";
}

remat_shape remat_shape_make(size_t ndim, const int64_t *dims)
{
    remat_shape shape = {0};
    shape.ndim = ndim > REMAT_MAX_DIMS ? REMAT_MAX_DIMS + 1 : (int32_t)ndim;
    for (size_t i = 0; i < ndim && i < REMAT_MAX_DIMS; i++)
        shape.dims[i] = dims[i];
    return shape;
}

int64_t remat_shape_count(const remat_shape *shape)
{
    if (!shape || shape->ndim < 0 || shape->ndim > REMAT_MAX_DIMS)
        return 0;
    int64_t count = 1;
    for (int32_t i = 0; i < shape->ndim; i++) {
        if (shape->dims[i] < 1 || count > INT64_MAX / shape->dims[i])
            return 0;
        count *= shape->dims[i];
    }
    return count;
}

const char *remat_type_text(const remat_type *type, char *text, size_t bytes)
{
    if (bytes == 0)
        return text;
    int used = snprintf(text, bytes, "%s[", remat_dtype_name(type->dtype));
    for (int32_t i = 0; i < type->shape.ndim && i < REMAT_MAX_DIMS; i++) {
        if (used < 0 || (size_t)used >= bytes)
            return text;
        used += snprintf(text + used, bytes - (size_t)used, "%s%" PRId64, i ? ", " : "",
                         type->shape.dims[i]);
    }
    if (used >= 0 && (size_t)used < bytes)
        snprintf(text + used, bytes - (size_t)used, "]");
    return text;
}

remat_status remat_infer_fail(remat_infer *infer, remat_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (infer->message && infer->message_bytes > 0)
        vsnprintf(infer->message, infer->message_bytes, format, arguments);
    va_end(arguments);
    return status;
}

remat_status remat_call_fail(char *message, size_t message_bytes, remat_status status,
                             const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (message && message_bytes > 0)
        vsnprintf(message, message_bytes, format, arguments);
    va_end(arguments);
    return status;
}
