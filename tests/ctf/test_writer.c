/* SPDX-License-Identifier: MIT */
/* The CTF 2 writer on traces whose layout is unlike LTTng's on x86: fields that begin within a
 * byte, natural alignment, lengths and tags in headers and packet contexts, events larger than a
 * packet. What must come back is what was put in, written down here by hand, and for all of them
 * what the reader says of the input. */
#include <lull/session.h>

#include "lib/ctf_writer.h"
#include "source/export/export.h"
#include "source/trace_files.h"
#include "view/event/json.h"

static struct lull_session *open_all(const char *path)
{
    static const char *const all[] = {"*", NULL};
    g_autoptr(GError) error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add(session, path, &error);
    g_assert_no_error(error);
    lull_session_subscribe(session, all, NULL, 0, 0);
    return session;
}

/* The events as JSON, a line each. */
static char *events_of(const char *path)
{
    struct lull_session *session = open_all(path);
    struct lull_event_json json = {.session = session};
    GString *text = g_string_new(NULL);
    const struct lull_event *event;
    while ((event = lull_session_read(session))) {
        g_autoptr(GError) error = NULL;
        json.line.length = 0;
        lull_event_json_format(&json, event, &error);
        g_assert_no_error(error);
        g_string_append_len(text, json.line.data, (gssize)json.line.length);
    }
    for (uint32_t i = 0; i < lull_session_problem_count(session); i++) {
        g_error("%s", lull_session_problem(session, i));
    }
    lull_event_json_clear(&json);
    lull_session_free(session);
    return g_string_free(text, FALSE);
}

/* Exports what is within the limits; every nth event is left out (0: none). */
static void export_to(const char *from, const char *to, unsigned leave_out)
{
    g_autoptr(GError) error = NULL;
    struct lull_session *session = open_all(from);
    struct lull_export *e = lull_export_new(session, to, &error);
    g_assert_no_error(error);
    const struct lull_event *event;
    for (unsigned n = 1; (event = lull_session_read(session)); n++) {
        if (leave_out != 0 && n % leave_out == 0) {
            continue;
        }
        lull_export_event(e, event, &error);
        g_assert_no_error(error);
    }
    lull_export_finish(e, &error);
    g_assert_no_error(error);
    lull_export_free(e);
    lull_session_free(session);
}

static char *without_every(const char *lines, unsigned n)
{
    g_auto(GStrv) all = g_strsplit(lines, "\n", -1);
    GString *text = g_string_new(NULL);
    for (unsigned i = 0; all[i] && all[i][0] != '\0'; i++) {
        if ((i + 1) % n != 0) {
            g_string_append_printf(text, "%s\n", all[i]);
        }
    }
    return g_string_free(text, FALSE);
}

/* Exports the trace whole and with gaps; each copy has the input's events, and so has its copy.
 * Returns the events of the input and removes the directory. */
static char *round_trip(char *dir)
{
    g_autofree char *in = g_build_filename(dir, "in", NULL);
    char *wanted = events_of(in);
    g_assert_cmpstr(wanted, !=, "");
    for (unsigned gap = 0; gap < 4; gap++) {
        g_autofree char *name = g_strdup_printf("out%u", gap);
        g_autofree char *again_name = g_strdup_printf("again%u", gap);
        g_autofree char *out = g_build_filename(dir, name, NULL);
        g_autofree char *again = g_build_filename(dir, again_name, NULL);
        if (gap == 1) {
            continue;
        }
        export_to(in, out, gap);
        export_to(out, again, 0);
        g_autofree char *kept = gap == 0 ? g_strdup(wanted) : without_every(wanted, gap);
        g_autofree char *got = events_of(out), *got_again = events_of(again);
        g_assert_cmpstr(got, ==, kept);
        g_assert_cmpstr(got_again, ==, kept);
    }
    if (!g_getenv("LULL_KEEP")) {
        remove_tree(dir);
    }
    g_free(dir);
    return wanted;
}

/* ---- traces shaped as LTTng's ---- */

