/* SPDX-License-Identifier: MIT */
/* Field classes as JSON: one function a kind of class. Names within a structure are made unique,
 * because CTF 2 demands it and CTF 1.8 does not. */
#include "ctf/writer/json.h"

#include <lull/error.h>

#include <string.h>

#include "ctf/plan/plan.h"
#include "ctf/schema/text.h"

/* Classes may be shared in a schema but not in JSON: more than this is no honest trace. */
#define MAX_CLASSES 4000000u
/* Ranges of one variant that overlap are taken apart one by one. */
#define MAX_OVERLAPPING 4096u

struct lull_json_classes {
    const struct lull_schema *schema;
    const struct lull_stream_decl *stream;
    const struct lull_event_decl *event;
    GHashTable *names; /* structure class → GPtrArray of its members' names as written */
    uint32_t budget;
};

struct lull_json_classes *lull_json_classes_new(const struct lull_schema *schema)
{
    struct lull_json_classes *c = g_new0(struct lull_json_classes, 1);
    c->schema = schema;
    c->budget = MAX_CLASSES;
    c->names = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
    return c;
}

void lull_json_classes_free(struct lull_json_classes *c)
{
    if (!c) {
        return;
    }
    g_hash_table_unref(c->names);
    g_free(c);
}

void lull_json_classes_enter(struct lull_json_classes *c, const struct lull_stream_decl *stream,
                             const struct lull_event_decl *event)
{
    c->stream = stream;
    c->event = event;
}

static struct json_object *object_of_type(const char *type)
{
    struct json_object *object = json_object_new_object();
    json_object_object_add(object, "type", json_object_new_string(type));
    return object;
}

struct json_object *lull_json_unsigned(unsigned bits, const char *role)
{
    struct json_object *object = object_of_type("fixed-length-unsigned-integer");
    json_object_object_add(object, "length", json_object_new_int((int)bits));
    json_object_object_add(object, "byte-order", json_object_new_string("little-endian"));
    json_object_object_add(object, "alignment", json_object_new_int(8));
    if (role) {
        struct json_object *roles = json_object_new_array();
        json_object_array_add(roles, json_object_new_string(role));
        json_object_object_add(object, "roles", roles);
    }
    return object;
}

struct json_object *lull_json_structure(void)
{
    struct json_object *object = object_of_type("structure");
    json_object_object_add(object, "member-classes", json_object_new_array());
    return object;
}

void lull_json_add_member(struct json_object *structure, const char *name,
                          struct json_object *field_class)
{
    struct json_object *member = json_object_new_object();
    json_object_object_add(member, "name", lull_json_text(name));
    json_object_object_add(member, "field-class", field_class);
    json_object_array_add(json_object_object_get(structure, "member-classes"), member);
}

/* ---- names and places ---- */

static const GPtrArray *member_names(struct lull_json_classes *c, const struct lull_fc *fc)
{
    GPtrArray *names = g_hash_table_lookup(c->names, fc);
    if (names) {
        return names;
    }
    names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (uint32_t i = 0; i < fc->structure.n_members; i++) {
        char *name = g_utf8_make_valid(fc->structure.members[i].name, -1);
        if (g_hash_table_contains(seen, name)) {
            char *other = g_strdup_printf("%s#%u", name, i);
            g_free(name);
            name = other;
        }
        g_hash_table_add(seen, name);
        g_ptr_array_add(names, name);
    }
    g_hash_table_insert(c->names, (gpointer)fc, names);
    return names;
}

/* Where the fields of a scope are in what is written. */
static const struct lull_fc *scope_root(const struct lull_json_classes *c, enum lull_scope scope,
                                        const char **origin, struct json_object *path)
{
    *origin = NULL;
    switch (scope) {
    case LULL_SCOPE_PACKET_HEADER:
        *origin = "packet-context";
        json_object_array_add(path, json_object_new_string("input"));
        json_object_array_add(path, json_object_new_string("header"));
        return c->schema->packet_header;
    case LULL_SCOPE_PACKET_CONTEXT:
        *origin = "packet-context";
        json_object_array_add(path, json_object_new_string("input"));
        json_object_array_add(path, json_object_new_string("context"));
        return c->stream->packet_context;
    case LULL_SCOPE_EVENT_HEADER:
        *origin = "event-record-header";
        json_object_array_add(path, json_object_new_string("input"));
        return c->stream->event_header;
    case LULL_SCOPE_STREAM_EVENT_CONTEXT:
        *origin = "event-record-common-context";
        return c->stream->event_context;
    case LULL_SCOPE_EVENT_CONTEXT:
        *origin = "event-record-specific-context";
        return c->event ? c->event->context : NULL;
    case LULL_SCOPE_EVENT_PAYLOAD:
        *origin = "event-record-payload";
        return c->event ? c->event->payload : NULL;
    case LULL_SCOPE_COUNT:
        break;
    }
    return NULL;
}

