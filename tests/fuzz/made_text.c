/* SPDX-License-Identifier: MIT */
/* The metadata of a schema that was made up: TSDL of CTF 1.8 (specification 1.8.3, appendix C), or
 * the JSON text sequence of CTF 2 (CTF2-SPEC-2.0). */
#include "fuzz/made.h"

#include <string.h>

#define ADD(...) g_string_append_printf(text, __VA_ARGS__)

/* The lowest value of a tag that selects an option; there are two more. */
static int first_of(const struct made_field *tag, unsigned option)
{
    return (int)option * 3 - (tag->is_signed ? 4 : 0);
}

struct mapping {
    const char *label;
    int lower, upper;
};

/* The labels of a field, at most MADE_OPTIONS; see made_label(). */
static unsigned mappings_of(const struct made_field *field, struct mapping *mappings)
{
    static const struct mapping negative = {"negative", -4, -1}, low = {"low", 0, 3},
                                middle = {"middle", 4, 9};
    static const char *const options[] = {"o0", "o1", "o2"};
    if (field->use == MADE_TAG) {
        for (unsigned i = 0; i < MADE_OPTIONS; i++) {
            int first = first_of(field, i);
            mappings[i] = (struct mapping){options[i], first, first + 2};
        }
        return MADE_OPTIONS;
    }
    mappings[0] = field->is_signed ? negative : low;
    mappings[1] = field->is_signed ? low : middle;
    return 2;
}

/* ---- CTF 1.8 ---- */

static void tsdl_type(GString *text, const struct made_schema *s, const struct made_field *field);

static const char *tsdl_order(const struct made_field *field)
{
    return field->is_big_endian ? "be" : "le";
}

static void tsdl_integer(GString *text, const struct made_field *field)
{
    struct mapping mappings[MADE_OPTIONS];
    if (field->is_mapped) {
        ADD("enum : ");
    }
    ADD("integer { size = %u; align = %u; signed = %s; byte_order = %s; base = %u;%s }",
        field->size, field->align, field->is_signed ? "true" : "false", tsdl_order(field),
        field->base,
        field->use == MADE_TIME || field->use == MADE_START || field->use == MADE_END
            ? " map = clock.c.value;"
            : "");
    if (field->is_mapped) {
        unsigned n = mappings_of(field, mappings);
        for (unsigned i = 0; i < n; i++) {
            ADD("%s \"%s\" = %d ... %d", i == 0 ? " {" : ",", mappings[i].label, mappings[i].lower,
                mappings[i].upper);
        }
        ADD(" }");
    }
}

static void tsdl_reference(GString *text, const struct made_field *field)
{
    static const char *const scopes[] = {"trace.packet.header", "stream.packet.context",
                                         "stream.event.header", "stream.event.context",
                                         "event.context",       "event.fields"};
    const struct made_field *ref = field->ref;
    if (!field->is_relative && !ref->around->around) {
        ADD("%s.", scopes[ref->scope]);
    }
    ADD("%s", ref->name);
}

static const char *tsdl_name(const struct made_field *field)
{
    static const char *const names[] = {[MADE_MAGIC] = "magic",
                                        [MADE_CONTENT_SIZE] = "content_size",
                                        [MADE_PACKET_SIZE] = "packet_size",
                                        [MADE_START] = "timestamp_begin",
                                        [MADE_END] = "timestamp_end",
                                        [MADE_ID] = "id",
                                        [MADE_TIME] = "timestamp"};
    return field->use >= MADE_MAGIC ? names[field->use] : field->name;
}

/* "TYPE NAME[LENGTH]…;", lengths from the outer array to the inner. */
static void tsdl_field(GString *text, const struct made_schema *s, const struct made_field *field)
{
    const struct made_field *type = field;
    while (type->kind == MADE_ARRAY) {
        type = type->parts->pdata[0];
    }
    tsdl_type(text, s, type);
    ADD(" %s", tsdl_name(field));
    for (const struct made_field *at = field; at->kind == MADE_ARRAY || at->kind == MADE_BYTES;
         at = at->parts->pdata[0]) {
        ADD("[");
        if (at->ref) {
            tsdl_reference(text, at);
        } else {
            ADD("%u", at->length);
        }
        ADD("]");
        if (at->kind == MADE_BYTES) {
            break;
        }
    }
    ADD("; ");
}

