/* remat.h - the user's API of remat, a library for activation recomputation in training loops.
 *
 *   record  ->  plan  ->  run
 *
 * Record a network once on a tape: leaves are your memory, operations return handles. Mark blocks
 * of layers with checkpoint_segment(). remat_exec_create() plans which activations are kept, which
 * are dropped after the forward pass and recomputed ("replayed") during the backward pass, and
 * takes one arena that holds every intermediate value, activation gradient and workspace of a
 * step. remat_exec_step() then runs forward, replay and backward without touching the heap.
 * Gradients are bit for bit those of a run that drops nothing.
 *
 * Conventions
 *   - Tensors are dense, row-major (C order). Shapes are written [batch, features].
 *   - Sizes that end in _bytes are bytes; counts are elements.
 *   - Functions that can fail return a remat_status, or an unset handle and a sticky error on the
 *     tape (see "Errors while recording"). The library never aborts, exits or prints.
 *   - _create functions write their result last and only on success; _destroy accepts NULL.
 *   - Option structs that are all zero bytes mean the documented defaults.
 *   - Thread safety: a tape and an exec are used by one thread at a time; different tapes and execs
 *     are independent; a plan is immutable and may be shared freely between threads.
 */
#ifndef REMAT_REMAT_H
#define REMAT_REMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#define REMAT_ZERO_INIT \
    {                   \
    }
#else
#define REMAT_ZERO_INIT \
    {                   \
        0               \
    }
#endif

/* ---- Version ---------------------------------------------------------------------------------*/

#define REMAT_VERSION_MAJOR  0
#define REMAT_VERSION_MINOR  1
#define REMAT_VERSION_PATCH  0
#define REMAT_VERSION_STRING "0.1.0"

/* The version of the linked library, "major.minor.patch"; compare with REMAT_VERSION_STRING. */
const char *remat_version(void);

/* ---- Status ----------------------------------------------------------------------------------*/

/* X(name, text). Every status a call can return; the texts are those of remat_status_text(). */
#define REMAT_STATUS_LIST(X)                                                                       \
    X(REMAT_OK, "success")                                                                         \
    X(REMAT_INVALID_ARGUMENT, "an argument is out of its documented range")                        \
    X(REMAT_INVALID_HANDLE, "a handle is unset, of another tape, or from before a clear")          \
    X(REMAT_SHAPE_MISMATCH, "shapes do not fit the operation")                                     \
    X(REMAT_DTYPE_MISMATCH, "element types do not fit the operation")                              \
    X(REMAT_OVERFLOW, "a size exceeds what can be addressed")                                      \
    X(REMAT_OUT_OF_MEMORY, "an allocation failed")                                                 \
    X(REMAT_UNBOUND, "a leaf has no memory bound to it")                                           \
    X(REMAT_INFEASIBLE_BUDGET, "no schedule fits the budget")                                      \
    X(REMAT_OUT_OF_ORDER, "the call is not allowed in this state")                                 \
    X(REMAT_CONSUMED, "the values of the last forward pass have been consumed by a backward pass") \
    X(REMAT_STALE, "the tape was cleared since this object was made from it")                      \
    X(REMAT_NOT_KEPT, "the value is not held after the step")                                      \
    X(REMAT_OP_FAILED, "an operation's callback reported a failure")                               \
    X(REMAT_REPLAY_MISMATCH, "a replay did not repeat the bits of the first run")                  \
    X(REMAT_INTERNAL, "an internal check failed: please report this as a bug")

typedef enum remat_status {
#define REMAT_STATUS_ENUM(name, text) name,
    REMAT_STATUS_LIST(REMAT_STATUS_ENUM)
#undef REMAT_STATUS_ENUM
        REMAT_STATUS_COUNT
} remat_status;

/* The name ("REMAT_OK") and a one-line text of a status; "unknown" for values outside the enum. */
const char *remat_status_name(remat_status status);
const char *remat_status_text(remat_status status);

/* ---- Memory ----------------------------------------------------------------------------------*/

/* All memory of the library's own comes from one function in the manner of realloc:
 *   block NULL: a new block of new_bytes; new_bytes 0: release block, return NULL; else resize.
 * Blocks are aligned for any scalar type (16 bytes). Returning NULL for new_bytes > 0 means "out
 * of memory", the old block stays valid. Without an allocator: the C library's, and for arenas of
 * 2 MiB and more memory aligned to and (on Linux) advised for huge pages. */
typedef struct remat_allocator {
    void *context;
    void *(*reallocate)(void *context, void *block, size_t old_bytes, size_t new_bytes);
} remat_allocator;

/* ---- Element types and shapes ----------------------------------------------------------------*/

typedef enum remat_dtype {
    REMAT_F32, /* IEEE binary32 */
    REMAT_F64, /* IEEE binary64 */
    REMAT_I32  /* 32-bit signed integer: labels and indices; carries no gradient */
} remat_dtype;

#define REMAT_MAX_DIMS 8

/* Every extent is at least 1. ndim 0 is a scalar. */
typedef struct remat_shape {
    int32_t ndim;
    int64_t dims[REMAT_MAX_DIMS];
} remat_shape;

