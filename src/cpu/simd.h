/* simd.h - what every simd_*.c starts with: names and attributes of kernels that are compiled once
 * per instruction set.
 *
 * A simd_*.c file includes its template twice, with
 *     REAL     float / double        UINT  uint32_t / uint64_t (the bits of a REAL)
 *     F(name)  name_f32 / name_f64
 * Loops are plain C under `#pragma omp simd`; the compiler vectorises them for the level. */
#ifndef REMAT_CPU_SIMD_H
#define REMAT_CPU_SIMD_H

#include <stdbool.h>
#include <stdint.h>

#ifndef REMAT_SIMD
#error "REMAT_SIMD names the instruction set: generic, avx2 or avx512"
#endif

#define REMAT_SIMD_PASTE(name, level)  name##_##level
#define REMAT_SIMD_EXPAND(name, level) REMAT_SIMD_PASTE(name, level)
#define REMAT_SIMD_NAME(name)          REMAT_SIMD_EXPAND(name, REMAT_SIMD)

/* Element functions must be inlined or the loops around them do not vectorise. */
#define SIMD_INLINE static inline __attribute__((always_inline))

/* a b + c, rounded once where the instruction exists. Written out so that the same operations are
 * fused in a loop's vector body, its tail, and every other place that the function is inlined. */
#if defined(__FMA__)
#define SIMD_FMAF(a, b, c) __builtin_fmaf(a, b, c)
#define SIMD_FMA(a, b, c)  __builtin_fma(a, b, c)
#else
#define SIMD_FMAF(a, b, c) ((a) * (b) + (c))
#define SIMD_FMA(a, b, c)  ((a) * (b) + (c))
#endif

/* Element-wise loops run over whole blocks of this many elements, so that no compiler's vector body
 * leaves a remainder; see simd_map.c. */
#define SIMD_BLOCK 64

#endif
