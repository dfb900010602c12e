/* file.h - results in files. */
#ifndef EXAMPLES_COMMON_FILE_H
#define EXAMPLES_COMMON_FILE_H

#include <stdio.h>

#include <remat/remat.h>

/* Writes a file through `write`; "-" stands for stdout. On failure says why on stderr and returns
 * false. */
typedef remat_status file_writer(FILE *out, const void *what);
bool file_write(const char *path, file_writer *write, const void *what);

#endif