/* Builds a shape from ndim extents. More than REMAT_MAX_DIMS give a shape with ndim > MAX_DIMS,
 * which every recording call refuses. */
remat_shape remat_shape_make(size_t ndim, const int64_t *dims);

/* Number of elements; 0 if the shape is invalid or the product overflows int64_t. */
int64_t remat_shape_count(const remat_shape *shape);

/* Bytes of one element; 0 for an unknown dtype. */
size_t remat_dtype_bytes(remat_dtype dtype);
const char *remat_dtype_name(remat_dtype dtype); /* "f32", "f64", "i32" */

#ifndef __cplusplus
/* REMAT_SHAPE(batch, 784) */
#define REMAT_SHAPE(...) \
    remat_shape_make(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})
#endif
#define REMAT_SCALAR remat_shape_make(0, NULL)

/* ---- Tape ------------------------------------------------------------------------------------*/

/* An append-only record of statements (one operation applied) and values (leaves and results). It
 * holds no activation data. One thread at a time. */
typedef struct remat_tape remat_tape;

/* Handle of a value on a tape; all zero = unset. It carries the tape's identity and generation, so
 * a handle of another tape or from before remat_tape_clear() is refused. */
typedef struct remat_var {
    uint64_t id;
} remat_var;

typedef struct remat_tape_options {
    const remat_allocator *allocator; /* copied; NULL: the C library's */
} remat_tape_options;
#define REMAT_TAPE_OPTIONS_INIT REMAT_ZERO_INIT

/* options may be NULL. REMAT_OUT_OF_MEMORY, REMAT_INVALID_ARGUMENT (tape is NULL). */
remat_status remat_tape_create(const remat_tape_options *options, remat_tape **tape);

/* Handles of the tape become invalid. Execs made from it may be destroyed before or after. */
void remat_tape_destroy(remat_tape *tape);

/* Empties the record and any recording error, for recording again (other shapes, say). Keeps its
 * memory. Handles and execs from before are refused from now on: REMAT_INVALID_HANDLE, REMAT_STALE;
 * an exec is brought up to date by remat_exec_update(). */
remat_status remat_tape_clear(remat_tape *tape);

/* Errors while recording. The first one sticks: it is kept with its message (operation, shapes,
 * remedy), later recording calls do nothing and return unset handles, and planning returns it. So
 * model code reads like maths and is checked once. remat_tape_message() also holds the message of
 * the last failed planning or exec creation, which does not stick. "" if there was none. */
remat_status remat_tape_status(const remat_tape *tape);
const char *remat_tape_message(const remat_tape *tape);

size_t remat_tape_statement_count(const remat_tape *tape);

/* 64-bit hash of everything a plan depends on: operations, attributes, shapes, segments, marks,
 * gradient requests. Equal records give equal fingerprints in every process on one platform. */
uint64_t remat_tape_fingerprint(const remat_tape *tape);

/* ---- Leaves: the caller's memory -------------------------------------------------------------*/

/* Leaves refer to the caller's memory; it must stay valid while execs run. data may be NULL and
 * bound later; an unbound leaf is REMAT_UNBOUND at the first forward pass. name may be NULL; it is
 * copied. Contents must not change between a forward pass and its backward pass (with
 * options.verify_replay a change is detected when it alters a replay). */
remat_var remat_input(remat_tape *tape, const char *name, remat_dtype dtype, remat_shape shape,
                      const void *data);

/* A trainable leaf. Its gradient is added to the elements of `gradient` (same dtype and shape)
 * by every backward pass: zero it yourself, or see options.overwrite_gradients. gradient NULL: the
 * parameter is frozen, unless remat_request_gradient() asks for a gradient. */
remat_var remat_parameter(remat_tape *tape, const char *name, remat_dtype dtype, remat_shape shape,
                          void *data, void *gradient);

/* A leaf for which no gradient can ever be asked. */
remat_var remat_constant(remat_tape *tape, const char *name, remat_dtype dtype, remat_shape shape,
                         const void *data);

/* Binds a leaf to other memory. Takes effect at the next forward pass of every exec. */
remat_status remat_bind(remat_tape *tape, remat_var leaf, void *data);

/* Moves a gradient that was requested with a buffer to another buffer; takes effect at the next
 * forward pass. REMAT_INVALID_ARGUMENT if no gradient with a caller's buffer was requested. */
remat_status remat_bind_gradient(remat_tape *tape, remat_var v, void *gradient);

/* ---- Marks on values -------------------------------------------------------------------------*/

/* Asks for the gradient of any float leaf or result, before planning. buffer: the caller's memory,
 * added to by every backward pass (same dtype and shape as v). NULL: the exec holds the gradient
 * in its arena until the next step; see remat_exec_gradient(). */
remat_status remat_request_gradient(remat_tape *tape, remat_var v, void *buffer);

/* Makes v a starting point of the backward pass, for several losses (their gradients add up) or a
 * non-scalar. seed: d(loss)/d(v), the caller's memory with v's dtype and shape, read in every
 * backward pass; NULL: all ones, which needs a single-element v. */
