/* json.h - strict access to JSON: what is missing, of another type, out of range or unknown is
 * refused with the place where it stands. */
#ifndef PLAN_JSON_H
#define PLAN_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a text was refused; text "": it was not. */
typedef struct json_fault {
    char text[400];
} json_fault;

/* Sets the text; returns false. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool refuse(json_fault *f, const char *format, ...);

/* An object, and what to call it in messages: "tasks[3]". */
typedef struct place {
    const json_t *object;
    char name[64];
    json_fault *fault;
} place;

/* Item i of the array `list` that is called `name`. False if it is no object. */
bool place_enter(const json_t *list, const char *name, size_t i, json_fault *f, place *p);

/* False if the object has a key that is not among keys[0..n). */
bool place_allows(const place *p, const char *const *keys, size_t n);

/* Each reads the value of a key. fallback NULL: the key has to be there. Bytes are a whole number,
 * or a text such as "64 KiB". */
bool place_real(const place *p, const char *key, const double *fallback, double *value);
bool place_whole(const place *p, const char *key, const uint64_t *fallback, uint64_t *value);
bool place_bytes(const place *p, const char *key, const size_t *fallback, size_t *value);
bool place_flag(const place *p, const char *key, bool *value);                 /* fallback: false */
bool place_text(const place *p, const char *key, const char **value);          /* fallback: NULL */
bool place_list(const place *p, const char *key, bool needed, json_t **value); /* or NULL */

/* The same for an item that is no object; `name` is what to call it. */
bool json_read_real(const json_t *item, const char *name, json_fault *f, double *value);
bool json_read_bytes(const json_t *item, const char *name, json_fault *f, size_t *value);

#endif