/* The class inside arrays, sequences and optionals, which take no index of a path. */
static const struct lull_fc *behind(const struct lull_fc *fc)
{
    for (unsigned depth = 0; fc && depth < LULL_FC_DEPTH; depth++) {
        if (fc->kind == LULL_FC_ARRAY) {
            fc = fc->array.element;
        } else if (fc->kind == LULL_FC_SEQUENCE) {
            fc = fc->sequence.element;
        } else if (fc->kind == LULL_FC_OPTIONAL) {
            fc = fc->optional.content;
        } else {
            break;
        }
    }
    return fc;
}

static struct json_object *location(struct lull_json_classes *c, const struct lull_fc_ref *ref)
{
    struct json_object *object = json_object_new_object(), *path = json_object_new_array();
    const char *origin;
    const struct lull_fc *fc = scope_root(c, ref->scope, &origin, path);
    for (uint32_t i = 0; fc && i < ref->depth; i++) {
        uint32_t index = ref->path[i];
        fc = behind(fc);
        if (fc && fc->kind == LULL_FC_STRUCT && index < fc->structure.n_members) {
            const char *name = member_names(c, fc)->pdata[index];
            json_object_array_add(path, json_object_new_string(name));
            fc = fc->structure.members[index].fc;
        } else if (fc && fc->kind == LULL_FC_VARIANT && index < fc->variant.n_options) {
            fc = fc->variant.options[index].fc;
        }
    }
    json_object_object_add(object, "origin", json_object_new_string(origin));
    json_object_object_add(object, "path", path);
    return object;
}

/* ---- numbers ---- */

static struct json_object *bound(uint64_t value, bool is_signed)
{
    return is_signed ? json_object_new_int64((int64_t)value) : json_object_new_uint64(value);
}

static void add_range(struct json_object *ranges, uint64_t lower, uint64_t upper, bool is_signed)
{
    struct json_object *range = json_object_new_array();
    json_object_array_add(range, bound(lower, is_signed));
    json_object_array_add(range, bound(upper, is_signed));
    json_object_array_add(ranges, range);
}

static void add_labels(struct json_object *object, const char *key, const struct lull_fc *fc)
{
    const struct lull_enumeration *enumeration = fc->integer.enumeration;
    bool is_flags = fc->integer.meaning == LULL_INT_FLAGS;
    if (!enumeration) {
        return;
    }
    struct json_object *labels = json_object_new_object();
    for (uint32_t i = 0; i < enumeration->n_ranges; i++) {
        const struct lull_enum_range *range = &enumeration->ranges[i];
        g_autofree char *label = g_utf8_make_valid(range->label, -1);
        struct json_object *ranges = json_object_object_get(labels, label);
        if (!ranges) {
            ranges = json_object_new_array();
            json_object_object_add(labels, label, ranges);
        }
        add_range(ranges, range->lower, range->upper, fc->integer.is_signed && !is_flags);
    }
    json_object_object_add(object, key, labels);
}

static void add_bits(struct json_object *object, const struct lull_fc *fc, uint32_t size,
                     bool is_big_endian, bool is_bit_reversed)
{
    json_object_object_add(object, "length", json_object_new_int64(size));
    json_object_object_add(object, "byte-order",
                           json_object_new_string(is_big_endian ? "big-endian" : "little-endian"));
    if (is_bit_reversed) {
        json_object_object_add(
            object, "bit-order",
            json_object_new_string(is_big_endian ? "first-to-last" : "last-to-first"));
    }
    if (fc->alignment > 1) {
        json_object_object_add(object, "alignment", json_object_new_int64(fc->alignment));
    }
}

