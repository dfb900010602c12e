/* random_tape.h - random networks of fake operations, a function of a seed: shared parameters,
 * several results, views of views, effects, noise, nested segments, marks, gradient requests on
 * anything, several losses and seeds. Values stay finite and are not all alike. */
#ifndef TESTS_CORE_RANDOM_TAPE_H
#define TESTS_CORE_RANDOM_TAPE_H

#include "core/support/fake_ops.h"

/* ---- Random numbers (SplitMix64) -------------------------------------------------------------*/

uint64_t test_random(uint64_t *state);
size_t test_random_below(uint64_t *state, size_t n); /* in [0, n) */
bool test_random_chance(uint64_t *state, unsigned percent);

/* ---- Random tapes ----------------------------------------------------------------------------*/

enum {
    RANDOM_TAPE_VALUES = 512,
    RANDOM_TAPE_GRADIENTS = 128,
    RANDOM_TAPE_KEPT = 64,
    RANDOM_TAPE_EFFECTS = 32,
    RANDOM_TAPE_BLOCKS = 512
};

typedef struct random_gradient {
    remat_var v;
    void *buffer; /* NULL: held in the arena */
    size_t bytes;
} random_gradient;

typedef struct random_value {
    remat_var v;
    int kind; /* of shape; see random_tape.c */
} random_value;

typedef struct random_block {
    void *data;
    size_t bytes;
} random_block;

typedef struct random_tape {
    remat_tape *tape;
    remat_var loss; /* may be unset: then seeds start the backward pass */
    remat_dtype dtype;
    bool has_noise;
    random_gradient gradients[RANDOM_TAPE_GRADIENTS];
    remat_var kept[RANDOM_TAPE_KEPT];
    fake_probe_state effects[RANDOM_TAPE_EFFECTS]; /* each belongs to one EFFECT statement */
    size_t n_gradients, n_kept, n_effects;

    /* Private. */
    uint64_t seed, state;
    int64_t m, k;
    bool chain; /* long and narrow, so that replaying pays; else bushy with many marks */
    int depth;  /* open segments */
    random_value values[RANDOM_TAPE_VALUES];
    size_t n_values;
    remat_var index;
    random_block blocks[RANDOM_TAPE_BLOCKS]; /* leaves, gradients and seeds, in order of use */
    size_t n_blocks, next_block;
} random_tape;

/* Prepares the description; the tape is the caller's. */
void random_tape_init(random_tape *r, remat_tape *tape, uint64_t seed);
/* Records; the same again after remat_tape_clear(), on the same buffers. Returns the tape's status:
 * a failing allocator may end it. */
remat_status random_tape_record(random_tape *r);
/* Releases the buffers, not the tape. */
void random_tape_release(random_tape *r);

#endif