static void test_shapes(gconstpointer bits)
{
    unsigned b = GPOINTER_TO_UINT(bits);
    char *dir = new_directory();
    g_autofree char *in = g_build_filename(dir, "in", NULL);
    struct ctf_options options = {.big_endian = b & 1,
                                  .large_header = b & 2,
                                  .natural_align = b & 4,
                                  .frequency = b & 8 ? 123456789 : 0,
                                  .contexts = CTF_TID | CTF_PROCNAME,
                                  .packet_bytes = 512};
    struct ctf_writer *w = ctf_writer_new(in, &options);
    for (unsigned i = 0; i < 200; i++) {
        int64_t t = 1000000 + (int64_t)i * (i % 17 == 0 ? 300000000 : 1000);
        t = 1000000 + (int64_t)i * 300000000 + i % 17;
        ctf_writer_current(w, i % 2, 10, (int)i, i % 3 ? "worker" : "w");
        ctf_event(w, i % 2, t, "sched_switch", "prev_comm=worker prev_tid=%u next_comm=n", i);
        ctf_event(w, i % 2, t + 1, "irq_handler_entry", "irq=%u name=%.*s", i, (int)(i % 9) + 1,
                  "interrupts");
        ctf_event(w, i % 2, t + 2, "sched_process_fork", "parent_comm=p vtids=[%u 1]", i);
        ctf_event(w, i % 2, t + 3, "net_dev_queue",
                  "skbaddr=0xffff len=%u name=eth0 network_header={ipv4={version=4 "
                  "transport_header={tcp={source_port=80 seq=%u}}}}",
                  i, i * 7);
    }
    ctf_writer_close(w);
    g_autofree char *lines = round_trip(dir);
    g_assert_nonnull(strstr(lines, "\"skbaddr\""));
}

/* ---- traces written by hand ---- */

static void write_trace(const char *dir, const char *metadata, const GByteArray *stream)
{
    g_autofree char *in = g_build_filename(dir, "in", NULL);
    write_text(in, "metadata", metadata);
    write_file(in, "stream", stream->data, stream->len);
}

/* Appends `n` bits of `value` in the order of `big_endian` at *bit. */
static void put_bits(GByteArray *bytes, uint64_t *bit, bool big_endian, unsigned n, uint64_t value)
{
    for (unsigned i = 0; i < n; i++, ++*bit) {
        if (bytes->len * 8 <= *bit) {
            put(bytes, false, 1, 0);
        }
        unsigned one = big_endian ? value >> (n - 1 - i) & 1 : value >> i & 1;
        unsigned position = big_endian ? 7 - *bit % 8 : *bit % 8;
        bytes->data[*bit / 8] |= (uint8_t)(one << position);
    }
}

/* One packet: its context says how many bits it holds; `head` bytes have been left for that. */
static void set_sizes(GByteArray *stream, bool be, unsigned at, uint64_t content_bits)
{
    for (unsigned i = 0; i < 8; i++) {
        unsigned shift = 8 * (be ? 7 - i : i);
        stream->data[at + i] = (uint8_t)(content_bits >> shift);
        stream->data[at + 8 + i] = (uint8_t)((uint64_t)stream->len * 8 >> shift);
    }
}

#define HEAD                                                                                       \
    "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = %s; %s };\n"                        \
    "clock { name = c; freq = 1000000000; };\n"                                                    \
    "typealias integer { size = 8; align = 8; signed = false; } := u8;\n"                          \
    "typealias integer { size = 64; align = 8; signed = false; } := u64;\n"                        \
    "typealias integer { size = 3; align = 1; signed = false; } := b3;\n"                          \
    "typealias integer { size = 11; align = 1; signed = true; } := b11;\n"                         \
    "typealias integer { size = 64; align = 1; signed = false; } := b64;\n"                        \
    "typealias integer { size = 4; align = 1; } := b4;\n"                                          \
    "typealias integer { size = 9; align = 1; map = clock.c.value; } := time9;\n"

static void append_line(GString *lines, unsigned time, const char *name, const char *fields)
{
    g_string_append_printf(lines,
                           "{\"time_ns\":%u,\"host\":\"in\",\"cpu\":null,\"name\":\"%s\","
                           "\"context\":{},\"fields\":{%s}}\n",
                           time, name, fields);
}