static struct json_object *integer_class(const struct lull_fc *fc)
{
    static const char *const types[] = {
        [LULL_INT_BOOLEAN] = "fixed-length-boolean",
        [LULL_INT_BITS] = "fixed-length-bit-array",
        [LULL_INT_FLAGS] = "fixed-length-bit-map",
    };
    bool is_number = fc->integer.meaning == LULL_INT_NUMBER;
    struct json_object *object =
        object_of_type(!is_number              ? types[fc->integer.meaning]
                       : fc->integer.is_signed ? "fixed-length-signed-integer"
                                               : "fixed-length-unsigned-integer");
    add_bits(object, fc, fc->integer.size, fc->integer.is_big_endian, fc->integer.is_bit_reversed);
    if (fc->integer.meaning == LULL_INT_FLAGS) {
        add_labels(object, "flags", fc);
    }
    if (is_number) {
        add_labels(object, "mappings", fc);
    }
    if (is_number && fc->integer.base != 10) {
        json_object_object_add(object, "preferred-display-base",
                               json_object_new_int(fc->integer.base));
    }
    return object;
}

static struct json_object *varint_class(const struct lull_fc *fc)
{
    struct json_object *object =
        object_of_type(fc->integer.is_signed ? "variable-length-signed-integer"
                                             : "variable-length-unsigned-integer");
    add_labels(object, "mappings", fc);
    if (fc->integer.base != 10) {
        json_object_object_add(object, "preferred-display-base",
                               json_object_new_int(fc->integer.base));
    }
    return object;
}

static struct json_object *real_class(const struct lull_fc *fc)
{
    struct json_object *object = object_of_type("fixed-length-floating-point-number");
    add_bits(object, fc, fc->floating.size, fc->floating.is_big_endian,
             fc->floating.is_bit_reversed);
    return object;
}

/* ---- texts and arrays ---- */

static void add_encoding(struct json_object *object, enum lull_encoding encoding)
{
    static const char *const names[] = {
        [LULL_ENCODING_UTF16BE] = "utf-16be",
        [LULL_ENCODING_UTF16LE] = "utf-16le",
        [LULL_ENCODING_UTF32BE] = "utf-32be",
        [LULL_ENCODING_UTF32LE] = "utf-32le",
    };
    /* UTF-8 is what CTF 2 takes without one, and ASCII is part of it. */
    if (encoding < G_N_ELEMENTS(names) && names[encoding]) {
        json_object_object_add(object, "encoding", json_object_new_string(names[encoding]));
    }
}

static struct json_object *any_class(struct lull_json_classes *c, const struct lull_fc *fc,
                                     unsigned depth, GError **error);

/* An array or sequence; what gives its length is added by the caller. */
static struct json_object *elements_class(struct lull_json_classes *c, const struct lull_fc *fc,
                                          const struct lull_fc *element, const char *media_type,
                                          unsigned depth, GError **error)
{
    bool is_static = fc->kind == LULL_FC_ARRAY;
    struct json_object *object;
    enum lull_bytes_form bytes = lull_fc_form(fc);
    if (bytes == LULL_BYTES_BLOB) {
        object = object_of_type(is_static ? "static-length-blob" : "dynamic-length-blob");
        if (media_type) {
            json_object_object_add(object, "media-type", lull_json_text(media_type));
        }
        return object;
    }
    if (bytes == LULL_BYTES_TEXT) {
        object = object_of_type(is_static ? "static-length-string" : "dynamic-length-string");
        add_encoding(object, element->integer.encoding);
        return object;
    }
    struct json_object *inner = any_class(c, element, depth, error);
    if (!inner) {
        return NULL;
    }
    object = object_of_type(is_static ? "static-length-array" : "dynamic-length-array");
    json_object_object_add(object, "element-field-class", inner);
    if (fc->alignment > element->alignment) {
        json_object_object_add(object, "minimum-alignment", json_object_new_int64(fc->alignment));
    }
    return object;
}

static struct json_object *array_class(struct lull_json_classes *c, const struct lull_fc *fc,
                                       unsigned depth, GError **error)
{
    struct json_object *object =
        elements_class(c, fc, fc->array.element, fc->array.media_type, depth, error);
    if (object) {
        json_object_object_add(object, "length", json_object_new_uint64(fc->array.length));
    }
    return object;
}

static struct json_object *sequence_class(struct lull_json_classes *c, const struct lull_fc *fc,
                                          unsigned depth, GError **error)
{
    struct json_object *object =
        elements_class(c, fc, fc->sequence.element, fc->sequence.media_type, depth, error);
    if (object) {
        json_object_object_add(object, "length-field-location", location(c, &fc->sequence.length));
    }
    return object;
}

/* ---- structures, optionals, variants ---- */

