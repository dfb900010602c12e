/* op_levels.h - runs the kernels of any instruction set that this processor has, not only the best
 * one. The tests are linked so that the library asks here for its kernels (ld --wrap). */
#ifndef OP_LEVELS_H
#define OP_LEVELS_H

#include "cpu/kernels.h"

/* Precondition: op_has_level(level). Stays until the next call; at first the best level. */
void op_use_level(remat_simd_level level);
void op_use_best_level(void);
bool op_has_level(remat_simd_level level);
const char *op_level_name(remat_simd_level level);

#endif
