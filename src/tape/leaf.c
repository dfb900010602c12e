/* leaf.c - leaves and the marks on values. */
#include "tape/record.h"

/* ---- Leaves ----------------------------------------------------------------------------------*/

static remat_var record_leaf(remat_tape *tape, remat_value_kind kind, const char *name,
                             remat_dtype dtype, const remat_shape *shape, void *data)
{
    const remat_var unset = {0};
    if (!tape || tape->status != REMAT_OK)
        return unset;
    int64_t count = remat_shape_count(shape);
    size_t bytes = remat_dtype_bytes(dtype);
    const char *label = name ? name : "a leaf";
    if (count <= 0 || bytes == 0 || (uint64_t)count > (SIZE_MAX - REMAT_ALIGNMENT) / bytes) {
        remat_tape_fail(tape, count <= 0 ? REMAT_SHAPE_MISMATCH : REMAT_OVERFLOW,
                        "%s: its shape or dtype is invalid: extents are at least 1, at most %d of "
                        "them, and their product must be addressable",
                        label, REMAT_MAX_DIMS);
        return unset;
    }
    remat_value_record value = {
        .origin = (uint32_t)tape->leaves.count, .dtype = (uint8_t)dtype, .kind = (uint8_t)kind};
    remat_shape clean = remat_shape_make((size_t)shape->ndim, shape->dims);
    remat_leaf_record leaf = {data, (uint32_t)tape->values.count};
    if (tape->values.count >= UINT32_MAX - 1 || !remat_record_shape(tape, &clean, &value.shape) ||
        !remat_vector_reserve(&tape->allocator, &tape->leaves, 1) ||
        !remat_vector_push(&tape->allocator, &tape->values, value)) {
        remat_record_out_of_memory(tape, label);
        return unset;
    }
    tape->leaves.data[tape->leaves.count++] = leaf;
    remat_var v = remat_tape_handle(tape, leaf.value);
    if (name && remat_name(tape, v, name) != REMAT_OK)
        return unset;
    return v;
}

remat_var remat_input(remat_tape *tape, const char *name, remat_dtype dtype, remat_shape shape,
                      const void *data)
{
    return record_leaf(tape, REMAT_VALUE_INPUT, name, dtype, &shape, (void *)(uintptr_t)data);
}

remat_var remat_constant(remat_tape *tape, const char *name, remat_dtype dtype, remat_shape shape,
                         const void *data)
{
    return record_leaf(tape, REMAT_VALUE_CONSTANT, name, dtype, &shape, (void *)(uintptr_t)data);
}

remat_var remat_parameter(remat_tape *tape, const char *name, remat_dtype dtype, remat_shape shape,
                          void *data, void *gradient)
{
    remat_var v = record_leaf(tape, REMAT_VALUE_PARAMETER, name, dtype, &shape, data);
    if (v.id != 0 && gradient && remat_request_gradient(tape, v, gradient) != REMAT_OK)
        return (remat_var){0};
    return v;
}

/* ---- Marks -----------------------------------------------------------------------------------*/

/* Checks tape and handle for a marking call; the value's index in *index. */
static remat_status find_value(remat_tape *tape, remat_var v, const char *call, uint32_t *index)
{
    if (!tape)
        return REMAT_INVALID_ARGUMENT;
    if (tape->status != REMAT_OK)
        return tape->status;
    *index = remat_tape_index(tape, v);
    if (*index == UINT32_MAX)
        return remat_tape_fail(tape, REMAT_INVALID_HANDLE,
                               "%s: the handle is unset, of another tape, or from before "
                               "remat_tape_clear()",
                               call);
    return REMAT_OK;
}

remat_status remat_bind(remat_tape *tape, remat_var leaf, void *data)
{
    uint32_t index;
    remat_status status = find_value(tape, leaf, "remat_bind", &index);
    if (status != REMAT_OK)
        return status;
    const remat_value_record *value = &tape->values.data[index];
    if (value->kind == REMAT_VALUE_RESULT)
        return remat_tape_complain(tape, REMAT_INVALID_ARGUMENT,
                                   "remat_bind: only leaves have memory of the caller's; results "
                                   "live in the arena");
    tape->leaves.data[value->origin].data = data;
    return REMAT_OK;
}

remat_status remat_bind_gradient(remat_tape *tape, remat_var v, void *gradient)
{
    uint32_t index;
    remat_status status = find_value(tape, v, "remat_bind_gradient", &index);
    if (status != REMAT_OK)
        return status;
    remat_gradient_record *record = remat_tape_gradient(tape, index);
    if (!record || !record->buffer || !gradient)
        return remat_tape_complain(tape, REMAT_INVALID_ARGUMENT,
                                   "remat_bind_gradient: both the old and the new gradient must be "
                                   "a buffer of the caller's; request it with "
                                   "remat_request_gradient() before planning");
    record->buffer = gradient;
    return REMAT_OK;
}

