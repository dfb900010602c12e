/* numbers.h - numbers on the command line. `name` is the option's, without dashes; if the text is
 * wrong the reason is said on stderr, and false returned. */
#ifndef EXAMPLES_COMMON_NUMBERS_H
#define EXAMPLES_COMMON_NUMBERS_H

#include <remat/remat.h>

bool parse_whole(const char *name, const char *text, uint64_t low, uint64_t high, uint64_t *value);
bool parse_size(const char *name, const char *text, size_t high, size_t *value); /* from 1 on */
bool parse_real(const char *name, const char *text, double *value);

bool parse_strategy(const char *text, remat_strategy *strategy);

#endif
