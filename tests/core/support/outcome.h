/* outcome.h - what a step on a random tape leaves behind, for comparisons bit by bit. */
#ifndef TESTS_CORE_OUTCOME_H
#define TESTS_CORE_OUTCOME_H

#include "core/support/random_tape.h"
#include "core/support/reference.h"

typedef struct outcome {
    unsigned char *bytes; /* loss, kept values, gradients, in this order */
    size_t count, capacity;
} outcome;

/* Fills every gradient buffer of the caller's with a constant. */
void outcome_fill_gradients(const random_tape *r, double constant);

/* Reads through the API. False if a read was refused. */
bool outcome_collect(outcome *o, const random_tape *r, remat_exec *exec);
void outcome_expect(outcome *o, const random_tape *r, const reference *ref);
void outcome_release(outcome *o);

bool outcome_same_bits(const outcome *a, const outcome *b);
/* As numbers of the tape's dtype: -0 equals +0. */
bool outcome_same_numbers(const random_tape *r, const outcome *a, const outcome *b);
/* Share of numbers that are not zero; -1 if one is not finite. */
double outcome_activity(const random_tape *r, const outcome *o);

#endif
