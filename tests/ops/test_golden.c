/* test_golden.c - results and gradients against PyTorch's (tests/data/op_golden.txt, made by
 * tests/golden/make_op_golden.py): f64 to 1e-10, f32 to 1e-5. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/op_golden.h"
#include "support/op_harness.h"
#include "support/op_runner.h"

/* Finds a row's case in the file. */
static golden_case find_case(const char *name)
{
    golden_case golden;
    FILE *file = fopen(REMAT_TEST_DATA "/op_golden.txt", "r");
    assert_non_null(file);
    while (golden_read(file, &golden) && strcmp(golden.name, name) != 0)
        golden_free(&golden);
    fclose(file);
    assert_string_equal(golden.name, name); /* else the file lacks this row */
    return golden;
}

static void check_type(const golden_tensor *golden, const remat_type *type)
{
    assert_true(golden->present);
    assert_true(golden->is_float == (type->dtype != REMAT_I32));
    assert_int_equal(golden->shape.ndim, type->shape.ndim);
    for (int32_t i = 0; i < type->shape.ndim; i++)
        assert_int_equal(golden->shape.dims[i], type->shape.dims[i]);
}

/* Relative to the element, or to a part of the largest one, where elements are small by
 * cancellation. */
static void check_elements(const char *what, const golden_tensor *golden, const void *data,
                           const remat_type *type, const op_case *row)
{
    const bool f32 = type->dtype == REMAT_F32;
    const double tolerance = f32 ? 1e-5 : 1e-10, part = f32 ? 0.1 : 1e-3;
    const double absolute = row->absolute * (f32 ? 1.0 : 1e-8);
    const size_t count = op_type_count(type);
    double most = 0.0, *values = op_read(data, type);
    check_type(golden, type);
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(golden->elements[i]));
    for (size_t i = 0; i < count; i++) {
        const double expected = golden->elements[i];
        if (!(fabs(values[i] - expected) <=
              tolerance * fmax(fabs(expected), part * most) + absolute))
            fail_msg("%s, element %zu: %.17g, PyTorch %.17g", what, i, values[i], expected);
    }
    free(values);
}

static op_values golden_values(const op_subject *subject, const golden_case *golden)
{
    op_values values = {0};
    for (size_t i = 0; i < subject->n_leaves; i++) {
        check_type(&golden->leaf[i], &subject->leaf[i]);
        values.leaf[i] = golden->leaf[i].elements;
    }
    for (size_t k = 0; k < subject->n_out; k++)
        values.upstream[k] = golden->upstream[k].elements;
    return values;
}

static void against_pytorch(void **state)
{
    const op_point *point = *state;
    op_subject subject = op_subject_open(point->row, point->dtype);
    golden_case golden = find_case(point->row->name);
    const op_values values = golden_values(&subject, &golden);
    const op_memory memory = {.misaligned = false, .fill = 0xFF};
    op_run run;
    op_run_all(&run, &subject, &values, memory);
    for (size_t k = 0; k < subject.n_out; k++) {
        if (k == 0 || golden.result[k].present) /* an operation may save more than is documented */
            check_elements("result", &golden.result[k], run.result[k], &subject.out[k], point->row);
    }
    for (size_t i = 0; i < subject.n_leaves; i++) {
        const bool asked = (subject.differentiable >> i) & 1;
        assert_true(golden.gradient[i].present == asked);
        if (asked)
            check_elements("gradient", &golden.gradient[i], run.gradient[i], &subject.leaf[i],
                           point->row);
    }
    op_run_close(&run);
    golden_free(&golden);
    op_subject_close(&subject);
}

/* Nothing in the file is left unread. */
static void every_case_has_a_row(void **state)
{
    (void)state;
    golden_case golden;
    FILE *file = fopen(REMAT_TEST_DATA "/op_golden.txt", "r");
    assert_non_null(file);
    while (golden_read(file, &golden)) {
        const op_case *row = op_case_find(golden.name);
        if (row == NULL || row->no_golden)
            fail_msg("case %s has no row in the table", golden.name);
        golden_free(&golden);
    }
    fclose(file);
}

static bool has_golden(const op_case *row)
{
    return !row->no_golden;
}

int main(void)
{
    static const op_check checks[] = {{"golden", against_pytorch, false, false}};
    static const struct CMUnitTest whole[] = {cmocka_unit_test(every_case_has_a_row)};
    return op_run_checks("golden", checks, 1, has_golden) +
           cmocka_run_group_tests(whole, NULL, NULL);
}
