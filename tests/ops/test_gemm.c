/* test_gemm.c - products against plain loops: the seam with gaps between rows, batches and bias;
 * matmul for every pair of transposes and leading shapes; linear. Data are small integers, so that
 * every order of summation is exact. */
#include "cpu/gemm.h"
#include "support/exact.h"
#include "support/op_buffer.h"

#include <math.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- The seam --------------------------------------------------------------------------------*/

/* A stored matrix and its elements as doubles. */
typedef struct matrix {
    int64_t rows, columns, stride;
    size_t count; /* with gaps, and of all matrices of a batch */
    double *value;
    op_buffer buffer;
} matrix;

static matrix matrix_create(int64_t rows, int64_t columns, int64_t gap, int64_t matrices,
                            remat_dtype dtype, uint64_t *state)
{
    matrix m = {.rows = rows, .columns = columns, .stride = columns + gap};
    m.count = (size_t)(matrices * rows * m.stride);
    m.value = malloc(m.count * sizeof *m.value);
    assert_non_null(m.value);
    for (size_t i = 0; i < m.count; i++)
        m.value[i] = exact_integer(state);
    m.buffer = op_buffer_create(m.count * remat_dtype_bytes(dtype), 0, 0);
    op_store(m.buffer.data, dtype, m.count, m.value);
    return m;
}

static void matrix_destroy(matrix *m)
{
    free(m->value);
    op_buffer_destroy(&m->buffer);
}

/* Element (i, j) of op(M), where M starts at `start`. */
static double element(const matrix *m, int64_t start, bool transposed, int64_t i, int64_t j)
{
    return m->value[start + (transposed ? j * m->stride + i : i * m->stride + j)];
}

static void expect_product(const remat_gemm *gemm, const matrix *a, int64_t a_start,
                           const matrix *b, int64_t b_start, const matrix *bias, double *c)
{
    for (int64_t i = 0; i < gemm->m; i++)
        for (int64_t j = 0; j < gemm->n; j++) {
            double sum = gemm->bias ? bias->value[j] : 0;
            for (int64_t l = 0; l < gemm->k; l++)
                sum += element(a, a_start, gemm->transpose_a, i, l) *
                       element(b, b_start, gemm->transpose_b, l, j);
            double *to = &c[i * gemm->ldc + j];
            *to = gemm->accumulate ? *to + sum : sum;
        }
}

static void check_matrix(const matrix *c, remat_dtype dtype)
{
    double *values = malloc(c->count * sizeof *values);
    assert_non_null(values);
    op_load(c->buffer.data, dtype, c->count, values);
    for (size_t i = 0; i < c->count; i++)
        if (!(values[i] == c->value[i])) /* gaps included */
            fail_msg("element %zu: %.9g, expected %.9g", i, values[i], c->value[i]);
    assert_true(op_buffer_intact(&c->buffer));
    free(values);
}

enum { with_accumulate = 1, with_bias = 2, with_sum = 4 };

/* A batch of three: A advances, B is one, C advances or is the sum. */
static void check_gemm(remat_gemm gemm, int64_t gap, int with)
{
    uint64_t state = 3;
    const int64_t m = gemm.m, n = gemm.n, k = gemm.k, batch = 3;
    const bool ta = gemm.transpose_a, tb = gemm.transpose_b;
    matrix a = matrix_create(ta ? k : m, ta ? m : k, gap, batch, gemm.dtype, &state);
    matrix b = matrix_create(tb ? n : k, tb ? k : n, gap, 1, gemm.dtype, &state);
    matrix c = matrix_create(m, n, gap, with & with_sum ? 1 : batch, gemm.dtype, &state);
    matrix bias = matrix_create(1, n, 0, 1, gemm.dtype, &state);
    gemm.lda = a.stride;
    gemm.ldb = b.stride;
    gemm.ldc = c.stride;
    gemm.accumulate = with & with_accumulate;
    gemm.bias = with & with_bias ? bias.buffer.data : NULL;
    const remat_gemm_batch strides = {batch, a.rows * a.stride, 0,
                                      with & with_sum ? 0 : c.rows * c.stride};
    for (int64_t i = 0; i < batch; i++) {
        remat_gemm one = gemm;
        one.accumulate = gemm.accumulate || (i > 0 && (with & with_sum));
        expect_product(&one, &a, i * strides.a, &b, 0, &bias, c.value + i * strides.c);
    }
    if (gap == 0)
        gemm.lda = gemm.ldb = gemm.ldc = 0;
    remat_gemm_run_batch(&gemm, &strides, a.buffer.data, b.buffer.data, c.buffer.data);
    check_matrix(&c, gemm.dtype);
    matrix_destroy(&a);
    matrix_destroy(&b);
    matrix_destroy(&c);
    matrix_destroy(&bias);
}