static void tsdl_parts(GString *text, const struct made_schema *s, const struct made_field *field)
{
    ADD(" { ");
    for (guint i = 0; i < field->parts->len; i++) {
        tsdl_field(text, s, field->parts->pdata[i]);
    }
    ADD("}");
}

static void tsdl_type(GString *text, const struct made_schema *s, const struct made_field *field)
{
    switch (field->kind) {
    case MADE_INT:
        tsdl_integer(text, field);
        break;
    case MADE_REAL:
        ADD("floating_point { exp_dig = %u; mant_dig = %u; align = %u; byte_order = %s; }",
            field->size == 32 ? 8 : 11, field->size == 32 ? 24 : 53, field->align,
            tsdl_order(field));
        break;
    case MADE_STRING:
        ADD("string { encoding = UTF8; }");
        break;
    case MADE_BYTES:
        ADD("integer { size = 8; align = 8; signed = false; encoding = UTF8; }");
        break;
    case MADE_STRUCT:
        ADD("struct");
        tsdl_parts(text, s, field);
        if (field->align > 1) {
            ADD(" align(%u)", field->align);
        }
        break;
    case MADE_VARIANT:
        ADD("variant <");
        tsdl_reference(text, field);
        ADD(">");
        tsdl_parts(text, s, field);
        break;
    case MADE_ARRAY:
    case MADE_VARINT:
    case MADE_OPTIONAL:
        g_assert_not_reached();
    }
}

static void tsdl_scope(GString *text, const struct made_schema *s, const char *name,
                       const struct made_field *root)
{
    if (root) {
        ADD("  %s := ", name);
        tsdl_type(text, s, root);
        ADD(";\n");
    }
}

static void tsdl_text(GString *text, const struct made_schema *s)
{
    ADD("/* CTF 1.8 */\ntrace {\n  major = 1; minor = 8; byte_order = %s;\n",
        s->is_big_endian ? "be" : "le");
    tsdl_scope(text, s, "packet.header", s->scopes[MADE_PACKET_HEADER]);
    ADD("};\nclock { name = c; freq = 1000000000; };\nstream {\n");
    tsdl_scope(text, s, "packet.context", s->scopes[MADE_PACKET_CONTEXT]);
    tsdl_scope(text, s, "event.header", s->scopes[MADE_EVENT_HEADER]);
    tsdl_scope(text, s, "event.context", s->scopes[MADE_COMMON_CONTEXT]);
    ADD("};\n");
    for (unsigned i = 0; i < s->n_events; i++) {
        ADD("event {\n  name = \"e%u\"; id = %u;\n", i, i);
        tsdl_scope(text, s, "context", s->contexts[i]);
        tsdl_scope(text, s, "fields", s->payloads[i]);
        ADD("};\n");
    }
}

/* ---- CTF 2 ---- */

static void json_class(GString *text, const struct made_schema *s, const struct made_field *field);

/* The names of structures' members on the way to the field; parts of others have none. */
static void json_names(GString *text, const struct made_field *field)
{
    if (!field->around) {
        return;
    }
    json_names(text, field->around);
    if (field->around->kind == MADE_STRUCT) {
        ADD("%s\"%s\"", text->str[text->len - 1] == '[' ? "" : ",", field->name);
    }
}

