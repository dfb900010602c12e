/* record.c - appending statements and segments to a tape. */
#include "tape/record.h"

#include <stdio.h>
#include <string.h>

/* Handles and indices are 32 bits inside the library. */
#define MAX_COUNT ((size_t)UINT32_MAX - REMAT_OP_MAX_RESULTS - REMAT_OP_MAX_OPERANDS)

bool remat_record_shape(remat_tape *tape, const remat_shape *shape, uint32_t *index)
{
    enum { RECENT = 16 }; /* tapes repeat few shapes: a short look back finds most of them */
    size_t count = tape->shapes.count;
    size_t first = count > RECENT ? count - RECENT : 0;
    for (size_t i = count; i-- > first;) {
        const remat_shape *known = &tape->shapes.data[i];
        size_t bytes = (size_t)shape->ndim * sizeof shape->dims[0];
        if (known->ndim == shape->ndim && memcmp(known->dims, shape->dims, bytes) == 0) {
            *index = (uint32_t)i;
            return true;
        }
    }
    *index = (uint32_t)count;
    return remat_vector_push(&tape->allocator, &tape->shapes, *shape);
}

bool remat_record_text(remat_tape *tape, const char *string, uint32_t *offset)
{
    size_t bytes = strlen(string) + 1;
    if (bytes > MAX_COUNT - tape->text.count ||
        !remat_vector_reserve(&tape->allocator, &tape->text, bytes))
        return false;
    *offset = (uint32_t)tape->text.count;
    memcpy(tape->text.data + tape->text.count, string, bytes);
    tape->text.count += bytes;
    return true;
}

remat_status remat_record_out_of_memory(remat_tape *tape, const char *what)
{
    return remat_tape_fail(tape, REMAT_OUT_OF_MEMORY, "out of memory while recording %s", what);
}

/* ---- Statements ------------------------------------------------------------------------------*/

/* A statement under construction. */
typedef struct draft {
    const remat_op *op;
    const void *attributes;
    size_t n_in;
    uint32_t operands[REMAT_OP_MAX_OPERANDS];
    remat_type in[REMAT_OP_MAX_OPERANDS];
    remat_type out[REMAT_OP_MAX_RESULTS];
} draft;

static remat_status check_op(remat_tape *tape, const remat_op *op, const void *attributes,
                             size_t n_in, size_t n_out)
{
    if (!op || !op->name || !op->infer)
        return remat_tape_fail(tape, REMAT_INVALID_ARGUMENT,
                               "remat_apply: the descriptor has no name or no infer()");
    bool view = op->flags & REMAT_OP_VIEW;
    if ((!op->forward && !view) || op->max_operands > REMAT_OP_MAX_OPERANDS ||
        op->n_results > REMAT_OP_MAX_RESULTS || op->min_operands > op->max_operands ||
        (op->n_results == 0 && !(op->flags & REMAT_OP_EFFECT)) ||
        (view && (op->n_results != 1 || op->min_operands != 1 || op->max_operands != 1)))
        return remat_tape_fail(tape, REMAT_INVALID_ARGUMENT,
                               "%s: the descriptor is inconsistent: it needs forward() unless it "
                               "is a VIEW, at most %d operands and %d results, results unless it "
                               "has an EFFECT; a VIEW has one operand and one result",
                               op->name, REMAT_OP_MAX_OPERANDS, REMAT_OP_MAX_RESULTS);
    if (n_in < op->min_operands || n_in > op->max_operands)
        return remat_tape_fail(tape, REMAT_INVALID_ARGUMENT,
                               "%s: %zu operands were given; it takes %u to %u", op->name, n_in,
                               op->min_operands, op->max_operands);
    if (n_out > op->n_results)
        return remat_tape_fail(tape, REMAT_INVALID_ARGUMENT,
                               "%s: %zu results were asked for; it has %u", op->name, n_out,
                               op->n_results);
    if (op->attribute_bytes > 0 && !attributes)
        return remat_tape_fail(tape, REMAT_INVALID_ARGUMENT, "%s: attributes are NULL", op->name);
    return REMAT_OK;
}

