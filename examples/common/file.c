/* file.c - see file.h. */
#include "common/file.h"

#include <errno.h>
#include <string.h>

#include "common/fail.h"

bool file_write(const char *path, file_writer *write, const void *what)
{
    const bool is_stdout = strcmp(path, "-") == 0;
    errno = 0;
    FILE *out = is_stdout ? stdout : fopen(path, "w");
    if (out == NULL)
        return fail("cannot write %s: %s", path, strerror(errno));
    remat_status status = write(out, what);
    bool written = !ferror(out) && fflush(out) == 0;
    if (!is_stdout)
        written = fclose(out) == 0 && written;
    if (!written)
        return fail("%s could not be written: %s", path, strerror(errno));
    return status == REMAT_OK || fail("%s: %s", path, remat_status_text(status));
}
