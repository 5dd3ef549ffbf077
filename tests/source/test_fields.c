/* SPDX-License-Identifier: MIT */
/* What a class declares, one field by its name, and reals in bindings; on a hand-written trace.
 * Values are what was written; reals are IEEE 754 by hand: 1.5 is 0x3e00 in 16 bits and 0x3fc00000
 * in 32, -2.25 is 0xc002000000000000 in 64. */
#include <stddef.h>

#include <lull/lull.h>

#include "source/trace_files.h"

static const char metadata[] =
    "stream { id = 0; event.header := struct large; packet.context := struct packet_context;\n"
    "  event.context := struct { int32_t _tid; }; };\n"
    "event { id = 1; name = \"all\"; stream_id = 0; context := struct { string _who; };\n"
    "  fields := struct {\n"
    "  uint8_t _u8; integer { size = 16; align = 8; signed = 1; } _s16;\n"
    "  floating_point { exp_dig = 5; mant_dig = 11; align = 8; } _half;\n"
    "  floating_point { exp_dig = 8; mant_dig = 24; align = 8; } _single;\n"
    "  integer { size = 8; align = 8; encoding = UTF8; } _name[8];\n"
    "  enum : uint8_t { one = 1, two = 2 } _tag;\n"
    "  variant <_tag> { struct { floating_point { exp_dig = 11; mant_dig = 53; align = 8; } _x; }\n"
    "    one; struct { string _s; uint16_t _value; } two; } _choice;\n"
    "  uint8_t _n; uint16_t _words[_n];\n"
    "  struct { uint8_t _u8; } _pairs[2]; struct { uint8_t _tid; } _inner; }; };\n";

/* What metadata says, one line a field: path, kind, optional, signed, bits, length. */
static const char listing[] = "context.tid int signed 32\n"
                              "context.who text\n"
                              "u8 int 8\n"
                              "s16 int signed 16\n"
                              "half real signed 16\n"
                              "single real signed 32\n"
                              "name text length 8\n"
                              "tag enum 8\n"
                              "choice.one.x real optional signed 64\n"
                              "choice.two.s text optional\n"
                              "choice.two.value int optional 16\n"
                              "n int 8\n"
                              "words bytes 16\n"
                              "pairs array length 2\n"
                              "inner.tid int 8\n";

static void put_event(GByteArray *b, bool be, uint32_t time, uint8_t tag)
{
    put(b, be, 2, 1);
    put(b, be, 4, time);
    put(b, be, 4, (uint32_t)-7);
    put_bytes(b, "me", 3);
    put(b, be, 1, 200);
    put(b, be, 2, (uint16_t)-1234);
    put(b, be, 2, 0x3e00);
    put(b, be, 4, 0x3fc00000);
    put_bytes(b, "abc\0zzzz", 8);
    put(b, be, 1, tag);
    if (tag == 1) {
        put(b, be, 8, UINT64_C(0xc002000000000000));
    } else {
        put_bytes(b, "x", 2);
        put(b, be, 2, 54321);
    }
    put(b, be, 1, 2);
    put(b, be, 2, 1);
    put(b, be, 2, 2);
    put_bytes(b, "\3\4\5", 3);
}

static struct lull_session *open_trace(const char *dir, bool be)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GByteArray) contents = g_byte_array_new(), file = g_byte_array_new();
    g_autofree char *head =
        metadata_head(be ? "be" : "le", "hostname = \"box\"", "freq = 1000000000; offset = 0");
    g_autofree char *text = g_strconcat(head, metadata, NULL);
    write_text(dir, "metadata", text);
    put_event(contents, be, 1000, 1);
    put_event(contents, be, 1001, 2);
    struct test_packet packet = {.start = 1000, .end = 2000};
    put_packet(file, be, &packet, contents);
    write_file(dir, "s0", file->data, file->len);
    struct lull_session *session = lull_session_new();
    if (!lull_session_add(session, dir, &error)) {
        g_error("%s", error->message);
    }
    return session;
}

static void add_line(void *user, const struct lull_field_info *field)
{
    static const char *const kinds[] = {"int", "enum", "real", "text", "bytes", "array"};
    GString *lines = user;
    g_string_append_printf(lines, "%s %s", field->path, kinds[field->kind]);
    if (field->is_optional) {
        g_string_append(lines, " optional");
    }
    if (field->is_signed) {
        g_string_append(lines, " signed");
    }
    if (field->size_bits != 0) {
        g_string_append_printf(lines, " %u", field->size_bits);
    }
    if (field->length != 0) {
        g_string_append_printf(lines, " length %" G_GUINT64_FORMAT, field->length);
    }
    g_string_append_c(lines, '\n');
}

static void list_class(void *user, uint32_t trace, const struct lull_event_class *event_class)
{
    lull_event_class_each_field(event_class, add_line, user);
}

