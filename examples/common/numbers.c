/* numbers.c - see numbers.h. */
#include "common/numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"

bool parse_whole(const char *name, const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
    char *end;
    errno = 0;
    unsigned long long parsed = strtoull(text, &end, 10);
    bool is_digits = *text != '\0' && strspn(text, "0123456789") == strlen(text);
    if (!is_digits || errno != 0 || parsed < low || parsed > high)
        return fail("--%s wants a whole number from %llu to %llu, not '%s'", name,
                    (unsigned long long)low, (unsigned long long)high, text);
    *value = parsed;
    return true;
}

bool parse_size(const char *name, const char *text, size_t high, size_t *value)
{
    uint64_t parsed;
    if (!parse_whole(name, text, 1, high, &parsed))
        return false;
    *value = (size_t)parsed;
    return true;
}

bool parse_real(const char *name, const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return (end != text && *end == '\0') || fail("--%s wants a number, not '%s'", name, text);
}

bool parse_strategy(const char *text, remat_strategy *strategy)
{
    for (int k = 0; k < REMAT_STRATEGY_COUNT; k++) {
        if (strcmp(text, remat_strategy_name((remat_strategy)k)) == 0) {
            *strategy = (remat_strategy)k;
            return true;
        }
    }
    return fail("--strategy is auto, keep-all, segments, sqrt, blocks or greedy, not '%s'", text);
}
