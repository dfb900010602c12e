/* blocks_template.h - runs element-wise loops, for one element type; see simd.h.
 *
 * A loop runs over whole blocks of SIMD_BLOCK elements. What is left of an array goes through the
 * same loop in a block on the stack, so every element is computed by the same vector instructions:
 * its bits depend neither on its position nor on alignment. */

typedef void F(forward_blocks)(const REAL *x, REAL *y, int64_t blocks, REAL p);
typedef void F(backward_blocks)(const REAL *kept, const REAL *dy, REAL *dx, int64_t blocks, REAL p,
                                bool accumulate);

static inline void F(run_forward)(F(forward_blocks) * loop, const REAL *x, REAL *y, int64_t count,
                                  REAL p)
{
    int64_t blocks = count / SIMD_BLOCK, done = blocks * SIMD_BLOCK;
    size_t bytes = (size_t)(count - done) * sizeof(REAL);
    REAL block[SIMD_BLOCK] = {0};
    if (blocks > 0)
        loop(x, y, blocks, p);
    if (bytes == 0)
        return;
    memcpy(block, x + done, bytes);
    loop(block, block, 1, p);
    memcpy(y + done, block, bytes);
}

static inline void F(run_backward)(F(backward_blocks) * loop, const REAL *kept, const REAL *dy,
                                   REAL *dx, int64_t count, REAL p, bool accumulate)
{
    int64_t blocks = count / SIMD_BLOCK, done = blocks * SIMD_BLOCK;
    size_t bytes = (size_t)(count - done) * sizeof(REAL);
    REAL kept_block[SIMD_BLOCK] = {0}, dy_block[SIMD_BLOCK] = {0}, dx_block[SIMD_BLOCK] = {0};
    if (blocks > 0)
        loop(kept, dy, dx, blocks, p, accumulate);
    if (bytes == 0)
        return;
    if (kept)
        memcpy(kept_block, kept + done, bytes);
    memcpy(dy_block, dy + done, bytes);
    if (accumulate)
        memcpy(dx_block, dx + done, bytes);
    loop(kept_block, dy_block, dx_block, 1, p, accumulate);
    memcpy(dx + done, dx_block, bytes);
}
