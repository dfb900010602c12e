/* dropout_template.h - the loop of dropout.h for one element type; see simd.h. */

SIMD_INLINE void F(mask)(const uint32_t *words, uint32_t threshold, REAL factor, const REAL *x,
                         REAL *y, int64_t count, bool accumulate)
{
    if (accumulate) {
#pragma omp simd
        for (int64_t i = 0; i < count; i++)
            y[i] += words[i] >= threshold ? factor * x[i] : 0;
    } else {
#pragma omp simd
        for (int64_t i = 0; i < count; i++)
            y[i] = words[i] >= threshold ? factor * x[i] : 0;
    }
}

static void F(apply)(const remat_random_key *key, uint32_t threshold, double factor, const void *x,
                     void *y, int64_t count, bool accumulate)
{
    uint32_t words[WORDS];
    for (int64_t i = 0; i < count; i += WORDS) {
        draw(key, (uint64_t)i / 4, words);
        int64_t n = count - i < WORDS ? count - i : WORDS;
        F(mask)
        (words, threshold, (REAL)factor, (const REAL *)x + i, (REAL *)y + i, n, accumulate);
    }
}
