/* binary_gradient.c - see binary_gradient.h. Terms are computed a block at a time and added up
 * while they are in the first-level cache, in an order that depends on the shapes only. */
#include "ops/binary_gradient.h"

#include "cpu/kernels.h"

#include <string.h>

/* Elements of a block of terms. Lies on the C stack. */
#define BLOCK_ELEMENTS 2048

typedef union block {
    float f32[BLOCK_ELEMENTS];
    double f64[BLOCK_ELEMENTS];
} block;

/* A part of the plane at a position of the outer axes. */
typedef struct window {
    const remat_nest_cursor *at;
    int64_t row, rows, column, columns;
} window;

static remat_plane tensor_plane(const remat_binary_gradient *g, int tensor, const void *data,
                                const window *w)
{
    const int64_t row = remat_nest_row_stride(g->nest, tensor);
    const int64_t column = remat_nest_column_stride(g->nest, tensor);
    const int64_t start = w->at->offset[tensor] + w->row * row + w->column * column;
    return (remat_plane){remat_element(data, start, g->dtype), row, column};
}

static void compute_terms(const remat_binary_gradient *g, const window *w, void *terms)
{
    const remat_binary_kernels *kernels = &remat_cpu_kernels()->binary[g->dtype];
    const remat_plane dy = tensor_plane(g, REMAT_TENSOR_Y, g->dy, w);
    const remat_plane factor = tensor_plane(g, g->factor, g->data[g->factor], w);
    if (g->term == REMAT_TERM_PRODUCT) {
        kernels->forward[REMAT_BINARY_MULTIPLY](w->rows, w->columns, &dy, &factor, terms);
    } else if (g->term == REMAT_TERM_FRACTION) {
        kernels->forward[REMAT_BINARY_DIVIDE](w->rows, w->columns, &dy, &factor, terms);
    } else {
        const int tensor = g->from_a ? REMAT_TENSOR_A : REMAT_TENSOR_Y;
        const remat_plane y = tensor_plane(g, tensor, g->data[tensor], w);
        kernels->quotient(w->rows, w->columns, &dy, &y, g->from_a, &factor, terms);
    }
}

/* The terms of a window: dy itself, or computed into `scratch`. */
static const void *terms_of(const remat_binary_gradient *g, const window *w, block *scratch,
                            int64_t *stride)
{
    if (g->term == REMAT_TERM_DY) {
        *stride = g->plane.columns;
        return tensor_plane(g, REMAT_TENSOR_Y, g->dy, w).data;
    }
    compute_terms(g, w, scratch);
    *stride = w->columns;
    return scratch;
}

static void *target_at(const remat_binary_gradient *g, const window *w)
{
    const int64_t start = w->at->offset[g->target] +
                          w->row * remat_nest_row_stride(g->nest, g->target) +
                          w->column * remat_nest_column_stride(g->nest, g->target);
    return remat_element_to_write(g->d, start, g->dtype);
}

static void store_rows(const remat_binary_gradient *g, const window *w, const void *terms,
                       int64_t stride, bool accumulate)
{
    remat_map_backward *scale = remat_cpu_kernels()->map[g->dtype].backward[REMAT_MAP_SCALE];
    window row = *w;
    for (int64_t i = 0; i < w->rows; i++, row.row++)
        scale(NULL, remat_element(terms, i * stride, g->dtype), target_at(g, &row), w->columns,
              g->sign, accumulate);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The target has columns: rows are added up if it has no rows. */
static void keep_columns(const remat_binary_gradient *g, const remat_nest_cursor *at,
                         bool accumulate)
{
    const remat_sums_kernels *sums = &remat_cpu_kernels()->sums[g->dtype];
    const bool sum_rows = g->plane.rows > 1 && remat_nest_row_stride(g->nest, g->target) == 0;
    const int64_t step = sum_rows ? REMAT_SUMS_COLUMNS : BLOCK_ELEMENTS;
    block scratch;
    double total[REMAT_SUMS_COLUMNS];
    window w = {.at = at};
    for (w.column = 0; w.column < g->plane.columns; w.column += step) {
        w.columns = smaller(step, g->plane.columns - w.column);
        const int64_t row_step =
            g->term == REMAT_TERM_DY ? g->plane.rows : BLOCK_ELEMENTS / w.columns;
        if (sum_rows)
            memset(total, 0, (size_t)w.columns * sizeof *total);
        for (w.row = 0; w.row < g->plane.rows; w.row += row_step) {
            int64_t stride = 0;
            w.rows = smaller(row_step, g->plane.rows - w.row);
            const void *terms = terms_of(g, &w, &scratch, &stride);
            if (sum_rows)
                sums->add_columns(w.rows, w.columns, terms, stride, total);
            else
                store_rows(g, &w, terms, stride, accumulate);
        }
        if (sum_rows)
            sums->store(w.columns, total, g->sign, target_at(g, &w), accumulate);
    }
}

/* The target has one element per row: two neighbouring axes along which it is broadcast are one, as
 * the other operand has them both. */
static void sum_columns(const remat_binary_gradient *g, const remat_nest_cursor *at,
                        bool accumulate)
{
    const remat_sums_kernels *sums = &remat_cpu_kernels()->sums[g->dtype];
    const int64_t step = g->term == REMAT_TERM_DY ? g->plane.columns : BLOCK_ELEMENTS;
    block scratch;
    window w = {.at = at, .rows = 1};
    for (w.row = 0; w.row < g->plane.rows; w.row++) {
        double total = 0;
        for (w.column = 0; w.column < g->plane.columns; w.column += step) {
            int64_t stride = 0;
            w.columns = smaller(step, g->plane.columns - w.column);
            total += sums->sum(w.columns, terms_of(g, &w, &scratch, &stride));
        }
        sums->store(1, &total, g->sign, target_at(g, &w), accumulate);
    }
}

static bool is_reduced(const remat_binary_gradient *g)
{
    for (int axis = 0; axis < g->nest->ndim; axis++)
        if (g->nest->stride[g->target][axis] == 0)
            return true;
    return false;
}

void remat_binary_gradient_run(const remat_binary_gradient *g)
{
    const bool reduced = is_reduced(g);
    if (g->d == g->dy && g->term == REMAT_TERM_DY && g->sign == 1)
        return;
    remat_nest_cursor at = {.index = {0}};
    do {
        const bool accumulate =
            g->accumulate || remat_nest_visited(g->nest, g->plane.outer, &at, g->target);
        if (!reduced && !accumulate && g->term != REMAT_TERM_DY) {
            const window all = {&at, 0, g->plane.rows, 0, g->plane.columns};
            compute_terms(g, &all, target_at(g, &all));
        } else if (remat_nest_column_stride(g->nest, g->target) != 0) {
            keep_columns(g, &at, accumulate);
        } else {
            sum_columns(g, &at, accumulate);
        }
    } while (remat_nest_next(g->nest, g->plane.outer, &at));
}
