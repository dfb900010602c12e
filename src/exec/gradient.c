/* gradient.c - element loops on gradients that no operation owns: seeds, zeros, delivery. */
#include "exec/exec.h"

#define DEFINE_FILL(name, type)                                                                  \
    static void name(type *gradient, const type *seed, type constant, bool accumulate, size_t n) \
    {                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                         \
            type value = seed ? seed[i] : constant;                                              \
            gradient[i] = accumulate ? gradient[i] + value : value;                              \
        }                                                                                        \
    }

DEFINE_FILL(fill_f32, float)
DEFINE_FILL(fill_f64, double)

void remat_gradient_fill(void *gradient, const void *seed, double constant, bool accumulate,
                         remat_dtype dtype, size_t n)
{
    if (dtype == REMAT_F64)
        fill_f64(gradient, seed, constant, accumulate, n);
    else
        fill_f32(gradient, seed, (float)constant, accumulate, n);
}
