/* random.h - the counter-based generator behind remat_random_block(). */
#ifndef REMAT_BASE_RANDOM_H
#define REMAT_BASE_RANDOM_H

#include <remat/op.h>

/* The 64-bit Philox key of a seed and a stream. The two enter one after the other, so that seed 0
 * of stream 1 is not seed 1 of stream 0. */
uint64_t remat_random_philox_key(const remat_random_key *key);

/* Philox4x32-10 itself. */
void remat_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