static void test_listing(void)
{
    g_autofree char *dir = new_directory();
    g_autoptr(GString) lines = g_string_new(NULL);
    struct lull_session *session = open_trace(dir, false);
    lull_session_each_class(session, list_class, lines);
    g_assert_cmpstr(lines->str, ==, listing);
    lull_session_free(session);
    remove_tree(dir);
}

static int field(const struct lull_event *event, const char *path, struct lull_field_value *value)
{
    g_autoptr(GError) error = NULL;
    int found = lull_event_field(event, path, value, &error);
    g_assert_no_error(error);
    return found;
}

static void check_fields(const struct lull_event *event, uint8_t tag)
{
    struct lull_field_value value;
    g_assert_cmpint(field(event, "context.tid", &value), ==, 1);
    g_assert_cmpint((int64_t)value.integer.bits, ==, -7);
    g_assert_cmpint(field(event, "inner.tid", &value), ==, 1);
    g_assert_cmpint((int64_t)value.integer.bits, ==, 5);
    g_assert_cmpint(value.kind, ==, LULL_INFO_INT);
    g_assert_cmpint(field(event, "context.who", &value), ==, 1);
    g_assert_cmpmem(value.text.data, value.text.length, "me", 2);
    g_assert_cmpint(field(event, "half", &value), ==, 1);
    g_assert_cmpfloat(value.real, ==, 1.5);
    g_assert_cmpint(field(event, "tag", &value), ==, 1);
    g_assert_cmpint(value.kind, ==, LULL_INFO_ENUM);
    g_assert_cmpstr(value.integer.label, ==, tag == 1 ? "one" : "two");
    g_assert_cmpint(field(event, "choice.two.value", &value), ==, tag == 2);
    if (tag == 2) {
        g_assert_cmpuint(value.integer.bits, ==, 54321);
    }
    g_assert_cmpint(field(event, "choice.one.x", &value), ==, tag == 1);
    if (tag == 1) {
        g_assert_cmpfloat(value.real, ==, -2.25);
    }
    /* No such field, no leaf, a part of an array's elements, a payload's name among contexts. */
    static const char *const absent[] = {"tid", "inner", "pairs.u8", "context.u8",
                                         "u",   "u8.u8", "",         "context."};
    for (unsigned i = 0; i < G_N_ELEMENTS(absent); i++) {
        g_assert_cmpint(field(event, absent[i], &value), ==, 0);
    }
}

struct reals {
    uint64_t have;
    double half, single, option, no_real;
};

static void test_values(gconstpointer data)
{
    const struct lull_binding bindings[] = {
        {(const char *const[]){"half", NULL}, LULL_BIND_REAL, offsetof(struct reals, half)},
        {(const char *const[]){"single", NULL}, LULL_BIND_REAL, offsetof(struct reals, single)},
        {(const char *const[]){"choice.one.x", NULL}, LULL_BIND_REAL,
         offsetof(struct reals, option)},
        {(const char *const[]){"u8", NULL}, LULL_BIND_REAL, offsetof(struct reals, no_real)},
    };
    bool be = GPOINTER_TO_INT(data) != 0;
    g_autofree char *dir = new_directory();
    struct lull_session *session = open_trace(dir, be);
    lull_session_subscribe(session, (const char *const[]){"all", NULL}, bindings, 4,
                           sizeof(struct reals));
    for (uint8_t tag = 1; tag <= 2; tag++) {
        const struct lull_event *event = lull_session_read(session);
        g_assert_nonnull(event);
        const struct reals *reals = event->fields;
        g_assert_cmphex(reals->have, ==, tag == 1 ? 7 : 3);
        g_assert_cmpfloat(reals->half, ==, 1.5);
        g_assert_cmpfloat(reals->single, ==, 1.5);
        g_assert_cmpfloat(reals->option, ==, tag == 1 ? -2.25 : 0);
        check_fields(event, tag);
    }
    g_assert_null(lull_session_read(session));
    lull_session_free(session);
    remove_tree(dir);
}

/* CTF 2: integers of variable length, optionals, bits the other way round, blobs, wide texts, a
 * member that is named as a scope. */
#define LITTLE "'byte-order':'little-endian'"

