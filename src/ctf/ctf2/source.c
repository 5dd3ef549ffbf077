/* SPDX-License-Identifier: MIT */
/* Checked access to the JSON values of a fragment, and messages that say where one is wrong. */
#include "ctf/ctf2/source.h"

#include <string.h>

#define PATH_LENGTH 400 /* more of a path is not printed */

static void append_path(GString *path, const struct ctf2_at *at)
{
    if (!at->parent) {
        return;
    }
    append_path(path, at->parent);
    if (path->len > PATH_LENGTH) {
        return;
    }
    if (!at->key) {
        g_string_append_printf(path, "[%zu]", at->index);
    } else {
        g_string_append_printf(path, "%s%.60s", path->len ? "." : "", at->key);
    }
}

bool ctf2_fail(const struct ctf2_at *at, enum lull_error code, const char *format, ...)
{
    struct draft_source *source = at->source;
    g_autofree char *where =
        g_strdup_printf("fragment %u at byte %zu", source->fragment, source->offset);
    GString *message = g_string_new(NULL);
    va_list arguments;

    append_path(message, at);
    g_string_append(message, message->len ? ": " : "");
    va_start(arguments, format);
    g_string_append_vprintf(message, format, arguments);
    va_end(arguments);
    /* Texts of the metadata end up in messages; what is no UTF-8 was refused before. */
    return draft_fail(source, code, where, g_string_free(message, FALSE));
}

static const char *type_name(struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_null:
        return "null";
    case json_type_boolean:
        return "a boolean";
    case json_type_double:
        return "a number that is not an integer";
    case json_type_int:
        return "an integer";
    case json_type_object:
        return "an object";
    case json_type_array:
        return "an array";
    default:
        return "a text";
    }
}

static bool expect(const struct ctf2_at *at, enum json_type type, const char *what)
{
    return json_object_is_type(at->value, type) ||
           ctf2_fail(at, LULL_ERROR_FORMAT, "it is %s, not %s", type_name(at->value), what);
}

bool ctf2_is_object(const struct ctf2_at *at)
{
    return expect(at, json_type_object, "an object");
}

bool ctf2_is_array(const struct ctf2_at *at, size_t *length)
{
    if (!expect(at, json_type_array, "an array")) {
        return false;
    }
    *length = json_object_array_length(at->value);
    return true;
}

bool ctf2_text(const struct ctf2_at *at, const char **text, size_t *length)
{
    if (!expect(at, json_type_string, "a text")) {
        return false;
    }
    *text = json_object_get_string(at->value);
    *length = (size_t)json_object_get_string_len(at->value);
    return strlen(*text) == *length ||
           ctf2_fail(at, LULL_ERROR_FORMAT, "the text has a NUL (U+0000) inside");
}

bool ctf2_integer(const struct ctf2_at *at, struct draft_integer *integer)
{
    if (!expect(at, json_type_int, "an integer")) {
        return false;
    }
    int64_t number = json_object_get_int64(at->value);
    integer->is_negative = number < 0;
    integer->bits = number < 0 ? (uint64_t)number : json_object_get_uint64(at->value);
    return !at->source->has_huge || (integer->bits != UINT64_MAX && number != INT64_MIN) ||
           ctf2_fail(at, LULL_ERROR_FORMAT, "the integer does not fit in 64 bits");
}

bool ctf2_unsigned(const struct ctf2_at *at, uint64_t *number)
{
    struct draft_integer integer;

    if (!ctf2_integer(at, &integer)) {
        return false;
    }
    *number = integer.bits;
    return !integer.is_negative || ctf2_fail(at, LULL_ERROR_FORMAT, "it is negative");
}

bool ctf2_signed(const struct ctf2_at *at, int64_t *number)
{
    struct draft_integer integer;

    if (!ctf2_integer(at, &integer)) {
        return false;
    }
    *number = (int64_t)integer.bits;
    return integer.is_negative || integer.bits <= INT64_MAX ||
           ctf2_fail(at, LULL_ERROR_UNSUPPORTED, "%" G_GUINT64_FORMAT " is more than %" PRId64,
                     integer.bits, INT64_MAX);
}

bool ctf2_property(const struct ctf2_at *at, const char *key, struct ctf2_at *out)
{
    *out = (struct ctf2_at){.source = at->source, .parent = at, .key = key};
    return json_object_object_get_ex(at->value, key, &out->value);
}