static void json_location(GString *text, const struct made_field *field)
{
    static const char *const origins[] = {"packet-header",
                                          "packet-context",
                                          "event-record-header",
                                          "event-record-common-context",
                                          "event-record-specific-context",
                                          "event-record-payload"};
    const struct made_field *ref = field->ref;
    const struct made_field *structure = field->around;
    while (structure->kind != MADE_STRUCT) {
        structure = structure->around;
    }
    if (field->is_relative && structure == ref->around) {
        ADD("{\"path\":[\"%s\"]}", ref->name);
        return;
    }
    ADD("{\"origin\":\"%s\",\"path\":[", origins[ref->scope]);
    json_names(text, ref);
    ADD("]}");
}

static void json_number(GString *text, const struct made_field *field)
{
    ADD(",\"length\":%u,\"byte-order\":\"%s-endian\",\"alignment\":%u", field->size,
        field->is_big_endian ? "big" : "little", field->align);
    /* Each byte order has a bit order of its own, unless this says otherwise. */
    if (field->is_reversed) {
        ADD(",\"bit-order\":\"%s\"", field->is_big_endian ? "first-to-last" : "last-to-first");
    }
}

static void json_integer(GString *text, const struct made_field *field)
{
    static const char *const roles[] = {
        [MADE_MAGIC] = "packet-magic-number",
        [MADE_CONTENT_SIZE] = "packet-content-length",
        [MADE_PACKET_SIZE] = "packet-total-length",
        [MADE_START] = "default-clock-timestamp",
        [MADE_END] = "packet-end-default-clock-timestamp",
        [MADE_ID] = "event-record-class-id",
        [MADE_TIME] = "default-clock-timestamp",
    };
    struct mapping mappings[MADE_OPTIONS];
    const char *sign = field->is_signed ? "signed" : "unsigned";
    if (field->is_boolean) {
        ADD("\"fixed-length-boolean\"");
    } else if (field->is_bits) {
        ADD("\"fixed-length-bit-array\"");
    } else {
        ADD("\"%s-length-%s-integer\"", field->kind == MADE_VARINT ? "variable" : "fixed", sign);
        ADD(",\"preferred-display-base\":%u", field->base);
    }
    if (field->kind == MADE_INT) {
        json_number(text, field);
    }
    if (field->use >= MADE_MAGIC) {
        ADD(",\"roles\":[\"%s\"]", roles[field->use]);
    }
    for (unsigned i = 0, n = field->is_mapped ? mappings_of(field, mappings) : 0; i < n; i++) {
        ADD("%s\"%s\":[[%d,%d]]%s", i == 0 ? ",\"mappings\":{" : ",", mappings[i].label,
            mappings[i].lower, mappings[i].upper, i + 1 == n ? "}" : "");
    }
}

static void json_bytes(GString *text, const struct made_field *field)
{
    static const char *const encodings[] = {[1] = "utf-8", [2] = "utf-16le", [4] = "utf-32be"};
    ADD("\"%s-length-%s\"", field->ref ? "dynamic" : "static", field->is_text ? "string" : "blob");
    if (field->ref) {
        ADD(",\"length-field-location\":");
        json_location(text, field);
    } else {
        ADD(",\"length\":%u", field->length);
    }
    if (field->is_text) {
        ADD(",\"encoding\":\"%s\"", encodings[field->unit]);
    }
}

static void json_array(GString *text, const struct made_schema *s, const struct made_field *field)
{
    ADD("\"%s-length-array\",", field->ref ? "dynamic" : "static");
    if (field->ref) {
        ADD("\"length-field-location\":");
        json_location(text, field);
    } else {
        ADD("\"length\":%u", field->length);
    }
    if (field->align > 1) {
        ADD(",\"minimum-alignment\":%u", field->align);
    }
    ADD(",\"element-field-class\":");
    json_class(text, s, field->parts->pdata[0]);
}

static void json_struct(GString *text, const struct made_schema *s, const struct made_field *field)
{
    ADD("\"structure\",\"member-classes\":[");
    for (guint i = 0; i < field->parts->len; i++) {
        const struct made_field *member = field->parts->pdata[i];
        ADD("%s{\"name\":\"%s\",\"field-class\":", i == 0 ? "" : ",", member->name);
        json_class(text, s, member);
        ADD("}");
    }
    ADD("]");
    if (field->align > 1) {
        ADD(",\"minimum-alignment\":%u", field->align);
    }
}