static const char metadata2[] =
    "\x1e{'type':'preamble','version':2}\n\x1e{'type':'data-stream-class'}\n"
    "\x1e{'type':'event-record-class','name':'e','payload-field-class':{'type':'structure',"
    "'member-classes':["
    "{'name':'v','field-class':{'type':'variable-length-signed-integer'}},"
    "{'name':'has','field-class':{'type':'fixed-length-boolean','length':8," LITTLE "}},"
    "{'name':'maybe','field-class':{'type':'optional','selector-field-location':{'path':['has']},"
    "  'field-class':{'type':'fixed-length-signed-integer','length':16," LITTLE "}}},"
    "{'name':'half','field-class':{'type':'fixed-length-floating-point-number','length':16," LITTLE
    "  ,'bit-order':'last-to-first'}},"
    "{'name':'blob','field-class':{'type':'static-length-blob','length':3}},"
    "{'name':'words','field-class':{'type':'static-length-array','length':2,'element-field-class':"
    "  {'type':'fixed-length-unsigned-integer','length':16,'alignment':8," LITTLE "}}},"
    "{'name':'truths','field-class':{'type':'static-length-array','length':2,"
    "  'element-field-class':{'type':'fixed-length-boolean','length':8,'alignment':8," LITTLE "}}},"
    "{'name':'wide','field-class':"
    "  {'type':'static-length-string','length':4,'encoding':'utf-16le'}},"
    "{'name':'context','field-class':{'type':'structure','member-classes':[{'name':'x',"
    "  'field-class':{'type':'fixed-length-unsigned-integer','length':8," LITTLE "}}]}}]}}\n";

static const char listing2[] = "v int signed 64\n"
                               "has int 8\n"
                               "maybe int optional signed 16\n"
                               "half real signed 16\n"
                               "blob bytes 8 length 3\n"
                               "words bytes 16 length 2\n"
                               "truths array length 2\n"
                               "wide text\n"
                               "payload.context.x int 8\n";

/* -2 in LEB128; 1.5 is 0x3e00, its highest bit first; U+20AC is 3 bytes in UTF-8. */
static const uint8_t event2[] = {0x7e, 1, 0xfe, 0xff, 0x7c, 0,    1,    2,    3,    1,
                                 0,    2, 0,    0,    1,    0xac, 0x20, 0xac, 0x20, 9};

struct fields2 {
    uint64_t have;
    int64_t v, maybe, x;
    double half;
    struct lull_text wide, blob;
};

static void check_fields2(const struct lull_event *event)
{
    struct lull_field_value value;
    const struct fields2 *fields = event->fields;
    g_assert_cmphex(fields->have, ==, 63);
    g_assert_cmpint(fields->v, ==, -2);
    g_assert_cmpint(fields->maybe, ==, -2);
    g_assert_cmpint(fields->x, ==, 9);
    g_assert_cmpfloat(fields->half, ==, 1.5);
    g_assert_cmpmem(fields->wide.data, fields->wide.length, "\u20ac\u20ac", 6);
    g_assert_cmpmem(fields->blob.data, fields->blob.length, "\1\2\3", 3);
    g_assert_cmpint(field(event, "maybe", &value), ==, 1);
    g_assert_cmpint((int64_t)value.integer.bits, ==, -2);
    g_assert_cmpint(field(event, "half", &value), ==, 1);
    g_assert_cmpfloat(value.real, ==, 1.5);
    g_assert_cmpint(field(event, "payload.context.x", &value), ==, 1);
    g_assert_cmpuint(value.integer.bits, ==, 9);
    g_assert_cmpint(field(event, "context.x", &value), ==, 0);
    g_assert_cmpint(field(event, "wide", &value), ==, 1);
    g_assert_cmpmem(value.text.data, value.text.length, "\u20ac\u20ac", 6);
}

static void test_ctf2(void)
{
    const struct lull_binding bindings[] = {
        {(const char *const[]){"v", NULL}, LULL_BIND_INT, offsetof(struct fields2, v)},
        {(const char *const[]){"maybe", NULL}, LULL_BIND_INT, offsetof(struct fields2, maybe)},
        {(const char *const[]){"payload.context.x", NULL}, LULL_BIND_INT,
         offsetof(struct fields2, x)},
        {(const char *const[]){"half", NULL}, LULL_BIND_REAL, offsetof(struct fields2, half)},
        {(const char *const[]){"wide", NULL}, LULL_BIND_TEXT, offsetof(struct fields2, wide)},
        {(const char *const[]){"blob", NULL}, LULL_BIND_RAW, offsetof(struct fields2, blob)},
    };
    g_autoptr(GError) error = NULL;
    g_autofree char *dir = new_directory(), *text = g_strdelimit(g_strdup(metadata2), "'", '"');
    g_autoptr(GString) lines = g_string_new(NULL);
    write_text(dir, "metadata", text);
    write_file(dir, "s0", event2, sizeof event2);
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    lull_session_each_class(session, list_class, lines);
    g_assert_cmpstr(lines->str, ==, listing2);
    lull_session_subscribe(session, (const char *const[]){"e", NULL}, bindings, 6,
                           sizeof(struct fields2));
    const struct lull_event *event = lull_session_read(session);
    g_assert_nonnull(event);
    check_fields2(event);
    g_assert_null(lull_session_read(session));
    lull_session_free(session);
    remove_tree(dir);
}

