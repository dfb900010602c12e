/* derive.h - from a recorded tape to a planning problem. */
#ifndef REMAT_PLAN_DERIVE_H
#define REMAT_PLAN_DERIVE_H

#include "plan/problem.h"
#include "tape/tape.h"

/* Where the gradient of a tape value goes: REMAT_NONE (not computed), a value of the problem, or
 * the caller's buffer of gradient request (index & ~REMAT_GRADIENT_EXTERNAL). */
#define REMAT_GRADIENT_EXTERNAL 0x80000000u

/* The problem, and how tape values map to it. */
typedef struct remat_derivation {
    remat_problem problem;
    uint32_t loss;        /* tape value, REMAT_NONE if only seeds are used */
    uint32_t n_values;    /* of the tape */
    uint32_t *root;       /* tape value whose memory a tape value shares; itself if no view */
    uint32_t *activation; /* problem value of a root; REMAT_NONE for leaves and what never runs */
    uint32_t *gradient;   /* see above; views share their operand's where possible */
} remat_derivation;

/* Derives the problem of training on (or with forward_only evaluating) `loss`. The tape has no
 * recording error and no open segment. Failures set the tape's message. */
remat_status remat_derive(remat_tape *tape, uint32_t loss, const remat_exec_options *options,
                          const remat_allocator *allocator, remat_derivation *derivation);

void remat_derivation_release(remat_derivation *derivation);

/* Bit i: the backward of this statement computes the gradient of operand i. */
uint64_t remat_derive_gradient_mask(const remat_tape *tape, const uint32_t *gradient,
                                    const remat_statement_view *statement);

/* Problem value that holds the gradient of result k for the statement's backward; REMAT_NONE: no
 * gradient comes from there. */
uint32_t remat_derive_result_gradient(const uint32_t *gradient,
                                      const remat_statement_view *statement, size_t k);

/* Operands and results that backward reads for these gradients. */
void remat_derive_needs(const remat_tape *tape, const remat_statement_view *statement,
                        uint64_t gradients, uint64_t *operands, uint64_t *results);

#endif
