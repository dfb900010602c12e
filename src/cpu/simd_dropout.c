/* simd_dropout.c - the tables of dropout.h; compiled once per instruction set. */
#include "base/random.h"
#include "cpu/kernels.h"
#include "cpu/simd.h"

/* Philox blocks drawn at a time, a power of 2; four words each. */
#define BLOCKS 64
#define WORDS  (4 * BLOCKS)

/* One of the generator's 32-bit words, in the low bits. Products are 64 bits wide; in lanes as wide
 * they need no shuffles, which halves the time where compilers have an instruction for them. */
#if defined(__AVX512DQ__) || defined(__clang__)
typedef uint64_t lane;
#else
typedef uint32_t lane;
#endif

typedef struct philox {
    lane c0, c1, c2, c3;
} philox;

SIMD_INLINE philox philox_round(philox c, uint32_t k0, uint32_t k1)
{
    uint64_t p0 = (uint64_t)(uint32_t)c.c0 * 0xD2511F53u;
    uint64_t p1 = (uint64_t)(uint32_t)c.c2 * 0xCD9E8D57u;
    return (philox){(lane)(p1 >> 32) ^ c.c1 ^ k0, (lane)p1, (lane)(p0 >> 32) ^ c.c3 ^ k1, (lane)p0};
}

/* remat_random_block() for blocks first, first + 1, ... first + BLOCKS - 1, where first is a
 * multiple of BLOCKS. The ten rounds are written out so that the loop over blocks vectorises. */
SIMD_LOOP void draw(const remat_random_key *key, uint64_t first, uint32_t *words)
{
    uint64_t mixed = remat_random_philox_key(key);
    uint32_t k0 = (uint32_t)mixed, k1 = (uint32_t)(mixed >> 32);
    uint32_t low = (uint32_t)first, high = (uint32_t)(first >> 32);
    uint32_t step_low = (uint32_t)key->step, step_high = (uint32_t)(key->step >> 32);
#pragma omp simd
    for (uint32_t j = 0; j < BLOCKS; j++) {
        philox c = {low + j, high, step_low, step_high};
#define ROUND(i) c = philox_round(c, k0 + i * 0x9E3779B9u, k1 + i * 0xBB67AE85u)
        ROUND(0);
        ROUND(1);
        ROUND(2);
        ROUND(3);
        ROUND(4);
        ROUND(5);
        ROUND(6);
        ROUND(7);
        ROUND(8);
        ROUND(9);
#undef ROUND
        words[4 * j] = (uint32_t)c.c0;
        words[4 * j + 1] = (uint32_t)c.c1;
        words[4 * j + 2] = (uint32_t)c.c2;
        words[4 * j + 3] = (uint32_t)c.c3;
    }
}

#include "cpu/simd_f32.h"

#include "cpu/dropout_template.h"

#include "cpu/simd_f64.h"

#include "cpu/dropout_template.h"

const remat_dropout_kernels REMAT_SIMD_NAME(remat_dropout_kernels)[2] = {{apply_f32}, {apply_f64}};