static void check_extents(int64_t m, int64_t n, int64_t k)
{
    static const int modes[] = {0, with_accumulate, with_bias, with_sum,
                                with_sum | with_accumulate};
    for (int bits = 0; bits < 16; bits++)
        for (size_t mode = 0; mode < sizeof modes / sizeof modes[0]; mode++)
            check_gemm((remat_gemm){.dtype = bits & 1 ? REMAT_F64 : REMAT_F32,
                                    .transpose_a = bits & 2,
                                    .transpose_b = bits & 4,
                                    .m = m,
                                    .n = n,
                                    .k = k},
                       bits & 8 ? 3 : 0, modes[mode]);
}

static void test_seam(void **state)
{
    static const int64_t extents[] = {1, 2, 3, 17, 33};
    enum { n_extents = sizeof extents / sizeof extents[0] };
    (void)state;
    for (size_t i = 0; i < n_extents * n_extents * n_extents; i++)
        check_extents(extents[i % n_extents], extents[i / n_extents % n_extents],
                      extents[i / n_extents / n_extents]);
}

/* Beyond the blocks in which the product's own kernels work. */
static void test_blocks(void **state)
{
    (void)state;
    check_extents(70, 35, 258);
    check_extents(9, 64, 513);
    check_extents(135, 5, 129);
}

/* A replay may find its operands elsewhere: the bits must not depend on it. */
static void check_alignment(const remat_gemm *gemm)
{
    enum { count = 80 * 80, shifts = 16 };
    static float a[count + shifts], b[count + shifts], c[count + shifts], expected[count];
    const size_t bytes = (size_t)(gemm->m * gemm->n) * sizeof(float);
    for (size_t shift = 0; shift < shifts; shift++) {
        float *a_at = a + shift, *b_at = b + shift * 5 % shifts, *c_at = c + shift * 3 % shifts;
        for (size_t i = 0; i < count; i++) {
            a_at[i] = (float)(i * i % 1013) / 1013.0F - 0.4F;
            b_at[i] = (float)(i * 7 % 997) / 997.0F - 0.6F;
            c_at[i] = NAN;
        }
        remat_gemm_run(gemm, a_at, b_at, shift == 0 ? expected : c_at);
        if (shift > 0)
            assert_memory_equal(c_at, expected, bytes);
    }
}

static void test_alignment(void **state)
{
    static const int64_t extents[][3] = {{37, 51, 70}, {1, 75, 79}, {79, 1, 77}, {1, 1, 80}};
    (void)state;
    for (int i = 0; i < 16; i++)
        check_alignment(&(remat_gemm){.dtype = REMAT_F32,
                                      .transpose_a = i & 1,
                                      .transpose_b = i & 2,
                                      .m = extents[i / 4][0],
                                      .n = extents[i / 4][1],
                                      .k = extents[i / 4][2]});
}

static void test_limits(void **state)
{
    (void)state;
    assert_true(remat_gemm_fits(1, 1, INT32_MAX));
    if (remat_gemm_fits(1, 1, (int64_t)INT32_MAX + 1))
        assert_true(remat_gemm_fits(INT64_MAX, 1, 1)); /* a BLAS with 64-bit integers */
    else
        assert_false(remat_gemm_fits((int64_t)INT32_MAX + 1, 1, 1));
    assert_int_equal(remat_set_threads(0), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_set_threads(-1), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_set_threads(1), REMAT_OK);
    assert_int_equal(remat_threads(), 1);
    assert_int_equal(remat_gemm_kernel_id(), 1);
}

