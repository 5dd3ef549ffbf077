/* SPDX-License-Identifier: MIT */
/* Field classes of CTF 2 (CTF2-SPEC-2.0, section 5.3) that have no parts, from JSON. What can be
 * checked without knowing where a class is used is checked here. */
#include "ctf/ctf2/fields.h"

#include <string.h>

static const struct {
    const char *name;
    uint32_t role;
} roles[] = {
    {"packet-magic-number", LULL_ROLE_MAGIC},
    {"data-stream-class-id", LULL_ROLE_STREAM_CLASS_ID},
    {"data-stream-id", LULL_ROLE_STREAM_ID},
    {"packet-total-length", LULL_ROLE_PACKET_SIZE},
    {"packet-content-length", LULL_ROLE_CONTENT_SIZE},
    {"default-clock-timestamp", LULL_ROLE_CLOCK},
    {"packet-end-default-clock-timestamp", LULL_ROLE_CLOCK_END},
    {"discarded-event-record-counter-snapshot", LULL_ROLE_DISCARDED},
    {"packet-sequence-number", LULL_ROLE_SEQUENCE_NUMBER},
    {"event-record-class-id", LULL_ROLE_EVENT_CLASS_ID},
    {"metadata-stream-uuid", LULL_ROLE_METADATA_UUID},
};

static bool parse_role(const struct ctf2_at *at, uint32_t *role)
{
    const char *text;
    size_t length;

    if (!ctf2_text(at, &text, &length)) {
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(roles); i++) {
        *role = roles[i].role;
        if (strcmp(roles[i].name, text) == 0) {
            return true;
        }
    }
    return ctf2_fail(at, LULL_ERROR_FORMAT, "there is no role '%.60s'", text);
}

/* Roles of a blob, or of anything else. */
static bool get_roles(const struct ctf2_at *at, bool is_blob, struct draft_class *type)
{
    struct ctf2_at list;
    size_t length;
    uint32_t role;

    if (!ctf2_property(at, "roles", &list)) {
        return true;
    }
    if (!ctf2_is_array(&list, &length)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        struct ctf2_at element = ctf2_element(&list, i);
        if (!parse_role(&element, &role)) {
            return false;
        }
        if ((role == LULL_ROLE_METADATA_UUID) != is_blob) {
            return ctf2_fail(&element, LULL_ERROR_FORMAT, "a field of this class cannot have it");
        }
        type->fc.roles |= role;
    }
    return true;
}

static bool get_base(const struct ctf2_at *at, uint8_t *base)
{
    struct ctf2_at property;
    uint64_t number;

    *base = 10;
    if (!ctf2_property(at, "preferred-display-base", &property)) {
        return true;
    }
    if (!ctf2_unsigned(&property, &number)) {
        return false;
    }
    *base = (uint8_t)number;
    return number == 2 || number == 8 || number == 10 || number == 16 ||
           ctf2_fail(&property, LULL_ERROR_FORMAT,
                     "%" G_GUINT64_FORMAT " is none of 2, 8, 10 and 16", number);
}

static bool get_labels(struct draft_tree *tree, const struct ctf2_at *at, const char *key,
                       bool is_signed, const struct lull_enumeration **enumeration)
{
    struct ctf2_at property;
    return !ctf2_property(at, key, &property) ||
           ctf2_parse_labels(tree, &property, is_signed, enumeration);
}

/* What all fixed-length bit arrays have. */
static bool parse_bits(const struct ctf2_at *at, struct draft_class *type, uint64_t *size,
                       bool *is_big_endian, bool *is_bit_reversed)
{
    static const char *const byte_orders[] = {"little-endian", "big-endian", NULL};
    static const char *const bit_orders[] = {"first-to-last", "last-to-first", NULL};
    struct ctf2_at length, order;
    int byte_order = 0, bit_order = -1;

    if (!ctf2_required(at, "length", &length) || !ctf2_unsigned(&length, size) ||
        !ctf2_required(at, "byte-order", &order) ||
        !ctf2_get_choice(at, "byte-order", byte_orders, &byte_order) ||
        !ctf2_get_choice(at, "bit-order", bit_orders, &bit_order) ||
        !ctf2_get_alignment(at, "alignment", &type->fc.alignment)) {
        return false;
    }
    *is_big_endian = byte_order == 1;
    *is_bit_reversed = bit_order >= 0 && bit_order != byte_order;
    if (*size == 0) {
        return ctf2_fail(&length, LULL_ERROR_FORMAT, "it is 0 bits");
    }
    return true;
}

enum bits_variety { BIT_ARRAY, BIT_MAP, BOOLEAN, UNSIGNED, SIGNED };

