/* exact.c - see exact.h. */
#include "support/exact.h"

#include "support/op_buffer.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* What gradients of leaves hold before the backward pass. */
static const double before = 7;

double exact_integer(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)((*state >> 33) % 9) - 4;
}

exact_tensor exact_tensor_create(remat_shape shape, uint64_t *state)
{
    const size_t count = (size_t)remat_shape_count(&shape);
    exact_tensor tensor = {.shape = shape};
    tensor.value = calloc(count, sizeof(double));
    tensor.gradient = calloc(count, sizeof(double));
    assert_non_null(tensor.value);
    assert_non_null(tensor.gradient);
    for (size_t i = 0; i < count; i++)
        tensor.value[i] = exact_integer(state);
    return tensor;
}

void exact_tensor_destroy(exact_tensor *tensor)
{
    free(tensor->value);
    free(tensor->gradient);
    *tensor = (exact_tensor){0};
}

void exact_case_destroy(exact_case *exact)
{
    for (size_t i = 0; i < exact->n_leaves; i++)
        exact_tensor_destroy(&exact->leaf[i]);
    exact_tensor_destroy(&exact->result);
}

void exact_position(const remat_shape *shape, size_t index, int64_t *position)
{
    for (int32_t i = shape->ndim - 1; i >= 0; i--) {
        position[i] = (int64_t)(index % (size_t)shape->dims[i]);
        index /= (size_t)shape->dims[i];
    }
}

size_t exact_broadcast_index(const remat_shape *shape, int32_t ndim, const int64_t *position)
{
    size_t index = 0;
    for (int32_t i = 0; i < shape->ndim; i++) {
        const int64_t at = shape->dims[i] == 1 ? 0 : position[ndim - shape->ndim + i];
        index = index * (size_t)shape->dims[i] + (size_t)at;
    }
    return index;
}

/* The memory of one run. */
typedef struct run {
    remat_tape *tape;
    remat_exec *exec;
    op_buffer data[EXACT_MAX_LEAVES], gradient[EXACT_MAX_LEAVES], seed;
} run;

static op_buffer buffer_of(const remat_shape *shape, remat_dtype dtype, const double *values)
{
    const size_t count = (size_t)remat_shape_count(shape);
    op_buffer buffer = op_buffer_create(count * remat_dtype_bytes(dtype), 0, 0xFF);
    op_store(buffer.data, dtype, count, values);
    return buffer;
}

static op_buffer filled_buffer(const remat_shape *shape, remat_dtype dtype, double value)
{
    const size_t count = (size_t)remat_shape_count(shape);
    double *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        values[i] = value;
    op_buffer buffer = buffer_of(shape, dtype, values);
    free(values);
    return buffer;
}

/* indirect: the operation reads 1 times each leaf. */
static remat_var record(const exact_case *exact, remat_dtype dtype, bool indirect, run *r)
{
    remat_var leaves[EXACT_MAX_LEAVES] = {{0}};
    for (size_t i = 0; i < exact->n_leaves; i++) {
        const remat_shape *shape = &exact->leaf[i].shape;
        r->data[i] = buffer_of(shape, dtype, exact->leaf[i].value);
        r->gradient[i] = filled_buffer(shape, dtype, before);
        leaves[i] =
            remat_parameter(r->tape, NULL, dtype, *shape, r->data[i].data, r->gradient[i].data);
        if (indirect)
            leaves[i] = remat_scale(r->tape, leaves[i], 1);
    }
    return exact->record(r->tape, leaves, exact->context);
}

static void expect(const char *what, const remat_shape *shape, remat_dtype dtype, const void *data,
                   const double *expected, double offset)
{
    const size_t count = (size_t)remat_shape_count(shape);
    double *values = malloc(count * sizeof *values);
    assert_non_null(values);
    op_load(data, dtype, count, values);
    for (size_t i = 0; i < count; i++)
        if (!(values[i] == expected[i] + offset))
            fail_msg("%s element %zu of %zu: %.9g, expected %.9g", what, i, count, values[i],
                     expected[i] + offset);
    free(values);
}

static void compare(const exact_case *exact, remat_dtype dtype, const run *r, remat_var result)
{
    const void *data = NULL;
    assert_int_equal(remat_exec_value(r->exec, result, &data), REMAT_OK);
    expect("result", &exact->result.shape, dtype, data, exact->result.value, 0);
    for (size_t i = 0; i < exact->n_leaves; i++) {
        expect(i == 0   ? "gradient 0"
               : i == 1 ? "gradient 1"
                        : "gradient 2",
               &exact->leaf[i].shape, dtype, r->gradient[i].data, exact->leaf[i].gradient, before);
        assert_true(op_buffer_intact(&r->gradient[i]));
        expect("operand", &exact->leaf[i].shape, dtype, r->data[i].data, exact->leaf[i].value, 0);
    }
}

static void close_run(const exact_case *exact, run *r)
{
    remat_exec_destroy(r->exec);
    remat_tape_destroy(r->tape);
    for (size_t i = 0; i < exact->n_leaves; i++) {
        op_buffer_destroy(&r->data[i]);
        op_buffer_destroy(&r->gradient[i]);
    }
    op_buffer_destroy(&r->seed);
}

static void check_one(const exact_case *exact, remat_dtype dtype, bool indirect)
{
    run r = {0};
    remat_exec_options options = REMAT_EXEC_OPTIONS_INIT;
    options.poison = true;
    assert_int_equal(remat_tape_create(NULL, &r.tape), REMAT_OK);
    const remat_var y = record(exact, dtype, indirect, &r);
    assert_string_equal(remat_tape_message(r.tape), "");
    const remat_shape shape = remat_var_shape(r.tape, y);
    assert_int_equal(shape.ndim, exact->result.shape.ndim);
    for (int32_t i = 0; i < shape.ndim; i++)
        assert_int_equal(shape.dims[i], exact->result.shape.dims[i]);
    r.seed = buffer_of(&shape, dtype, exact->result.gradient);
    assert_int_equal(remat_keep(r.tape, y), REMAT_OK);
    assert_int_equal(remat_seed_gradient(r.tape, y, r.seed.data), REMAT_OK);
    if (remat_exec_create(r.tape, (remat_var){0}, &options, &r.exec) != REMAT_OK)
        fail_msg("%s", remat_tape_message(r.tape));
    if (remat_exec_step(r.exec) != REMAT_OK)
        fail_msg("%s", remat_exec_message(r.exec));
    compare(exact, dtype, &r, y);
    close_run(exact, &r);
}

void exact_check(const exact_case *exact)
{
    for (int indirect = 0; indirect < 2; indirect++) {
        check_one(exact, REMAT_F32, indirect != 0);
        check_one(exact, REMAT_F64, indirect != 0);
    }
}

void exact_check_refused(const exact_case *exact, remat_status status)
{
    run r = {0};
    assert_int_equal(remat_tape_create(NULL, &r.tape), REMAT_OK);
    const remat_var y = record(exact, REMAT_F32, false, &r);
    assert_true(y.id == 0);
    assert_int_equal(remat_tape_status(r.tape), status);
    assert_true(strlen(remat_tape_message(r.tape)) > 0);
    close_run(exact, &r);
}
