/* simd_map.c - the tables of map.h; compiled once per instruction set. */
#include "cpu/kernels.h"
#include "cpu/simd.h"

#include "cpu/simd_f32.h"

#include "cpu/math_template.h"

#include "cpu/blocks_template.h"

#include "cpu/map_functions_template.h"

#include "cpu/map_template.h"

#include "cpu/simd_f64.h"

#include "cpu/math_template.h"

#include "cpu/blocks_template.h"

#include "cpu/map_functions_template.h"

#include "cpu/map_template.h"

#define FORWARD(NAME, name, type)  [REMAT_MAP_##NAME] = name##_forward_##type,
#define BACKWARD(NAME, name, type) [REMAT_MAP_##NAME] = name##_backward_##type,
#define TABLE(type)                                                                      \
    {                                                                                    \
        {REMAT_MAP_LIST(FORWARD, type)}, {REMAT_MAP_LIST(BACKWARD, type)}, spread_##type \
    }

const remat_map_kernels REMAT_SIMD_NAME(remat_map_kernels)[2] = {TABLE(f32), TABLE(f64)};