/* Headers of 13 bits, fields of 3, 11 and 64 bits right behind, no alignment anywhere. */
static void test_bits(gconstpointer order)
{
    bool be = GPOINTER_TO_UINT(order);
    g_autofree char *metadata = g_strdup_printf(
        HEAD "stream { packet.context := struct { u64 content_size; u64 packet_size; };\n"
             "  event.header := struct { b4 id; time9 timestamp; }; };\n"
             "event { name = \"a\"; id = 1; fields := struct { b3 x; b11 y; b64 z; }; };\n"
             "event { name = \"b\"; id = 2; fields := struct { b3 n; b3 list[n]; }; };\n",
        be ? "be" : "le", "");
    char *dir = new_directory();
    g_autoptr(GByteArray) stream = g_byte_array_new();
    g_autoptr(GString) expected = g_string_new(NULL);
    uint64_t bit = 128;
    put_bytes(stream, "0123456789abcdef", 16);
    for (unsigned i = 0; i < 60; i++) {
        g_autoptr(GString) fields = g_string_new(NULL);
        put_bits(stream, &bit, be, 4, i % 2 ? 2 : 1);
        put_bits(stream, &bit, be, 9, i);
        put_bits(stream, &bit, be, 3, i % 8);
        if (i % 2) {
            g_string_append_printf(fields, "\"n\":%u,\"list\":[", i % 8);
            for (unsigned k = 0; k < i % 8; k++) {
                put_bits(stream, &bit, be, 3, (i + k) % 8);
                g_string_append_printf(fields, "%s%u", k ? "," : "", (i + k) % 8);
            }
            g_string_append(fields, "]");
        } else {
            int y = (int)i * 7 - 300;
            uint64_t z = UINT64_C(0xfedcba9876543210) + i;
            put_bits(stream, &bit, be, 11, (uint64_t)y & 0x7ff);
            put_bits(stream, &bit, be, 64, z);
            g_string_append_printf(fields, "\"x\":%u,\"y\":%d,\"z\":%" G_GUINT64_FORMAT, i % 8, y,
                                   z);
        }
        append_line(expected, i, i % 2 ? "b" : "a", fields->str);
    }
    set_sizes(stream, be, 0, bit);
    write_trace(dir, metadata, stream);
    g_autofree char *got = round_trip(dir);
    g_assert_cmpstr(got, ==, expected->str);
}

/* Lengths and tags in the packet header, the packet context and the event header, which the copy
 * has to carry along, in packets that differ in them; alignment of 64 bits behind. */
static void test_scopes(gconstpointer order)
{
    bool be = GPOINTER_TO_UINT(order);
    g_autofree char *metadata = g_strdup_printf(
        HEAD "stream { packet.context := struct { u64 content_size; u64 packet_size; u8 n; };\n"
             "  event.header := struct { u8 id; enum : u8 { _one = 1, _two = 2 } kind; u8 m;\n"
             "    integer { size = 8; align = 8; map = clock.c.value; } timestamp; }; };\n"
             "event { name = \"e\"; id = 7; fields := struct {\n"
             "  u8 by_header[trace.packet.header.names];\n"
             "  u8 by_context[stream.packet.context.n];\n"
             "  u8 by_event[stream.event.header.m];\n"
             "  variant <stream.event.header.kind> { u8 _one; struct { u8 a;\n"
             "    integer { size = 16; align = 64; } b; } _two; } v; }; };\n",
        be ? "be" : "le",
        "packet.header := struct { integer { size = 8; align = 8; } major; "
        "integer { size = 8; align = 8; } names; };");
    char *dir = new_directory();
    g_autoptr(GByteArray) file = g_byte_array_new();
    g_autoptr(GString) expected = g_string_new(NULL);
    for (unsigned p = 0; p < 3; p++) {
        g_autoptr(GByteArray) packet = g_byte_array_new();
        put(packet, be, 1, 9);
        put(packet, be, 1, 2 - p % 2);
        put_bytes(packet, "0123456789abcdef", 16);
        put(packet, be, 1, p);
        for (unsigned i = 0; i < 6; i++) {
            g_autoptr(GString) fields = g_string_new(NULL);
            unsigned counts[3] = {2 - p % 2, p, i};
            static const char *const names[3] = {"by_header", "by_context", "by_event"};
            put(packet, be, 1, 7);
            put(packet, be, 1, 1 + i % 2);
            put(packet, be, 1, i);
            put(packet, be, 1, p * 10 + i);
            for (unsigned k = 0; k < 3; k++) {
                g_string_append_printf(fields, "\"%s\":[", names[k]);
                for (unsigned n = 0; n < counts[k]; n++) {
                    put(packet, be, 1, k * 50 + n);
                    g_string_append_printf(fields, "%s%u", n ? "," : "", k * 50 + n);
                }
                g_string_append(fields, "],");
            }
            if (i % 2) {
                pad(packet, 8);
                put(packet, be, 1, i);
                pad(packet, 8);
                put(packet, be, 2, 1000 + i);
                g_string_append_printf(fields, "\"v\":{\"two\":{\"a\":%u,\"b\":%u}}", i, 1000 + i);
            } else {
                put(packet, be, 1, i);
                g_string_append_printf(fields, "\"v\":{\"one\":%u}", i);
            }
            append_line(expected, p * 10 + i, "e", fields->str);
        }
        set_sizes(packet, be, 2, (uint64_t)packet->len * 8);
        g_byte_array_append(file, packet->data, packet->len);
    }
    write_trace(dir, metadata, file);
    g_autofree char *got = round_trip(dir);
    g_assert_cmpstr(got, ==, expected->str);
}