remat_status remat_request_gradient(remat_tape *tape, remat_var v, void *buffer)
{
    uint32_t index;
    remat_status status = find_value(tape, v, "remat_request_gradient", &index);
    if (status != REMAT_OK)
        return status;
    remat_value_record *value = &tape->values.data[index];
    if (value->dtype == REMAT_I32)
        return remat_tape_fail(tape, REMAT_DTYPE_MISMATCH,
                               "remat_request_gradient: an i32 value has no gradient");
    if (value->kind == REMAT_VALUE_CONSTANT)
        return remat_tape_fail(tape, REMAT_INVALID_ARGUMENT,
                               "remat_request_gradient: a constant has no gradient; record it with "
                               "remat_input()");
    if (value->flags & REMAT_VALUE_GRADIENT) {
        remat_tape_gradient(tape, index)->buffer = buffer;
        return REMAT_OK;
    }
    remat_gradient_record record = {buffer, index};
    value->gradient = (uint32_t)tape->gradients.count;
    if (!remat_vector_push(&tape->allocator, &tape->gradients, record))
        return remat_record_out_of_memory(tape, "a gradient request");
    value->flags |= REMAT_VALUE_GRADIENT;
    return REMAT_OK;
}

remat_status remat_seed_gradient(remat_tape *tape, remat_var v, const void *seed)
{
    uint32_t index;
    remat_status status = find_value(tape, v, "remat_seed_gradient", &index);
    if (status != REMAT_OK)
        return status;
    remat_value_record *value = &tape->values.data[index];
    if (value->dtype == REMAT_I32)
        return remat_tape_fail(tape, REMAT_DTYPE_MISMATCH,
                               "remat_seed_gradient: an i32 value has no gradient");
    if (!seed && remat_shape_count(&tape->shapes.data[value->shape]) != 1)
        return remat_tape_fail(tape, REMAT_INVALID_ARGUMENT,
                               "remat_seed_gradient: a value of more than one element needs a seed "
                               "with its dtype and shape");
    if (value->flags & REMAT_VALUE_SEEDED) {
        remat_tape_seed(tape, index)->seed = seed;
        return REMAT_OK;
    }
    remat_seed_record record = {seed, index};
    if (!remat_vector_push(&tape->allocator, &tape->seeds, record))
        return remat_record_out_of_memory(tape, "a seed");
    value->flags |= REMAT_VALUE_SEEDED;
    return REMAT_OK;
}

remat_status remat_keep(remat_tape *tape, remat_var v)
{
    uint32_t index;
    remat_status status = find_value(tape, v, "remat_keep", &index);
    if (status == REMAT_OK)
        tape->values.data[index].policy = REMAT_POLICY_KEEP;
    return status;
}

remat_status remat_recompute(remat_tape *tape, remat_var v)
{
    uint32_t index;
    remat_status status = find_value(tape, v, "remat_recompute", &index);
    if (status != REMAT_OK)
        return status;
    remat_value_record *value = &tape->values.data[index];
    if (value->kind != REMAT_VALUE_RESULT)
        return remat_tape_fail(
            tape, REMAT_INVALID_ARGUMENT,
            "remat_recompute: a leaf is the caller's memory and is never dropped");
    const remat_op *op = tape->statements.data[value->origin].op;
    if (op->flags & REMAT_OP_EFFECT)
        return remat_tape_fail(tape, REMAT_INVALID_ARGUMENT,
                               "remat_recompute: %s (statement %u) has a side effect and must not "
                               "be replayed; its results are kept",
                               op->name, value->origin);
    value->policy = REMAT_POLICY_RECOMPUTE;
    return REMAT_OK;
}

remat_status remat_name(remat_tape *tape, remat_var v, const char *name)
{
    uint32_t index;
    remat_status status = find_value(tape, v, "remat_name", &index);
    if (status != REMAT_OK)
        return status;
    if (!name)
        return remat_tape_fail(tape, REMAT_INVALID_ARGUMENT, "remat_name: the name is NULL");
    if (!remat_record_text(tape, name, &tape->values.data[index].name))
        return remat_record_out_of_memory(tape, "a name");
    tape->values.data[index].flags |= REMAT_VALUE_NAMED;
    return REMAT_OK;
}

/* ---- Questions -------------------------------------------------------------------------------*/

remat_var remat_result(remat_tape *tape, remat_var v, size_t k)
{
    const remat_var unset = {0};
    uint32_t index;
    if (find_value(tape, v, "remat_result", &index) != REMAT_OK)
        return unset;
    const remat_value_record *value = &tape->values.data[index];
    if (value->kind == REMAT_VALUE_RESULT) {
        const remat_statement_record *made_by = &tape->statements.data[value->origin];
        if (k < made_by->n_results)
            return remat_tape_handle(tape, made_by->first_result + (uint32_t)k);
    }
    remat_tape_fail(tape, REMAT_INVALID_ARGUMENT, "remat_result: there is no result %zu", k);
    return unset;
}

remat_shape remat_var_shape(remat_tape *tape, remat_var v)
{
    uint32_t index;
    if (find_value(tape, v, "remat_var_shape", &index) != REMAT_OK)
        return REMAT_SCALAR;
    return tape->shapes.data[tape->values.data[index].shape];
}

remat_dtype remat_var_dtype(remat_tape *tape, remat_var v)
{
    uint32_t index;
    if (find_value(tape, v, "remat_var_dtype", &index) != REMAT_OK)
        return REMAT_F32;
    return (remat_dtype)tape->values.data[index].dtype;
}
