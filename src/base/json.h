/* SPDX-License-Identifier: MIT */
/* JSON as all of Lull writes it. One rule for texts, so that a name is the same text wherever it
 * occurs and joins with itself: what is well-formed UTF-8 comes back as it was, each byte that is
 * not becomes U+FFFD. Control characters, line separators, and what turns the direction of writing
 * are escapes (\u00XX), so that the output is harmless on a terminal. */
#ifndef LULL_BASE_JSON_H
#define LULL_BASE_JSON_H

#include <glib.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Neither a control character nor one that moves what is beside it, nor a non-character. */
bool lull_is_harmless(gunichar c);

/* The longest way to write one character. */
#define LULL_JSON_ESCAPE 12
/* How the character at `text` (of `length` > 0 bytes) is written between quotes: *n bytes of `out`.
 * Returns how many bytes of `text` it takes. */
size_t lull_json_escape(const char *text, size_t length, char out[static LULL_JSON_ESCAPE],
                        uint32_t *n);
/* A text with its quotes. */
void lull_json_append(GString *out, const char *text, size_t length);

/* A text as json-c has it; NULL is null. */
struct json_object *lull_json_text(const char *text);
/* A list of texts, which ends with NULL; NULL of NULL. */
struct json_object *lull_json_texts(const char *const *texts);
void lull_json_add_text(struct json_object *object, const char *key, const char *text);
void lull_json_add_number(struct json_object *object, const char *key, int64_t number);
/* The object as a text, on one line or `pretty`. Frees the object; free the text with g_free(). */
char *lull_json_format(struct json_object *object, bool pretty);

#endif
