/* replay.c - replay FILE...: hands files to a fuzz target, compiled like any test. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"

#define MOST_BYTES ((size_t)1 << 20)

static int replay(const char *path)
{
    uint8_t *data = malloc(MOST_BYTES);
    FILE *in = fopen(path, "rb");
    int failed = !data || !in;
    if (!failed)
        LLVMFuzzerTestOneInput(data, fread(data, 1, MOST_BYTES, in));
    else
        fprintf(stderr, "cannot read %s\n", path);
    if (in)
        fclose(in);
    free(data);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    if (fuzz_accepted == 0) {
        fprintf(stderr, "no file is valid input: the corpus has gone stale\n");
        failed = 1;
    }
    return failed;
}
