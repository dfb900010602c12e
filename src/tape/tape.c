/* tape.c - life of a tape, its errors, handles and read access. */
#include "tape/tape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define TAG_BITS   24
#define INDEX_BITS 40

static void renew_tag(remat_tape *tape)
{
    uint64_t hash = remat_hash_word((uint64_t)(uintptr_t)tape, tape->generation);
    tape->tag = (uint32_t)hash & ((1u << TAG_BITS) - 1);
}

static bool open_whole_tape(remat_tape *tape)
{
    remat_segment_record whole = {0, 0, UINT32_MAX, UINT32_MAX};
    tape->open_segment = 0;
    return remat_vector_push(&tape->allocator, &tape->segments, whole);
}

remat_status remat_tape_create(const remat_tape_options *options, remat_tape **tape)
{
    if (!tape)
        return REMAT_INVALID_ARGUMENT;
    bool given = options && options->allocator;
    if (given && !options->allocator->reallocate)
        return REMAT_INVALID_ARGUMENT;
    remat_allocator allocator = given ? *options->allocator : remat_allocator_default();
    remat_tape *made = remat_memory_allocate(&allocator, 1, sizeof *made);
    if (!made)
        return REMAT_OUT_OF_MEMORY;
    made->allocator = allocator;
    made->allocator_is_default = !given;
    atomic_init(&made->references, 1);
    renew_tag(made);
    if (!open_whole_tape(made)) {
        remat_memory_release(&allocator, made, 1, sizeof *made);
        return REMAT_OUT_OF_MEMORY;
    }
    *tape = made;
    return REMAT_OK;
}

void remat_tape_retain(remat_tape *tape)
{
    atomic_fetch_add(&tape->references, 1);
}

void remat_tape_destroy(remat_tape *tape)
{
    if (!tape || atomic_fetch_sub(&tape->references, 1) != 1)
        return;
    const remat_allocator allocator = tape->allocator;
    remat_vector_release(&allocator, &tape->statements);
    remat_vector_release(&allocator, &tape->values);
    remat_vector_release(&allocator, &tape->shapes);
    remat_vector_release(&allocator, &tape->operands);
    remat_vector_release(&allocator, &tape->attributes);
    remat_vector_release(&allocator, &tape->leaves);
    remat_vector_release(&allocator, &tape->gradients);
    remat_vector_release(&allocator, &tape->seeds);
    remat_vector_release(&allocator, &tape->text);
    remat_vector_release(&allocator, &tape->segments);
    remat_memory_release(&allocator, tape, 1, sizeof *tape);
}

remat_status remat_tape_clear(remat_tape *tape)
{
    if (!tape)
        return REMAT_INVALID_ARGUMENT;
    tape->statements.count = tape->values.count = tape->shapes.count = tape->operands.count = 0;
    tape->attributes.count = tape->leaves.count = tape->gradients.count = tape->seeds.count = 0;
    tape->text.count = 0;
    tape->segments.count = 1; /* the whole tape stays */
    tape->open_segment = 0;
    tape->status = REMAT_OK;
    tape->message[0] = '\0';
    tape->generation++;
    renew_tag(tape);
    return REMAT_OK;
}

/* ---- Errors ----------------------------------------------------------------------------------*/

remat_status remat_tape_fail(remat_tape *tape, remat_status status, const char *format, ...)
{
    if (tape->status != REMAT_OK)
        return tape->status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(tape->message, sizeof tape->message, format, arguments);
    va_end(arguments);
    tape->status = status;
    return status;
}

remat_status remat_tape_complain(remat_tape *tape, remat_status status, const char *format, ...)
{
    if (tape->status != REMAT_OK)
        return status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(tape->message, sizeof tape->message, format, arguments);
    va_end(arguments);
    return status;
}

remat_status remat_tape_status(const remat_tape *tape)
{
    return tape ? tape->status : REMAT_INVALID_ARGUMENT;
}

const char *remat_tape_message(const remat_tape *tape)
{
    return tape ? tape->message : "the tape is NULL";
}

/* ---- Reading ---------------------------------------------------------------------------------*/

size_t remat_tape_statement_count(const remat_tape *tape)
{
    return tape ? tape->statements.count : 0;
}

uint32_t remat_tape_index(const remat_tape *tape, remat_var v)
{
    uint64_t index = v.id & (((uint64_t)1 << INDEX_BITS) - 1);
    if (v.id >> INDEX_BITS != tape->tag || index == 0 || index > tape->values.count)
        return UINT32_MAX;
    return (uint32_t)(index - 1);
}

remat_var remat_tape_handle(const remat_tape *tape, uint32_t value)
{
    return (remat_var){(uint64_t)tape->tag << INDEX_BITS | ((uint64_t)value + 1)};
}

remat_statement_view remat_tape_statement(const remat_tape *tape, size_t index)
{
    const remat_statement_record *record = &tape->statements.data[index];
    size_t offset = (size_t)record->attributes * REMAT_ATTRIBUTE_ALIGNMENT;
    bool has_attributes = record->op->attribute_bytes > 0;
    return (remat_statement_view){
        .op = record->op,
        .attributes = has_attributes ? tape->attributes.data + offset : NULL,
        .operands = record->n_operands ? tape->operands.data + record->operands : NULL,
        .n_operands = record->n_operands,
        .first_result = record->first_result,
        .n_results = record->n_results,
        .segment = record->segment,
    };
}