/* ---- matmul ----------------------------------------------------------------------------------*/

typedef struct transposes {
    bool a, b;
} transposes;

static remat_var record_matmul(remat_tape *tape, const remat_var *leaves, const void *context)
{
    const transposes *t = context;
    return remat_matmul(tape, leaves[0], leaves[1], t->a, t->b);
}

/* leading axes, then rows and columns (stored exchanged if transposed) */
static remat_shape matrix_shape(const remat_shape *leading, bool transposed, int64_t rows,
                                int64_t columns)
{
    remat_shape shape = *leading;
    shape.dims[shape.ndim++] = transposed ? columns : rows;
    shape.dims[shape.ndim++] = transposed ? rows : columns;
    return shape;
}

static remat_shape broadcast(const remat_shape *a, const remat_shape *b)
{
    remat_shape y = a->ndim > b->ndim ? *a : *b;
    const remat_shape *other = a->ndim > b->ndim ? b : a;
    for (int32_t i = 0; i < other->ndim; i++) {
        int64_t *extent = &y.dims[y.ndim - other->ndim + i];
        *extent = other->dims[i] > *extent ? other->dims[i] : *extent;
    }
    return y;
}

/* One matrix product of the batch and its contributions to the gradients; a, b, c are the indices
 * of the matrices' first elements. */
static void expect_matmul(exact_case *x, const transposes *t, const int64_t extent[3], size_t a,
                          size_t b, size_t c)
{
    const size_t m = (size_t)extent[0], n = (size_t)extent[1], k = (size_t)extent[2];
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t l = 0; l < k; l++) {
                const size_t at_a = a + (t->a ? l * m + i : i * k + l);
                const size_t at_b = b + (t->b ? j * k + l : l * n + j);
                const size_t at_c = c + i * n + j;
                x->result.value[at_c] += x->leaf[0].value[at_a] * x->leaf[1].value[at_b];
                x->leaf[0].gradient[at_a] += x->result.gradient[at_c] * x->leaf[1].value[at_b];
                x->leaf[1].gradient[at_b] += x->result.gradient[at_c] * x->leaf[0].value[at_a];
            }
}

static void check_matmul(const remat_shape *lead_a, const remat_shape *lead_b, transposes t,
                         int64_t m, int64_t n, int64_t k)
{
    uint64_t state = 11;
    const int64_t extent[3] = {m, n, k};
    const remat_shape lead = broadcast(lead_a, lead_b);
    exact_case x = {.record = record_matmul, .context = &t, .n_leaves = 2};
    x.leaf[0] = exact_tensor_create(matrix_shape(lead_a, t.a, m, k), &state);
    x.leaf[1] = exact_tensor_create(matrix_shape(lead_b, t.b, k, n), &state);
    x.result = exact_tensor_create(matrix_shape(&lead, false, m, n), &state);
    const size_t batches = (size_t)remat_shape_count(&lead);
    for (size_t i = 0; i < batches * (size_t)(m * n); i++) {
        x.result.gradient[i] = exact_integer(&state);
        x.result.value[i] = 0;
    }
    for (size_t i = 0; i < batches; i++) {
        int64_t position[REMAT_MAX_DIMS];
        exact_position(&lead, i, position);
        expect_matmul(&x, &t, extent,
                      exact_broadcast_index(lead_a, lead.ndim, position) * (size_t)(m * k),
                      exact_broadcast_index(lead_b, lead.ndim, position) * (size_t)(k * n),
                      i * (size_t)(m * n));
    }
    exact_check(&x);
    exact_case_destroy(&x);
}

/* Leading shapes of up to three axes; extents of 1 and of one other length per axis, so that any
 * two of them broadcast. */
enum { n_leading = 15 };