remat_status remat_seed_gradient(remat_tape *tape, remat_var v, const void *seed);

/* Overrule the planner. keep: v is never dropped and can be read after the step. recompute: v is
 * dropped after its last use in the forward pass and replayed for the backward pass; an error for
 * a leaf and for a result of an operation that must not be replayed (EFFECT). Mark before planning.
 * Where an operation has several results and one of the others is replayed, the kept one is written
 * again, with the same bits if the operation keeps its promise to be repeatable. */
remat_status remat_keep(remat_tape *tape, remat_var v);
remat_status remat_recompute(remat_tape *tape, remat_var v);

/* Names a value for messages and reports; the string is copied. */
remat_status remat_name(remat_tape *tape, remat_var v, const char *name);

/* The k-th result of the statement that made v (mean of a layer_norm, say). */
remat_var remat_result(remat_tape *tape, remat_var v, size_t k);

/* Shape and dtype of a value. On an invalid handle: an error on the tape, a scalar shape, f32. */
remat_shape remat_var_shape(remat_tape *tape, remat_var v);
remat_dtype remat_var_dtype(remat_tape *tape, remat_var v);

/* ---- Segments --------------------------------------------------------------------------------*/

/* Records a block: reads in[0..n_in), writes its results to out[0..n_out). */
typedef remat_status remat_block(remat_tape *tape, void *context, const remat_var *in, size_t n_in,
                                 remat_var *out, size_t n_out);

/* Records a block as a segment: without a budget, what is computed inside and not used outside is
 * dropped after the forward pass and replayed when the segment's backward comes. Segments nest.
 *
 * The block is called exactly once, now. A replay repeats the recorded statements, never the
 * caller's code: counters, caches and prints inside the block cannot happen twice. Values that the
 * block uses without listing them (weights, a shared mask) are found from the record and get their
 * gradients. in and out may be the same array. A status other than REMAT_OK that the block returns
 * becomes the tape's recording error and is returned. */
remat_status checkpoint_segment(remat_tape *tape, remat_block *block, void *context,
                                const remat_var *in, size_t n_in, remat_var *out, size_t n_out);

/* The same for code where a callback is awkward. name may be NULL. REMAT_OUT_OF_ORDER: an end
 * without a begin; a plan is asked for while a segment is open. */
remat_status remat_segment_begin(remat_tape *tape, const char *name);
remat_status remat_segment_end(remat_tape *tape);

/* ---- Operations ------------------------------------------------------------------------------
 * Each records one statement and returns its first result. Float operations take f32 or f64, all
 * operands of one dtype. Axes count from 0; negative ones from the end. */

/* Batched product op(a) op(b): a [..., m, k], b [..., k, n] -> [..., m, n]; a transpose flag means
 * that the last two axes are stored exchanged. Leading axes broadcast. */
remat_var remat_matmul(remat_tape *tape, remat_var a, remat_var b, bool transpose_a,
                       bool transpose_b);

/* x W^T + b: x [..., in], weight [out, in], bias [out] or unset -> [..., out]. */
remat_var remat_linear(remat_tape *tape, remat_var x, remat_var weight, remat_var bias);

/* Element-wise with NumPy's broadcasting rules. */
remat_var remat_add(remat_tape *tape, remat_var a, remat_var b);
remat_var remat_subtract(remat_tape *tape, remat_var a, remat_var b);
remat_var remat_multiply(remat_tape *tape, remat_var a, remat_var b);
remat_var remat_divide(remat_tape *tape, remat_var a, remat_var b);

remat_var remat_scale(remat_tape *tape, remat_var x, double factor);
remat_var remat_negate(remat_tape *tape, remat_var x);
remat_var remat_exp(remat_tape *tape, remat_var x);
remat_var remat_log(remat_tape *tape, remat_var x);
remat_var remat_sqrt(remat_tape *tape, remat_var x);
remat_var remat_square(remat_tape *tape, remat_var x);
remat_var remat_relu(remat_tape *tape, remat_var x);                     /* gradient 0 at 0 */
remat_var remat_leaky_relu(remat_tape *tape, remat_var x, double slope); /* slope >= 0 */
remat_var remat_gelu(remat_tape *tape, remat_var x);                     /* x Phi(x), by erf */
remat_var remat_gelu_tanh(remat_tape *tape, remat_var x); /* the tanh approximation */
remat_var remat_silu(remat_tape *tape, remat_var x);      /* x sigmoid(x) */
remat_var remat_tanh(remat_tape *tape, remat_var x);
remat_var remat_sigmoid(remat_tape *tape, remat_var x);
remat_var remat_softmax(remat_tape *tape, remat_var x, int axis);
remat_var remat_log_softmax(remat_tape *tape, remat_var x, int axis);

/* Zeroes each element with probability `rate` in [0, 1) and scales the others by 1 / (1 - rate).
 * The mask is a function of (options.seed, step, statement, element) and is never stored. */
remat_var remat_dropout(remat_tape *tape, remat_var x, double rate);

