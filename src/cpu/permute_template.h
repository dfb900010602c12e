/* permute_template.h - the loops of permute.h for one element type; see simd.h. */

/* Data of any type with this size. */
typedef UINT __attribute__((may_alias)) F(word);

static void F(copy_plane)(int64_t rows, int64_t columns, const void *x, int64_t x_column, void *y,
                          int64_t y_row)
{
    for (int64_t row = 0; row < rows; row += TILE) {
        const int64_t row_end = tile_end(row, rows);
        for (int64_t column = 0; column < columns; column += TILE) {
            const int64_t column_end = tile_end(column, columns);
            for (int64_t i = row; i < row_end; i++) {
                const F(word) *from = (const F(word) *)x + i;
                F(word) *to = (F(word) *)y + i * y_row;
#pragma omp simd
                for (int64_t j = column; j < column_end; j++)
                    to[j] = from[j * x_column];
            }
        }
    }
}

static void F(add_plane)(int64_t rows, int64_t columns, const void *x, int64_t x_column, void *y,
                         int64_t y_row)
{
    for (int64_t row = 0; row < rows; row += TILE) {
        const int64_t row_end = tile_end(row, rows);
        for (int64_t column = 0; column < columns; column += TILE) {
            const int64_t column_end = tile_end(column, columns);
            for (int64_t i = row; i < row_end; i++) {
                const REAL *from = (const REAL *)x + i;
                REAL *to = (REAL *)y + i * y_row;
#pragma omp simd
                for (int64_t j = column; j < column_end; j++)
                    to[j] += from[j * x_column];
            }
        }
    }
}
