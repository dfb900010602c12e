/* binary_template.h - the loops of binary.h for one element type; see simd.h. The operation and the
 * column strides are constants wherever these functions are inlined. */

SIMD_INLINE REAL F(apply)(remat_binary op, REAL a, REAL b)
{
    switch (op) {
    case REMAT_BINARY_ADD:
        return a + b;
    case REMAT_BINARY_SUBTRACT:
        return a - b;
    case REMAT_BINARY_MULTIPLY:
        return a * b;
    default:
        return a / b;
    }
}

SIMD_INLINE void F(plane_loop)(remat_binary op, int64_t rows, int64_t columns, const remat_plane *a,
                               int64_t a_column, const remat_plane *b, int64_t b_column, REAL *y)
{
    for (int64_t i = 0; i < rows; i++) {
        const REAL *ai = (const REAL *)a->data + i * a->row;
        const REAL *bi = (const REAL *)b->data + i * b->row;
        REAL *yi = y + i * columns;
#pragma omp simd
        for (int64_t j = 0; j < columns; j++)
            yi[j] = F(apply)(op, ai[j * a_column], bi[j * b_column]);
    }
}

SIMD_INLINE void F(plane)(remat_binary op, int64_t rows, int64_t columns, const remat_plane *a,
                          const remat_plane *b, REAL *y)
{
    if (a->column && b->column)
        F(plane_loop)(op, rows, columns, a, 1, b, 1, y);
    else if (a->column)
        F(plane_loop)(op, rows, columns, a, 1, b, 0, y);
    else
        F(plane_loop)(op, rows, columns, a, 0, b, 1, y);
}

static void F(add)(int64_t rows, int64_t columns, const remat_plane *a, const remat_plane *b,
                   void *y)
{
    F(plane)(REMAT_BINARY_ADD, rows, columns, a, b, y);
}

static void F(subtract)(int64_t rows, int64_t columns, const remat_plane *a, const remat_plane *b,
                        void *y)
{
    F(plane)(REMAT_BINARY_SUBTRACT, rows, columns, a, b, y);
}

static void F(multiply)(int64_t rows, int64_t columns, const remat_plane *a, const remat_plane *b,
                        void *y)
{
    F(plane)(REMAT_BINARY_MULTIPLY, rows, columns, a, b, y);
}

static void F(divide)(int64_t rows, int64_t columns, const remat_plane *a, const remat_plane *b,
                      void *y)
{
    F(plane)(REMAT_BINARY_DIVIDE, rows, columns, a, b, y);
}

SIMD_INLINE void F(quotient_loop)(int64_t rows, int64_t columns, const remat_plane *dy,
                                  const remat_plane *y, int64_t y_column, bool from_a,
                                  const remat_plane *b, int64_t b_column, REAL *d)
{
    for (int64_t i = 0; i < rows; i++) {
        const REAL *dyi = (const REAL *)dy->data + i * dy->row;
        const REAL *yi = (const REAL *)y->data + i * y->row;
        const REAL *bi = (const REAL *)b->data + i * b->row;
        REAL *di = d + i * columns;
#pragma omp simd
        for (int64_t j = 0; j < columns; j++) {
            REAL divisor = bi[j * b_column];
            REAL value = from_a ? yi[j * y_column] / divisor : yi[j * y_column];
            di[j] = -(dyi[j] * value) / divisor;
        }
    }
}

static void F(quotient)(int64_t rows, int64_t columns, const remat_plane *dy, const remat_plane *y,
                        bool from_a, const remat_plane *b, void *d)
{
    if (!from_a && b->column)
        F(quotient_loop)(rows, columns, dy, y, 1, false, b, 1, d);
    else if (!from_a)
        F(quotient_loop)(rows, columns, dy, y, 1, false, b, 0, d);
    else if (y->column && b->column)
        F(quotient_loop)(rows, columns, dy, y, 1, true, b, 1, d);
    else if (y->column)
        F(quotient_loop)(rows, columns, dy, y, 1, true, b, 0, d);
    else
        F(quotient_loop)(rows, columns, dy, y, 0, true, b, 1, d);
}