/* (x - mean) rstd weight + bias over the trailing axes that weight's shape names; weight and bias
 * may be unset (the axes are then bias's, or the last one if neither is given). x [..., axes],
 * weight, bias [axes] -> y as x; results 1 and 2 are mean and rstd = 1 / sqrt(variance + epsilon)
 * with shape [...], without gradients of their own. */
remat_var remat_layer_norm(remat_tape *tape, remat_var x, remat_var weight, remat_var bias,
                           double epsilon);

/* Over the given axes; n_axes 0: over all. keep_dims: reduced axes stay as extents of 1. */
remat_var remat_sum(remat_tape *tape, remat_var x, const int *axes, size_t n_axes, bool keep_dims);
remat_var remat_mean(remat_tape *tape, remat_var x, const int *axes, size_t n_axes, bool keep_dims);

/* The same elements under another shape, without a copy. One extent may be -1: found from the
 * rest. */
remat_var remat_reshape(remat_tape *tape, remat_var x, remat_shape shape);

remat_var remat_transpose(remat_tape *tape, remat_var x, int axis_a, int axis_b);
/* Result axis i is axis axes[i] of x; n_axes is x's ndim. */
remat_var remat_permute(remat_tape *tape, remat_var x, const int *axes, size_t n_axes);

/* The same value, through which no gradient flows. No copy. */
remat_var remat_detach(remat_tape *tape, remat_var x);

typedef enum remat_reduction { REMAT_MEAN, REMAT_SUM } remat_reduction;

typedef struct remat_cross_entropy_options {
    remat_reduction reduction; /* mean over the rows that are not ignored, or sum */
    double label_smoothing;    /* in [0, 1): weight spread evenly over all classes */
    bool use_ignore_index;     /* rows whose label is ignore_index count nothing */
    int32_t ignore_index;
} remat_cross_entropy_options;
#define REMAT_CROSS_ENTROPY_OPTIONS_INIT REMAT_ZERO_INIT

/* -log softmax(logits)[label]: logits [..., classes], labels i32 [...] -> scalar. options NULL:
 * defaults. A label outside [0, classes) that is not ignored fails the step with REMAT_OP_FAILED.
 * If every row is ignored the mean is 0. Result 1 is log-sum-exp per row, without gradient. */
remat_var remat_cross_entropy(remat_tape *tape, remat_var logits, remat_var labels,
                              const remat_cross_entropy_options *options);

/* Mean or sum of (prediction - target)^2, equal shapes -> scalar. */
remat_var remat_mse(remat_tape *tape, remat_var prediction, remat_var target,
                    remat_reduction reduction);

/* Number of threads of the matrix products (OpenBLAS), for the whole process; threads >= 1. Call it
 * before a step, never between a forward pass and its backward pass: other thread counts give
 * other bits, and the backward pass refuses with REMAT_REPLAY_MISMATCH. */
remat_status remat_set_threads(int threads);
int remat_threads(void);

/* ---- Costs -----------------------------------------------------------------------------------*/

/* Seconds that each statement of a tape takes, to plan with instead of the estimates of operations:
 * see options.costs. Immutable; it keeps nothing of the tape and may outlive it. */
typedef struct remat_costs remat_costs;

/* From arrays of n = remat_tape_statement_count() entries (NULL: nothing known). An entry of NaN is
 * not known: the estimate stands. remat_cost_measure() makes costs by measuring.
 * REMAT_INVALID_ARGUMENT: another n, a negative or infinite entry; REMAT_OUT_OF_MEMORY. */
remat_status remat_costs_create(remat_tape *tape, const double *forward_seconds,
                                const double *backward_seconds, size_t n, remat_costs **costs);
void remat_costs_destroy(remat_costs *costs);

/* The costs of one statement; NaN: not known. REMAT_INVALID_ARGUMENT: no such statement. */
remat_status remat_costs_get(const remat_costs *costs, size_t statement, double *forward_seconds,
                             double *backward_seconds);

/* ---- Options of planning and running ---------------------------------------------------------*/

typedef enum remat_strategy {
    REMAT_STRATEGY_AUTO,     /* no budget: SEGMENTS if any are marked, else KEEP_ALL;
                                with a budget: the cheapest strategy that fits it */
    REMAT_STRATEGY_KEEP_ALL, /* nothing is replayed (but remat_recompute() marks) */
    REMAT_STRATEGY_SEGMENTS, /* drop and replay what checkpoint_segment() marked; keep-all if that
                                saves no bytes */
    REMAT_STRATEGY_SQRT,     /* Chen et al. 2016: about sqrt(n) segments, cut by bytes */
    REMAT_STRATEGY_BLOCKS,   /* networks that narrow to one value again and again: the best choice,
                                block by block, of what to save, by dynamic programming */
    REMAT_STRATEGY_GREEDY,   /* any shape: greedy replays, improved by local search */
    REMAT_STRATEGY_COUNT
} remat_strategy;
const char *remat_strategy_name(remat_strategy strategy); /* "auto", "keep-all", ... */

