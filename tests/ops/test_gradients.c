/* test_gradients.c - every row of the conformance table: backward against differences of forward
 * (element by element, and as the adjoint of a random direction), and f32 against f64. */
#include <math.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/op_harness.h"
#include "support/op_runner.h"

/* Elements of one leaf whose derivative is checked one by one; the adjoint sees them all. */
static size_t coordinates_of(size_t count)
{
    return count > 2000 ? 8 : 64;
}

static const op_memory plain = {.misaligned = false, .fill = 0xFF};

/* Everything a gradient check looks at. */
typedef struct gradients {
    op_subject subject;
    op_values values;
    op_run run;
    double *analytic[OP_MAX_LEAVES];
    double scale; /* the largest element of any result or gradient */
} gradients;

static double largest(const double *values, size_t count)
{
    double most = 0.0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(values[i]));
    return most;
}

static void gradients_open(gradients *g, const op_point *point)
{
    *g = (gradients){.subject = op_subject_open(point->row, point->dtype)};
    g->values = op_values_draw(&g->subject);
    op_run_all(&g->run, &g->subject, &g->values, plain);
    double *result = op_read(g->run.result[0], &g->subject.out[0]);
    g->scale = largest(result, op_type_count(&g->subject.out[0]));
    free(result);
    for (size_t i = 0; i < g->subject.n_leaves; i++) {
        if (!((g->subject.differentiable >> i) & 1))
            continue;
        g->analytic[i] = op_read(g->run.gradient[i], &g->subject.leaf[i]);
        g->scale = fmax(g->scale, largest(g->analytic[i], op_type_count(&g->subject.leaf[i])));
    }
}

static void gradients_close(gradients *g)
{
    for (size_t i = 0; i < OP_MAX_LEAVES; i++)
        free(g->analytic[i]);
    op_run_close(&g->run);
    op_values_free(&g->values);
    op_subject_close(&g->subject);
}

/* terms += weight f(values), for each element of each active result. */
static void add_forward(const gradients *g, const op_values *values, double weight, double **terms)
{
    op_run run;
    op_run_open(&run, &g->subject, values, plain);
    assert_int_equal(op_run_forward(&run, 0, OP_OUT_OF_PLACE), REMAT_OK);
    for (size_t k = 0; k < g->subject.n_out; k++) {
        if (!((g->subject.active >> k) & 1))
            continue;
        double *result = op_read(run.result[k], &g->subject.out[k]);
        for (size_t j = 0; j < op_type_count(&g->subject.out[k]); j++)
            terms[k][j] += weight * result[j];
        free(result);
    }
    op_run_close(&run);
}

static op_values moved(const gradients *g, double *const *direction, double step)
{
    op_values values = op_values_draw(&g->subject);
    for (size_t i = 0; i < g->subject.n_leaves; i++) {
        for (size_t j = 0; direction[i] != NULL && j < op_type_count(&g->subject.leaf[i]); j++)
            values.leaf[i][j] += step * direction[i][j];
    }
    return values;
}

/* <upstream, J direction> by central differences of fourth order: the error is of order step^4
 * from the formula and 1e-16 / step from rounding. Taken element by element of the result, so that
 * those that do not depend on the direction cancel exactly. Adds the terms' sizes to magnitude. */
static double directional(const gradients *g, double *const *direction, double *magnitude)
{
    static const double offset[4] = {-2, -1, 1, 2}, weight[4] = {1, -8, 8, -1};
    const double step = 1e-3;
    double *terms[OP_MAX_OUT], sum = 0.0;
    for (size_t k = 0; k < g->subject.n_out; k++)
        assert_non_null(terms[k] = calloc(op_type_count(&g->subject.out[k]), sizeof(double)));
    for (size_t p = 0; p < 4; p++) {
        op_values values = moved(g, direction, step * offset[p]);
        add_forward(g, &values, weight[p] / (12.0 * step), terms);
        op_values_free(&values);
    }
    for (size_t k = 0; k < g->subject.n_out; k++) {
        for (size_t j = 0; j < op_type_count(&g->subject.out[k]); j++) {
            sum += terms[k][j] * g->values.upstream[k][j];
            *magnitude += fabs(terms[k][j] * g->values.upstream[k][j]);
        }
        free(terms[k]);
    }
    return sum;
}