static remat_status take_operands(remat_tape *tape, draft *d, const remat_var *in)
{
    for (size_t i = 0; i < d->n_in; i++) {
        d->operands[i] = remat_tape_index(tape, in[i]);
        if (d->operands[i] == UINT32_MAX)
            return remat_tape_fail(tape, REMAT_INVALID_HANDLE, "%s: operand %zu is %s", d->op->name,
                                   i,
                                   in[i].id == 0 ? "unset"
                                                 : "a handle of another tape or from before "
                                                   "remat_tape_clear(); record it again");
        d->in[i] = remat_tape_type(tape, d->operands[i]);
    }
    return REMAT_OK;
}

/* "f32[2, 3], f32[3]" */
static void operands_text(const draft *d, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < d->n_in && used + 4 < bytes; i++) {
        if (i > 0)
            used += (size_t)snprintf(text + used, bytes - used, ", ");
        remat_type_text(&d->in[i], text + used, bytes - used);
        used += strlen(text + used);
    }
}

static remat_status infer_results(remat_tape *tape, draft *d)
{
    char reason[512] = "", operands[384];
    remat_infer infer = {d->attributes,    d->in,  d->n_in,      d->out,
                         d->op->n_results, reason, sizeof reason};
    memset(d->out, 0, d->op->n_results * sizeof d->out[0]);
    remat_status status = d->op->infer(&infer);
    if (status != REMAT_OK) {
        operands_text(d, operands, sizeof operands);
        return remat_tape_fail(tape, status, "%s (statement %zu): %s; operands: %s", d->op->name,
                               tape->statements.count,
                               reason[0] ? reason : remat_status_text(status), operands);
    }
    return REMAT_OK;
}

static bool type_bytes(const remat_type *type, size_t *bytes)
{
    int64_t count = remat_shape_count(&type->shape);
    size_t item = remat_dtype_bytes(type->dtype);
    return count > 0 && item > 0 && (uint64_t)count <= SIZE_MAX &&
           remat_size_multiply((size_t)count, item, bytes) && remat_size_align(*bytes, &item);
}

static remat_status check_results(remat_tape *tape, const draft *d)
{
    for (size_t i = 0; i < d->op->n_results; i++) {
        size_t bytes, operand_bytes = 0;
        char text[128], operands[384];
        if (!type_bytes(&d->out[i], &bytes)) {
            operands_text(d, operands, sizeof operands);
            return remat_tape_fail(tape, REMAT_OVERFLOW,
                                   "%s (statement %zu): result %zu would be %s, which is invalid "
                                   "or too large to address; operands: %s",
                                   d->op->name, tape->statements.count, i,
                                   remat_type_text(&d->out[i], text, sizeof text), operands);
        }
        if ((d->op->flags & REMAT_OP_VIEW) &&
            (!type_bytes(&d->in[0], &operand_bytes) || operand_bytes != bytes))
            return remat_tape_fail(tape, REMAT_SHAPE_MISMATCH,
                                   "%s (statement %zu): a view has as many bytes as its operand; "
                                   "%zu and %zu differ",
                                   d->op->name, tape->statements.count, bytes, operand_bytes);
    }
    return REMAT_OK;
}

static bool append_attributes(remat_tape *tape, const draft *d, uint32_t *offset)
{
    size_t bytes = d->op->attribute_bytes, padded;
    padded = (bytes + REMAT_ATTRIBUTE_ALIGNMENT - 1) & ~(size_t)(REMAT_ATTRIBUTE_ALIGNMENT - 1);
    *offset = (uint32_t)(tape->attributes.count / REMAT_ATTRIBUTE_ALIGNMENT);
    if (bytes == 0)
        return true;
    if (tape->attributes.count / REMAT_ATTRIBUTE_ALIGNMENT > MAX_COUNT ||
        !remat_vector_reserve(&tape->allocator, &tape->attributes, padded))
        return false;
    memset(tape->attributes.data + tape->attributes.count, 0, padded);
    memcpy(tape->attributes.data + tape->attributes.count, d->attributes, bytes);
    return true; /* count moves when the statement is complete */
}