static const char *const *bits_keys(enum bits_variety variety)
{
    static const char *const plain[] = {"type",      "length",    "byte-order",
                                        "bit-order", "alignment", NULL};
    static const char *const map[] = {"type",      "length", "byte-order", "bit-order",
                                      "alignment", "flags",  NULL};
    static const char *const integer[] = {"type",      "length",    "byte-order",
                                          "bit-order", "alignment", "preferred-display-base",
                                          "mappings",  "roles",     NULL};
    return variety == BIT_MAP ? map : variety >= UNSIGNED ? integer : plain;
}

static bool parse_integer(struct draft_tree *tree, const struct ctf2_at *at,
                          struct draft_class *type, enum bits_variety variety)
{
    static const enum lull_int_meaning meanings[] = {
        [BIT_ARRAY] = LULL_INT_BITS,  [BIT_MAP] = LULL_INT_FLAGS, [BOOLEAN] = LULL_INT_BOOLEAN,
        [UNSIGNED] = LULL_INT_NUMBER, [SIGNED] = LULL_INT_NUMBER,
    };
    struct lull_fc *fc = &type->fc;
    struct ctf2_at property;
    uint64_t size;

    fc->kind = LULL_FC_INT;
    fc->integer.meaning = meanings[variety];
    fc->integer.is_signed = variety == SIGNED;
    if (!ctf2_check_object(at, bits_keys(variety)) ||
        !parse_bits(at, type, &size, &fc->integer.is_big_endian, &fc->integer.is_bit_reversed) ||
        !get_base(at, &fc->integer.base) ||
        !get_labels(tree, at, variety == BIT_MAP ? "flags" : "mappings", fc->integer.is_signed,
                    &fc->integer.enumeration) ||
        !get_roles(at, false, type)) {
        return false;
    }
    if (variety == BIT_MAP && !ctf2_required(at, "flags", &property)) {
        return false;
    }
    if (variety == BIT_MAP && json_object_object_length(property.value) == 0) {
        return ctf2_fail(&property, LULL_ERROR_FORMAT, "a bit map without a flag");
    }
    if (variety == SIGNED && ctf2_property(at, "roles", &property)) {
        return ctf2_fail(&property, LULL_ERROR_FORMAT, "a signed integer has no roles");
    }
    if (size > 64) {
        return ctf2_fail(at, LULL_ERROR_UNSUPPORTED,
                         "%" G_GUINT64_FORMAT " bits: at most 64 are understood", size);
    }
    if ((fc->roles & LULL_ROLE_MAGIC) && size != 32) {
        return ctf2_fail(at, LULL_ERROR_FORMAT,
                         "a packet's magic number has 32 bits, not %" G_GUINT64_FORMAT, size);
    }
    fc->integer.size = (uint32_t)size;
    return true;
}

static bool parse_bit_array(struct draft_tree *tree, const struct ctf2_at *at,
                            struct draft_class *type)
{
    return parse_integer(tree, at, type, BIT_ARRAY);
}

static bool parse_bit_map(struct draft_tree *tree, const struct ctf2_at *at,
                          struct draft_class *type)
{
    return parse_integer(tree, at, type, BIT_MAP);
}

static bool parse_boolean(struct draft_tree *tree, const struct ctf2_at *at,
                          struct draft_class *type)
{
    return parse_integer(tree, at, type, BOOLEAN);
}

static bool parse_unsigned(struct draft_tree *tree, const struct ctf2_at *at,
                           struct draft_class *type)
{
    return parse_integer(tree, at, type, UNSIGNED);
}

static bool parse_signed(struct draft_tree *tree, const struct ctf2_at *at,
                         struct draft_class *type)
{
    return parse_integer(tree, at, type, SIGNED);
}

static bool parse_float(struct draft_tree *tree, const struct ctf2_at *at, struct draft_class *type)
{
    uint64_t size;

    (void)tree;
    type->fc.kind = LULL_FC_FLOAT;
    if (!ctf2_check_object(at, bits_keys(BIT_ARRAY)) ||
        !parse_bits(at, type, &size, &type->fc.floating.is_big_endian,
                    &type->fc.floating.is_bit_reversed)) {
        return false;
    }
    type->fc.floating.size = (uint32_t)size;
    if (size == 16 || size == 32 || size == 64) {
        return true;
    }
    if (size >= 128 && size % 32 == 0) {
        return ctf2_fail(
            at, LULL_ERROR_UNSUPPORTED,
            "floating point number of %" G_GUINT64_FORMAT " bits: at most 64 are understood", size);
    }
    return ctf2_fail(at, LULL_ERROR_FORMAT,
                     "there is no floating point number of %" G_GUINT64_FORMAT " bits", size);
}