static remat_shape leading(int number)
{
    static const int64_t other[3] = {3, 2, 4};
    int32_t ndim = 0;
    while (number + 1 >= 2 << ndim)
        ndim++;
    int64_t dims[3];
    for (int32_t i = 0; i < ndim; i++)
        dims[i] = (number + 1) >> i & 1 ? other[3 - ndim + i] : 1;
    return remat_shape_make((size_t)ndim, dims);
}

static void check_all_transposes(const remat_shape *lead_a, const remat_shape *lead_b, int64_t m,
                                 int64_t n, int64_t k)
{
    for (int bits = 0; bits < 4; bits++)
        check_matmul(lead_a, lead_b, (transposes){bits & 1, bits & 2}, m, n, k);
}

static void test_matmul(void **state)
{
    (void)state;
    for (int i = 0; i < n_leading * n_leading; i++) {
        const remat_shape a = leading(i % n_leading), b = leading(i / n_leading);
        check_all_transposes(&a, &b, 2, 3, 4);
        check_all_transposes(&a, &b, 1, 1 + i % 3, 2);
    }
    const remat_shape none = REMAT_SCALAR;
    for (int i = 0; i < 27; i++)
        check_all_transposes(&none, &none, 1 + i % 3, 1 + i / 3 % 3, 1 + i / 9);
    check_all_transposes(&none, &none, 65, 40, 33);
}

/* ---- linear ----------------------------------------------------------------------------------*/

static remat_var record_linear(remat_tape *tape, const remat_var *leaves, const void *context)
{
    const bool *biased = context;
    return remat_linear(tape, leaves[0], leaves[1], *biased ? leaves[2] : (remat_var){0});
}

static void expect_linear(exact_case *c, bool biased, size_t rows, size_t in, size_t out)
{
    for (size_t row = 0; row < rows; row++)
        for (size_t o = 0; o < out; o++) {
            const size_t y = row * out + o;
            c->result.value[y] = biased ? c->leaf[2].value[o] : 0;
            if (biased)
                c->leaf[2].gradient[o] += c->result.gradient[y];
            for (size_t i = 0; i < in; i++) {
                c->result.value[y] += c->leaf[0].value[row * in + i] * c->leaf[1].value[o * in + i];
                c->leaf[0].gradient[row * in + i] +=
                    c->result.gradient[y] * c->leaf[1].value[o * in + i];
                c->leaf[1].gradient[o * in + i] +=
                    c->result.gradient[y] * c->leaf[0].value[row * in + i];
            }
        }
}

static void check_linear(remat_shape x, int64_t out, bool biased)
{
    uint64_t state = 17;
    const int64_t in = x.dims[x.ndim - 1];
    remat_shape y = x;
    y.dims[y.ndim - 1] = out;
    exact_case c = {.record = record_linear, .context = &biased, .n_leaves = biased ? 3 : 2};
    c.leaf[0] = exact_tensor_create(x, &state);
    c.leaf[1] = exact_tensor_create(REMAT_SHAPE(out, in), &state);
    if (biased)
        c.leaf[2] = exact_tensor_create(REMAT_SHAPE(out), &state);
    c.result = exact_tensor_create(y, &state);
    const size_t count = (size_t)remat_shape_count(&y);
    for (size_t i = 0; i < count; i++)
        c.result.gradient[i] = exact_integer(&state);
    expect_linear(&c, biased, (size_t)(remat_shape_count(&x) / in), (size_t)in, (size_t)out);
    exact_check(&c);
    exact_case_destroy(&c);
}

static void test_linear(void **state)
{
    (void)state;
    for (int biased = 0; biased < 2; biased++) {
        check_linear(REMAT_SHAPE(1), 1, biased);
        check_linear(REMAT_SHAPE(7), 5, biased);
        check_linear(REMAT_SHAPE(8, 3), 1, biased);
        check_linear(REMAT_SHAPE(2, 3, 5), 4, biased);
        check_linear(REMAT_SHAPE(19, 5), 300, biased); /* more columns than are summed at once */
        check_linear(REMAT_SHAPE(2, 1, 3, 1, 2), 3, biased);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seam),      cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_alignment), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_matmul),    cmocka_unit_test(test_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
