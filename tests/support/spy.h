/* spy.h - an operation that copies, counts its calls, and reads its operand in the backward pass.
 */
#ifndef SPY_H
#define SPY_H

#include <remat/op.h>

typedef struct spy_counts {
    size_t forwards, replays, backwards;
} spy_counts;

/* counts must outlive all execs of the tape. */
remat_var spy_record(remat_tape *tape, remat_var x, spy_counts *counts);

/* For operations of f32 tensors whose first result has the type of the first operand: */
remat_status spy_infer_same(remat_infer *infer);
/* gradient[i] = or += value */
void spy_give(const remat_tensor *gradient, int64_t i, float value, bool accumulate);
static inline float *spy_data(const remat_tensor *tensor)
{
    return tensor->data;
}

#endif