static bool parse_varint(struct draft_tree *tree, const struct ctf2_at *at,
                         struct draft_class *type, bool is_signed)
{
    static const char *const keys[] = {"type", "preferred-display-base", "mappings", "roles", NULL};
    struct ctf2_at property;

    type->fc.kind = LULL_FC_VARINT;
    type->fc.alignment = 8;
    type->fc.integer.size = 64;
    type->fc.integer.is_signed = is_signed;
    if (!ctf2_check_object(at, keys) || !get_base(at, &type->fc.integer.base) ||
        !get_labels(tree, at, "mappings", is_signed, &type->fc.integer.enumeration) ||
        !get_roles(at, false, type)) {
        return false;
    }
    if (is_signed && ctf2_property(at, "roles", &property)) {
        return ctf2_fail(&property, LULL_ERROR_FORMAT, "a signed integer has no roles");
    }
    if (type->fc.roles & LULL_ROLE_MAGIC) {
        return ctf2_fail(at, LULL_ERROR_FORMAT,
                         "a packet's magic number has a fixed length of 32 bits");
    }
    return true;
}

static bool parse_varint_unsigned(struct draft_tree *tree, const struct ctf2_at *at,
                                  struct draft_class *type)
{
    return parse_varint(tree, at, type, false);
}

static bool parse_varint_signed(struct draft_tree *tree, const struct ctf2_at *at,
                                struct draft_class *type)
{
    return parse_varint(tree, at, type, true);
}

static bool get_encoding(const struct ctf2_at *at, enum lull_encoding *encoding)
{
    static const char *const names[] = {"utf-8",    "utf-16be", "utf-16le",
                                        "utf-32be", "utf-32le", NULL};
    static const enum lull_encoding encodings[] = {LULL_ENCODING_UTF8, LULL_ENCODING_UTF16BE,
                                                   LULL_ENCODING_UTF16LE, LULL_ENCODING_UTF32BE,
                                                   LULL_ENCODING_UTF32LE};
    int choice = 0;

    if (!ctf2_get_choice(at, "encoding", names, &choice)) {
        return false;
    }
    *encoding = encodings[choice];
    return true;
}

static bool parse_string(struct draft_tree *tree, const struct ctf2_at *at,
                         struct draft_class *type)
{
    static const char *const keys[] = {"type", "encoding", NULL};

    (void)tree;
    type->fc.kind = LULL_FC_STRING;
    type->fc.alignment = 8;
    return ctf2_check_object(at, keys) && get_encoding(at, &type->fc.string.encoding);
}

/* Names up to the parent (null) or down to a member. */
static bool parse_path(struct draft_tree *tree, const struct ctf2_at *at, struct draft_ref *ref)
{
    size_t length;

    if (!ctf2_is_array(at, &length)) {
        return false;
    }
    if (length == 0) {
        return ctf2_fail(at, LULL_ERROR_FORMAT, "the path is empty");
    }
    if (length > CTF2_MAX_LOCATION) {
        return ctf2_fail(at, LULL_ERROR_UNSUPPORTED,
                         "a path of %zu names: at most %d are understood", length,
                         CTF2_MAX_LOCATION);
    }
    ref->names = lull_arena_alloc_n(tree->scratch, length, sizeof *ref->names);
    ref->n_names = (uint32_t)length;
    for (size_t i = 0; i < length; i++) {
        struct ctf2_at element = ctf2_element(at, i);
        if (!element.value && i + 1 == length) {
            return ctf2_fail(&element, LULL_ERROR_FORMAT, "a path does not end with null");
        }
        if (element.value && !ctf2_name(tree, &element, &ref->names[i])) {
            return false;
        }
    }
    return true;
}

bool ctf2_get_location(struct draft_tree *tree, const struct ctf2_at *at, const char *key,
                       struct draft_class *type)
{
    static const char *const keys[] = {"origin", "path", NULL};
    static const char *const origins[] = {
        [LULL_SCOPE_PACKET_HEADER] = "packet-header",
        [LULL_SCOPE_PACKET_CONTEXT] = "packet-context",
        [LULL_SCOPE_EVENT_HEADER] = "event-record-header",
        [LULL_SCOPE_STREAM_EVENT_CONTEXT] = "event-record-common-context",
        [LULL_SCOPE_EVENT_CONTEXT] = "event-record-specific-context",
        [LULL_SCOPE_EVENT_PAYLOAD] = "event-record-payload",
        [LULL_SCOPE_COUNT] = NULL,
    };
    struct draft_ref *ref = lull_arena_alloc(tree->scratch, sizeof *ref);
    struct ctf2_at position, path;

