/* markup.c - see markup.h. */
#include "core/support/markup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_DEPTH = 32, NAME_BYTES = 32 };

typedef struct reader {
    const char *at, *end;
    char open[MOST_DEPTH][NAME_BYTES]; /* names of open elements */
    size_t depth;
} reader;

char *file_text(FILE *file)
{
    long bytes = ftell(file);
    assert_true(bytes >= 0);
    char *text = calloc((size_t)bytes + 1, 1);
    assert_non_null(text);
    rewind(file);
    assert_int_equal(fread(text, 1, (size_t)bytes, file), bytes);
    fclose(file);
    return text;
}

size_t markup_count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

/* Bytes of the character at `at`; 0: none that XML allows. The text ends with a 0. */
static size_t character_bytes(const unsigned char *at)
{
    if (at[0] < 0x80)
        return at[0] >= 0x20 || at[0] == '\t' || at[0] == '\n' || at[0] == '\r';
    size_t bytes = at[0] < 0xC2 || at[0] > 0xF4 ? 0 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    for (size_t i = 1; i < bytes; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xED && at[1] >= 0xA0;
    bool beyond = at[0] == 0xF4 && at[1] >= 0x90;
    bool no_character = at[0] == 0xEF && at[1] == 0xBF && at[2] >= 0xBE;
    return overlong || surrogate || beyond || no_character ? 0 : bytes;
}

static bool is_utf8(const char *at, const char *end)
{
    while (at < end) {
        size_t bytes = character_bytes((const unsigned char *)at);
        if (bytes == 0)
            return false;
        at += bytes;
    }
    return at == end;
}

static bool take(reader *r, const char *what)
{
    size_t n = strlen(what);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, what, n) != 0)
        return false;
    r->at += n;
    return true;
}

static bool take_name(reader *r, char name[NAME_BYTES])
{
    const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    size_t n = 0;
    while (r->at < r->end && strchr(letters, *r->at) && n + 1 < NAME_BYTES)
        name[n++] = *r->at++;
    name[n] = '\0';
    return n > 0;
}

/* Characters up to, not including, `stop`. */
static bool take_text(reader *r, char stop)
{
    while (r->at < r->end && *r->at != stop) {
        bool entity = take(r, "&amp;") || take(r, "&lt;") || take(r, "&gt;") || take(r, "&quot;") ||
                      take(r, "&#39;");
        if (entity)
            continue;
        if (*r->at == '&' || *r->at == '<' || *r->at == '>')
            return false;
        r->at++;
    }
    return true;
}

static bool take_attributes(reader *r)
{
    char name[NAME_BYTES];
    while (take(r, " "))
        if (!take_name(r, name) || !take(r, "=\"") || !take_text(r, '"') || !take(r, "\""))
            return false;
    return true;
}

static bool take_tag(reader *r)
{
    char name[NAME_BYTES];
    bool closes = take(r, "</");
    if ((!closes && !take(r, "<")) || !take_name(r, name) || (!closes && !take_attributes(r)))
        return false;
    if (closes)
        return r->depth > 0 && strcmp(r->open[--r->depth], name) == 0 && take(r, ">");
    if (take(r, "/>"))
        return true;
    if (r->depth == MOST_DEPTH)
        return false;
    memcpy(r->open[r->depth++], name, NAME_BYTES);
    return take(r, ">");
}

/* Elements and text, as within an element. */
static bool is_content(const char *at, const char *end)
{
    reader r = {.at = at, .end = end};
    if (!is_utf8(at, end))
        return false;
    while (r.at < r.end)
        if (*r.at == '<' ? !take_tag(&r) : !take_text(&r, '<'))
            return false;
    return r.depth == 0;
}

bool markup_is_xml(const char *text)
{
    const char *const declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    const char *end = text + strlen(text);
    if (strncmp(text, declaration, strlen(declaration)) == 0)
        text += strlen(declaration);
    return *text == '<' && end[-1] == '\n' && is_content(text, end);
}

/* The end of a label that begins after its '<': where its brackets balance. NULL: nowhere. */
static const char *end_of_label(const char *at)
{
    for (int depth = 1; *at; at++) {
        depth += *at == '<' ? 1 : *at == '>' ? -1 : 0;
        if (depth == 0)
            return at;
    }
    return NULL;
}

static const char *end_of_string(const char *at)
{
    for (; *at && *at != '"'; at++)
        if (*at == '\\' && *++at == '\0')
            return NULL;
    return *at ? at : NULL;
}

bool markup_is_dot(const char *text)
{
    int braces = 0;
    if (strncmp(text, "digraph ", 8) != 0)
        return false;
    for (const char *at = text; *at; at++) {
        const char *begin = at + 1;
        if (*at == '"' && !(at = end_of_string(begin)))
            return false;
        if (*at == '<' && (!(at = end_of_label(begin)) || !is_content(begin, at)))
            return false;
        braces += *at == '{' ? 1 : *at == '}' ? -1 : 0;
        if (braces < 0 || (braces == 0 && *at == '}' && at[1] != '\n'))
            return false;
    }
    return braces == 0;
}
