/* fail.h - errors go to stderr, with the remedy in the text. */
#ifndef EXAMPLES_COMMON_FAIL_H
#define EXAMPLES_COMMON_FAIL_H

#include <stdbool.h>

/* Each program defines it, to begin its messages with. */
extern const char program_name[];

/* Prints the program's name and the message; returns false, so that a function can return
 * fail(...). */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
bool fail(const char *format, ...);

#endif
