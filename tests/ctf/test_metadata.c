/* SPDX-License-Identifier: MIT */
/* Metadata as a whole: files, packets, blocks and what they leave out, damage. Expectations are
 * sentences of CTF 1.8.3, whose section is named, and what babeltrace2 says of real traces. */
#include "ctf/tsdl_help.h"

#include <glib/gstdio.h>

static const char small[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := unsigned long;\n"
    "trace {\n\tmajor = 1; minor = 8; uuid = \"2a6422d0-6cee-11e0-8c08-cb07d7b3a564\";\n"
    "\tbyte_order = le;\n\tpacket.header := struct { unsigned long magic; uint8_t uuid[16]; "
    "};\n};\n"
    "env { hostname = \"h\\\"\\x41\\102\\n\"; n = -3; big = 18446744073709551615; dir = x.y; };\n"
    "clock { name = \"mono\"; uuid = \"00112233-4455-6677-8899-aabbccddeeff\"; // a comment\n"
    "\tdescription = \"d\"; freq = 1000; precision = 7; offset_s = -5; offset = 0xff; absolute = "
    "TRUE; };\n"
    "typealias integer { size = 27; align = 1; map = clock.mono.value; } := clock27;\n"
    "stream { id = 3; event.header := struct { enum : uint8_t { a = 0 ... 30, b = 31 } id; variant "
    "<id> { struct { clock27 t; } a; struct { unsigned long id; } b; } v; } align(8); };\n"
    "event { name = \"second\"; id = 9; stream_id = 3; loglevel = 13; model.emf.uri = \"u:x\";\n"
    "\tfields := struct { uint8_t _len; uint8_t _data[ _len ]; string s; }; unknown.thing = 4; };\n"
    "event { name = first; id = 2; context := struct { uint8_t c; }; };\n"
    "callsite { name = \"first\"; func = \"f\"; line = 39; ip = 0x40096c; };\n";

static void expect_small(const struct lull_schema *s)
{
    const uint8_t uuid[16] = {0x2a, 0x64, 0x22, 0xd0, 0x6c, 0xee, 0x11, 0xe0,
                              0x8c, 0x08, 0xcb, 0x07, 0xd7, 0xb3, 0xa5, 0x64};
    const struct lull_clock *clock = &s->clocks[0];
    const struct lull_event_decl *events = s->streams[0].events;

    g_assert_cmpuint(s->major, ==, 1);
    g_assert_cmpuint(s->minor, ==, 8);
    g_assert_true(s->has_uuid);
    g_assert_cmpmem(s->uuid, 16, uuid, 16);
    g_assert_cmpuint(s->packet_header->structure.n_members, ==, 2);
    g_assert_cmpuint(s->n_env, ==, 4);
    g_assert_cmpstr(lull_schema_env_text(s, "hostname"), ==, "h\"AB\n");
    g_assert_cmpint(lull_schema_env_number(s, "n", 7), ==, -3);
    g_assert_cmpint(lull_schema_env_number(s, "none", 7), ==, 7);
    g_assert_null(lull_schema_env_text(s, "n"));
    g_assert_cmpstr(lull_schema_env_text(s, "big"), ==, "18446744073709551615");
    g_assert_cmpstr(lull_schema_env_text(s, "dir"), ==, "x.y");
    g_assert_cmpuint(s->n_clocks, ==, 1);
    g_assert_cmpstr(clock->name, ==, "mono");
    g_assert_cmpstr(clock->description, ==, "d");
    g_assert_true(clock->has_uuid && clock->is_absolute);
    g_assert_cmpuint(clock->uuid[15], ==, 0xff);
    g_assert_cmpuint(clock->frequency, ==, 1000);
    g_assert_cmpuint(clock->precision, ==, 7);
    g_assert_cmpint(clock->offset_s, ==, -5);
    g_assert_cmpuint(clock->offset_cycles, ==, 255);
    g_assert_cmpuint(s->n_streams, ==, 1);
    g_assert_cmpuint(s->streams[0].id, ==, 3);
    g_assert_true(at(s->streams[0].event_header, "v.a.t")->integer.clock == clock);
    g_assert_cmpuint(s->streams[0].n_events, ==, 2);
    g_assert_cmpstr(events[0].name, ==, "first"); /* ascending ids */
    g_assert_cmpint(events[0].loglevel, ==, -1);
    g_assert_nonnull(events[0].context);
    g_assert_null(events[0].payload);
    g_assert_cmpuint(events[1].id, ==, 9);
    g_assert_cmpint(events[1].loglevel, ==, 13);
    g_assert_cmpstr(events[1].emf_uri, ==, "u:x");
    g_assert_cmpuint(events[1].payload->structure.n_members, ==, 3);
}

static void test_small(void)
{
    struct lull_schema *schema = parse_ok(small);
    expect_small(schema);
    lull_schema_free(schema);
    /* 7.1 says that a text "must begin" with its version; real ones often do not. */
    schema = parse_ok(strchr(small, '\n'));
    expect_small(schema);
    lull_schema_free(schema);
}

static void put32(GByteArray *out, uint32_t value, bool is_big_endian)
{
    uint32_t raw = is_big_endian ? GUINT32_TO_BE(value) : GUINT32_TO_LE(value);
    g_byte_array_append(out, (const guint8 *)&raw, 4);
}

/* One packet with `n` bytes of text and `padding` bytes behind them: the header of 7.1. */
static void put_packet(GByteArray *out, const char *text, uint32_t n, uint32_t padding,
                       bool is_big_endian)
{
    static const guint8 uuid[16] = {1, 2, 3}, rest[5] = {0, 0, 0, 1, 8};

    put32(out, 0x75d11d57, is_big_endian);
    g_byte_array_append(out, uuid, 16);
    put32(out, 0, is_big_endian);
    put32(out, (37 + n) * 8, is_big_endian);
    put32(out, (37 + n + padding) * 8, is_big_endian);
    g_byte_array_append(out, rest, 5);
    g_byte_array_append(out, (const guint8 *)text, n);
    for (uint32_t i = 0; i < padding; i++) {
        g_byte_array_append(out, (const guint8 *)"\xee", 1);
    }
}

static GByteArray *packets(bool is_big_endian)
{
    GByteArray *out = g_byte_array_new();
    uint32_t size = sizeof small - 1;
    /* Split in the middle of words, with and without padding, and one without any text. */
    put_packet(out, small, 100, 23, is_big_endian);
    put_packet(out, small, 0, 4, is_big_endian);
    put_packet(out, small + 100, 111, 0, is_big_endian);
    put_packet(out, small + 211, size - 211, 64, is_big_endian);
    return out;
}

static void test_packets(void)
{
    for (int is_big_endian = 0; is_big_endian < 2; is_big_endian++) {
        GByteArray *data = packets(is_big_endian);
        GError *error = NULL;
        size_t length;
        char *text = lull_metadata_text("m", data->data, data->len, &length, &error);
        g_assert_no_error(error);
        g_assert_cmpmem(text, length, small, sizeof small - 1);
        g_free(text);
        struct lull_schema *schema = lull_metadata_parse("m", data->data, data->len, &error);
        g_assert_no_error(error);
        expect_small(schema);
        lull_schema_free(schema);
        g_byte_array_free(data, TRUE);
    }
}

static void test_bad_packets(void)
{
    const struct {
        uint32_t offset;
        uint8_t value;
        enum lull_error code;
        const char *message;
    } cases[] = {
        {160, 0, LULL_ERROR_FORMAT, "packet at byte 160: its magic number"},
        {24, 1, LULL_ERROR_FORMAT, "packet at byte 0: content of"},
        {25, 0, LULL_ERROR_FORMAT, "packet at byte 0: content of"},
        {160 + 31, 1, LULL_ERROR_FORMAT, "packet at byte 160: the file ends at byte"},
        {160 + 4, 9, LULL_ERROR_FORMAT, "packet at byte 160: its UUID"},
        {32, 1, LULL_ERROR_UNSUPPORTED, "packet at byte 0: compression 1"},
        {33, 1, LULL_ERROR_UNSUPPORTED, "packet at byte 0: compression 0, encryption 1"},
        {34, 3, LULL_ERROR_UNSUPPORTED, "checksum scheme 3"},
        {35, 2, LULL_ERROR_UNSUPPORTED, "packet at byte 0: version 2.8 of CTF"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        GByteArray *data = packets(false);
        GError *error = NULL;
        data->data[cases[i].offset] = cases[i].value;
        g_assert_null(lull_metadata_parse("m", data->data, data->len, &error));
        g_assert_error(error, LULL_ERROR, (gint)cases[i].code);
        if (!strstr(error->message, cases[i].message)) {
            g_error("'%s' is not in '%s'", cases[i].message, error->message);
        }
        g_error_free(error);
        g_byte_array_free(data, TRUE);
    }
}

/* A text cut between two declarations is a text; anywhere else, or before the trace's, it is not.
 */
static void test_cut_text(void)
{
    const char *trace_end = strstr(small, "};\nenv") + 2;
    int depth = 0;
    bool at_boundary = false;
    uint32_t accepted = 0;

    for (size_t n = 0; n < sizeof small - 1; n++) {
        if (n > 0) {
            char c = small[n - 1];
            depth += (c == '{') - (c == '}');
            at_boundary = (depth == 0 && c == ';') || (at_boundary && g_ascii_isspace(c));
        }
        /* From memory of exactly this size, so that a read beyond is seen. */
        char *copy = g_memdup2(small, n);
        GError *error = NULL;
        struct lull_schema *schema = lull_metadata_parse("m", (const uint8_t *)copy, n, &error);
        bool is_text = at_boundary && small + n >= trace_end;
        if (is_text != (schema != NULL)) {
            g_error("cut at %zu: %s", n, error ? error->message : "accepted");
        }
        if (!schema) {
            g_assert_error(error, LULL_ERROR, LULL_ERROR_FORMAT);
            char *byte = g_strdup_printf("byte %zu", n);
            g_assert_true(n == 0 || g_str_has_prefix(error->message, "m: line "));
            if (n > 0 && depth > 0 && small[n - 1] == ' ') {
                if (!strstr(error->message, byte)) {
                    g_error("'%s' is not in '%s'", byte, error->message);
                }
            }
            g_free(byte);
        }
        accepted += schema != NULL;
        g_clear_error(&error);
        lull_schema_free(schema);
        g_free(copy);
    }
    g_assert_cmpuint(accepted, >, 6);
}

static void test_cut_packets(void)
{
    GByteArray *data = packets(false);

    for (guint n = 0; n < data->len; n++) {
        guint8 *copy = g_memdup2(data->data, n);
        GError *error = NULL;
        g_assert_null(lull_metadata_parse("m", copy, n, &error));
        g_assert_error(error, LULL_ERROR, LULL_ERROR_FORMAT);
        g_clear_error(&error);
        g_free(copy);
    }
    g_byte_array_free(data, TRUE);
}

/* Whatever the bytes are: a schema or an error. */
static void test_mutations(void)
{
    for (int round = 0; round < 6000; round++) {
        GByteArray *data = packets(false);
        if (round % 2) {
            g_byte_array_set_size(data, 0);
            g_byte_array_append(data, (const guint8 *)small, sizeof small - 1);
        }
        for (int i = g_test_rand_int_range(1, 5); i > 0; i--) {
            guint at_byte = (guint)g_test_rand_int_range(0, (gint32)data->len);
            if (g_test_rand_bit()) {
                data->data[at_byte] = (guint8)g_test_rand_int_range(0, 256);
            } else {
                /* Move a piece of the text elsewhere: more often still a text than a flipped bit.
                 */
                guint from = (guint)g_test_rand_int_range(0, (gint32)data->len);
                guint n = MIN(20, data->len - MAX(from, at_byte));
                memmove(data->data + at_byte, data->data + from, n);
            }
        }
        GError *error = NULL;
        struct lull_schema *schema = lull_metadata_parse("m", data->data, data->len, &error);
        g_assert_true((!schema) == (error != NULL));
        g_clear_error(&error);
        lull_schema_free(schema);
        g_byte_array_free(data, TRUE);
    }
}

static void test_other_formats(void)
{
    static const char *const texts[] = {"/* CTF 2.0 */", "/* CTF 11.8 */"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        GError *error = NULL;
        g_assert_null(parse(texts[i], &error));
        g_assert_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED);
        g_assert_nonnull(strstr(error->message, "another version"));
        g_error_free(error);
    }
}

/* 5.1, 7.4: ids of a single stream and a single event can be left out. 8: clocks. */
static void test_defaults(void)
{
    struct lull_schema *s = parse_ok(TRACE_LE UINTS "stream { id = 5; }; event { name = \"e\"; };");
    g_assert_cmpuint(s->n_streams, ==, 1);
    g_assert_cmpuint(s->streams[0].id, ==, 5);
    g_assert_cmpuint(s->streams[0].n_events, ==, 1);
    g_assert_cmpuint(s->streams[0].events[0].id, ==, 0);
    g_assert_false(s->has_uuid);
    lull_schema_free(s);

    s = parse_ok(TRACE_LE "stream { }; event { id = 1; stream_id = 0; };");
    g_assert_cmpuint(s->streams[0].id, ==, 0);
    g_assert_cmpuint(s->streams[0].n_events, ==, 1);
    lull_schema_free(s);

    s = parse_ok(TRACE_LE);
    g_assert_cmpuint(s->n_streams, ==, 0);
    lull_schema_free(s);

    s = parse_ok(TRACE_LE "clock { name = a; }; clock { name = b; freq = 10; offset = -25; };");
    g_assert_cmpuint(s->n_clocks, ==, 2);
    g_assert_cmpuint(s->clocks[0].frequency, ==, 1000000000);
    g_assert_cmpint(s->clocks[0].offset_s, ==, 0);
    g_assert_cmpuint(s->clocks[0].offset_cycles, ==, 0);
    g_assert_false(s->clocks[0].is_absolute || s->clocks[0].has_uuid);
    g_assert_cmpint(s->clocks[1].offset_s, ==, -3); /* -25 / 10 Hz = -3 s + 5 / 10 Hz */
    g_assert_cmpuint(s->clocks[1].offset_cycles, ==, 5);
    lull_schema_free(s);

    /* 8: without a clock, `timestamp` "increments once per nanosecond". */
    s = parse_ok(TRACE_LE UINTS "struct h { u32 timestamp; u32 other; }; stream { event.header := "
                                "struct h; event.context := struct h; };");
    g_assert_cmpuint(at(s->streams[0].event_header, "timestamp")->integer.clock->frequency, ==,
                     1000000000);
    g_assert_null(at(s->streams[0].event_header, "other")->integer.clock);
    g_assert_null(at(s->streams[0].event_context, "timestamp")->integer.clock);
    lull_schema_free(s);
}

static void test_several_streams(void)
{
    struct lull_schema *s =
        parse_ok(UINTS "event { id = 1; stream_id = 7; name = c; }; event { id = 1; name = a; "
                       "stream_id = 2; }; event { id = 0; stream_id = 7; name = b; };"
                       "stream { id = 7; }; stream { id = 2; }; stream { id = 4; };"
                       "trace { byte_order = be; packet.header := struct { u32 stream_id; }; };");
    g_assert_cmpuint(s->n_streams, ==, 3);
    g_assert_cmpuint(s->streams[0].id, ==, 2);
    g_assert_cmpuint(s->streams[1].id, ==, 4);
    g_assert_cmpuint(s->streams[2].id, ==, 7);
    g_assert_cmpuint(s->streams[0].n_events, ==, 1);
    g_assert_cmpuint(s->streams[1].n_events, ==, 0);
    g_assert_cmpuint(s->streams[2].n_events, ==, 2);
    g_assert_cmpstr(s->streams[0].events[0].name, ==, "a");
    g_assert_cmpstr(s->streams[2].events[0].name, ==, "b");
    g_assert_cmpstr(s->streams[2].events[1].name, ==, "c");
    lull_schema_free(s);
}

static void test_bad_blocks(void)
{
#define TWO UINTS "trace { byte_order = le; packet.header := struct { u8 stream_id; }; };"
    static const struct failure failures[] = {
        {"env { a = 1; };", "no trace { } declaration"},
        {"trace { major = 1; };", "trace without byte_order"},
        {"trace { byte_order = native; };", "a trace's is be or le"},
        {TRACE_LE TRACE_LE, "second trace declaration"},
        {TRACE_LE "trace {", "the text ends at byte 57"},
        {TRACE_LE "event { } event { };", "unexpected keyword 'event': ';' after '}' is expected"},
        {TRACE_LE "nonsense { };", "unexpected '{'"},
        {TRACE_LE "stream { id = 1; id = 2; };", "'id' is given twice"},
        {TRACE_LE UINTS "stream { event.header := u8; };", "event.header is not a structure"},
        {TRACE_LE "clock { freq = 1; };", "clock without a name"},
        {TRACE_LE "clock { name = a; freq = 0; };", "bad value of freq"},
        {TRACE_LE "clock { name = a; uuid = \"00112233\"; };", "bad value of uuid"},
        {TRACE_LE "clock { name = a; uuid = \"00112233-4455-6677-8899-aabbccddeefg\"; };", "uuid"},
        {TRACE_LE "clock { name = a; }; clock { name = a; };", "clock 'a' is declared twice"},
        {TRACE_LE "clock { name = a; absolute = 2; };", "bad value of absolute"},
        {TRACE_LE "stream { id = 1; }; stream { id = 2; };", "packet header without stream_id"},
        {TWO "stream { id = 1; };\nstream { };", "stream without an id"},
        {TWO "stream { id = 1; };\nstream { id = 1; };", "line 2 has it too"},
        {TWO "stream { id = 1; }; stream { id = 2; }; event { name = e; };", "without a stream_id"},
        {TRACE_LE "stream { id = 1; }; event { name = e; stream_id = 0; };", "of stream 0, which"},
        {TRACE_LE "stream { id = 1; }; event { name = e; stream_id = 2; };", "of stream 2, which"},
        {TRACE_LE "event { name = e; id = 4; };\nevent { name = f; id = 4; };",
         "'f' has id 4, as 'e' on line 2 in the same stream"},
        {TRACE_LE "event { name = e; };\nevent { name = f; };", "'f' has id 0, as 'e'"},
        {TRACE_LE "event { id = -1; };", "it is negative"},
        {TRACE_LE "event { id = 18446744073709551616; };", "does not fit 64 bits"},
        {TRACE_LE "event { id = 08; };", "bad number"},
        {TRACE_LE "event { id = 12x; };", "bad number"},
        {TRACE_LE "event { id = 0x; };", "bad number"},
        {TRACE_LE "event { name = \"a\nb\"; };", "quote that is not closed"},
        {TRACE_LE "event { name = \"a\\qb\"; };", "bad escape sequence"},
        {TRACE_LE "event { name = \"a\\400b\"; };", "bad escape sequence"},
        {TRACE_LE "event { id = ''; };", "one to four bytes"},
        {TRACE_LE "event { id = @; };", "character '@' does not belong"},
        {TRACE_LE "/* no end", "comment without an end: the text ends at byte 59"},
    };
    static const struct failure unsupported[] = {
        {"trace { major = 2; };", "major version 2 of CTF"},
    };
    expect_failures(failures, G_N_ELEMENTS(failures), LULL_ERROR_FORMAT);
    expect_failures(unsupported, 1, LULL_ERROR_UNSUPPORTED);
}

static void test_constants(void)
{
    struct lull_schema *s = parse_ok(
        TRACE_LE "env { a = 10UL; b = 0x1fLLu; c = 017l; d = 'A'; e = '\\n'; f = -(-(4)); g = L'a';"
                 "h = L\"wide\"; i = \"\\u00e9\"; j = \"\xff!\"; align = 3; a = 11; };");
    g_assert_cmpint(lull_schema_env_number(s, "a", 0), ==, 11); /* the later one counts */
    g_assert_cmpint(lull_schema_env_number(s, "b", 0), ==, 31);
    g_assert_cmpint(lull_schema_env_number(s, "c", 0), ==, 15);
    g_assert_cmpint(lull_schema_env_number(s, "d", 0), ==, 65);
    g_assert_cmpint(lull_schema_env_number(s, "e", 0), ==, 10);
    g_assert_cmpint(lull_schema_env_number(s, "f", 0), ==, 4);
    g_assert_cmpint(lull_schema_env_number(s, "g", 0), ==, 97);
    g_assert_cmpint(lull_schema_env_number(s, "align", 0), ==, 3);
    g_assert_cmpstr(lull_schema_env_text(s, "h"), ==, "wide");
    g_assert_cmpstr(lull_schema_env_text(s, "i"), ==, "\xc3\xa9");
    g_assert_cmpstr(lull_schema_env_text(s, "j"), ==, "\xef\xbf\xbd!"); /* always UTF-8 */
    lull_schema_free(s);
}

static void test_files(void)
{
    GError *error = NULL;
    g_assert_null(lull_metadata_read("/nonexistent/metadata", &error));
    g_assert_error(error, LULL_ERROR, LULL_ERROR_IO);
    g_assert_nonnull(strstr(error->message, "/nonexistent/metadata"));
    g_error_free(error);
}

/* The real traces, if they are unpacked here: as many events as in babeltrace2's text of them. */
static void check_trace(const char *directory)
{
    char *path = g_build_filename(directory, "metadata", NULL), *text = NULL;
    GError *error = NULL;
    const char *argv[] = {"babeltrace2", "--output-format=ctf-metadata", directory, NULL};
    uint32_t n_expected = 0, n_events = 0;

    struct lull_schema *schema = lull_metadata_read(path, &error);
    g_assert_no_error(error);
    if (g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &text, NULL, NULL,
                     NULL)) {
        for (const char *at_event = text; (at_event = strstr(at_event, "event {")); at_event++) {
            n_expected++;
        }
        for (uint32_t i = 0; i < schema->n_streams; i++) {
            n_events += schema->streams[i].n_events;
        }
        g_assert_cmpuint(n_events, >, 0);
        g_assert_cmpuint(n_events, ==, n_expected);
    }
    lull_schema_free(schema);
    g_free(text);
    g_free(path);
}

