/* tape.h - read access to a recorded tape, for planning, running and tests. Recording itself is
 * the public API (remat.h, op.h). */
#ifndef REMAT_TAPE_H
#define REMAT_TAPE_H

#include <remat/op.h>

/* One recorded statement. Operands and results are value indices (not handles). */
typedef struct remat_statement_view {
    const remat_op *op;
    const void *attributes;
    const uint32_t *operands;
    size_t n_operands;
    uint32_t first_result; /* results are consecutive values */
    size_t n_results;
    uint32_t segment; /* innermost segment; 0 is the whole tape */
} remat_statement_view;

remat_statement_view remat_tape_statement(const remat_tape *tape, size_t index);

/* Type of a value by index. */
remat_type remat_tape_type(const remat_tape *tape, uint32_t value);

/* Index of a value, or UINT32_MAX if the handle is not of this tape and generation. */
uint32_t remat_tape_index(const remat_tape *tape, remat_var v);

#endif