/* What CTF 1.8 allows and CTF 2 does not: ranges of a tag that overlap, names twice; and an event
 * that is larger than a packet, reals, unnamed bit-fields. */
static void test_classes(void)
{
    g_autofree char *metadata = g_strdup_printf(
        HEAD "stream { packet.context := struct { u64 content_size; u64 packet_size; };\n"
             "  event.header := struct { u8 id; }; };\n"
             "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := real;\n"
             "event { name = \"v\"; id = 0; loglevel = 6; fields := struct {\n"
             "  enum : integer { size = 8; align = 8; signed = true; }\n"
             "    { low = -5 ... 5, all = -100 ... 100, hidden = 3, other = -128 } t;\n"
             "  variant <t> { u8 low; string all; u8 hidden; real other; u8 never; } v;\n"
             "  u8 b; u8 _b; }; };\n"
             "event { name = \"big\"; id = 1; fields := struct { u64 n; u8 data[n]; }; };\n",
        "le", "");
    static const struct {
        int8_t tag;
        const char *bytes;
        unsigned size;
        const char *json;
    } cases[] = {
        {-5, "\x09", 1, "{\"low\":9}"},
        {3, "\x08", 1, "{\"low\":8}"},
        {6, "six\0", 4, "{\"all\":\"six\"}"},
        {-100, "\0", 1, "{\"all\":\"\"}"},
        {-128, "\0\0\0\0\0\0\xf8\x3f", 8, "{\"other\":1.5}"},
    };
    char *dir = new_directory();
    g_autoptr(GByteArray) file = g_byte_array_new();
    put_bytes(file, "0123456789abcdef", 16);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        put(file, false, 1, 0);
        put(file, false, 1, (uint8_t)cases[i].tag);
        put_bytes(file, cases[i].bytes, cases[i].size);
        put(file, false, 2, 0x0201);
        put(file, false, 1, 1);
        put(file, false, 8, i % 2 ? 300000 : 1);
        for (unsigned k = 0; k < (i % 2 ? 300000u : 1u); k++) {
            put(file, false, 1, k % 251);
        }
    }
    set_sizes(file, false, 0, (uint64_t)file->len * 8);
    write_trace(dir, metadata, file);
    g_autofree char *in = g_build_filename(dir, "in", NULL);
    g_autofree char *out = g_build_filename(dir, "out", NULL);
    g_autofree char *wanted = events_of(in);
    export_to(in, out, 0);
    g_autofree char *got = events_of(out);
    const char *at = got;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strdup_printf("\"v\":%s", cases[i].json);
        at = strstr(at, text);
        g_assert_nonnull(at);
        at++;
    }
    /* The second of two members of one name gets its number; as a key it is the second of the name. */
    g_auto(GStrv) parts = g_strsplit(got, "\"b#3\":2", -1);
    g_autofree char *renamed = g_strjoinv("\"b#2\":2", parts);
    g_assert_cmpstr(renamed, ==, wanted);
    remove_tree(dir);
    g_free(dir);
}