static void json_variant(GString *text, const struct made_schema *s, const struct made_field *field)
{
    ADD("\"variant\",\"selector-field-location\":");
    json_location(text, field);
    for (unsigned i = 0; i < MADE_OPTIONS; i++) {
        const struct made_field *option = field->parts->pdata[i];
        int first = first_of(field->ref, i);
        ADD("%s{\"name\":\"%s\",\"selector-field-ranges\":[[%d,%d],[%d,%d]],\"field-class\":",
            i == 0 ? ",\"options\":[" : ",", option->name, first, first, first + 1, first + 2);
        json_class(text, s, option);
        ADD("}");
    }
    ADD("]");
}

static void json_optional(GString *text, const struct made_schema *s,
                          const struct made_field *field)
{
    ADD("\"optional\",\"selector-field-location\":");
    json_location(text, field);
    if (field->has_ranges) {
        ADD(",\"selector-field-ranges\":[[1,1],[3,4]]");
    }
    ADD(",\"field-class\":");
    json_class(text, s, field->parts->pdata[0]);
}

static void json_class(GString *text, const struct made_schema *s, const struct made_field *field)
{
    static const char *const encodings[] = {[1] = "utf-8", [2] = "utf-16be", [4] = "utf-32le"};
    ADD("{\"type\":");
    switch (field->kind) {
    case MADE_INT:
    case MADE_VARINT:
        json_integer(text, field);
        break;
    case MADE_REAL:
        ADD("\"fixed-length-floating-point-number\"");
        json_number(text, field);
        break;
    case MADE_STRING:
        ADD("\"null-terminated-string\",\"encoding\":\"%s\"", encodings[field->unit]);
        break;
    case MADE_BYTES:
        json_bytes(text, field);
        break;
    case MADE_STRUCT:
        json_struct(text, s, field);
        break;
    case MADE_ARRAY:
        json_array(text, s, field);
        break;
    case MADE_VARIANT:
        json_variant(text, s, field);
        break;
    case MADE_OPTIONAL:
        json_optional(text, s, field);
        break;
    }
    ADD("}");
}

static void json_scope(GString *text, const struct made_schema *s, const char *name,
                       const struct made_field *root)
{
    if (root) {
        ADD(",\"%s-field-class\":", name);
        json_class(text, s, root);
    }
}

static void json_text(GString *text, const struct made_schema *s)
{
    ADD("\x1e{\"type\":\"preamble\",\"version\":2}\n\x1e{\"type\":\"trace-class\"");
    json_scope(text, s, "packet-header", s->scopes[MADE_PACKET_HEADER]);
    ADD("}\n\x1e{\"type\":\"clock-class\",\"id\":\"c\",\"name\":\"c\",\"frequency\":1000000000}\n"
        "\x1e{\"type\":\"data-stream-class\",\"default-clock-class-id\":\"c\"");
    json_scope(text, s, "packet-context", s->scopes[MADE_PACKET_CONTEXT]);
    json_scope(text, s, "event-record-header", s->scopes[MADE_EVENT_HEADER]);
    json_scope(text, s, "event-record-common-context", s->scopes[MADE_COMMON_CONTEXT]);
    for (unsigned i = 0; i < s->n_events; i++) {
        ADD("}\n\x1e{\"type\":\"event-record-class\",\"name\":\"e%u\",\"id\":%u", i, i);
        json_scope(text, s, "specific-context", s->contexts[i]);
        json_scope(text, s, "payload", s->payloads[i]);
    }
    ADD("}\n");
}

char *made_schema_text(const struct made_schema *s)
{
    GString *text = g_string_new(NULL);
    if (s->is_json) {
        json_text(text, s);
    } else {
        tsdl_text(text, s);
    }
    return g_string_free(text, FALSE);
}
