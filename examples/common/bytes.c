/* bytes.c - see bytes.h. */
#include "common/bytes.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"

static const struct unit {
    const char *name;
    double bytes;
} units[] = {
    {"", 1},      {"b", 1},        {"kb", 1e3},     {"mb", 1e6},     {"gb", 1e9},
    {"tb", 1e12}, {"kib", 0x1p10}, {"mib", 0x1p20}, {"gib", 0x1p30}, {"tib", 0x1p40},
};

static bool find_unit(const char *text, double *factor)
{
    char lower[4] = "";
    size_t length = strlen(text);
    if (length >= sizeof lower)
        return false;
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)tolower((unsigned char)text[i]);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(lower, units[i].name) == 0) {
            *factor = units[i].bytes;
            return true;
        }
    }
    return false;
}

/* Digits with at most one point between them. *rest: what follows, without blanks before it. */
static bool parse_decimal(const char *text, double *value, const char **rest)
{
    size_t whole = strspn(text, "0123456789");
    const char *end = text + whole;
    if (*end == '.') {
        size_t fraction = strspn(end + 1, "0123456789");
        if (fraction == 0)
            return false;
        end += 1 + fraction;
    }
    *value = strtod(text, NULL);
    *rest = end + strspn(end, " ");
    return whole > 0;
}

/* Exactly, where a double could not hold it. */
static bool parse_plain(const char *text, size_t *bytes)
{
    *bytes = 0;
    for (; *text; text++) {
        size_t digit = (size_t)(*text - '0');
        if (*bytes > (SIZE_MAX - digit) / 10)
            return false;
        *bytes = *bytes * 10 + digit;
    }
    return true;
}

bool bytes_parse(const char *text, size_t *bytes)
{
    double value, factor;
    const char *rest;
    if (!parse_decimal(text, &value, &rest) || !find_unit(rest, &factor))
        return false;
    if (strspn(text, "0123456789") == strlen(text))
        return parse_plain(text, bytes);
    value *= factor;
    if (!(value < (double)SIZE_MAX))
        return false;
    *bytes = (size_t)value;
    return true;
}

bool budget_parse(const char *name, const char *text, size_budget *b)
{
    const char *rest;
    *b = (size_budget){0};
    if (parse_decimal(text, &b->share, &rest) && strcmp(rest, "%") == 0 && b->share > 0 &&
        b->share <= 1000) {
        b->share /= 100;
        return true;
    }
    b->share = 0;
    return (bytes_parse(text, &b->bytes) && b->bytes > 0) ||
           fail("--%s wants a size such as 64MiB, 1.5GB or 50%%, not '%s'", name, text);
}

bool budget_is_given(const size_budget *b)
{
    return b->bytes > 0 || b->share > 0;
}

size_t budget_bytes(const size_budget *b, size_t whole)
{
    if (b->share <= 0)
        return b->bytes;
    double bytes = b->share * (double)whole;
    if (!(bytes < (double)SIZE_MAX))
        return SIZE_MAX;
    return bytes < 1 ? 1 : (size_t)bytes;
}

const char *bytes_text(size_t bytes, char text[24])
{
    static const char *const names[] = {"B", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t k = 0;
    while (value >= 999.95 && k + 1 < sizeof names / sizeof *names) {
        value /= 1000;
        k++;
    }
    if (k == 0)
        snprintf(text, 24, "%zu B", bytes);
    else
        snprintf(text, 24, "%.1f %s", value, names[k]);
    return text;
}