static struct json_object *structure_class(struct lull_json_classes *c, const struct lull_fc *fc,
                                           unsigned depth, GError **error)
{
    struct json_object *object = lull_json_structure();
    const GPtrArray *names = member_names(c, fc);
    uint32_t alignment = 1;
    for (uint32_t i = 0; i < fc->structure.n_members; i++) {
        const struct lull_fc *member = fc->structure.members[i].fc;
        struct json_object *inner = any_class(c, member, depth, error);
        if (!inner) {
            json_object_put(object);
            return NULL;
        }
        lull_json_add_member(object, names->pdata[i], inner);
        alignment = MAX(alignment, member->alignment);
    }
    if (fc->alignment > alignment) {
        json_object_object_add(object, "minimum-alignment", json_object_new_int64(fc->alignment));
    }
    return object;
}

static struct json_object *optional_class(struct lull_json_classes *c, const struct lull_fc *fc,
                                          unsigned depth, GError **error)
{
    struct json_object *inner = any_class(c, fc->optional.content, depth, error);
    if (!inner) {
        return NULL;
    }
    struct json_object *object = object_of_type("optional");
    json_object_object_add(object, "selector-field-location", location(c, &fc->optional.selector));
    if (fc->optional.ranges) {
        const struct lull_fc *selector = fc->optional.selector.target;
        struct json_object *ranges = json_object_new_array();
        for (uint32_t i = 0; i < fc->optional.n_ranges; i++) {
            add_range(ranges, fc->optional.ranges[i].lower, fc->optional.ranges[i].upper,
                      selector->integer.is_signed);
        }
        json_object_object_add(object, "selector-field-ranges", ranges);
    }
    json_object_object_add(object, "field-class", inner);
    return object;
}

/* Ranges whose bounds are shifted so that they compare as unsigned numbers. */
struct tag_range {
    uint64_t lower, upper;
    uint32_t option, order;
};

static int compare_ranges(gconstpointer a, gconstpointer b)
{
    const struct tag_range *x = a, *y = b;
    return x->lower != y->lower ? (x->lower < y->lower ? -1 : 1)
                                : (x->order > y->order) - (x->order < y->order);
}

static bool overlaps(const GArray *ranges)
{
    for (guint i = 1; i < ranges->len; i++) {
        if (g_array_index(ranges, struct tag_range, i).lower <=
            g_array_index(ranges, struct tag_range, i - 1).upper) {
            return true;
        }
    }
    return false;
}

/* Adds to `taken`, sorted and disjoint, what of `range` is not in it yet. */
static void take_rest(GArray *taken, struct tag_range range)
{
    guint i = 0;
    while (i < taken->len && g_array_index(taken, struct tag_range, i).upper < range.lower) {
        i++;
    }
    for (;;) {
        bool is_last = i >= taken->len;
        struct tag_range next = {.lower = 0};
        if (!is_last) {
            next = g_array_index(taken, struct tag_range, i);
        }
        if (is_last || next.lower > range.upper) {
            g_array_insert_val(taken, i, range);
            return;
        }
        if (next.lower > range.lower) {
            struct tag_range piece = range;
            piece.upper = next.lower - 1;
            g_array_insert_val(taken, i, piece);
            i++;
        }
        if (next.upper >= range.upper) {
            return;
        }
        range.lower = next.upper + 1;
        i++;
    }
}

/* The values of the tag by option, without overlaps: the first range that covers a value counts in
 * a schema, but CTF 2 wants them disjoint. */
static GArray *disjoint_ranges(const struct lull_fc *fc, GError **error)
{
    uint64_t shift = fc->variant.tag.target->integer.is_signed ? UINT64_C(1) << 63 : 0;
    GArray *ranges = g_array_new(FALSE, FALSE, sizeof(struct tag_range));
    for (uint32_t i = 0; i < fc->variant.n_ranges; i++) {
        const struct lull_option_range *r = &fc->variant.ranges[i];
        struct tag_range range = {r->lower ^ shift, r->upper ^ shift, r->option, i};
        if (range.lower <= range.upper) {
            g_array_append_val(ranges, range);
        }
    }
    g_autoptr(GArray) sorted = g_array_copy(ranges);
    g_array_sort(sorted, compare_ranges);
    if (!overlaps(sorted)) {
        return ranges;
    }
    if (ranges->len > MAX_OVERLAPPING) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                    "a variant has %u options or ranges that overlap, more than %u", ranges->len,
                    MAX_OVERLAPPING);
        g_array_unref(ranges);
        return NULL;
    }
    GArray *taken = g_array_new(FALSE, FALSE, sizeof(struct tag_range));
    for (guint i = 0; i < ranges->len; i++) {
        take_rest(taken, g_array_index(ranges, struct tag_range, i));
    }
    g_array_unref(ranges);
    return taken;
}