/* How much work planning may do. Counted in steps of the search, never in time: equal calls give
 * equal plans. */
typedef enum remat_effort {
    REMAT_EFFORT_DEFAULT, /* milliseconds for networks with narrow places, some tenths of a second
                             for irregular ones */
    REMAT_EFFORT_FAST,    /* near-linear in the tape */
    REMAT_EFFORT_THOROUGH /* some ten times DEFAULT */
} remat_effort;

typedef enum remat_policy {
    REMAT_POLICY_AUTO,
    REMAT_POLICY_KEEP,
    REMAT_POLICY_RECOMPUTE
} remat_policy;

typedef struct remat_exec_options {
    size_t budget_bytes;     /* the most bytes the arena may have; 0: no limit */
    remat_strategy strategy; /* how to plan */
    remat_effort effort;
    double time_limit_seconds; /* > 0: a search ends early; the plan then depends on the machine */

    /* What statements cost, for this tape (else REMAT_STALE); NULL: estimates, which are the same
     * everywhere. Only read while planning; remat_exec_update() plans with estimates. */
    const remat_costs *costs;

    /* Called once for every result while planning; its answer overrules remat_keep() and
     * remat_recompute() unless it is REMAT_POLICY_AUTO. RECOMPUTE is ignored where impossible. */
    remat_policy (*policy)(void *context, const char *op, const char *name, size_t bytes);
    void *policy_context;

    uint64_t seed;            /* of RANDOM operations */
    bool forward_only;        /* inference: no backward pass, every value freed at its last use */
    bool retain;              /* a backward pass may be repeated without a new forward pass */
    bool overwrite_gradients; /* a backward pass writes caller's gradients instead of adding; no
                                 two of them may share a buffer (REMAT_INVALID_ARGUMENT) */

    bool poison;           /* debug: bytes of dropped values are overwritten with 0xFF (NaN) */
    bool separate_buffers; /* debug: one allocation per buffer, so that tools see each lifetime */
    bool verify_replay;    /* debug: compare a checksum of every replayed result */

    /* The caller's arena, aligned to 64 bytes; NULL: the exec allocates it. arena_bytes must be at
     * least the plan's arena_bytes, else REMAT_INVALID_ARGUMENT names the size. */
    void *arena;
    size_t arena_bytes;
    const remat_allocator *allocator; /* copied; NULL: the tape's */

    /* Called in a backward pass when a gradient with a caller's buffer has got its last
     * contribution: exactly once per backward pass and buffer, which no two gradients may share
     * then (REMAT_INVALID_ARGUMENT). It may change parameter and gradient of v. A status other than
     * REMAT_OK ends the pass and is returned. */
    remat_status (*gradient_ready)(void *context, remat_var v, void *gradient);
    void *gradient_ready_context;
} remat_exec_options;
#define REMAT_EXEC_OPTIONS_INIT REMAT_ZERO_INIT

/* ---- Plan ------------------------------------------------------------------------------------*/

/* A checked schedule lowered to buffers with offsets. Immutable; shared freely between threads. It
 * keeps nothing of the tape and may outlive it. */
typedef struct remat_plan remat_plan;

typedef struct remat_plan_summary {
    remat_strategy strategy; /* the one that was used */
    uint64_t fingerprint;    /* of the tape */
    size_t arena_bytes;      /* planned peak = arena size = measured peak */
    size_t live_bytes; /* largest sum of live buffers; the arena exceeds it by the packing loss */
    size_t keep_all_bytes; /* arena that keep-all needs for the same tape and options */
    /* Parts of live_bytes at its peak; they sum to it exactly. */
    size_t boundary_bytes; /* activations of the first forward run */
    size_t replayed_bytes; /* activations that were made again */
    size_t gradient_bytes;
    size_t workspace_bytes;
    size_t alignment_bytes; /* rounding of all of these to 64 bytes */
    size_t peak_statement;  /* statement that runs at the peak, and in which pass */
    bool peak_in_backward;
    size_t forward_runs, replays, backward_runs; /* tasks in one step */
    double step_cost;                            /* estimated seconds of a step without replays */
    double replay_cost;                          /* estimated seconds of the replays */
} remat_plan_summary;

/* Plans for the gradients of `loss` (one element, or unset if remat_seed_gradient() was used; with
 * forward_only any value, which can be read afterwards). options may be NULL. On failure the tape
 * holds the message and stays usable. REMAT_INFEASIBLE_BUDGET: the message names the smallest
 * arena that was found. REMAT_INVALID_ARGUMENT, REMAT_INVALID_HANDLE, REMAT_OUT_OF_ORDER (an open
 * segment), REMAT_OVERFLOW, REMAT_OUT_OF_MEMORY, and the tape's recording error. */
remat_status remat_plan_create(remat_tape *tape, remat_var loss, const remat_exec_options *options,
                               remat_plan **plan);
void remat_plan_destroy(remat_plan *plan);

void remat_plan_summarize(const remat_plan *plan, remat_plan_summary *summary);

/* How good a plan is. No schedule whose live bytes stay within the limit has less extra cost than
 * bound; the limit is the budget, or the plan's own arena without one. */
