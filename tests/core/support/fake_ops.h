/* fake_ops.h - operations for tests of the core, written against op.h only. They compute element by
 * element in double and round to the dtype on every store, so that f32 and f64 share one source
 * and every run of the same tape has the same bits. They assert what op.h promises to callbacks. */
#ifndef TESTS_CORE_FAKE_OPS_H
#define TESTS_CORE_FAKE_OPS_H

#include <remat/op.h>

/* ---- Element access --------------------------------------------------------------------------*/

double fake_get(const remat_tensor *tensor, int64_t i);
void fake_put(const remat_tensor *tensor, int64_t i, double value);
/* Writes a gradient element, or adds to it. */
void fake_give(const remat_tensor *gradient, int64_t i, double value, bool accumulate);

/* As assert(), also in optimised builds. */
#define fake_require(condition) \
    ((condition) ? (void)0 : fake_broken(#condition, __FILE__, __LINE__))
void fake_broken(const char *condition, const char *file, int line);

/* ---- Inference, cost, and checks that the descriptors share ----------------------------------*/

remat_status fake_infer_same(remat_infer *infer);  /* all results like operand 0, operands equal */
remat_status fake_infer_float(remat_infer *infer); /* operand 0 is f32 or f64 */
void fake_cost_elements(const remat_query *query, remat_cost *cost);
/* Every operand that `needs` names has data in backward and no other one has; likewise results. */
bool fake_backward_is_exact(const remat_backward *call, uint64_t operands, uint64_t results);

/* ---- Element by element: fake_elementwise.c --------------------------------------------------*/

typedef struct fake_affine_attributes {
    double scale, shift;
} fake_affine_attributes;

extern const remat_op fake_affine;   /* a x + b; backward reads nothing; in place both ways */
extern const remat_op fake_leaky;    /* x or x / 4; backward reads the result */
extern const remat_op fake_softsign; /* x / (1 + |x|); backward reads the operand */
extern const remat_op fake_add;      /* (x0 + x1 + ...) / n, 1 to 32 operands, in place both ways */
extern const remat_op fake_multiply; /* a b / 2; backward reads the other one */
extern const remat_op fake_pair;     /* (a + b) / 2 and (a - b) / 2; two results with gradients */
extern const remat_op fake_cross;    /* (a + b back to front) / 2; only a's memory may be reused */
extern const remat_op fake_noise;    /* RANDOM: x times 1/2 or 5/4 */

/* ---- Mixing, views, effects: fake_structure.c, fake_effects.c --------------------------------*/

typedef struct fake_view_attributes {
    remat_shape shape;
} fake_view_attributes;

extern const remat_op fake_matmul;    /* [m, k] [k, n] / k -> [m, n] */
extern const remat_op fake_statistic; /* x s by rows, and the rows' s, which backward reads */
extern const remat_op fake_reverse;   /* x back to front, through workspace in both passes */
extern const remat_op fake_gather;    /* rows of x [r, c] by an index i32 [m] -> [m, c] */
extern const remat_op fake_sum;       /* weighted sum of all elements / n -> scalar */
extern const remat_op fake_view;      /* VIEW under another shape */
extern const remat_op fake_detach;    /* VIEW through which no gradient flows */

/* Counts calls and lets one of them fail: the n-th of a kind, from 1; 0: none. */
typedef struct fake_probe_state {
    uint64_t forwards, replays, backwards;
    uint64_t fail_forward, fail_replay, fail_backward;
    bool drift; /* replays give other numbers than first runs */
} fake_probe_state;

typedef struct fake_probe_attributes {
    fake_probe_state *state;
} fake_probe_attributes;

extern const remat_op fake_probe;  /* softsign that counts */
extern const remat_op fake_effect; /* EFFECT: 3 x / 4, counted */
extern const remat_op fake_sink;   /* EFFECT without results, counted */

extern uint64_t fake_kernel_setting; /* what fake_kernel's kernel_id() returns */
extern const remat_op fake_kernel;   /* affine with a kernel_id */

/* ---- Recording -------------------------------------------------------------------------------*/

remat_var fake_record(remat_tape *tape, const remat_op *op, const void *attributes, size_t n_in,
                      const remat_var *in);
remat_var fake_apply1(remat_tape *tape, const remat_op *op, remat_var x);
remat_var fake_apply2(remat_tape *tape, const remat_op *op, remat_var a, remat_var b);
remat_var fake_scale(remat_tape *tape, remat_var x, double scale, double shift);
remat_var fake_reshape(remat_tape *tape, remat_var x, remat_shape shape);
remat_var fake_count(remat_tape *tape, const remat_op *op, remat_var x, fake_probe_state *state);

#endif