static void check_leaf(const gradients *g, size_t leaf)
{
    const size_t count = op_type_count(&g->subject.leaf[leaf]);
    const size_t some = coordinates_of(count), stride = (count + some - 1) / some;
    double *direction[OP_MAX_LEAVES] = {NULL}, magnitude = 0.0;
    assert_non_null(direction[leaf] = calloc(count, sizeof(double)));
    for (size_t j = 0; j < count; j += stride) {
        direction[leaf][j] = 1.0;
        const double numeric = directional(g, direction, &magnitude);
        const double analytic = g->analytic[leaf][j];
        const double relative = 1e-6 * fmax(fabs(numeric), fabs(analytic));
        if (!(fabs(numeric - analytic) <= relative + 1e-9 * g->scale))
            fail_msg("leaf %zu element %zu: backward %.17g, differences %.17g", leaf, j, analytic,
                     numeric);
        direction[leaf][j] = 0.0;
    }
    free(direction[leaf]);
}

/* Relative error under 1e-6 of each element, apart from 1e-9 of the largest number in sight. */
static void differences(void **state)
{
    gradients g;
    gradients_open(&g, *state);
    for (size_t i = 0; i < g.subject.n_leaves; i++) {
        if (g.analytic[i] != NULL)
            check_leaf(&g, i);
    }
    gradients_close(&g);
}

/* <J v, w> = <v, J^T w> for a random v over all leaves at once. */
static void adjoint(void **state)
{
    gradients g;
    gradients_open(&g, *state);
    double *direction[OP_MAX_LEAVES] = {NULL}, backward = 0.0, magnitude = 0.0;
    uint64_t random = 99;
    for (size_t i = 0; i < g.subject.n_leaves; i++) {
        const size_t count = op_type_count(&g.subject.leaf[i]);
        if (g.analytic[i] == NULL)
            continue;
        assert_non_null(direction[i] = malloc(count * sizeof(double)));
        for (size_t j = 0; j < count; j++) {
            direction[i][j] = 2.0 * op_uniform(&random) - 1.0;
            backward += direction[i][j] * g.analytic[i][j];
            magnitude += fabs(direction[i][j] * g.analytic[i][j]);
        }
    }
    const double forward = directional(&g, direction, &magnitude);
    if (!(fabs(forward - backward) <= 1e-8 * magnitude + 1e-12 * g.scale))
        fail_msg("<J v, w> = %.17g, <v, J^T w> = %.17g", forward, backward);
    for (size_t i = 0; i < OP_MAX_LEAVES; i++)
        free(direction[i]);
    gradients_close(&g);
}

static void compare(const char *what, const void *data32, const remat_type *type32,
                    const void *data64, const remat_type *type64, const op_case *row)
{
    const size_t count = op_type_count(type64);
    double *single = op_read(data32, type32), *exact = op_read(data64, type64);
    const double relative = row->f32_tolerance > 0 ? row->f32_tolerance : 2e-6;
    const double most = largest(exact, count);
    assert_int_equal(op_type_count(type32), count);
    for (size_t j = 0; j < count; j++) {
        if (!(fabs(single[j] - exact[j]) <= relative * most + row->absolute))
            fail_msg("%s element %zu: f32 %.9g, f64 %.17g, largest %g", what, j, single[j],
                     exact[j], most);
    }
    free(single);
    free(exact);
}

/* Within the row's tolerance of the largest element. */
static void f32_against_f64(void **state)
{
    const op_point *point = *state;
    const op_point single = {point->row, REMAT_F32};
    gradients a, b;
    gradients_open(&a, &single);
    gradients_open(&b, point);
    for (size_t k = 0; k < b.subject.n_out; k++)
        compare("result", a.run.result[k], &a.subject.out[k], b.run.result[k], &b.subject.out[k],
                point->row);
    for (size_t i = 0; i < b.subject.n_leaves; i++) {
        if (b.analytic[i] != NULL)
            compare("gradient", a.run.gradient[i], &a.subject.leaf[i], b.run.gradient[i],
                    &b.subject.leaf[i], point->row);
    }
    gradients_close(&b);
    gradients_close(&a);
}

int main(void)
{
    static const op_check checks[] = {
        {"central differences", differences, true, true},
        {"adjoint", adjoint, true, false},
        {"f32 against f64", f32_against_f64, true, false},
    };
    return op_run_checks("gradients", checks, sizeof checks / sizeof checks[0], NULL);
}