/* ---- CTF 2 to CTF 2 ---- */

#define INT(kind, bits, more)                                                                      \
    "{\"type\":\"fixed-length-" kind "\",\"length\":" bits                                         \
    ",\"byte-order\":\"little-endian\",\"alignment\":8" more "}"
#define MEMBER(name, fc) "{\"name\":\"" name "\",\"field-class\":" fc "}"
#define PLACE(name) "{\"origin\":\"event-record-payload\",\"path\":[\"" name "\"]}"

/* Each kind of field class that CTF 1.8 does not have. */
static const char ctf2_metadata[] =
    "\x1e{\"type\":\"preamble\",\"version\":2}\n"
    "\x1e{\"type\":\"clock-class\",\"id\":\"c\",\"name\":\"clock\",\"frequency\":1000000000,"
    "\"origin\":\"unix-epoch\",\"accuracy\":7,\"precision\":3}\n"
    "\x1e{\"type\":\"data-stream-class\",\"name\":\"s\",\"namespace\":\"n\","
    "\"default-clock-class-id\":\"c\",\"event-record-header-field-class\":{\"type\":\"structure\","
    "\"member-classes\":[" MEMBER(
        "time",
        INT("unsigned-integer", "8",
            ",\"roles\":[\"default-clock-timestamp\"]")) "]}}\n"
                                                         "\x1e{\"type\":\"event-record-class\","
                                                         "\"name\":\"all\",\"payload-field-class\":"
                                                         "{"
                                                         "\"type\":\"structure\",\"member-"
                                                         "classes\":[" MEMBER(
                                                             "flag",
                                                             INT("boolean", "8",
                                                                 "")) "," MEMBER("maybe", "{\"type\":"
                                                                                          "\"optional\","
                                                                                          "\"selector-field-"
                                                                                          "location\""
                                                                                          ":" PLACE(
                                                                                              "flag") ",\"fi"
                                                                                                      "eld-"
                                                                                                      "class"
                                                                                                      "\""
                                                                                                      ":" INT("unsigned-integer",
                                                                                                              "16", "") "}") "," MEMBER("leb", "{\"type\":\"variable-length-unsigned-integer\"}") "," MEMBER("sleb", "{\"type\":\"variable-length-signed-integer\",\"mappings\":{\"minus\":[[-9,-1]]}}") "," MEMBER("some", "{\"type\":\"optional\",\"selector-field-location\":" PLACE("sleb") ",\"selector-field-ranges\":[[-3,-2],[5,6]],\"field-class\":{\"type\":"
                                                                                                                                                                                                                                                                                                                                                                                                "\"null-terminated-string\"}}") "," MEMBER("bits", INT("bit-array",
                                                                                                                                                                                                                                                                                                                                                                                                                                                       "16",
                                                                                                                                                                                                                                                                                                                                                                                                                                                       "")) "," MEMBER("map", INT("bit-map", "8", ",\"flags\":{\"low\":[[0,1]],\"high\":[[6,7]]}")) "," MEMBER("mirrored", INT("unsigned-integer",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               "8",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               ",\"bit-order\":\"last-to-first\"")) "," MEMBER("wide", "{\"type\":\"static-length-string\",\"length\":6,\"encoding\":\"utf-16le\"}") "," MEMBER("text",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                "{\"type\":\"dynamic-length-string\",\"length-field-location\":" PLACE(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                    "leb") "}") "," MEMBER("blob", "{\"type\":\"static-length-blob\",\"length\":3,\"media-type\":\"image/png\"}") "," MEMBER("bytes", "{\"type\":\"dynamic-length-blob\",\"length-field-location\":" PLACE("leb") "}") "," MEMBER("half", INT("floating-point-number",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "16",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "")) "," MEMBER("pick",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "{\"type\":\"variant\",\"selector-field-location\":" PLACE("sleb") ",\"options\":[{\"selector-field-ranges\":[[-9,0]],\"field-class\":" INT("unsigned-integer", "8", "") "},{\"name\":\"up\",\"selector-field-ranges\":[[1,60]],"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       "\"field-class\":" INT("signed-integer",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "8", "") "}]}") "]}}\n";