/* The lists of ranges by option; NULL where no value selects it. */
static void ranges_of_options(const struct lull_fc *fc, const GArray *ranges,
                              struct json_object **lists)
{
    bool is_signed = fc->variant.tag.target->integer.is_signed;
    uint64_t shift = is_signed ? UINT64_C(1) << 63 : 0;
    for (guint i = 0; i < ranges->len; i++) {
        const struct tag_range *range = &g_array_index(ranges, struct tag_range, i);
        if (range->option >= fc->variant.n_options) {
            continue;
        }
        if (!lists[range->option]) {
            lists[range->option] = json_object_new_array();
        }
        add_range(lists[range->option], range->lower ^ shift, range->upper ^ shift, is_signed);
    }
}

/* For a variant that nothing selects, so that no event can hold it: CTF 2 wants an option anyway.
 */
static struct json_object *unreachable_option(void)
{
    struct json_object *option = json_object_new_object(), *ranges = json_object_new_array();
    add_range(ranges, 0, 0, false);
    json_object_object_add(option, "selector-field-ranges", ranges);
    json_object_object_add(option, "field-class", lull_json_structure());
    return option;
}

static struct json_object *variant_class(struct lull_json_classes *c, const struct lull_fc *fc,
                                         unsigned depth, GError **error)
{
    g_autoptr(GArray) ranges = disjoint_ranges(fc, error);
    if (!ranges) {
        return NULL;
    }
    g_autofree struct json_object **lists =
        g_new0(struct json_object *, MAX(fc->variant.n_options, 1));
    ranges_of_options(fc, ranges, lists);
    struct json_object *object = object_of_type("variant"), *options = json_object_new_array();
    json_object_object_add(object, "selector-field-location", location(c, &fc->variant.tag));
    json_object_object_add(object, "options", options);
    bool is_ok = true;
    for (uint32_t i = 0; i < fc->variant.n_options; i++) {
        const struct lull_member *member = &fc->variant.options[i];
        if (!lists[i]) {
            continue; /* CTF 2 has no options that nothing selects */
        }
        struct json_object *inner = is_ok ? any_class(c, member->fc, depth, error) : NULL;
        if (!inner) {
            is_ok = false;
            json_object_put(lists[i]);
            continue;
        }
        struct json_object *option = json_object_new_object();
        if (member->name[0] != '\0') {
            json_object_object_add(option, "name", lull_json_text(member->name));
        }
        json_object_object_add(option, "selector-field-ranges", lists[i]);
        json_object_object_add(option, "field-class", inner);
        json_object_array_add(options, option);
    }
    if (!is_ok) {
        json_object_put(object);
        return NULL;
    }
    if (json_object_array_length(options) == 0) {
        json_object_array_add(options, unreachable_option());
    }
    return object;
}

static struct json_object *any_class(struct lull_json_classes *c, const struct lull_fc *fc,
                                     unsigned depth, GError **error)
{
    if (depth >= LULL_FC_DEPTH || c->budget == 0) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                            "its field classes are nested too deep or too many");
        return NULL;
    }
    c->budget--;
    switch (fc->kind) {
    case LULL_FC_INT:
        return integer_class(fc);
    case LULL_FC_VARINT:
        return varint_class(fc);
    case LULL_FC_FLOAT:
        return real_class(fc);
    case LULL_FC_STRING: {
        struct json_object *object = object_of_type("null-terminated-string");
        add_encoding(object, fc->string.encoding);
        return object;
    }
    case LULL_FC_STRUCT:
        return structure_class(c, fc, depth + 1, error);
    case LULL_FC_ARRAY:
        return array_class(c, fc, depth + 1, error);
    case LULL_FC_SEQUENCE:
        return sequence_class(c, fc, depth + 1, error);
    case LULL_FC_OPTIONAL:
        return optional_class(c, fc, depth + 1, error);
    case LULL_FC_VARIANT:
        return variant_class(c, fc, depth + 1, error);
    }
    return NULL;
}

struct json_object *lull_json_class(struct lull_json_classes *c, const struct lull_fc *fc,
                                    GError **error)
{
    return any_class(c, fc, 0, error);
}