/* Index of a shape; operands' shapes are tried first, they are the likeliest. */
static bool result_shape(remat_tape *tape, const draft *d, size_t result, uint32_t *index)
{
    for (size_t i = 0; i < d->n_in; i++)
        if (memcmp(&d->in[i].shape, &d->out[result].shape, sizeof(remat_shape)) == 0) {
            *index = tape->values.data[d->operands[i]].shape;
            return true;
        }
    return remat_record_shape(tape, &d->out[result].shape, index);
}

/* All or nothing: counts move only after every reservation has succeeded. */
static bool append_statement(remat_tape *tape, const draft *d, uint32_t *first_result)
{
    const remat_allocator *allocator = &tape->allocator;
    size_t n_out = d->op->n_results;
    uint32_t attributes, shapes[REMAT_OP_MAX_RESULTS];
    if (tape->statements.count > MAX_COUNT || tape->values.count > MAX_COUNT ||
        tape->operands.count > MAX_COUNT ||
        !remat_vector_reserve(allocator, &tape->statements, 1) ||
        !remat_vector_reserve(allocator, &tape->values, n_out) ||
        !remat_vector_reserve(allocator, &tape->operands, d->n_in) ||
        !append_attributes(tape, d, &attributes))
        return false;
    for (size_t i = 0; i < n_out; i++)
        if (!result_shape(tape, d, i, &shapes[i]))
            return false;
    *first_result = (uint32_t)tape->values.count;
    uint32_t statement = (uint32_t)tape->statements.count;
    for (size_t i = 0; i < n_out; i++)
        tape->values.data[tape->values.count++] =
            (remat_value_record){.shape = shapes[i],
                                 .origin = statement,
                                 .dtype = (uint8_t)d->out[i].dtype,
                                 .kind = REMAT_VALUE_RESULT};
    tape->statements.data[tape->statements.count++] = (remat_statement_record){
        .op = d->op,
        .attributes = attributes,
        .operands = (uint32_t)tape->operands.count,
        .first_result = *first_result,
        .segment = tape->open_segment,
        .n_operands = (uint16_t)d->n_in,
        .n_results = (uint16_t)n_out,
    };
    if (d->n_in > 0)
        memcpy(tape->operands.data + tape->operands.count, d->operands, d->n_in * sizeof(uint32_t));
    tape->operands.count += d->n_in;
    size_t padding = REMAT_ATTRIBUTE_ALIGNMENT - 1;
    tape->attributes.count += (d->op->attribute_bytes + padding) & ~padding;
    return true;
}

static remat_status apply(remat_tape *tape, const remat_op *op, const void *attributes,
                          const remat_var *in, size_t n_in, remat_var *out, size_t n_out)
{
    draft d;
    uint32_t first_result;
    if (tape->status != REMAT_OK)
        return tape->status;
    if ((n_in > 0 && !in) || (n_out > 0 && !out))
        return remat_tape_fail(tape, REMAT_INVALID_ARGUMENT, "remat_apply: an array is NULL");
    remat_status status = check_op(tape, op, attributes, n_in, n_out);
    if (status != REMAT_OK)
        return status;
    d.op = op;
    d.attributes = attributes;
    d.n_in = n_in;
    if ((status = take_operands(tape, &d, in)) != REMAT_OK ||
        (status = infer_results(tape, &d)) != REMAT_OK ||
        (status = check_results(tape, &d)) != REMAT_OK)
        return status;
    if (!append_statement(tape, &d, &first_result))
        return remat_record_out_of_memory(tape, op->name);
    for (size_t i = 0; i < n_out; i++)
        out[i] = remat_tape_handle(tape, first_result + (uint32_t)i);
    return REMAT_OK;
}

static void unset(remat_var *out, size_t n_out)
{
    for (size_t i = 0; out && i < n_out; i++)
        out[i] = (remat_var){0};
}

/* in and out may be the same array: out is written when nothing reads in any more. */
remat_status remat_apply(remat_tape *tape, const remat_op *op, const void *attributes,
                         const remat_var *in, size_t n_in, remat_var *out, size_t n_out)
{
    remat_status status =
        tape ? apply(tape, op, attributes, in, n_in, out, n_out) : REMAT_INVALID_ARGUMENT;
    if (status != REMAT_OK)
        unset(out, n_out);
    return status;
}

