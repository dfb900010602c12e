/* fuzz.h - what a fuzz target fuzz_NAME.c and its two ways to run have in common: libFuzzer, and
 * replay.c, which hands it the files of its corpus. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Inputs that were valid; a corpus without any has gone stale. Counted by the target. */
extern size_t fuzz_accepted;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
