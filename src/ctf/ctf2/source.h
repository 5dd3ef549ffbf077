/* SPDX-License-Identifier: MIT */
/* Places in CTF 2 metadata: a fragment's JSON values with the path that leads to them, so that
 * whoever finds something wrong can say where; and properties read with their type checked. */
#ifndef LULL_CTF_CTF2_SOURCE_H
#define LULL_CTF_CTF2_SOURCE_H

#include <json-c/json.h>

#include "ctf/draft/draft.h"

/* A JSON value and how it was reached: property `key` of the parent, or its element `index`. */
struct ctf2_at {
    struct draft_source *source;
    const struct ctf2_at *parent; /* NULL: the fragment itself */
    const char *key;              /* NULL: an element */
    size_t index;
    struct json_object *value; /* NULL: absent, or JSON's null */
};

/* Sets the error "FILE: fragment N at byte O: PATH: MESSAGE", unless there is one already. Always
 * returns false. */
bool ctf2_fail(const struct ctf2_at *at, enum lull_error code, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* Is it an object with no properties but `keys` (up to a NULL), attributes and extensions? Those
 * must be objects, and there must be no extension: all that are declared were refused before. */
bool ctf2_check_object(const struct ctf2_at *at, const char *const *keys);
/* The same for objects that have neither attributes nor extensions. */
bool ctf2_check_plain_object(const struct ctf2_at *at, const char *const *keys);
bool ctf2_check_extensions(const struct ctf2_at *at);

/* The property as a place; false, and out->value is NULL, if it is absent. */
bool ctf2_property(const struct ctf2_at *at, const char *key, struct ctf2_at *out);
/* The same, but it is an error if it is absent. */
bool ctf2_required(const struct ctf2_at *at, const char *key, struct ctf2_at *out);
/* Element of an array. */
struct ctf2_at ctf2_element(const struct ctf2_at *at, size_t index);

/* The value itself, of the requested type. */
bool ctf2_is_object(const struct ctf2_at *at);
bool ctf2_is_array(const struct ctf2_at *at, size_t *length);
bool ctf2_text(const struct ctf2_at *at, const char **text, size_t *length);
bool ctf2_integer(const struct ctf2_at *at, struct draft_integer *integer);
bool ctf2_unsigned(const struct ctf2_at *at, uint64_t *number);
bool ctf2_signed(const struct ctf2_at *at, int64_t *number);

/* Properties that may be left out: true, and *number stays, if so. */
bool ctf2_get_unsigned(const struct ctf2_at *at, const char *key, uint64_t *number);
/* A power of two from 1 to 2^31. */
bool ctf2_get_alignment(const struct ctf2_at *at, const char *key, uint32_t *alignment);
/* The index in `choices` (up to a NULL). */
bool ctf2_get_choice(const struct ctf2_at *at, const char *key, const char *const *choices,
                     int *choice);

#endif
