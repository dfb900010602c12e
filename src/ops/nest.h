/* nest.h - loop nests over several tensors of which some are broadcast or permuted: the axes of one
 * result, with a stride per tensor, and as few axes as possible. */
#ifndef REMAT_OPS_NEST_H
#define REMAT_OPS_NEST_H

#include "ops/element.h"

#define REMAT_NEST_TENSORS 3

typedef struct remat_nest {
    int ndim;
    int64_t extent[REMAT_MAX_DIMS];
    int64_t stride[REMAT_NEST_TENSORS][REMAT_MAX_DIMS]; /* in elements; 0: broadcast */
} remat_nest;

/* Position of a nest's outer axes. All zero: the first one. */
typedef struct remat_nest_cursor {
    int64_t index[REMAT_MAX_DIMS];
    int64_t offset[REMAT_NEST_TENSORS]; /* in elements */
} remat_nest_cursor;

/* The nest over the first ndim axes of a result; strides are all zero, and are filled in next. */
remat_nest remat_nest_make(int ndim, const int64_t *extents);

/* Strides of tensor t whose ndim axes, right-aligned to the nest's, equal the nest's extents or are
 * 1. `scale`: elements from one item of its last axis to the next. */
void remat_nest_broadcast(remat_nest *nest, int t, int ndim, const int64_t *dims, int64_t scale);

/* Axis `to` of a nest becomes axis `axis` of another (which may be the same). */
void remat_nest_copy_axis(remat_nest *nest, int to, const remat_nest *from, int axis);

/* Drops axes of extent 1 and merges neighbours that every tensor walks as if they were one. */
void remat_nest_collapse(remat_nest *nest);

/* Goes to the next position of the first `outer` axes, in row-major order; false after the last. */
bool remat_nest_next(const remat_nest *nest, int outer, remat_nest_cursor *cursor);

/* The two innermost axes of a nest, which kernels handle at once; an axis that is not there has
 * extent 1. `outer`: the number of axes around them. */
typedef struct remat_nest_plane {
    int outer;
    int64_t rows, columns;
} remat_nest_plane;

static inline remat_nest_plane remat_nest_plane_of(const remat_nest *nest)
{
    const int ndim = nest->ndim;
    return (remat_nest_plane){.outer = ndim > 2 ? ndim - 2 : 0,
                              .rows = ndim > 1 ? nest->extent[ndim - 2] : 1,
                              .columns = ndim > 0 ? nest->extent[ndim - 1] : 1};
}

static inline int64_t remat_nest_row_stride(const remat_nest *nest, int t)
{
    return nest->ndim > 1 ? nest->stride[t][nest->ndim - 2] : 0;
}

static inline int64_t remat_nest_column_stride(const remat_nest *nest, int t)
{
    return nest->ndim > 0 ? nest->stride[t][nest->ndim - 1] : 1;
}

/* Whether the part of tensor t at this position of the first `outer` axes was also that of an
 * earlier position, along an axis where t is broadcast. */
bool remat_nest_visited(const remat_nest *nest, int outer, const remat_nest_cursor *cursor, int t);

/* For infer(): NumPy's broadcast of the first n_a axes of operand 0 and the first n_b of operand 1
 * becomes the shape. */
remat_status remat_infer_broadcast(remat_infer *infer, int n_a, int n_b, remat_shape *shape);

#endif
