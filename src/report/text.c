/* text.c - numbers and strings as reports write them. */
#include "report/text.h"

#include <stdint.h>
#include <string.h>

const char *remat_bytes_unit(double bytes, double *unit_bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    for (*unit_bytes = 1.0; bytes / *unit_bytes >= 1000.0 && unit < 4; unit++)
        *unit_bytes *= 1000.0;
    return units[unit];
}

const char *remat_bytes_text(size_t bytes, char text[24])
{
    double unit_bytes;
    const char *unit = remat_bytes_unit((double)bytes, &unit_bytes);
    snprintf(text, 24, unit_bytes > 1.0 ? "%.2f %s" : "%.0f %s", (double)bytes / unit_bytes, unit);
    return text;
}

const char *remat_seconds_text(double seconds, char text[24])
{
    const char *const units[] = {"ns", "us", "ms", "s"};
    double amount = seconds * 1e9;
    int unit = 0;
    for (; amount >= 1000.0 && unit < 3; unit++)
        amount /= 1000.0;
    snprintf(text, 24, "%.3g %s", amount, units[unit]);
    return text;
}

const char *remat_number_text(double number, char text[32])
{
    char local[32];
    size_t used = 0;
    snprintf(local, sizeof local, "%.9g", number);
    for (const char *c = local; *c; c++) {
        if (strchr("0123456789+-einfa", *c))
            text[used++] = *c;
        else if (used == 0 || text[used - 1] != '.')
            text[used++] = '.'; /* the locale's mark may have several bytes */
    }
    text[used] = '\0';
    return text;
}

/* ---- Escaping --------------------------------------------------------------------------------*/

/* Bytes of the UTF-8 sequence of a character that XML allows; 0: there is none. */
static size_t character_bytes(const unsigned char *c)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c[0] < 0x80)
        return c[0] >= 0x20 || c[0] == '\t' || c[0] == '\n' || c[0] == '\r';
    size_t bytes = c[0] >= 0xF0 ? 4 : c[0] >= 0xE0 ? 3 : 2;
    uint32_t code = c[0] & (0xFFu >> (bytes + 1));
    if (c[0] < 0xC0 || c[0] > 0xF4)
        return 0;
    for (size_t i = 1; i < bytes; i++) {
        if ((c[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (c[i] & 0x3Fu);
    }
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    bool allowed = code <= 0x10FFFF && !surrogate && code != 0xFFFE && code != 0xFFFF;
    return allowed && code >= least[bytes] ? bytes : 0;
}

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void remat_write_xml(FILE *out, const char *text)
{
    while (*text) {
        size_t bytes = character_bytes((const unsigned char *)text);
        const char *escaped = bytes == 0 ? "\xEF\xBF\xBD" : entity(*text);
        if (escaped)
            fputs(escaped, out);
        else
            fwrite(text, 1, bytes, out);
        text += bytes ? bytes : 1;
    }
}

void remat_write_csv(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

remat_status remat_report_status(FILE *out)
{
    return fflush(out) == 0 && !ferror(out) ? REMAT_OK : REMAT_INVALID_ARGUMENT;
}