    if (!ctf2_required(at, key, &position)) {
        return false;
    }
    ref->scope = -1;
    type->ref = ref;
    type->has_refs = true;
    return ctf2_check_plain_object(&position, keys) &&
           ctf2_get_choice(&position, "origin", origins, &ref->scope) &&
           ctf2_required(&position, "path", &path) && parse_path(tree, &path, ref);
}

static const struct lull_fc *new_byte(struct draft_tree *tree, enum lull_encoding encoding)
{
    struct lull_fc *byte = lull_arena_alloc(tree->arena, sizeof *byte);
    byte->kind = LULL_FC_INT;
    byte->alignment = 8;
    byte->integer.size = 8;
    byte->integer.base = 10;
    byte->integer.encoding = encoding;
    return byte;
}

static bool parse_bytes(struct draft_tree *tree, const struct ctf2_at *at, struct draft_class *type,
                        bool is_static)
{
    struct ctf2_at length;

    type->fc.kind = is_static ? LULL_FC_ARRAY : LULL_FC_SEQUENCE;
    type->fc.alignment = 8;
    if (!is_static) {
        return ctf2_get_location(tree, at, "length-field-location", type);
    }
    return ctf2_required(at, "length", &length) && ctf2_unsigned(&length, &type->fc.array.length);
}

static bool parse_text(struct draft_tree *tree, const struct ctf2_at *at, struct draft_class *type,
                       bool is_static)
{
    const char *const keys[] = {"type", "encoding", is_static ? "length" : "length-field-location",
                                NULL};
    enum lull_encoding encoding;

    if (!ctf2_check_object(at, keys) || !parse_bytes(tree, at, type, is_static) ||
        !get_encoding(at, &encoding)) {
        return false;
    }
    if (is_static) {
        type->fc.array.element = new_byte(tree, encoding);
        type->fc.array.form = LULL_ARRAY_STRING;
    } else {
        type->fc.sequence.element = new_byte(tree, encoding);
        type->fc.sequence.form = LULL_ARRAY_STRING;
    }
    return true;
}

static bool parse_static_string(struct draft_tree *tree, const struct ctf2_at *at,
                                struct draft_class *type)
{
    return parse_text(tree, at, type, true);
}

static bool parse_dynamic_string(struct draft_tree *tree, const struct ctf2_at *at,
                                 struct draft_class *type)
{
    return parse_text(tree, at, type, false);
}

static bool parse_static_blob(struct draft_tree *tree, const struct ctf2_at *at,
                              struct draft_class *type)
{
    static const char *const keys[] = {"type", "length", "media-type", "roles", NULL};

    type->fc.array.media_type = "application/octet-stream";
    if (!ctf2_check_object(at, keys) || !parse_bytes(tree, at, type, true) ||
        !ctf2_get_copy(tree, at, "media-type", &type->fc.array.media_type) ||
        !get_roles(at, true, type)) {
        return false;
    }
    type->fc.array.element = new_byte(tree, LULL_ENCODING_NONE);
    type->fc.array.form = LULL_ARRAY_BLOB;
    if ((type->fc.roles & LULL_ROLE_METADATA_UUID) && type->fc.array.length != 16) {
        return ctf2_fail(at, LULL_ERROR_FORMAT, "a UUID has 16 bytes, not %" G_GUINT64_FORMAT,
                         type->fc.array.length);
    }
    return true;
}

static bool parse_dynamic_blob(struct draft_tree *tree, const struct ctf2_at *at,
                               struct draft_class *type)
{
    static const char *const keys[] = {"type", "length-field-location", "media-type", NULL};

    type->fc.sequence.media_type = "application/octet-stream";
    if (!ctf2_check_object(at, keys) || !parse_bytes(tree, at, type, false) ||
        !ctf2_get_copy(tree, at, "media-type", &type->fc.sequence.media_type)) {
        return false;
    }
    type->fc.sequence.element = new_byte(tree, LULL_ENCODING_NONE);
    type->fc.sequence.form = LULL_ARRAY_BLOB;
    return true;
}

const struct ctf2_kind ctf2_scalars[] = {
    {"fixed-length-bit-array", parse_bit_array},
    {"fixed-length-bit-map", parse_bit_map},
    {"fixed-length-boolean", parse_boolean},
    {"fixed-length-unsigned-integer", parse_unsigned},
    {"fixed-length-signed-integer", parse_signed},
    {"fixed-length-floating-point-number", parse_float},
    {"variable-length-unsigned-integer", parse_varint_unsigned},
    {"variable-length-signed-integer", parse_varint_signed},
    {"null-terminated-string", parse_string},
    {"static-length-string", parse_static_string},
    {"dynamic-length-string", parse_dynamic_string},
    {"static-length-blob", parse_static_blob},
    {"dynamic-length-blob", parse_dynamic_blob},
    {NULL, NULL},
};