typedef struct remat_plan_cost {
    double step;  /* estimated seconds of a step without replays */
    double extra; /* of the plan's replays */
    double bound; /* lower bound on the extra cost of any schedule */
    double gap;   /* (step + extra) / (step + bound) - 1: at most so far above the best possible */
} remat_plan_cost;
void remat_plan_get_cost(const remat_plan *plan, remat_plan_cost *cost);

/* The smallest budget for which planning with these options succeeds (options->budget_bytes is
 * ignored), before anything is allocated. Statuses as remat_plan_create(). */
remat_status remat_plan_min_budget(remat_tape *tape, remat_var loss,
                                   const remat_exec_options *options, size_t *budget_bytes);

/* One point of the memory/time curve: with this many bytes or more, this extra cost. */
typedef struct remat_plan_point {
    size_t arena_bytes;
    double extra_cost; /* estimated seconds */
    double bound;      /* lower bound at these bytes */
    size_t replays;
    remat_strategy strategy;
} remat_plan_point;

/* The curve: points ascending in bytes, descending in extra cost, none beaten by another; the last
 * is keep-all. Fills points[0..capacity), evenly thinned if there are more. *count: how many were
 * written. options->budget_bytes is ignored. Statuses as remat_plan_create(). */
remat_status remat_plan_sweep(remat_tape *tape, remat_var loss, const remat_exec_options *options,
                              remat_plan_point *points, size_t capacity, size_t *count);

/* Writes the plan as text, to be loaded instead of planning again, or to be read by a program that
 * executes it elsewhere. REMAT_INVALID_ARGUMENT: a NULL argument or a write error.
 *
 * The text: lines of printable ASCII, each ended by one line feed, words separated by one space.
 * Numbers are decimal without leading zeros, a HASH is 16 lower-case hexadecimal digits.
 *
 *   remat-plan 1               version of the format
 *   fingerprint HASH           remat_tape_fingerprint()
 *   loss V                     value V of the tape, from 0; or `loss none`: only seeds are used
 *   forward_only B             options: 0 or 1
 *   retain B
 *   overwrite_gradients B
 *   problem HASH               of the tasks, values and marks found from tape, loss and options
 *   strategy NAME              remat_strategy_name()
 *   budget BYTES               0: none
 *   forward_tasks N            tasks 0 .. N-1, in the order of their first runs
 *   backward_tasks M           tasks N .. N+M-1, in the order in which they run
 *   values K                   activations and gradients in the arena: 0 .. K-1
 *   segments S                 that the strategy has chosen; 0: it took the tape's own, if any
 *   segment PARENT FIRST END   S times: statements FIRST .. END-1; the first one is the whole tape
 *   actions A                  number of runs and drops that follow:
 *   run LIST                   runs tasks; elements of a list are T, or T-U for T, T+1 .. U
 *   drop LIST                  ends the lives of values in memory
 *   end HASH                   FNV-1a (64 bits) of all bytes before this line
 *
 * Lines with run and drop alternate as needed. A forward task that runs again is a replay. */
remat_status remat_plan_save(const remat_plan *plan, FILE *out);

/* Reads a plan from text, which the stream holds up to its end, for the tape, loss and options it
 * was made with; budget and options of the search may differ. The schedule is checked and packed
 * anew, so a damaged text never becomes a plan. REMAT_STALE: made for another tape, loss,
 * forward_only, retain, overwrite_gradients or policy. REMAT_INVALID_ARGUMENT: the text is no valid
 * plan, or of a newer format. REMAT_INFEASIBLE_BUDGET: it needs more than options->budget_bytes, or
 * than its own budget. The message says why and names the line. Else as remat_plan_create(). */
remat_status remat_plan_load(remat_tape *tape, remat_var loss, const remat_exec_options *options,
                             FILE *in, remat_plan **plan);

/* Writes a table: per segment bytes kept, bytes dropped, replays; the peak and the statement at the
 * peak; predicted extra cost; the arena split into activations, gradients, workspace.
 * REMAT_INVALID_ARGUMENT: a NULL argument or a write error; REMAT_OUT_OF_MEMORY. */
remat_status remat_plan_print(const remat_plan *plan, FILE *out);

/* Pictures and tables of plans. SVG files stand alone: no scripts, no references, tooltips by
 * statement in a browser. All texts of yours are escaped. REMAT_INVALID_ARGUMENT: a NULL argument
 * or a write error; REMAT_OUT_OF_MEMORY.
 *
 * The timeline: bytes in use at each task of a step, in the order they run: activations of the
 * first run and replayed ones, gradients, workspace. svg: at most 1500 columns, each showing the
 * highest of the tasks that share it. csv: a line per task run; live_bytes is the sum of the kinds
 * before it, arena_top_bytes the end of the highest buffer in use. */
remat_status remat_plan_write_timeline_svg(const remat_plan *plan, FILE *out);
remat_status remat_plan_write_timeline_csv(const remat_plan *plan, FILE *out);

