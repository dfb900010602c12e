/* kernels.h - the CPU kernels, one table per instruction set.
 *
 * Kernels are grouped in families. A family is a struct of function pointers in its own header, an
 * implementation in simd_<family>.c, and one row in the list below. The build compiles each
 * simd_*.c once per level (REMAT_SIMD = generic, avx2, avx512); it defines
 *     const remat_<family>_kernels remat_<family>_kernels_<level>[2];
 * indexed by dtype (REMAT_F32, REMAT_F64). A use reads
 *     remat_cpu_kernels()->map[x->dtype].forward[REMAT_MAP_EXP](x, y, count, 0);
 *
 * Promises of every kernel: pointers need only the alignment of an element; equal inputs give equal
 * bits for any alignment, and whether or not the output takes the place of an input where that is
 * allowed. Element-wise kernels also give an element the same bits at any position. */
#ifndef REMAT_CPU_KERNELS_H
#define REMAT_CPU_KERNELS_H

#include "cpu/binary.h"
#include "cpu/dropout.h"
#include "cpu/loss.h"
#include "cpu/map.h"
#include "cpu/norm.h"
#include "cpu/optimizer.h"
#include "cpu/permute.h"
#include "cpu/product.h"
#include "cpu/softmax.h"
#include "cpu/sums.h"

/* X(family, level) */
#define REMAT_KERNEL_FAMILIES(X, level) \
    X(map, level)                       \
    X(dropout, level)                   \
    X(softmax, level)                   \
    X(norm, level)                      \
    X(optimizer, level)                 \
    X(binary, level)                    \
    X(sums, level)                      \
    X(permute, level)                   \
    X(loss, level)                      \
    X(product, level)

#define REMAT_KERNEL_MEMBER(family, level) const remat_##family##_kernels *family;
typedef struct remat_kernels {
    REMAT_KERNEL_FAMILIES(REMAT_KERNEL_MEMBER, )
} remat_kernels;
#undef REMAT_KERNEL_MEMBER

#define REMAT_KERNEL_DECLARE(family, level) \
    extern const remat_##family##_kernels remat_##family##_kernels_##level[2];
REMAT_KERNEL_FAMILIES(REMAT_KERNEL_DECLARE, generic)
REMAT_KERNEL_FAMILIES(REMAT_KERNEL_DECLARE, avx2)
REMAT_KERNEL_FAMILIES(REMAT_KERNEL_DECLARE, avx512)
#undef REMAT_KERNEL_DECLARE

typedef enum remat_simd_level {
    REMAT_SIMD_GENERIC,
    REMAT_SIMD_AVX2,
    REMAT_SIMD_AVX512,
    REMAT_SIMD_LEVEL_COUNT
} remat_simd_level;

/* The table of a level; NULL if it was not compiled in or this processor cannot run it. */
const remat_kernels *remat_cpu_kernels_at(remat_simd_level level);

/* The table of the highest level that this processor can run. */
const remat_kernels *remat_cpu_kernels(void);

#endif
