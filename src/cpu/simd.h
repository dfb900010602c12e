/* simd.h - what every simd_*.c starts with: names and attributes of kernels that are compiled once
 * per instruction set. Loops are plain C under `#pragma omp simd`; the compiler vectorises them for
 * the level. Code that is the same for float and double is a header without include guard, which is
 * included after simd_f32.h and again after simd_f64.h; these define
 *     REAL     float / double        UINT, INT  integers as wide as a REAL
 *     F(name)  name_f32 / name_f64     C(NAME)  F32_NAME / F64_NAME, a constant
 */
#ifndef REMAT_CPU_SIMD_H
#define REMAT_CPU_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifndef REMAT_SIMD
#error "REMAT_SIMD names the instruction set: generic, avx2 or avx512"
#endif

#define REMAT_SIMD_PASTE(name, level)  name##_##level
#define REMAT_SIMD_EXPAND(name, level) REMAT_SIMD_PASTE(name, level)
#define REMAT_SIMD_NAME(name)          REMAT_SIMD_EXPAND(name, REMAT_SIMD)

/* Element functions must be inlined or the loops around them do not vectorise. */
#define SIMD_INLINE static inline __attribute__((always_inline))

/* One copy of the machine code, whoever calls it. */
#if defined(__clang__)
#define SIMD_LOOP static __attribute__((noinline))
#else
#define SIMD_LOOP static __attribute__((noinline, noclone))
#endif

/* Element-wise loops run over whole blocks of this many elements: a multiple of what any compiler's
 * vector body takes at once, so that it leaves no remainder. See blocks_template.h. */
#define SIMD_BLOCK 64

#endif
