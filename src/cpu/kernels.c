/* kernels.c - picks the kernel table for the processor at run time. */
#include "cpu/kernels.h"

#include <stdbool.h>
#include <stddef.h>

#define FAMILY_ROW(family, level) .family = remat_##family##_kernels_##level,

static const remat_kernels generic_kernels = {REMAT_KERNEL_FAMILIES(FAMILY_ROW, generic)};

#if defined(REMAT_HAVE_X86_SIMD)

static const remat_kernels avx2_kernels = {REMAT_KERNEL_FAMILIES(FAMILY_ROW, avx2)};
static const remat_kernels avx512_kernels = {REMAT_KERNEL_FAMILIES(FAMILY_ROW, avx512)};

/* The features are those that the build enables for the level; the operating system's support is
 * part of the test. */
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

const remat_kernels *remat_cpu_kernels_at(remat_simd_level level)
{
    if (level == REMAT_SIMD_AVX512)
        return has_avx512() ? &avx512_kernels : NULL;
    if (level == REMAT_SIMD_AVX2)
        return has_avx2() ? &avx2_kernels : NULL;
    return &generic_kernels;
}

#else

const remat_kernels *remat_cpu_kernels_at(remat_simd_level level)
{
    return level == REMAT_SIMD_GENERIC ? &generic_kernels : NULL;
}

#endif

const remat_kernels *remat_cpu_kernels(void)
{
    const remat_kernels *kernels = NULL;
    for (int level = REMAT_SIMD_LEVEL_COUNT - 1; !kernels; level--)
        kernels = remat_cpu_kernels_at((remat_simd_level)level);
    return kernels;
}