/* Structs as older and newer headers have them: what one side does not know of is left alone. */
static void test_other_sizes(void)
{
    static const char *const names[] = {"all", NULL};
    static const char *const u8[] = {"u8", NULL}, *const tag[] = {"tag", NULL};
    static const struct {
        struct lull_binding known;
        uint64_t newer;
    } bindings[] = {{{u8, LULL_BIND_INT, 8}, UINT64_MAX}, {{tag, LULL_BIND_INT, 16}, UINT64_MAX}};
    g_autofree char *dir = new_directory();
    struct lull_session *session = open_trace(dir, false);
    lull_session_subscribe_sized(session, names, &bindings[0].known, sizeof bindings[0], 2, 24);

    struct {
        struct lull_event known;
        uint64_t newer;
    } newer = {.newer = 1};
    g_assert_cmpint(lull_session_next_sized(session, &newer.known, sizeof newer), ==, 1);
    g_assert_cmpint(newer.known.time_ns, ==, 1000);
    g_assert_cmpuint(newer.newer, ==, 0);
    const int64_t *fields = newer.known.fields;
    g_assert_cmpint(fields[1], ==, 200);
    g_assert_cmpint(fields[2], ==, 1);

    struct lull_field_value value = {.integer.bits = 99};
    const size_t older = offsetof(struct lull_field_value, integer);
    g_assert_cmpint(lull_event_field_sized(&newer.known, "single", &value, older, NULL), ==, 1);
    g_assert_cmpfloat(value.real, ==, 1.5);
    g_assert_cmpuint(value.integer.bits, ==, 99);
    struct lull_decoded decoded = {.checksum = 99};
    lull_session_decode_all_sized(session, &decoded, offsetof(struct lull_decoded, checksum));
    g_assert_cmpuint(decoded.events, ==, 2);
    g_assert_cmpuint(decoded.checksum, ==, 99);
    lull_session_free(session);
    remove_tree(dir);
}

static void count_scope(void *user, const char *name, enum lull_visit_kind kind)
{
    *(uint32_t *)user += kind == LULL_VISIT_SCOPE;
}

static void ignore_end(void *user, enum lull_visit_kind kind)
{
}

static void ignore_integer(void *user, const char *name, const struct lull_visit_int *value)
{
}

static void ignore_real(void *user, const char *name, double value)
{
}

static void ignore_text(void *user, const char *name, struct lull_text value)
{
}

/* A visitor that ends before its flags has none: the context is one scope, not two. */
static void test_older_visitor(void)
{
    static const struct lull_visitor visitor = {
        .start = count_scope,
        .end = ignore_end,
        .integer = ignore_integer,
        .real = ignore_real,
        .text = ignore_text,
        .flags = LULL_VISIT_SPLIT_CONTEXTS,
    };
    static const struct {
        size_t size;
        uint32_t n_scopes;
    } cases[] = {{offsetof(struct lull_visitor, flags), 2}, {sizeof visitor, 3}};
    g_autofree char *dir = new_directory();
    struct lull_session *session = open_trace(dir, false);
    lull_session_subscribe(session, (const char *const[]){"all", NULL}, NULL, 0, 0);
    const struct lull_event *event = lull_session_read(session);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        uint32_t n = 0;
        lull_event_visit_sized(event, &visitor, cases[i].size, &n, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(n, ==, cases[i].n_scopes);
    }
    lull_session_free(session);
    remove_tree(dir);
}

/* The two structs that stay as they are. */
G_STATIC_ASSERT(sizeof(struct lull_text) == 2 * sizeof(void *));
G_STATIC_ASSERT(sizeof(struct lull_clock_transform) == 24);

/* A single host has nothing to join; what was subscribed stays. */
static void test_join_one_host(void)
{
    g_autofree char *dir = new_directory();
    struct lull_session *session = open_trace(dir, false);
    lull_session_subscribe(session, (const char *const[]){"all", NULL}, NULL, 0, 0);
    g_assert_null(lull_session_host_clock(session, 0));
    lull_session_join(session, NULL, NULL);
    const struct lull_host_clock *clock = lull_session_host_clock(session, 0);
    g_assert_true(clock->is_joined && clock->is_reference);
    g_assert_cmpint(clock->bound_ns, ==, 0);
    g_assert_nonnull(lull_session_read(session));
    lull_session_free(session);
    remove_tree(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/source/fields/listing", test_listing);
    g_test_add_data_func("/source/fields/values-le", GINT_TO_POINTER(0), test_values);
    g_test_add_data_func("/source/fields/values-be", GINT_TO_POINTER(1), test_values);
    g_test_add_func("/source/fields/ctf2", test_ctf2);
    g_test_add_func("/source/fields/join-one-host", test_join_one_host);
    g_test_add_func("/source/fields/other-sizes", test_other_sizes);
    g_test_add_func("/source/fields/older-visitor", test_older_visitor);
    return g_test_run();
}
