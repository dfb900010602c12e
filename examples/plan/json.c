/* json.c - see json.h. */
#include "json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/bytes.h"

bool refuse(json_fault *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->text, sizeof f->text, format, arguments);
    va_end(arguments);
    return false;
}

bool place_enter(const json_t *list, const char *name, size_t i, json_fault *f, place *p)
{
    *p = (place){.object = json_array_get(list, i), .fault = f};
    snprintf(p->name, sizeof p->name, "%s[%zu]", name, i);
    return json_is_object(p->object) || refuse(f, "%s is not an object { }", p->name);
}

bool place_allows(const place *p, const char *const *keys, size_t n)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)p->object, key, value)
    {
        size_t k = 0;
        while (k < n && strcmp(key, keys[k]) != 0)
            k++;
        if (k == n)
            return refuse(p->fault, "%s has the unknown key \"%.60s\"", p->name, key);
    }
    return true;
}

/* The item at a key; *name is what to call it. */
static const json_t *find(const place *p, const char *key, char (*name)[128])
{
    snprintf(*name, sizeof *name, "%s.%s", p->name, key);
    return json_object_get(p->object, key);
}

static bool refuse_missing(const place *p, const char *key)
{
    return refuse(p->fault, "%s has no \"%s\"", p->name, key);
}

bool json_read_real(const json_t *item, const char *name, json_fault *f, double *value)
{
    if (!json_is_number(item))
        return refuse(f, "%s is not a number", name);
    *value = json_number_value(item);
    return true;
}

static bool read_whole(const json_t *item, const char *name, json_fault *f, uint64_t *value)
{
    if (!json_is_integer(item) || json_integer_value(item) < 0)
        return refuse(f, "%s is not a whole number from 0 on", name);
    *value = (uint64_t)json_integer_value(item);
    return true;
}

bool json_read_bytes(const json_t *item, const char *name, json_fault *f, size_t *value)
{
    uint64_t whole = 0;
    if (json_is_string(item))
        return bytes_parse(json_string_value(item), value) ||
               refuse(f, "%s is not a size such as 4096 or \"64 KiB\"", name);
    if (!read_whole(item, name, f, &whole))
        return false;
    *value = (size_t)whole;
    return *value == whole || refuse(f, "%s is more than this machine can address", name);
}

bool place_real(const place *p, const char *key, const double *fallback, double *value)
{
    char name[128];
    const json_t *item = find(p, key, &name);
    if (item != NULL)
        return json_read_real(item, name, p->fault, value);
    if (fallback == NULL)
        return refuse_missing(p, key);
    *value = *fallback;
    return true;
}

bool place_whole(const place *p, const char *key, const uint64_t *fallback, uint64_t *value)
{
    char name[128];
    const json_t *item = find(p, key, &name);
    if (item != NULL)
        return read_whole(item, name, p->fault, value);
    if (fallback == NULL)
        return refuse_missing(p, key);
    *value = *fallback;
    return true;
}

bool place_bytes(const place *p, const char *key, const size_t *fallback, size_t *value)
{
    char name[128];
    const json_t *item = find(p, key, &name);
    if (item != NULL)
        return json_read_bytes(item, name, p->fault, value);
    if (fallback == NULL)
        return refuse_missing(p, key);
    *value = *fallback;
    return true;
}

bool place_flag(const place *p, const char *key, bool *value)
{
    const json_t *item = json_object_get(p->object, key);
    *value = json_is_true(item);
    return item == NULL || json_is_boolean(item) ||
           refuse(p->fault, "%s.%s is neither true nor false", p->name, key);
}

bool place_text(const place *p, const char *key, const char **value)
{
    const json_t *item = json_object_get(p->object, key);
    *value = json_string_value(item);
    return item == NULL || *value != NULL || refuse(p->fault, "%s.%s is not a text", p->name, key);
}

bool place_list(const place *p, const char *key, bool needed, json_t **value)
{
    *value = json_object_get(p->object, key);
    if (*value == NULL)
        return !needed || refuse_missing(p, key);
    return json_is_array(*value) || refuse(p->fault, "%s.%s is not a list [ ]", p->name, key);
}
