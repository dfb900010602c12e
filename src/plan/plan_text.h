/* plan_text.h - what reading and writing a plan's text have in common, and the reader of its lines
 * and words. The format is described at remat_plan_save() in remat.h. */
#ifndef REMAT_PLAN_PLAN_TEXT_H
#define REMAT_PLAN_PLAN_TEXT_H

#include "tape/tape.h"

#define REMAT_PLAN_TEXT_VERSION 1
#define REMAT_PLAN_TEXT_COLUMNS 100 /* of lines that are written */
#define REMAT_PLAN_TEXT_LONGEST 255 /* line that is read */

#define REMAT_PLAN_TEXT_CHECKSUM 0xCBF29CE484222325u
static inline uint64_t remat_plan_text_add(uint64_t checksum, unsigned char byte)
{
    return (checksum ^ byte) * 0x100000001B3u; /* FNV-1a */
}

/* Functions that return a bool give false after a failure, which sets status and the tape's
 * message. */
typedef struct remat_text_reader {
    remat_tape *tape; /* gets the message */
    remat_status status;
    FILE *in;
    unsigned char chunk[4096];
    size_t used, filled;
    char line[REMAT_PLAN_TEXT_LONGEST + 1]; /* without the line feed; terminated */
    const char *at;                         /* what comes next in the line */
    size_t number;                          /* of the line, from 1 */
    uint64_t checksum, checksum_before;     /* of all lines; of all but the last one */
} remat_text_reader;

void remat_text_open(remat_text_reader *r, remat_tape *tape, FILE *in);

/* Return false. The message names the line. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
bool
remat_text_fail(remat_text_reader *r, remat_status status, const char *format, ...);
bool remat_text_refuse(remat_text_reader *r, const char *reason); /* REMAT_INVALID_ARGUMENT */

/* Goes to the next line. */
bool remat_text_line(remat_text_reader *r);

/* Nothing comes after the last line. */
bool remat_text_end(remat_text_reader *r);

/* Takes `text` if it comes next; false without a failure if not. */
bool remat_text_take(remat_text_reader *r, const char *text);

/* The line ends here. */
bool remat_text_line_end(remat_text_reader *r);

/* A number of at most `most`; a hash of 16 digits. */
bool remat_text_number(remat_text_reader *r, uint64_t most, uint64_t *number);
bool remat_text_hash(remat_text_reader *r, uint64_t *hash);

/* The next line, which begins with `key` and a space. */
bool remat_text_key(remat_text_reader *r, const char *key);

#endif
