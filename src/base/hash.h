/* hash.h - a 64-bit hash for fingerprints and checksums; not cryptographic. */
#ifndef REMAT_BASE_HASH_H
#define REMAT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Mixes one word into a running hash. */
uint64_t remat_hash_word(uint64_t hash, uint64_t word);
/* Mixes bytes and their number into a running hash. */
uint64_t remat_hash_bytes(uint64_t hash, const void *data, size_t bytes);

#endif
