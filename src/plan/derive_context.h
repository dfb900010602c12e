/* derive_context.h - shared by the files that derive a problem from a tape. */
#ifndef REMAT_PLAN_DERIVE_CONTEXT_H
#define REMAT_PLAN_DERIVE_CONTEXT_H

#include "plan/derive.h"

enum {
    NEEDED = 1,    /* forward has to make this value */
    REQUIRES = 2,  /* its gradient is asked for, or that of something it was made from */
    THROUGH = 4,   /* the gradient flows on into the statement that made it */
    REACHED = 8,   /* a seed contributes to its gradient */
    REQUESTED = 16 /* the user asked for its gradient */
};

typedef struct remat_derive_context {
    remat_tape *tape;
    const remat_exec_options *options;
    remat_derivation *d;
    remat_problem *problem;
    unsigned char *flags; /* per tape value */
    unsigned char *made;  /* per gradient value of the problem: has had its first write */
    size_t n_values;
} remat_derive_context;

/* True if a gradient flows from the statement's results to this operand. */
bool remat_derive_flows(const remat_derive_context *c, const remat_statement_view *s,
                        size_t operand);

/* True if the forward pass has to run the statement. */
bool remat_derive_is_needed(const remat_derive_context *c, const remat_statement_view *s);

/* True if the gradient of value v is that of the value whose memory it views. */
bool remat_derive_shares_gradient(const remat_derive_context *c, uint32_t v);

/* Append the tasks of a pass to the problem. False: out of memory, or a size overflows. */
bool remat_derive_forward_tasks(remat_derive_context *c);
bool remat_derive_backward_tasks(remat_derive_context *c);

#endif