/* ---- Segments --------------------------------------------------------------------------------*/

remat_status remat_segment_begin(remat_tape *tape, const char *name)
{
    if (!tape)
        return REMAT_INVALID_ARGUMENT;
    if (tape->status != REMAT_OK)
        return tape->status;
    remat_segment_record segment = {tape->open_segment, (uint32_t)tape->statements.count,
                                    UINT32_MAX, UINT32_MAX};
    if (name && !remat_record_text(tape, name, &segment.name))
        return remat_record_out_of_memory(tape, "a segment's name");
    if (tape->segments.count > MAX_COUNT ||
        !remat_vector_push(&tape->allocator, &tape->segments, segment))
        return remat_record_out_of_memory(tape, "a segment");
    tape->open_segment = (uint32_t)(tape->segments.count - 1);
    return REMAT_OK;
}

remat_status remat_segment_end(remat_tape *tape)
{
    if (!tape)
        return REMAT_INVALID_ARGUMENT;
    if (tape->open_segment == 0)
        return remat_tape_fail(tape, REMAT_OUT_OF_ORDER,
                               "remat_segment_end: no segment is open; call remat_segment_begin() "
                               "first");
    remat_segment_record *segment = &tape->segments.data[tape->open_segment];
    segment->end = (uint32_t)tape->statements.count;
    tape->open_segment = segment->parent;
    return tape->status;
}

/* Closes what the block left open above `level`, so that an error cannot nest later segments. */
static void close_down_to(remat_tape *tape, uint32_t level)
{
    while (tape->open_segment != level && tape->open_segment != 0) {
        remat_segment_record *segment = &tape->segments.data[tape->open_segment];
        segment->end = (uint32_t)tape->statements.count;
        tape->open_segment = segment->parent;
    }
}

static remat_status record_block(remat_tape *tape, remat_block *block, void *context,
                                 const remat_var *in, size_t n_in, remat_var *out, size_t n_out)
{
    if (tape->status != REMAT_OK)
        return tape->status;
    if (!block || (n_in > 0 && !in) || (n_out > 0 && !out))
        return remat_tape_fail(tape, REMAT_INVALID_ARGUMENT,
                               "checkpoint_segment: the block or an array is NULL");
    /* The block gets a copy of its inputs: in and out may be the same array. */
    remat_var few[16], *inputs = few;
    if (n_in > sizeof few / sizeof few[0] &&
        !(inputs = remat_memory_allocate(&tape->allocator, n_in, sizeof *inputs)))
        return remat_record_out_of_memory(tape, "a segment's inputs");
    if (n_in > 0)
        memcpy(inputs, in, n_in * sizeof *inputs);
    remat_status status = remat_segment_begin(tape, NULL);
    uint32_t segment = tape->open_segment;
    if (status == REMAT_OK) {
        status = block(tape, context, inputs, n_in, out, n_out);
        if (status != REMAT_OK)
            remat_tape_fail(tape, status, "checkpoint_segment: the block returned %s (%s)",
                            remat_status_name(status), remat_status_text(status));
        else if (tape->open_segment != segment)
            remat_tape_fail(tape, REMAT_OUT_OF_ORDER,
                            "checkpoint_segment: the block opened a segment that it did not close, "
                            "or closed one that it did not open");
        close_down_to(tape, tape->segments.data[segment].parent);
        status = tape->status;
    }
    if (inputs != few)
        remat_memory_release(&tape->allocator, inputs, n_in, sizeof *inputs);
    return status;
}

remat_status checkpoint_segment(remat_tape *tape, remat_block *block, void *context,
                                const remat_var *in, size_t n_in, remat_var *out, size_t n_out)
{
    remat_status status =
        tape ? record_block(tape, block, context, in, n_in, out, n_out) : REMAT_INVALID_ARGUMENT;
    if (status != REMAT_OK)
        unset(out, n_out);
    return status;
}