bool ctf2_required(const struct ctf2_at *at, const char *key, struct ctf2_at *out)
{
    return ctf2_property(at, key, out) ||
           ctf2_fail(at, LULL_ERROR_FORMAT, "property '%s' is missing", key);
}

struct ctf2_at ctf2_element(const struct ctf2_at *at, size_t index)
{
    return (struct ctf2_at){.source = at->source,
                            .parent = at,
                            .index = index,
                            .value = json_object_array_get_idx(at->value, index)};
}

bool ctf2_check_plain_object(const struct ctf2_at *at, const char *const *keys)
{
    if (!ctf2_is_object(at)) {
        return false;
    }
    json_object_object_foreach(at->value, key, value)
    {
        (void)value;
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0) {
            i++;
        }
        if (!keys[i]) {
            return ctf2_fail(at, LULL_ERROR_FORMAT, "there is no property '%.60s' here", key);
        }
    }
    return true;
}

bool ctf2_check_extensions(const struct ctf2_at *at)
{
    struct ctf2_at all;

    if (!ctf2_property(at, "extensions", &all)) {
        return true;
    }
    if (!ctf2_is_object(&all)) {
        return false;
    }
    json_object_object_foreach(all.value, name_space, extensions)
    {
        struct ctf2_at position = {
            .source = at->source, .parent = &all, .key = name_space, .value = extensions};
        if (!ctf2_is_object(&position)) {
            return false;
        }
        json_object_object_foreach(extensions, name, value)
        {
            (void)value;
            if (!at->parent && at->source->fragment == 1) {
                return ctf2_fail(&position, LULL_ERROR_UNSUPPORTED,
                                 "the metadata needs the extension '%.60s': Lull understands no "
                                 "extensions",
                                 name);
            }
            return ctf2_fail(&position, LULL_ERROR_FORMAT,
                             "extension '%.60s' is not declared in the preamble", name);
        }
    }
    return true;
}

bool ctf2_check_object(const struct ctf2_at *at, const char *const *keys)
{
    struct ctf2_at attributes;

    if (!ctf2_is_object(at) || !ctf2_check_extensions(at) ||
        (ctf2_property(at, "attributes", &attributes) && !ctf2_is_object(&attributes))) {
        return false;
    }
    json_object_object_foreach(at->value, key, value)
    {
        (void)value;
        if (strcmp(key, "attributes") == 0 || strcmp(key, "extensions") == 0) {
            continue;
        }
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0) {
            i++;
        }
        if (!keys[i]) {
            return ctf2_fail(at, LULL_ERROR_FORMAT, "there is no property '%.60s' here", key);
        }
    }
    return true;
}

bool ctf2_get_unsigned(const struct ctf2_at *at, const char *key, uint64_t *number)
{
    struct ctf2_at property;
    return !ctf2_property(at, key, &property) || ctf2_unsigned(&property, number);
}

bool ctf2_get_alignment(const struct ctf2_at *at, const char *key, uint32_t *alignment)
{
    struct ctf2_at property;
    uint64_t number;

    if (!ctf2_property(at, key, &property)) {
        return true;
    }
    if (!ctf2_unsigned(&property, &number)) {
        return false;
    }
    if (number == 0 || (number & (number - 1))) {
        return ctf2_fail(&property, LULL_ERROR_FORMAT,
                         "%" G_GUINT64_FORMAT " is not a power of two", number);
    }
    if (number > UINT32_C(1) << 31) {
        return ctf2_fail(&property, LULL_ERROR_UNSUPPORTED,
                         "alignment to %" G_GUINT64_FORMAT " bits is more than is understood",
                         number);
    }
    *alignment = (uint32_t)number;
    return true;
}

bool ctf2_get_choice(const struct ctf2_at *at, const char *key, const char *const *choices,
                     int *choice)
{
    struct ctf2_at property;
    const char *text;
    size_t length;

    if (!ctf2_property(at, key, &property)) {
        return true;
    }
    if (!ctf2_text(&property, &text, &length)) {
        return false;
    }
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], text) == 0) {
            *choice = i;
            return true;
        }
    }
    return ctf2_fail(&property, LULL_ERROR_FORMAT, "'%.60s' is not a value of it", text);
}
