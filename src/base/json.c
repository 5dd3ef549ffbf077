/* SPDX-License-Identifier: MIT */
/* The one way to write JSON: the rule for texts, and json-c's objects under the same rule. */
#include "base/json.h"

#include <string.h>

bool lull_is_harmless(gunichar c)
{
    if (c < 0x20 || (c >= 0x7f && c <= 0x9f)) {
        return false; /* control characters */
    }
    if (c == 0x200e || c == 0x200f || c == 0x061c || (c >= 0x202a && c <= 0x202e) ||
        (c >= 0x2066 && c <= 0x2069)) {
        return false; /* would reorder what is beside them */
    }
    if (c == 0x2028 || c == 0x2029) {
        return false; /* line ends to some readers */
    }
    return (c & 0xfffe) != 0xfffe && !(c >= 0xfdd0 && c <= 0xfdef);
}

/* \uXXXX, two of them beyond the first plane. */
static uint32_t escape(gunichar c, char out[static LULL_JSON_ESCAPE])
{
    uint32_t units[] = {c, 0}, n = 0;

    if (c > 0xffff) {
        units[0] = 0xd800 + ((c - 0x10000) >> 10);
        units[1] = 0xdc00 + ((c - 0x10000) & 0x3ff);
    }
    for (uint32_t i = 0; i < 2 && (i == 0 || units[i]); i++) {
        out[n++] = '\\';
        out[n++] = 'u';
        for (int shift = 12; shift >= 0; shift -= 4) {
            out[n++] = "0123456789abcdef"[units[i] >> shift & 15];
        }
    }
    return n;
}

size_t lull_json_escape(const char *text, size_t length, char out[static LULL_JSON_ESCAPE],
                        uint32_t *n)
{
    static const char named[] = "\bb\tt\nn\ff\rr\"\"\\\\";
    const unsigned char byte = (unsigned char)*text;

    for (size_t i = 0; byte && i + 1 < sizeof named; i += 2) {
        if ((unsigned char)named[i] == byte) {
            out[0] = '\\';
            out[1] = named[i + 1];
            *n = 2;
            return 1;
        }
    }
    gunichar c = byte < 0x80 ? byte : g_utf8_get_char_validated(text, (gssize)MIN(length, 6));
    if (c == (gunichar)-1 || c == (gunichar)-2) {
        *n = escape(0xfffd, out);
        return 1;
    }
    *n = lull_is_harmless(c) ? (uint32_t)g_unichar_to_utf8(c, out) : escape(c, out);
    return (size_t)g_unichar_to_utf8(c, NULL);
}

void lull_json_append(GString *out, const char *text, size_t length)
{
    char escaped[LULL_JSON_ESCAPE];
    uint32_t n;

    g_string_append_c(out, '"');
    for (size_t at = 0; at < length;) {
        at += lull_json_escape(text + at, length - at, escaped, &n);
        g_string_append_len(out, escaped, n);
    }
    g_string_append_c(out, '"');
}

struct json_object *lull_json_text(const char *text)
{
    if (!text || g_utf8_validate(text, -1, NULL)) {
        return text ? json_object_new_string(text) : NULL;
    }
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return json_object_new_string(valid);
}

struct json_object *lull_json_texts(const char *const *texts)
{
    struct json_object *list = texts ? json_object_new_array() : NULL;
    for (size_t i = 0; texts && texts[i]; i++) {
        json_object_array_add(list, lull_json_text(texts[i]));
    }
    return list;
}

void lull_json_add_text(struct json_object *object, const char *key, const char *text)
{
    json_object_object_add(object, key, lull_json_text(text));
}

void lull_json_add_number(struct json_object *object, const char *key, int64_t number)
{
    json_object_object_add(object, key, json_object_new_int64(number));
}

/* json-c escapes what JSON demands; its texts are valid UTF-8, so the rest is done in its output. */
char *lull_json_format(struct json_object *object, bool pretty)
{
    const char *text = json_object_to_json_string_ext(
        object, JSON_C_TO_STRING_NOSLASHESCAPE |
                    (pretty ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED : 0));
    GString *out = g_string_sized_new(strlen(text) + 1);
    char escaped[LULL_JSON_ESCAPE];

    while (*text) {
        size_t run = 0;
        while (text[run] && (unsigned char)text[run] < 0x7f) {
            run++;
        }
        g_string_append_len(out, text, (gssize)run);
        text += run;
        if (*text) {
            uint32_t n;
            text += lull_json_escape(text, strlen(text), escaped, &n);
            g_string_append_len(out, escaped, n);
        }
    }
    json_object_put(object);
    return g_string_free(out, FALSE);
}
