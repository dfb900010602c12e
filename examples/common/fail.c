/* fail.c - see fail.h. */
#include "common/fail.h"

#include <stdarg.h>
#include <stdio.h>

bool fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout); /* so that the order is right where both go to one place */
    fprintf(stderr, "%s: ", program_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return false;
}