/* The memory/time curve of remat_plan_sweep(): extra time over bytes, with the lower bound.
 * step_cost: estimated seconds of a step without replays, as in remat_plan_cost. Also
 * REMAT_INVALID_ARGUMENT: no points, points that do not ascend in bytes, a cost that is negative or
 * not finite. svg: at most 1500 points, evenly thinned. */
remat_status remat_sweep_write_svg(const remat_plan_point *points, size_t n, double step_cost,
                                   FILE *out);
remat_status remat_sweep_write_csv(const remat_plan_point *points, size_t n, double step_cost,
                                   FILE *out);

/* The tape as a graph for Graphviz (dot -Tsvg): statements with the type of each result, coloured
 * by what becomes of it in the plan; leaves; segments as clusters, the strategy's own if it worked
 * with others than those of the tape. REMAT_STALE: the plan is not of this tape. */
remat_status remat_plan_write_dot(const remat_tape *tape, const remat_plan *plan, FILE *out);

/* ---- Exec ------------------------------------------------------------------------------------*/

/* Runs a plan of a tape. One thread at a time. */
typedef struct remat_exec remat_exec;

/* Plans, then takes the arena; everything else that steps need is allocated here too. Statuses and
 * message as remat_plan_create(). */
remat_status remat_exec_create(remat_tape *tape, remat_var loss, const remat_exec_options *options,
                               remat_exec **exec);

/* The same with a finished plan of this tape (REMAT_STALE if the fingerprint differs). options as
 * for the plan; the fields that only planning reads are ignored. The exec shares the plan: it may
 * be destroyed at once. */
remat_status remat_exec_create_with_plan(remat_tape *tape, const remat_plan *plan,
                                         const remat_exec_options *options, remat_exec **exec);
void remat_exec_destroy(remat_exec *exec);

/* One training step: forward, then backward. No heap is touched. REMAT_UNBOUND, REMAT_STALE,
 * REMAT_OP_FAILED or an operation's own status, REMAT_REPLAY_MISMATCH. After an error in a backward
 * pass the caller's gradients hold a part of the contributions; the parameters are unchanged, and
 * the next forward pass starts afresh. */
remat_status remat_exec_step(remat_exec *exec);

/* The two halves, for code that looks at the loss in between. A forward pass may follow anything.
 * A backward pass needs a forward pass before it (REMAT_OUT_OF_ORDER) that no other backward pass
 * has used (REMAT_CONSUMED), unless options.retain. Forward-only execs have no backward pass. */
remat_status remat_exec_forward(remat_exec *exec);
remat_status remat_exec_backward(remat_exec *exec);

/* Points to the data of the loss, a kept value, a leaf or (forward_only) the result asked for;
 * valid until the next pass. REMAT_NOT_KEPT, REMAT_OUT_OF_ORDER (before the first forward pass). */
remat_status remat_exec_value(remat_exec *exec, remat_var v, const void **data);

/* Points to a requested gradient; valid until the next pass. REMAT_NOT_KEPT if none was requested,
 * REMAT_OUT_OF_ORDER before the first backward pass. */
remat_status remat_exec_gradient(remat_exec *exec, remat_var v, const void **data);

/* The single element of the loss, as a double. NaN if there is none. */
double remat_exec_loss(const remat_exec *exec);

/* Sets every caller's gradient buffer that this exec adds to to zero. */
remat_status remat_exec_zero_gradients(remat_exec *exec);

/* Step number that RANDOM operations of the next forward pass use; counts up by one each pass. */
void remat_exec_set_step(remat_exec *exec, uint64_t step);

/* After remat_tape_clear() and recording again: plans anew (a plan with the same fingerprint is
 * taken from the exec's cache), and enlarges the arena if needed. On failure the exec is as before:
 * stale, and can be updated again or destroyed. */
remat_status remat_exec_update(remat_exec *exec, remat_var loss);

/* Message of the last call on this exec that failed; "" if none did. */
const char *remat_exec_message(const remat_exec *exec);

const remat_plan *remat_exec_plan(const remat_exec *exec);

typedef struct remat_exec_statistics {
    size_t planned_peak_bytes;  /* the plan's arena_bytes */
    size_t measured_peak_bytes; /* highest arena byte that any task was given since creation */
    uint64_t steps;             /* completed forward passes */
    uint64_t replays;           /* replayed tasks in the last backward pass */
    double forward_seconds, replay_seconds, backward_seconds; /* of the last passes */
} remat_exec_statistics;
void remat_exec_get_statistics(const remat_exec *exec, remat_exec_statistics *statistics);

/* Runs steps and times every task, some times each, until the time is over (at least one step, at
 * most nine); the costs are medians. Statements that this exec's steps do not run stay unknown.
 *
 * Parameters and the caller's gradients are left alone: what steps add to these goes to scratch
 * memory of their size, which is given back at the end. Step number and statistics stay as they
 * are and gradient_ready is not called; but operations with REMAT_OP_EFFECT happen, and a forward
 * pass that waits for its backward pass is lost. Debug options distort the times.
 * REMAT_INVALID_ARGUMENT: NULL, or a limit that is not positive; REMAT_OUT_OF_MEMORY; else as
 * remat_exec_step(). */
