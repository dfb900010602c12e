/* fail.h - errors go to stderr, with the remedy in the text. */
#ifndef MLP_FAIL_H
#define MLP_FAIL_H

#include <stdbool.h>

/* Prints "mlp: " and the message; returns false, so that a function can return fail(...). */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
bool fail(const char *format, ...);

#endif
