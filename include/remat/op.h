/* op.h - for authors of operations. One operation = one descriptor; the built-in ones have no
 * privilege over yours. Record a statement with remat_apply().
 *
 * Rules for the callbacks
 *   - forward and backward are functions of their arguments only: no hidden state, no static
 *     buffers. The same arguments give the same bits, for any number of threads: a replay repeats
 *     forward and must repeat its results. An operation that cannot promise this sets EFFECT.
 *   - They allocate nothing; scratch memory is declared by cost() and handed in as `workspace`.
 *   - They return REMAT_OK or a status that ends the step; remat_call_fail() adds a message.
 *   - Data pointers are aligned to 64 bytes for values in the arena, and as the caller has them for
 *     leaves.
 */
#ifndef REMAT_OP_H
#define REMAT_OP_H

#include <remat/remat.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REMAT_OP_MAX_OPERANDS 32
#define REMAT_OP_MAX_RESULTS  8

enum {
    REMAT_OP_EFFECT = 1, /* has a side effect (running statistics, a log): runs exactly once a step
                            and is never replayed; its results are kept while anybody needs them */
    REMAT_OP_RANDOM = 2, /* draws numbers from the call's random key */
    REMAT_OP_VIEW = 4    /* result 0 is operand 0's memory under another type of equal size; forward
                            is never called and may be NULL. backward copies the gradient
                            (accumulate as usual) and runs only where memory cannot be shared */
};

/* dtype and shape of a value, while recording and planning. */
typedef struct remat_type {
    remat_dtype dtype;
    remat_shape shape;
} remat_type;

/* A value while running. data is NULL where a contract below says so. */
typedef struct remat_tensor {
    void *data;
    const int64_t *dims; /* ndim extents */
    int32_t ndim;
    remat_dtype dtype;
} remat_tensor;

static inline int64_t remat_tensor_count(const remat_tensor *tensor)
{
    int64_t count = 1;
    for (int32_t i = 0; i < tensor->ndim; i++)
        count *= tensor->dims[i];
    return count;
}

/* What infer() sees: it checks the operands and writes the types of the results. */
typedef struct remat_infer {
    const void *attributes;
    const remat_type *in;
    size_t n_in;
    remat_type *out; /* n_out types to be written */
    size_t n_out;
    char *message; /* see remat_infer_fail() */
    size_t message_bytes;
} remat_infer;

/* Writes a printf-style message that says what is wrong and returns status; the tape adds the
 * operation's name and the operands' shapes. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
remat_status
remat_infer_fail(remat_infer *infer, remat_status status, const char *format, ...);

/* What needs() and cost() see. gradients: bit i is set if the gradient of operand i is asked for;
 * 0 if the statement has no backward. */
typedef struct remat_query {
    const void *attributes;
    const remat_type *in;
    size_t n_in;
    const remat_type *out;
    size_t n_out;
    uint64_t gradients;
} remat_query;

/* Estimates; they steer the planner and never change results. *_bytes moved: read and written.
 * Workspace sizes are exact: what the callback is given. */
typedef struct remat_cost {
    double forward_flops, forward_bytes;
    double backward_flops, backward_bytes;
    size_t forward_workspace_bytes, backward_workspace_bytes;
} remat_cost;

/* Key of the counter-based generator; see remat_random_block(). */
typedef struct remat_random_key {
    uint64_t seed;   /* options.seed */
    uint64_t step;   /* number of the forward pass */
    uint64_t stream; /* the statement's index on the tape */
} remat_random_key;

/* Block number `block` of the stream of a key: four uniform 32-bit words. Philox4x32-10 (Salmon,
 * Moraes, Dror, Shaw 2011): a pure function, so any element can be drawn at any time, in any order,
 * by any thread. */
void remat_random_block(const remat_random_key *key, uint64_t block, uint32_t out[4]);