remat_type remat_tape_type(const remat_tape *tape, uint32_t value)
{
    const remat_value_record *record = &tape->values.data[value];
    return (remat_type){(remat_dtype)record->dtype, tape->shapes.data[record->shape]};
}

size_t remat_tape_bytes(const remat_tape *tape, uint32_t value)
{
    const remat_value_record *record = &tape->values.data[value];
    return (size_t)remat_shape_count(&tape->shapes.data[record->shape]) *
           remat_dtype_bytes((remat_dtype)record->dtype);
}

const char *remat_tape_value_name(const remat_tape *tape, uint32_t value)
{
    const remat_value_record *record = &tape->values.data[value];
    return record->flags & REMAT_VALUE_NAMED ? tape->text.data + record->name : NULL;
}

const char *remat_tape_segment_name(const remat_tape *tape, uint32_t segment)
{
    uint32_t name = tape->segments.data[segment].name;
    return name == UINT32_MAX ? NULL : tape->text.data + name;
}

remat_gradient_record *remat_tape_gradient(const remat_tape *tape, uint32_t value)
{
    const remat_value_record *record = &tape->values.data[value];
    return record->flags & REMAT_VALUE_GRADIENT ? &tape->gradients.data[record->gradient] : NULL;
}

/* There are few seeds. */
remat_seed_record *remat_tape_seed(const remat_tape *tape, uint32_t value)
{
    for (size_t i = tape->seeds.count; i-- > 0;)
        if (tape->seeds.data[i].value == value)
            return &tape->seeds.data[i];
    return NULL;
}

remat_status remat_tape_params(const remat_tape *tape, remat_param *params, size_t capacity,
                               size_t *count)
{
    if (!tape || !count || (capacity > 0 && !params))
        return REMAT_INVALID_ARGUMENT;
    size_t found = 0;
    for (size_t i = 0; i < tape->leaves.count; i++) {
        const remat_leaf_record *leaf = &tape->leaves.data[i];
        const remat_value_record *value = &tape->values.data[leaf->value];
        const remat_gradient_record *gradient = remat_tape_gradient(tape, leaf->value);
        if (value->kind != REMAT_VALUE_PARAMETER || !leaf->data || !gradient || !gradient->buffer)
            continue;
        if (found < capacity)
            params[found] = (remat_param){
                .dtype = (remat_dtype)value->dtype,
                .count = (size_t)remat_shape_count(&tape->shapes.data[value->shape]),
                .data = leaf->data,
                .gradient = gradient->buffer,
            };
        found++;
    }
    *count = found;
    return REMAT_OK;
}

static uint64_t hash_type(const remat_tape *tape, uint64_t hash, uint32_t value)
{
    remat_type type = remat_tape_type(tape, value);
    hash = remat_hash_word(hash, (uint64_t)type.dtype << 32 | (uint64_t)type.shape.ndim);
    for (int32_t i = 0; i < type.shape.ndim; i++)
        hash = remat_hash_word(hash, (uint64_t)type.shape.dims[i]);
    return hash;
}

static uint64_t hash_statement(const remat_tape *tape, uint64_t hash, size_t index)
{
    remat_statement_view s = remat_tape_statement(tape, index);
    hash = remat_hash_bytes(hash, s.op->name, strlen(s.op->name));
    const uint64_t masks[] = {s.op->flags,
                              s.op->needs_operands,
                              s.op->needs_results,
                              s.op->no_gradient,
                              s.op->no_gradient_results,
                              s.op->in_place,
                              s.op->gradient_in_place};
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
        hash = remat_hash_word(hash, masks[i]);
    hash = remat_hash_bytes(hash, s.attributes, s.op->attribute_bytes);
    for (size_t i = 0; i < s.n_operands; i++)
        hash = remat_hash_word(hash, s.operands[i]);
    return remat_hash_word(hash, (uint64_t)s.segment << 32 | s.n_results);
}

uint64_t remat_tape_fingerprint(const remat_tape *tape)
{
    if (!tape)
        return 0;
    uint64_t hash = remat_hash_word(0, tape->statements.count);
    for (size_t i = 0; i < tape->statements.count; i++)
        hash = hash_statement(tape, hash, i);
    for (uint32_t i = 0; i < tape->values.count; i++) {
        const remat_value_record *value = &tape->values.data[i];
        hash = hash_type(tape, hash, i);
        hash = remat_hash_word(hash, (uint64_t)value->kind << 8 | value->policy);
    }
    for (size_t i = 0; i < tape->segments.count; i++) {
        const remat_segment_record *segment = &tape->segments.data[i];
        hash = remat_hash_word(hash, (uint64_t)segment->first << 32 | segment->end);
        hash = remat_hash_word(hash, segment->parent);
    }
    for (size_t i = 0; i < tape->gradients.count; i++) {
        const remat_gradient_record *gradient = &tape->gradients.data[i];
        hash = remat_hash_word(hash, (uint64_t)gradient->value << 1 | (gradient->buffer != NULL));
    }
    for (size_t i = 0; i < tape->seeds.count; i++)
        hash = remat_hash_word(hash, tape->seeds.data[i].value);
    return hash;
}