/* Checks every directory below with a metadata file; gives their number. */
static uint32_t check_traces(const char *directory, int depth)
{
    GDir *dir = g_dir_open(directory, 0, NULL);
    const char *name;
    uint32_t n = 0;

    while (dir && (name = g_dir_read_name(dir))) {
        char *path = g_build_filename(directory, name, NULL);
        if (strcmp(name, "metadata") == 0) {
            check_trace(directory);
            n++;
        } else if (depth > 0 && g_file_test(path, G_FILE_TEST_IS_DIR)) {
            n += check_traces(path, depth - 1);
        }
        g_free(path);
    }
    if (dir) {
        g_dir_close(dir);
    }
    return n;
}

static void test_traces(void)
{
    const char *directory = g_getenv("LULL_TEST_TRACES");
    if (check_traces(directory ? directory : "/tmp/tr", 3) == 0) {
        g_test_skip("no traces unpacked in LULL_TEST_TRACES or /tmp/tr");
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/metadata/small", test_small);
    g_test_add_func("/metadata/packets", test_packets);
    g_test_add_func("/metadata/bad-packets", test_bad_packets);
    g_test_add_func("/metadata/cut-text", test_cut_text);
    g_test_add_func("/metadata/cut-packets", test_cut_packets);
    g_test_add_func("/metadata/mutations", test_mutations);
    g_test_add_func("/metadata/other-formats", test_other_formats);
    g_test_add_func("/metadata/defaults", test_defaults);
    g_test_add_func("/metadata/several-streams", test_several_streams);
    g_test_add_func("/metadata/bad-blocks", test_bad_blocks);
    g_test_add_func("/metadata/constants", test_constants);
    g_test_add_func("/metadata/files", test_files);
    g_test_add_func("/metadata/traces", test_traces);
    return g_test_run();
}