static void test_ctf2(void)
{
    static const char first[] = "\x05\x01\x34\x12"         /* time, flag, maybe */
                                "\x82\x00\x7d\x68\x69\x00" /* leb 2, sleb -3, some "hi" */
                                "\xcd\xab\x41\x01"
                                "h\0"
                                "\xe9\x00"
                                "!\0" /* bits map mirrored wide */
                                "ab"
                                "\x01\x02\x03"
                                "\xfe\xff" /* text blob bytes */
                                "\x00\x3e"
                                "\xc8"; /* half 1.5, pick 200 */
    static const char second[] = "\x09\x00"
                                 "\x01\x09"
                                 "\x00\x00\x80\x80"
                                 "a\0\0\0b\0"
                                 "z"
                                 "\x07\x08\x09"
                                 "\x11"
                                 "\x00\xc0"
                                 "\xff";
    char *dir = new_directory();
    g_autoptr(GByteArray) file = g_byte_array_new();
    put_bytes(file, first, sizeof first - 1);
    put_bytes(file, second, sizeof second - 1);
    write_trace(dir, ctf2_metadata, file);
    g_autofree char *lines = round_trip(dir);
    g_auto(GStrv) events = g_strsplit(lines, "\n", 2);
    static const char *const of_first[] = {
        "\"time_ns\":5",   "\"flag\":true", "4660",  "\"leb\":2",        "\"value\":-3",
        "\"minus\"",       "\"hi\"",        "43981", "\"mirrored\":128", "hé!",
        "\"text\":\"ab\"", "\"half\":1.5",  "200",
    };
    static const char *const of_second[] = {
        "\"time_ns\":9",  "\"flag\":false", "\"leb\":1",   "\"value\":9", "\"mirrored\":1,",
        "\"wide\":\"a\"", "\"text\":\"z\"", "\"half\":-2", "{\"up\":-1}",
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(of_first); i++) {
        if (!strstr(events[0], of_first[i])) {
            g_error("no %s in %s", of_first[i], events[0]);
        }
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(of_second); i++) {
        if (!strstr(events[1], of_second[i])) {
            g_error("no %s in %s", of_second[i], events[1]);
        }
    }
}

/* What was recorded before anything was enabled declares no stream, which CTF 2 does not allow. */
static void test_no_streams(void)
{
    g_autofree char *dir = new_directory();
    g_autofree char *in = g_build_filename(dir, "in", NULL);
    g_autofree char *out = g_build_filename(dir, "out", NULL);
    write_text(in, "metadata",
               "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; };\n");
    export_to(in, out, 0);
    struct lull_session *session = open_all(out);
    g_assert_cmpuint(lull_session_trace_count(session), ==, 1);
    g_assert_null(lull_session_read(session));
    lull_session_free(session);
    remove_tree(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned b = 0; b < 16; b++) {
        g_autofree char *name = g_strdup_printf("/ctf/writer/shapes/%u", b);
        g_test_add_data_func(name, GUINT_TO_POINTER(b), test_shapes);
    }
    g_test_add_data_func("/ctf/writer/bits/le", GUINT_TO_POINTER(0), test_bits);
    g_test_add_data_func("/ctf/writer/bits/be", GUINT_TO_POINTER(1), test_bits);
    g_test_add_data_func("/ctf/writer/scopes/le", GUINT_TO_POINTER(0), test_scopes);
    g_test_add_data_func("/ctf/writer/scopes/be", GUINT_TO_POINTER(1), test_scopes);
    g_test_add_func("/ctf/writer/classes", test_classes);
    g_test_add_func("/ctf/writer/ctf2", test_ctf2);
    g_test_add_func("/ctf/writer/no-streams", test_no_streams);
    return g_test_run();
}