remat_status remat_cost_measure(remat_exec *exec, double time_limit_seconds, remat_costs **costs);

/* ---- Training: optimizers and initialisation on the caller's buffers -------------------------*/

/* All steps return REMAT_OK, or REMAT_INVALID_ARGUMENT with nothing changed: a buffer that is
 * needed is NULL (unless count is 0), a dtype that is no float, a hyperparameter that is negative
 * or not finite, a beta outside [0, 1), Nesterov without momentum.
 *
 * One parameter tensor. state: buffers of `count` elements of dtype, zeroed by the caller before
 * the first step: SGD with momentum uses state[0], Adam and AdamW use both. */
typedef struct remat_param {
    remat_dtype dtype; /* f32 or f64 */
    size_t count;
    void *data;
    void *gradient;
    void *state[2];
} remat_param;

/* Fills params[0..capacity) with the parameter leaves of a tape that have data and gradient, in
 * the order recorded; state is NULL. Writes their full number to count (may exceed capacity). */
remat_status remat_tape_params(const remat_tape *tape, remat_param *params, size_t capacity,
                               size_t *count);

/* PyTorch's SGD: g += weight_decay p; v = momentum v + g; p -= lr (nesterov ? g + momentum v : v).
 * momentum 0 needs no state. zero_gradients: gradients are set to zero in the same pass. */
typedef struct remat_sgd {
    double learning_rate, momentum, weight_decay;
    bool nesterov, zero_gradients;
} remat_sgd;
#define REMAT_SGD_INIT               \
    {                                \
        0.01, 0.0, 0.0, false, false \
    }
remat_status remat_sgd_step(const remat_sgd *sgd, const remat_param *params, size_t n);

/* Kingma and Ba 2015, with bias correction. adam: weight decay is added to the gradient (L2);
 * adamw: decoupled, p -= lr weight_decay p (Loshchilov and Hutter 2019). `step` counts calls: hand
 * in all parameters of a step at once, or keep one struct per group of parameters. */
typedef struct remat_adam {
    double learning_rate, beta1, beta2, epsilon, weight_decay;
    bool zero_gradients;
    uint64_t step;
} remat_adam;
#define REMAT_ADAM_INIT                        \
    {                                          \
        0.001, 0.9, 0.999, 1e-8, 0.0, false, 0 \
    }
remat_status remat_adam_step(remat_adam *adam, const remat_param *params, size_t n);
remat_status remat_adamw_step(remat_adam *adam, const remat_param *params, size_t n);

/* Scales all gradients by max_norm / norm if their global 2-norm exceeds max_norm > 0. norm may be
 * NULL; it receives the norm before scaling, summed in double. A norm that is not finite is
 * reported and nothing is scaled; max_norm = INFINITY only measures. REMAT_INVALID_ARGUMENT as
 * above. */
remat_status remat_clip_gradients(const remat_param *params, size_t n, double max_norm,
                                  double *norm);

/* Initialisation: the same numbers for a seed on every machine, whatever the buffer's size before.
 * Kaiming (He et al. 2015): uniform in +-sqrt(6 / fan_in), normal with sigma sqrt(2 / fan_in).
 * Xavier (Glorot and Bengio 2010): uniform in +-sqrt(6 / (fan_in + fan_out)), normal with sigma
 * sqrt(2 / (fan_in + fan_out)). For a weight [out, in]: fan_in = in, fan_out = out.
 * (Normal values pass through the C library's log, cos and sin, so their last bit may differ.)
 * REMAT_INVALID_ARGUMENT: data NULL, a dtype that is no float, a fan of 0, a bad range. */
remat_status remat_init_constant(void *data, remat_dtype dtype, size_t count, double value);
remat_status remat_init_uniform(void *data, remat_dtype dtype, size_t count, double low,
                                double high, uint64_t seed);
remat_status remat_init_normal(void *data, remat_dtype dtype, size_t count, double mean,
                               double sigma, uint64_t seed);
remat_status remat_init_kaiming_uniform(void *data, remat_dtype dtype, size_t count, size_t fan_in,
                                        uint64_t seed);
remat_status remat_init_kaiming_normal(void *data, remat_dtype dtype, size_t count, size_t fan_in,
                                       uint64_t seed);
remat_status remat_init_xavier_uniform(void *data, remat_dtype dtype, size_t count, size_t fan_in,
                                       size_t fan_out, uint64_t seed);
remat_status remat_init_xavier_normal(void *data, remat_dtype dtype, size_t count, size_t fan_in,
                                      size_t fan_out, uint64_t seed);

#ifdef __cplusplus
} /* extern "C" */

template <typename... Extent> inline remat_shape remat_shape_of(Extent... extent)
{
    const int64_t dims[] = {static_cast<int64_t>(extent)...};
    return remat_shape_make(sizeof...(extent), dims);
}
#define REMAT_SHAPE(...) remat_shape_of(__VA_ARGS__)
#endif

#endif /* REMAT_REMAT_H */
