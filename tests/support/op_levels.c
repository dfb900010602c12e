/* op_levels.c - stands in for remat_cpu_kernels(). */
#include "support/op_levels.h"

static const remat_kernels *chosen; /* NULL: the best */

const remat_kernels *__real_remat_cpu_kernels(void);
const remat_kernels *__wrap_remat_cpu_kernels(void);

const remat_kernels *__wrap_remat_cpu_kernels(void)
{
    return chosen != NULL ? chosen : __real_remat_cpu_kernels();
}

void op_use_level(remat_simd_level level)
{
    chosen = remat_cpu_kernels_at(level);
}

void op_use_best_level(void)
{
    chosen = NULL;
}

bool op_has_level(remat_simd_level level)
{
    return remat_cpu_kernels_at(level) != NULL;
}

const char *op_level_name(remat_simd_level level)
{
    static const char *const names[REMAT_SIMD_LEVEL_COUNT] = {"generic", "avx2", "avx512"};
    return names[level];
}
