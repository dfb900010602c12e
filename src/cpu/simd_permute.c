/* simd_permute.c - the tables of permute.h; compiled once per instruction set. */
#include "cpu/kernels.h"

/* A tile of x and one of y stay in the first-level cache. */
#define TILE 16

static inline int64_t tile_end(int64_t start, int64_t end)
{
    return start + TILE < end ? start + TILE : end;
}

#include "cpu/simd_f32.h"

#include "cpu/permute_template.h"

#include "cpu/simd_f64.h"

#include "cpu/permute_template.h"

const remat_permute_kernels REMAT_SIMD_NAME(remat_permute_kernels)[2] = {
    {copy_plane_f32, add_plane_f32}, {copy_plane_f64, add_plane_f64}};
