/* SPDX-License-Identifier: MIT */
/* Metadata of the release candidates of CTF 2 (up to CTF2-SPECRC-7.0, from before the
 * specification), which says "version 2" as well: brings a fragment into the form of CTF2-SPEC-2.0.
 * Trace Compass's example traces are of this kind. A fragment that follows the specification stays
 * as it is. */
#include "ctf/ctf2/fields.h"

#include <string.h>

static void rename_property(struct json_object *object, const char *from, const char *to)
{
    struct json_object *value;

    if (!json_object_object_get_ex(object, from, &value) ||
        json_object_object_get_ex(object, to, NULL)) {
        return;
    }
    json_object_object_add(object, to, json_object_get(value));
    json_object_object_del(object, from);
}

static bool has_type(struct json_object *object, const char *type)
{
    struct json_object *value;
    return json_object_object_get_ex(object, "type", &value) &&
           json_object_is_type(value, json_type_string) &&
           strcmp(json_object_get_string(value), type) == 0;
}

/* Integers with mappings had types of their own. */
static void fix_enumeration(struct json_object *object)
{
    static const char *const types[][2] = {
        {"fixed-length-unsigned-enumeration", "fixed-length-unsigned-integer"},
        {"fixed-length-signed-enumeration", "fixed-length-signed-integer"},
        {"variable-length-unsigned-enumeration", "variable-length-unsigned-integer"},
        {"variable-length-signed-enumeration", "variable-length-signed-integer"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        if (has_type(object, types[i][0])) {
            json_object_object_add(object, "type", json_object_new_string(types[i][1]));
        }
    }
}

/* ["event-record-payload", "length"] rather than an object; the origin may be left out. */
static void fix_location(struct json_object *object, const char *key)
{
    struct json_object *list;

    if (!json_object_object_get_ex(object, key, &list) ||
        !json_object_is_type(list, json_type_array)) {
        return;
    }
    struct json_object *first = json_object_array_get_idx(list, 0);
    struct json_object *location = json_object_new_object(), *path = json_object_new_array();
    size_t length = json_object_array_length(list), i = 0;
    const char *origin =
        json_object_is_type(first, json_type_string) ? json_object_get_string(first) : "";
    if (length > 1 &&
        (g_str_has_prefix(origin, "packet-") || g_str_has_prefix(origin, "event-record-"))) {
        json_object_object_add(location, "origin", json_object_get(first));
        i = 1;
    }
    for (; i < length; i++) {
        json_object_array_add(path, json_object_get(json_object_array_get_idx(list, i)));
    }
    json_object_object_add(location, "path", path);
    json_object_object_add(object, key, location);
}

/* Clocks were referred to by name, had a UUID, and the Unix epoch as their origin. */
static void fix_clock(struct json_object *clock)
{
    struct json_object *name, *is_epoch;

    if (json_object_object_get_ex(clock, "id", NULL) ||
        !json_object_object_get_ex(clock, "name", &name)) {
        return;
    }
    json_object_object_add(clock, "id", json_object_get(name));
    json_object_object_del(clock, "uuid");
    rename_property(clock, "offset", "offset-from-origin");
    if (!json_object_object_get_ex(clock, "origin-is-unix-epoch", &is_epoch) ||
        json_object_get_boolean(is_epoch)) {
        json_object_object_add(clock, "origin", json_object_new_string("unix-epoch"));
    }
    json_object_object_del(clock, "origin-is-unix-epoch");
}

/* Values in which names are the producer's own. */
static bool is_opaque(const char *key)
{
    static const char *const keys[] = {"attributes", "extensions", "environment", "mappings",
                                       "flags"};
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (strcmp(keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* As deep as the JSON parser lets texts be. */
static void fix_classes(struct json_object *value)
{
    if (json_object_is_type(value, json_type_array)) {
        size_t length = json_object_array_length(value);
        for (size_t i = 0; i < length; i++) {
            fix_classes(json_object_array_get_idx(value, i));
        }
    }
    if (!json_object_is_type(value, json_type_object)) {
        return;
    }
    rename_property(value, "user-attributes", "attributes");
    fix_enumeration(value);
    fix_location(value, "length-field-location");
    fix_location(value, "selector-field-location");
    json_object_object_foreach(value, key, part)
    {
        if (!is_opaque(key)) {
            fix_classes(part);
        }
    }
}

void ctf2_modernise(struct json_object *fragment)
{
    if (!json_object_is_type(fragment, json_type_object)) {
        return;
    }
    fix_classes(fragment);
    if (has_type(fragment, "trace-class")) {
        json_object_object_del(fragment, "uuid"); /* the preamble has it too */
    } else if (has_type(fragment, "clock-class")) {
        fix_clock(fragment);
    } else if (has_type(fragment, "data-stream-class")) {
        rename_property(fragment, "default-clock-class-name", "default-clock-class-id");
    }
}
