/* idx.c - see idx.h. Layout: 0, 0, type (8 = unsigned byte), number of extents; the extents as
 * big-endian 32-bit numbers; the elements. */
#include "idx.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/fail.h"

#define TYPE_UNSIGNED_BYTE 8
#define MAX_BYTES          (UINT64_C(1) << 32) /* a header that says more is a broken header */
#define CHUNK_BYTES        (UINT64_C(1) << 20)

/* Number of bytes read, fewer than asked for at the end of the file; -1 for a damaged file. */
static int64_t read_bytes(gzFile file, unsigned char *to, uint64_t bytes)
{
    uint64_t done = 0;
    while (done < bytes) {
        uint64_t left = bytes - done;
        int got = gzread(file, to + done, (unsigned)(left < CHUNK_BYTES ? left : CHUNK_BYTES));
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (uint64_t)got;
    }
    return (int64_t)done;
}

static bool read_exactly(gzFile file, const char *path, unsigned char *to, uint64_t bytes)
{
    int64_t got = read_bytes(file, to, bytes);
    if (got == (int64_t)bytes)
        return true;
    int code;
    const char *reason = gzerror(file, &code);
    if (got < 0 && code != Z_BUF_ERROR)
        return fail("%s is damaged (%s): fetch it again", path, reason);
    return fail("%s is truncated: fetch it again", path);
}

static bool read_header(gzFile file, const char *path, size_t n_dims, idx *out)
{
    unsigned char magic[4], extent[4];
    if (!read_exactly(file, path, magic, 4))
        return false;
    if (magic[0] != 0 || magic[1] != 0 || magic[2] != TYPE_UNSIGNED_BYTE)
        return fail("%s is not an IDX file of bytes (it begins with %02x %02x %02x %02x)", path,
                    magic[0], magic[1], magic[2], magic[3]);
    if (magic[3] != n_dims)
        return fail("%s has %u extents where %zu are expected: are images and labels swapped?",
                    path, magic[3], n_dims);
    out->n_dims = n_dims;
    for (size_t k = 0; k < n_dims; k++) {
        if (!read_exactly(file, path, extent, 4))
            return false;
        out->dims[k] = (size_t)extent[0] << 24 | (size_t)extent[1] << 16 | (size_t)extent[2] << 8 |
                       (size_t)extent[3];
    }
    return true;
}

/* 0 if an extent is 0 or the product exceeds MAX_BYTES. */
static uint64_t element_count(const idx *header)
{
    uint64_t count = 1;
    for (size_t k = 0; k < header->n_dims; k++) {
        if (header->dims[k] == 0 || header->dims[k] > MAX_BYTES / count)
            return 0;
        count *= header->dims[k];
    }
    return count;
}

static bool read_elements(gzFile file, const char *path, idx *out)
{
    uint64_t count = element_count(out);
    if (count == 0)
        return fail("%s has a header with an extent of 0 or an impossible size", path);
    out->values = malloc(count);
    if (out->values == NULL)
        return fail("not enough memory for the %llu bytes of %s", (unsigned long long)count, path);
    if (!read_exactly(file, path, out->values, count))
        return false;
    unsigned char extra;
    int64_t got = read_bytes(file, &extra, 1); /* also makes zlib compare its checksum */
    if (got < 0)
        return fail("%s is damaged (%s): fetch it again", path, gzerror(file, &(int){0}));
    if (got > 0)
        return fail("%s has more data than its header says", path);
    return true;
}

bool idx_read(const char *path, size_t n_dims, idx *out)
{
    *out = (idx){0};
    errno = 0;
    gzFile file = gzopen(path, "rb");
    if (file == NULL)
        return fail("cannot open %s: %s", path, errno ? strerror(errno) : "out of memory");
    bool ok = read_header(file, path, n_dims, out) && read_elements(file, path, out);
    if (gzclose(file) != Z_OK && ok)
        ok = fail("%s is truncated: fetch it again", path);
    if (!ok) {
        free(out->values);
        *out = (idx){0};
    }
    return ok;
}
