/* subject.h - one random tape with what its steps must give, and the checks that every way to run
 * it must pass. */
#ifndef TESTS_CORE_SUBJECT_H
#define TESTS_CORE_SUBJECT_H

#include "core/support/counting_allocator.h"
#include "core/support/outcome.h"
#include "plan/plan.h"

typedef struct subject {
    random_tape r;
    counting_allocator memory;
    reference first;       /* step 0 */
    outcome expected;      /* of step 0, by the reference */
    outcome keep_all, got; /* of step 0, by keep-all; scratch */
    size_t keep_all_bytes, keep_all_live_bytes;
    uint64_t state; /* of random choices of the test */
    char what[128];
    /* What gradient_ready has seen in this backward pass, per gradient. */
    size_t ready_calls[RANDOM_TAPE_GRADIENTS];
    uint64_t ready_hash[RANDOM_TAPE_GRADIENTS];
    void *leaf_copy[RANDOM_TAPE_GRADIENTS]; /* of a leaf that the callback has spoilt */
} subject;

/* Fails the test with the tape and what is done with it. */
#define expect(s, condition) expect_that((s), (condition), #condition, __LINE__)
void expect_that(const subject *s, bool condition, const char *text, int line);

/* Records random tape `seed` and finds out what step 0 must give. */
void subject_prepare(subject *s, uint64_t seed);
/* Expects that all memory has come back. */
void subject_release(subject *s);

remat_exec_options subject_options(remat_strategy strategy);

/* A plan, its summary and its gradients checked. */
remat_plan *subject_plan(subject *s, const remat_exec_options *o);

/* Every EFFECT has run once a step and was never replayed. */
void subject_expect_effects(const subject *s, uint64_t steps);
/* Planned peak = measured peak. */
void subject_expect_peak(const subject *s, const remat_exec *exec, const remat_exec_options *o);

/* One step: no allocation, planned peak = measured peak; leaves the outcome in s->got. */
void subject_step(subject *s, remat_exec *exec, const remat_exec_options *o);
/* Several steps: equal to the reference, to keep-all and to each other; EFFECTs once a step. */
void subject_steps(subject *s, remat_exec *exec, const remat_exec_options *o);
/* The same in a caller's arena of exactly the planned size, between canaries. */
void subject_steps_in_own_arena(subject *s, remat_plan *plan, remat_exec_options o);

/* An options.gradient_ready with the subject as its context: spoils the leaf, as an update would,
 * so that a later reader goes wrong; a step then expects one call for each buffer, with its last
 * contents, and repairs the leaves. */
remat_status subject_ready(void *context, remat_var v, void *gradient);

/* Value of an environment variable. */
size_t test_number_from_environment(const char *name, size_t otherwise);

#endif
