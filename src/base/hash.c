/* hash.c - a 64-bit hash for fingerprints and checksums; not cryptographic.
 * Words are mixed with the finaliser of SplitMix64 (Steele, Lea, Flood 2014). */
#include "base/hash.h"

#include <string.h>

uint64_t remat_hash_word(uint64_t hash, uint64_t word)
{
    uint64_t z = (hash ^ word) + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t remat_hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    size_t left = bytes;
    uint64_t lanes[4] = {hash, hash + 1, hash + 2, hash + 3};
    /* Four independent chains hide the latency of the multiplications. */
    for (; left >= 32; left -= 32, p += 32) {
        uint64_t words[4];
        memcpy(words, p, sizeof words);
        for (int i = 0; i < 4; i++)
            lanes[i] = remat_hash_word(lanes[i], words[i]);
    }
    for (int i = 0; left > 0; i = (i + 1) % 4) {
        uint64_t word = 0;
        size_t take = left < 8 ? left : 8;
        memcpy(&word, p, take);
        lanes[i] = remat_hash_word(lanes[i], word);
        p += take;
        left -= take;
    }
    uint64_t all = remat_hash_word(hash, bytes);
    for (int i = 0; i < 4; i++)
        all = remat_hash_word(all, lanes[i]);
    return all;
}