typedef struct remat_forward {
    const void *attributes;
    const remat_tensor *in; /* data never NULL */
    size_t n_in;
    const remat_tensor *out; /* data never NULL, uninitialised. out[0].data may equal in[i].data if
                                in_place has bit i */
    size_t n_out;
    void *workspace; /* forward_workspace_bytes, aligned to 64; NULL if 0 */
    remat_random_key random;
    bool replay; /* not the first run of this statement in this step */
    char *message;
    size_t message_bytes;
} remat_forward;

typedef struct remat_backward {
    const void *attributes;
    const remat_tensor *in;       /* data NULL for operands that are not needed */
    const remat_tensor *out;      /* data NULL for results that are not needed */
    const remat_tensor *grad_out; /* gradients of results; data NULL = zero (only possible if the op
                                     has several results) */
    const remat_tensor *grad_in;  /* gradients of operands; data NULL = not asked for */
    const bool *accumulate;       /* per operand: add to grad_in instead of writing it */
    size_t n_in, n_out;
    void *workspace; /* backward_workspace_bytes; NULL if 0 */
    remat_random_key random;
    char *message;
    size_t message_bytes;
} remat_backward;

/* As remat_infer_fail(), for forward (call->message, call->message_bytes) and backward. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
remat_status
remat_call_fail(char *message, size_t message_bytes, remat_status status, const char *format, ...);

/* The descriptor. It must outlive every tape and plan that uses it; make it static const. Masks:
 * bit i stands for operand (or result) i.
 *
 * Two operands may be the same value: then their grad_in have the same data and the later one has
 * accumulate set. Gradients are therefore written in the order of operands, each finished before
 * the next begins - but a gradient that shares memory with grad_out[0] (see gradient_in_place) is
 * written last; such a one is never shared with another operand. */
typedef struct remat_op {
    const char *name;
    uint32_t min_operands, max_operands;
    uint32_t n_results;
    uint32_t
        attribute_bytes; /* copied when recorded; may hold pointers, which are copied as such */
    uint32_t flags;      /* REMAT_OP_* */

    /* Which operands and results backward reads. Everything else arrives as NULL. needs() may
     * narrow this for the gradients that are asked for: it gets both masks filled in and clears
     * bits. NULL: the masks as they are. */
    uint64_t needs_operands, needs_results;
    void (*needs)(const remat_query *query, uint64_t *operands, uint64_t *results);

    uint64_t no_gradient;         /* operands through which no gradient flows (i32 ones never do) */
    uint64_t no_gradient_results; /* results through which none flows (saved statistics) */

    uint64_t in_place; /* operands whose memory result 0 may take over (equal bytes); one that
                          is the same value as another only if both have the bit */
    uint64_t gradient_in_place; /* operands whose gradient may take over grad_out[0]'s memory */

    remat_status (*infer)(remat_infer *infer);
    void (*cost)(const remat_query *query, remat_cost *cost); /* zeroed before; NULL: all zero */
    remat_status (*forward)(const remat_forward *call);
    remat_status (*backward)(const remat_backward *call); /* NULL: no gradient flows at all */

    /* Names the code path that forward takes where it depends on a process-wide setting (the number
     * of BLAS threads, say). If it differs between a forward pass and its backward pass, the latter
     * refuses. NULL: no such setting. */
    uint64_t (*kernel_id)(void);
} remat_op;

/* Records op on the tape. attributes: op->attribute_bytes bytes, NULL if that is 0; copied, so set
 * padding to zero. Results are written to out[0..op->n_results) if n_out equals that number;
 * n_out may be smaller. Errors stick to the tape, out is unset then. */
remat_status remat_apply(remat_tape *tape, const remat_op *op, const void *attributes,
                         const remat_var *in, size_t n_in, remat_var *out, size_t n_out);

/* "f32[256, 784]" into text (truncated to bytes, always terminated); returns text. */
const char *remat_type_text(const remat_type *type, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_OP_H */
