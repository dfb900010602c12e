/* bytes.h - amounts of memory as people write them: 64MiB, 1.5GB, 4096, 50%. */
#ifndef EXAMPLES_COMMON_BYTES_H
#define EXAMPLES_COMMON_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/* A decimal number, perhaps with a fraction, and a unit in any case: B, kB, MB, GB, TB count by
 * 1000, KiB, MiB, GiB, TiB by 1024; no unit: bytes. Rounded down to whole bytes. False: it is
 * something else, or more than SIZE_MAX. */
bool bytes_parse(const char *text, size_t *bytes);

/* A budget: bytes as above, above 0, or a share of a whole that is known later. All zero: none. */
typedef struct size_budget {
    size_t bytes;
    double share; /* of the whole; 0: bytes stand */
} size_budget;

/* If the text is wrong the reason is said on stderr, and false returned. */
bool budget_parse(const char *name, const char *text, size_budget *b);
bool budget_is_given(const size_budget *b);
size_t budget_bytes(const size_budget *b, size_t whole); /* at least 1 if one is given, else 0 */

/* "64.0 MB", as remat's own reports write it; returns text. */
const char *bytes_text(size_t bytes, char text[24]);

#endif
