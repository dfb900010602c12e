/* plan_text.c - the lines and words of a plan's text. Own parsing of numbers: nothing depends on a
 * locale, and everything that is not exactly the format is refused. */
#include "plan/plan_text.h"

#include <stdarg.h>
#include <string.h>

void remat_text_open(remat_text_reader *r, remat_tape *tape, FILE *in)
{
    *r = (remat_text_reader){.tape = tape, .in = in, .checksum = REMAT_PLAN_TEXT_CHECKSUM};
}

bool remat_text_fail(remat_text_reader *r, remat_status status, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    r->status =
        remat_tape_complain(r->tape, status, "text of a plan, line %zu: %s", r->number, text);
    return false;
}

bool remat_text_refuse(remat_text_reader *r, const char *reason)
{
    return remat_text_fail(r, REMAT_INVALID_ARGUMENT, "%s", reason);
}

/* ---- Lines -----------------------------------------------------------------------------------*/

/* EOF at the end. */
static int next_byte(remat_text_reader *r)
{
    if (r->used == r->filled) {
        r->filled = fread(r->chunk, 1, sizeof r->chunk, r->in);
        r->used = 0;
        if (r->filled == 0)
            return EOF;
    }
    return r->chunk[r->used++];
}

bool remat_text_line(remat_text_reader *r)
{
    size_t length = 0;
    r->number++;
    r->checksum_before = r->checksum;
    for (;;) {
        int c = next_byte(r);
        if (c == EOF)
            return remat_text_refuse(r, ferror(r->in) ? "the stream cannot be read"
                                                      : "the text ends here, before its end line");
        r->checksum = remat_plan_text_add(r->checksum, (unsigned char)c);
        if (c == '\n')
            break;
        if (c < ' ' || c > '~')
            return remat_text_fail(r, REMAT_INVALID_ARGUMENT, "byte 0x%02X has no place in a plan",
                                   c);
        if (length == REMAT_PLAN_TEXT_LONGEST)
            return remat_text_refuse(r, "the line is too long");
        r->line[length++] = (char)c;
    }
    r->line[length] = '\0';
    r->at = r->line;
    return true;
}

bool remat_text_take(remat_text_reader *r, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(r->at, text, length) != 0)
        return false;
    r->at += length;
    return true;
}

bool remat_text_line_end(remat_text_reader *r)
{
    return *r->at == '\0' || remat_text_refuse(r, "something follows where the line should end");
}

bool remat_text_end(remat_text_reader *r)
{
    if (next_byte(r) == EOF && !ferror(r->in))
        return true;
    r->number++;
    return remat_text_refuse(r, "something follows the end");
}

/* ---- Words -----------------------------------------------------------------------------------*/

bool remat_text_number(remat_text_reader *r, uint64_t most, uint64_t *number)
{
    const char *p = r->at;
    uint64_t n = 0;
    if (*p < '0' || *p > '9')
        return remat_text_refuse(r, "a number is missing");
    if (p[0] == '0' && p[1] >= '0' && p[1] <= '9')
        return remat_text_refuse(r, "a number begins with 0");
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (digit > most || n > (most - digit) / 10)
            return remat_text_fail(r, REMAT_INVALID_ARGUMENT,
                                   "a number is too large; at most %llu can be",
                                   (unsigned long long)most);
        n = 10 * n + digit;
    }
    r->at = p;
    *number = n;
    return true;
}

bool remat_text_hash(remat_text_reader *r, uint64_t *hash)
{
    *hash = 0;
    for (int i = 0; i < 16; i++, r->at++) {
        char c = *r->at;
        bool letter = c >= 'a' && c <= 'f';
        if (!letter && (c < '0' || c > '9'))
            return remat_text_refuse(r, "a hash of 16 hexadecimal digits is missing");
        *hash = *hash << 4 | (uint64_t)(letter ? c - 'a' + 10 : c - '0');
    }
    return true;
}

bool remat_text_key(remat_text_reader *r, const char *key)
{
    if (!remat_text_line(r))
        return false;
    if (!remat_text_take(r, key) || !remat_text_take(r, " "))
        return remat_text_fail(r, REMAT_INVALID_ARGUMENT, "expected \"%s\"", key);
    return true;
}
