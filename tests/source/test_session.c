/* SPDX-License-Identifier: MIT */
/* Reading hand-written traces: byte orders, bit fields, alignment, headers, bindings, merging,
 * limits. All expectations are the values that were written, or arithmetic by hand. */
#include <stddef.h>
#include <unistd.h>

#include <lull/session.h>

#include "source/session/private.h"
#include "source/session/streams.h"
#include "source/trace_files.h"

#define CLOCK_1GHZ "freq = 1000000000; offset = 0"

static struct lull_session *open_or_die(const char *path)
{
    g_autoptr(GError) error = NULL;
    struct lull_session *session = lull_session_new();
    if (!lull_session_add(session, path, &error)) {
        g_error("%s", error->message);
    }
    for (uint32_t i = 0; i < lull_session_problem_count(session); i++) {
        g_test_message("problem: %s", lull_session_problem(session, i));
    }
    return session;
}

/* Writes metadata: the head with the given byte order, then `rest`. */
static void write_metadata(const char *dir, const char *order, const char *clock, const char *rest)
{
    g_autofree char *head = metadata_head(order, "hostname = \"box\"", clock);
    g_autofree char *text = g_strconcat(head, rest, NULL);
    write_text(dir, "metadata", text);
}

#define STREAM(header)                                                                             \
    "stream { id = 0; event.header := struct " header                                              \
    "; packet.context := struct packet_context; };\n"

static bool has_text(struct lull_text text, const char *expected)
{
    return text.length == strlen(expected) && memcmp(text.data, expected, text.length) == 0;
}

/* ---- fields ---- */

struct all_fields {
    uint64_t have;
    int64_t u8, s16, u32, s32, u64, option, missing;
    struct lull_text name, text, bytes, words;
};

static const struct lull_binding all_bindings[] = {
    {(const char *const[]){"u8", NULL}, LULL_BIND_INT, offsetof(struct all_fields, u8)},
    {(const char *const[]){"other", "s16", NULL}, LULL_BIND_INT, offsetof(struct all_fields, s16)},
    {(const char *const[]){"inner.u32", NULL}, LULL_BIND_INT, offsetof(struct all_fields, u32)},
    {(const char *const[]){"inner.s32", NULL}, LULL_BIND_INT, offsetof(struct all_fields, s32)},
    {(const char *const[]){"u64", NULL}, LULL_BIND_INT, offsetof(struct all_fields, u64)},
    {(const char *const[]){"choice.two.value", NULL}, LULL_BIND_INT,
     offsetof(struct all_fields, option)},
    {(const char *const[]){"nowhere", NULL}, LULL_BIND_INT, offsetof(struct all_fields, missing)},
    {(const char *const[]){"name", NULL}, LULL_BIND_TEXT, offsetof(struct all_fields, name)},
    {(const char *const[]){"text", NULL}, LULL_BIND_TEXT, offsetof(struct all_fields, text)},
    {(const char *const[]){"bytes", NULL}, LULL_BIND_RAW, offsetof(struct all_fields, bytes)},
    {(const char *const[]){"words", NULL}, LULL_BIND_RAW, offsetof(struct all_fields, words)},
};
enum { HAVE_OPTION = 1 << 5, HAVE_MISSING = 1 << 6, HAVE_ALL = (1 << 11) - 1 };

static const char all_metadata[] = STREAM("large") //
    "event { id = 3; name = \"all\"; stream_id = 0; fields := struct {\n"
    "  uint8_t _u8; integer { size = 16; align = 8; signed = 1; } _s16;\n"
    "  struct { uint32_t _u32; int32_t _s32; } _inner;\n"
    "  integer { size = 8; align = 8; signed = 1; encoding = UTF8; } _name[8];\n"
    "  string _text;\n"
    "  enum : uint8_t { one = 1, two = 2, two = 7 ... 9 } _tag;\n"
    "  variant <_tag> { struct { uint8_t _small; } one;\n"
    "                   struct { string _s; uint16_t _value; } two; } _choice;\n"
    "  uint8_t _n; uint8_t _bytes[_n]; uint16_t _words[3];\n"
    "  struct { uint8_t _k; uint16_t _list[_k]; } _lists[2];\n"
    "  uint64_t _u64; }; };\n";

/* One event of the class above; tag 1 or 2 (or 7 to 9). */
static void put_all(GByteArray *b, bool be, uint32_t time, uint8_t tag)
{
    put_large(b, be, 3, time);
    put(b, be, 1, 200);
    put(b, be, 2, (uint16_t)-1234);
    put(b, be, 4, 4000000000u);
    put(b, be, 4, (uint32_t)-5);
    put_bytes(b, "abc\0zzzz", 8);
    put_bytes(b, "hello world", 12);
    put(b, be, 1, tag);
    if (tag == 1) {
        put(b, be, 1, 77);
    } else {
        put_bytes(b, "x", 2);
        put(b, be, 2, 54321);
    }
    put(b, be, 1, 5);
    put_bytes(b, "\1\2\0\4\5", 5);
    put(b, be, 2, 1);
    put(b, be, 2, 2);
    put(b, be, 2, 3);
    put(b, be, 1, 2); /* lists: two of 2, then none */
    put(b, be, 4, 0);
    put(b, be, 1, 0);
    put(b, be, 8, UINT64_C(0xfedcba9876543210));
}

static void check_all(const struct lull_event *event, uint8_t tag)
{
    const struct all_fields *f = event->fields;
    uint64_t expected = HAVE_ALL & ~(uint64_t)HAVE_MISSING;
    if (tag == 1) {
        expected &= ~(uint64_t)HAVE_OPTION;
    }
    g_assert_cmphex(f->have, ==, expected);
    g_assert_cmpint(f->u8, ==, 200);
    g_assert_cmpint(f->s16, ==, -1234);
    g_assert_cmpint(f->u32, ==, 4000000000);
    g_assert_cmpint(f->s32, ==, -5);
    g_assert_cmphex((uint64_t)f->u64, ==, UINT64_C(0xfedcba9876543210));
    g_assert_cmpint(f->option, ==, tag == 1 ? 0 : 54321);
    g_assert_cmpint(f->missing, ==, 0);
    g_assert_true(has_text(f->name, "abc"));
    g_assert_true(has_text(f->text, "hello world"));
    g_assert_cmpuint(f->bytes.length, ==, 5);
    g_assert_cmpmem(f->bytes.data, 5, "\1\2\0\4\5", 5);
    g_assert_cmpuint(f->words.length, ==, 6);
}

static void test_fields(gconstpointer data)
{
    bool be = GPOINTER_TO_INT(data) != 0;
    static const uint8_t tags[] = {1, 2, 9, 1};
    g_autofree char *dir = new_directory();
    g_autoptr(GByteArray) contents = g_byte_array_new(), file = g_byte_array_new();
    write_metadata(dir, be ? "be" : "le", CLOCK_1GHZ, all_metadata);
    for (unsigned i = 0; i < G_N_ELEMENTS(tags); i++) {
        put_all(contents, be, 1000 + i, tags[i]);
    }
    struct test_packet packet = {.start = 1000, .end = 2000, .cpu = 6};
    put_packet(file, be, &packet, contents);
    write_file(dir, "s0", file->data, file->len);

    struct lull_session *session = open_or_die(dir);
    g_assert_cmpuint(lull_session_problem_count(session), ==, 0);
    g_assert_cmpstr(lull_session_host(session, 0)->name, ==, "box");
    uint32_t number =
        lull_session_subscribe(session, (const char *const[]){"al*", NULL}, all_bindings,
                               G_N_ELEMENTS(all_bindings), sizeof(struct all_fields));
    struct lull_event event;
    for (unsigned i = 0; i < G_N_ELEMENTS(tags); i++) {
        g_assert_cmpint(lull_session_next(session, &event), ==, 1);
        g_assert_cmpint(event.time_ns, ==, 1000 + i);
        g_assert_cmpint(event.cpu, ==, 6);
        g_assert_cmpuint(event.subscription, ==, number);
        g_assert_cmpstr(lull_event_class_name(event.event_class), ==, "all");
        check_all(&event, tags[i]);
    }
    g_assert_cmpint(lull_session_next(session, &event), ==, 0);
    g_assert_cmpuint(lull_session_problem_count(session), ==, 0);
    lull_session_free(session);
    remove_tree(dir);
}

/* ---- bit fields and alignment ---- */

struct bit_fields {
    uint64_t have;
    int64_t a, b, c, d, after;
};

static const struct lull_binding bit_bindings[] = {
    {(const char *const[]){"a", NULL}, LULL_BIND_INT, offsetof(struct bit_fields, a)},
    {(const char *const[]){"b", NULL}, LULL_BIND_INT, offsetof(struct bit_fields, b)},
    {(const char *const[]){"c", NULL}, LULL_BIND_INT, offsetof(struct bit_fields, c)},
    {(const char *const[]){"d", NULL}, LULL_BIND_INT, offsetof(struct bit_fields, d)},
    {(const char *const[]){"after", NULL}, LULL_BIND_INT, offsetof(struct bit_fields, after)},
};

/* a = 5 (3 bits), b = 17 (5 bits), c = 0xabc (12 bits), d = -2 (4 bits, signed), then a string.
 * Little-endian: 5 | 17 << 3 = 0x8d, 0xbc, 0xa | 0xe << 4 = 0xea.
 * Big-endian: 101 10001 = 0xb1, 1010 1011 = 0xab, 1100 1110 = 0xce. */
static void test_bit_fields(gconstpointer data)
{
    bool be = GPOINTER_TO_INT(data) != 0;
    g_autofree char *dir = new_directory();
    g_autoptr(GByteArray) contents = g_byte_array_new(), file = g_byte_array_new();
    write_metadata(
        dir, be ? "be" : "le", CLOCK_1GHZ,
        STREAM("large") //
        "event { id = 0; name = \"bits\"; stream_id = 0; fields := struct {\n"
        "  integer { size = 3; align = 1; } _a; integer { size = 5; align = 1; } _b;\n"
        "  integer { size = 12; align = 1; } _c; integer { size = 4; align = 1; signed = 1; } _d;\n"
        "  string _s; integer { size = 64; align = 64; } _after; }; };\n");
    for (unsigned i = 0; i < 9; i++) {
        pad(contents, 1);
        put_large(contents, be, 0, i);
        pad(contents,
            8); /* the payload is aligned to 64 bits as `after` is; the header has 72 bytes */
        put_bytes(contents, be ? "\xb1\xab\xce" : "\x8d\xbc\xea", 3);
        put_bytes(contents, "12345678" + i % 8, 9 - i % 8);
        pad(contents, 8);
        put(contents, be, 8, 42 + i);
    }
    struct test_packet packet = {.start = 0, .end = 100};
    put_packet(file, be, &packet, contents);
    write_file(dir, "s0", file->data, file->len);

    struct lull_session *session = open_or_die(dir);
    lull_session_subscribe(session, (const char *const[]){"bits", NULL}, bit_bindings,
                           G_N_ELEMENTS(bit_bindings), sizeof(struct bit_fields));
    struct lull_event event;
    for (unsigned i = 0; i < 9; i++) {
        g_assert_cmpint(lull_session_next(session, &event), ==, 1);
        const struct bit_fields *f = event.fields;
        g_assert_cmphex(f->have, ==, 31);
        g_assert_cmpint(f->a, ==, 5);
        g_assert_cmpint(f->b, ==, 17);
        g_assert_cmphex((uint64_t)f->c, ==, 0xabc);
        g_assert_cmpint(f->d, ==, -2);
        g_assert_cmpint(f->after, ==, 42 + i);
    }
    g_assert_cmpint(lull_session_next(session, &event), ==, 0);
    g_assert_cmpuint(lull_session_problem_count(session), ==, 0);
    lull_session_free(session);
    remove_tree(dir);
}

/* ---- event headers ---- */

static void put_compact(GByteArray *b, bool be, uint32_t id, uint64_t time)
{
    if (id < 31) {
        uint32_t low = (uint32_t)(time & 0x7ffffff);
        put(b, be, 4, be ? id << 27 | low : low << 5 | id);
        return;
    }
    put(b, be, 1, be ? 31 << 3 : 31);
    put(b, be, 4, id);
    put(b, be, 8, time);
}

static const uint64_t header_times[] = {
    100,         (1 << 27) - 1, (1 << 27),        (1 << 27) + 5, 2 * (1 << 27),
    900000000,   900000001,     5000000000,       5000000000,    5000000000 + (1 << 27) - 1,
    5200000000u, 5300000000u,   9223372036854775,
};

/* Times that wrap the 27 or 32 bits of short headers; a step of more than 2^27 needs the long one.
 */
static void check_headers(bool be, bool compact, const char *stream)
{
    g_autofree char *dir = new_directory();
    g_autoptr(GByteArray) contents = g_byte_array_new(), file = g_byte_array_new();
    g_autofree char *rest = g_strconcat(
        stream,
        "event { id = 7; name = \"a\"; stream_id = 0; fields := struct { uint16_t x; }; };\n"
        "event { id = 40; name = \"b\"; stream_id = 0; fields := struct { uint16_t x; }; };\n"
        "event { id = 70000; name = \"c\"; stream_id = 0; fields := struct { uint16_t x; }; };\n",
        NULL);
    write_metadata(dir, be ? "be" : "le", CLOCK_1GHZ, rest);
    uint64_t before = 100;
    for (unsigned i = 0; i < G_N_ELEMENTS(header_times); i++) {
        uint64_t t = header_times[i];
        bool is_far = t - before >= (compact ? UINT64_C(1) << 27 : UINT64_C(1) << 32);
        uint32_t id = is_far ? 70000 : i % 3 == 0 ? 40 : 7;
        if (compact) {
            put_compact(contents, be, id, t);
        } else if (id < 65535) {
            put_large(contents, be, (uint16_t)id, (uint32_t)t);
        } else {
            put(contents, be, 2, 65535);
            put(contents, be, 4, id);
            put(contents, be, 8, t);
        }
        put(contents, be, 2, 0xffff);
        before = t;
    }
    struct test_packet packet = {.start = 100, .end = UINT64_C(1) << 60};
    put_packet(file, be, &packet, contents);
    write_file(dir, "s0", file->data, file->len);

    struct lull_session *session = open_or_die(dir);
    lull_session_subscribe(session, (const char *const[]){"*", NULL}, NULL, 0, 0);
    struct lull_event event;
    for (unsigned i = 0; i < G_N_ELEMENTS(header_times); i++) {
        g_assert_cmpint(lull_session_next(session, &event), ==, 1);
        g_assert_cmpint(event.time_ns, ==, (int64_t)header_times[i]);
    }
    g_assert_cmpint(lull_session_next(session, &event), ==, 0);
    g_assert_cmpuint(lull_session_problem_count(session), ==, 0);
    lull_session_free(session);
    remove_tree(dir);
}

/* The same layouts, declared so that the straight code does not recognise them. */
static const char general_compact[] =
    "stream { id = 0; packet.context := struct packet_context; event.header := struct {\n"
    "  enum : uint5_t { compact = 0 ... 12, compact = 13 ... 30, extended = 31 } id;\n"
    "  variant <id> { struct { time27_t timestamp; } compact;\n"
    "    struct { uint32_t id; time64_t timestamp; } extended; } v; } align(8); };\n";
static const char general_large[] =
    "stream { id = 0; packet.context := struct packet_context; event.header := struct {\n"
    "  enum : uint16_t { compact = 0 ... 12, compact = 13 ... 65534, extended = 65535 } id;\n"
    "  variant <id> { struct { time32_t timestamp; } compact;\n"
    "    struct { uint32_t id; time64_t timestamp; } extended; } v; } align(8); };\n";

static void test_headers(void)
{
    for (int be = 0; be < 2; be++) {
        check_headers(be, true, STREAM("compact"));
        check_headers(be, false, STREAM("large"));
        check_headers(be, true, general_compact);
        check_headers(be, false, general_large);
    }
}

/* No packet header, no packet context, no event header: the file is one packet of one class. */
static void test_bare_stream(void)
{
    g_autofree char *dir = new_directory();
    g_autoptr(GByteArray) file = g_byte_array_new();
    write_text(dir, "metadata",
               "/* CTF 1.8 */\n"
               "trace { major = 1; minor = 8; byte_order = be; };\n"
               "clock { name = c; freq = 1000; offset_s = 5; };\n"
               "stream { event.header := struct { integer { size = 32; align = 8;\n"
               "  map = clock.c.value; } when; }; };\n"
               "event { name = only; fields := struct { string s; }; };\n");
    put(file, true, 4, 250);
    put_bytes(file, "one", 4);
    put(file, true, 4, 1250);
    put_bytes(file, "two", 4);
    write_file(dir, "data", file->data, file->len);
    struct lull_session *session = open_or_die(dir);
    const struct lull_trace *trace = lull_session_trace(session, 0);
    g_assert_cmpint(trace->start_ns, ==, INT64_C(5250000000));
    g_assert_cmpint(trace->end_ns, ==, INT64_C(6250000000));
    lull_session_subscribe(session, (const char *const[]){"only", NULL}, NULL, 0, 0);
    struct lull_event event;
    g_assert_cmpint(lull_session_next(session, &event), ==, 1);
    g_assert_cmpint(event.time_ns, ==, INT64_C(5250000000));
    g_assert_cmpint(event.cpu, ==, -1);
    g_assert_cmpint(lull_session_next(session, &event), ==, 1);
    g_assert_cmpint(event.time_ns, ==, INT64_C(6250000000));
    g_assert_cmpint(lull_session_next(session, &event), ==, 0);
    lull_session_free(session);
    remove_tree(dir);
}

/* ---- merging, limits, selection ---- */

#define TICK "event { id = 1; name = \"tick\"; stream_id = 0; fields := struct { uint8_t n; }; };\n"

/* A file of `packets` packets with 10 ticks each, `step` ns apart, beginning at `begin`. */
static void write_ticks(const char *dir, const char *name, uint32_t cpu, uint64_t start,
                        unsigned packets, uint64_t step)
{
    g_autoptr(GByteArray) file = g_byte_array_new();
    for (unsigned p = 0; p < packets; p++) {
        g_autoptr(GByteArray) contents = g_byte_array_new();
        uint64_t first = start + p * 10 * step;
        for (unsigned i = 0; i < 10; i++) {
            put_large(contents, false, 1, (uint32_t)(first + i * step));
            put(contents, false, 1, i);
        }
        struct test_packet packet = {
            .start = first, .end = first + 9 * step, .sequence = p, .cpu = cpu, .size = 1024};
        put_packet(file, false, &packet, contents);
    }
    write_file(dir, name, file->data, file->len);
}

static void sum_counts(void *user, uint32_t trace, const struct lull_event_class *event_class,
                       uint64_t count)
{
    *(uint64_t *)user += count;
}

/* Reads all that is wanted: times must not decrease, ties must come by stream. */
static unsigned read_all(struct lull_session *session, int64_t start, int64_t end)
{
    struct lull_event event;
    int64_t before = INT64_MIN;
    uint32_t stream = 0;
    unsigned n = 0;
    uint64_t counted = 0;
    while (lull_session_next(session, &event)) {
        g_assert_cmpint(event.time_ns, >=, start);
        g_assert_cmpint(event.time_ns, <, end);
        g_assert_cmpint(event.time_ns, >=, before);
        if (event.time_ns == before) {
            g_assert_cmpuint(event.stream, >, stream);
        }
        before = event.time_ns;
        stream = event.stream;
        n++;
    }
    lull_session_count(session, sum_counts, &counted);
    g_assert_cmpuint(counted, ==, n);
    return n;
}

static void test_merge_and_limits(void)
{
    g_autofree char *dir = new_directory();
    write_metadata(dir, "le", CLOCK_1GHZ, STREAM("large") TICK);
    write_ticks(dir, "s0", 0, 1000, 5, 10); /* 1000, 1010, ... 1490 */
    write_ticks(dir, "s1", 1, 1000, 5, 20); /* 1000, 1020, ... 1980 */
    write_ticks(dir, "s2", 2, 2000, 1, 1);  /* 2000 ... 2009 */
    struct lull_session *session = open_or_die(dir);
    int64_t start, end;
    g_assert_true(lull_session_range(session, &start, &end));
    g_assert_cmpint(start, ==, 1000);
    g_assert_cmpint(end, ==, 2009);
    g_assert_cmpuint(lull_session_trace(session, 0)->packet_count, ==, 11);
    lull_session_subscribe(session, (const char *const[]){"tick", NULL}, NULL, 0, 0);
    g_assert_cmpuint(read_all(session, 1000, 2010), ==, 110);
    /* [1095, 1300): s0 1100..1290 = 20, s1 1100..1280 = 10 */
    lull_session_limit(session, 1095, 1300);
    g_assert_cmpuint(read_all(session, 1095, 1300), ==, 30);
    lull_session_select(session, -1, 1);
    g_assert_cmpuint(read_all(session, 1095, 1300), ==, 10);
    lull_session_select(session, 0, -1);
    lull_session_limit(session, 1980, 2000);
    g_assert_cmpuint(read_all(session, 1980, 2000), ==, 1);
    lull_session_limit(session, 5000, INT64_MAX);
    g_assert_cmpuint(read_all(session, 5000, INT64_MAX), ==, 0);
    lull_session_limit(session, INT64_MIN, INT64_MAX);
    struct lull_clock_transform ahead = {.offset_ns = 1000000};
    lull_session_set_clock(session, 0, &ahead);
    g_assert_cmpuint(read_all(session, 1001000, 1002010), ==, 110);
    g_assert_cmpuint(lull_session_problem_count(session), ==, 0);
    lull_session_unsubscribe_all(session);
    struct lull_event event;
    g_assert_cmpint(lull_session_next(session, &event), ==, 0);
    lull_session_free(session);
    remove_tree(dir);
}

static void test_first_subscription_wins(void)
{
    g_autofree char *dir = new_directory();
    write_metadata(dir, "le", CLOCK_1GHZ, STREAM("large") TICK);
    write_ticks(dir, "s0", 0, 1000, 1, 10);
    struct lull_session *session = open_or_die(dir);
    struct lull_event event;
    lull_session_subscribe(session, (const char *const[]){"tock", NULL}, NULL, 0, 0);
    lull_session_subscribe(session, (const char *const[]){"ti*", NULL}, NULL, 0, 0);
    lull_session_subscribe(session, (const char *const[]){"tick", NULL}, NULL, 0, 0);
    g_assert_cmpint(lull_session_next(session, &event), ==, 1);
    g_assert_cmpuint(event.subscription, ==, 1);
    g_assert_true(lull_session_declares(session, 0, (const char *const[]){"x", "tick", NULL}));
    g_assert_false(lull_session_declares(session, 0, (const char *const[]){"x", NULL}));
    lull_session_free(session);
    remove_tree(dir);
}

/* ---- hosts ---- */

static void add_host_trace(const char *dir, const char *sub, const char *host, const char *clock)
{
    g_autofree char *path = g_build_filename(dir, sub, NULL);
    g_autofree char *head = metadata_head("le", host, clock);
    g_autofree char *text = g_strconcat(head, STREAM("large") TICK, NULL);
    write_text(path, "metadata", text);
    write_ticks(path, "s0", 0, 1000, 1, 10);
}

#define BOOT_A "uuid = \"00000000-0000-0000-0000-00000000000a\"; freq = 1000000000; "
#define BOOT_B "uuid = \"00000000-0000-0000-0000-00000000000b\"; freq = 1000000000; "

/* One boot id is one host with one clock offset, the first; equal names get a number. */
static void test_hosts(void)
{
    g_autofree char *dir = new_directory();
    add_host_trace(dir, "a/kernel", "hostname = \"db\"", BOOT_A "offset = 5000");
    add_host_trace(dir, "b/kernel", "hostname = \"db\"", BOOT_A "offset = 5300");
    add_host_trace(dir, "c/kernel", "hostname = \"db\"", BOOT_B "offset = 7000");
    add_host_trace(dir, "d/kernel", "x = 1", CLOCK_1GHZ);
    g_autofree char *link = g_build_filename(dir, "d", "loop", NULL);
    g_assert_cmpint(symlink(dir, link), ==, 0);
    struct lull_session *session = open_or_die(dir);
    g_assert_cmpuint(lull_session_trace_count(session), ==, 4);
    g_assert_cmpuint(lull_session_host_count(session), ==, 3);
    g_assert_cmpstr(lull_session_host(session, 0)->name, ==, "db");
    g_assert_cmpstr(lull_session_host(session, 1)->name, ==, "db#2");
    g_assert_cmpstr(lull_session_host(session, 2)->name, ==, "d");
    g_assert_cmpuint(lull_session_trace(session, 1)->host, ==, 0);
    g_assert_cmpint(lull_session_trace(session, 1)->start_ns, ==, 6000);
    g_assert_cmpint(lull_session_trace(session, 2)->start_ns, ==, 8000);
    lull_session_subscribe(session, (const char *const[]){"tick", NULL}, NULL, 0, 0);
    lull_session_select(session, 0, -1);
    struct lull_event event;
    g_assert_cmpint(lull_session_next(session, &event), ==, 1);
    g_assert_cmpint(event.time_ns, ==, 6000);
    g_assert_cmpuint(event.trace, ==, 0);
    g_assert_cmpint(lull_session_next(session, &event), ==, 1);
    g_assert_cmpint(event.time_ns, ==, 6000);
    g_assert_cmpuint(event.trace, ==, 1);
    /* the same directory again changes nothing */
    g_autoptr(GError) error = NULL;
    g_assert_true(lull_session_add(session, dir, &error));
    g_assert_cmpuint(lull_session_trace_count(session), ==, 4);
    lull_session_free(session);
    remove_tree(dir);
}

/* Slices of any length of hosts of any number, for times that damage may have made: those of one host keep their
 * order, and none counts as that there is no event. */
static void test_slices(void)
{
    static const int64_t times[] = {INT64_MIN,
                                    -1,
                                    0,
                                    1,
                                    1000,
                                    (INT64_MAX - 1) / 3 - 1,
                                    (INT64_MAX - 1) / 3,
                                    INT64_MAX / 2,
                                    INT64_MAX - 2,
                                    INT64_MAX - 1};
    static const int64_t lengths[] = {1, 2, 1000, INT64_MAX / 8, INT64_MAX};
    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
        for (uint32_t n = 1; n <= 5; n++) {
            const struct session_slices slices = {
                .length_ns = lengths[i], .start_ns = 0, .n_hosts = n};
            for (uint32_t host = 0; host < n; host++) {
                int64_t before = INT64_MIN;
                for (size_t k = 0; k < G_N_ELEMENTS(times); k++) {
                    const int64_t turn = lull_session_slice_turn(&slices, host, times[k]);
                    g_assert_cmpint(turn, >=, before);
                    g_assert_cmpint(turn, <, INT64_MAX);
                    before = turn;
                }
            }
        }
    }
    const struct session_slices slices = {.length_ns = 10, .start_ns = 100, .n_hosts = 3};
    g_assert_cmpint(lull_session_slice_turn(&slices, 1, 125), ==, (2 * 3 + 1) * 10 + 5);
    g_assert_cmpint(lull_session_slice_turn(&slices, 0, INT64_MAX), ==, INT64_MAX);
}

static void assert_remark(const struct lull_session *session, uint32_t index, const char *pattern)
{
    const char *text = lull_session_problem(session, index);
    g_assert_true(lull_session_problem_is_remark(session, index));
    if (!g_pattern_match_simple(pattern, text)) {
        g_error("“%s” is not “%s”", text, pattern);
    }
}

/* Three hosts called “db”: two boots, and a machine whose traces say only its kernel, of which two
 * were written at the same time on CPU 0. What one boot recorded twice is in order. */
static void test_namesakes(void)
{
    g_autofree char *dir = new_directory();
    add_host_trace(dir, "a", "hostname = \"db\"", BOOT_A "offset = 5000");
    add_host_trace(dir, "b", "hostname = \"db\"", BOOT_A "offset = 5000");
    add_host_trace(dir, "c", "hostname = \"db\"", BOOT_B "offset = 5000");
    struct lull_session *session = open_or_die(dir);
    g_assert_cmpuint(lull_session_problem_count(session), ==, 1);
    assert_remark(session, 0, "*boot ids differ*“db”, “db#2”");
    add_host_trace(dir, "d", "hostname = \"db\"; kernel_release = \"6.1\"", CLOCK_1GHZ);
    g_autoptr(GError) error = NULL;
    g_assert_true(lull_session_add(session, dir, &error));
    g_assert_cmpuint(lull_session_problem_count(session), ==, 2);
    assert_remark(session, 1, "*Lull takes them for 3 hosts*");
    add_host_trace(dir, "e", "hostname = \"db\"; kernel_release = \"6.1\"", CLOCK_1GHZ);
    g_assert_true(lull_session_add(session, dir, &error));
    g_assert_cmpuint(lull_session_host_count(session), ==, 3);
    g_assert_cmpuint(lull_session_problem_count(session), ==, 3);
    assert_remark(session, 2, "*/d and */e for traces of one machine, “db#3”*CPU 0*");
    lull_session_free(session);
    remove_tree(dir);
}

static void add_up_trace(const char *dir, const char *sub, const char *clock)
{
    g_autofree char *path = g_build_filename(dir, sub, NULL);
    g_autofree char *head = metadata_head("le", "hostname = \"db\"", clock);
    g_auto(GStrv) parts = g_strsplit(head, "mono", -1);
    g_autofree char *named = g_strjoinv("monotonic", parts);
    g_autofree char *text = g_strconcat(named, STREAM("large") TICK, NULL);
    write_text(path, "metadata", text);
    write_ticks(path, "s0", 0, UINT64_C(60000000000), 1, 10);
}

#define UP(offset) "freq = 1000000000; offset_s = 1700000000; offset = " #offset
#define UP_A "uuid = \"00000000-0000-0000-0000-00000000000a\"; "

/* A trace without a boot id is of the boot that started at the same moment by the same clock, whichever comes first,
 * and has its offset then; of none if that was 60 s apart, in which the machine may have started anew. */
static void test_same_boot(void)
{
    static const struct {
        const char *first, *second;
        uint32_t hosts;
        int64_t start_ns;
    } cases[] = {
        {UP_A UP(7000), UP(400007000), 1, INT64_C(1700000060000007000)},
        {UP(7000), UP_A UP(400007000), 1, INT64_C(1700000060000007000)},
        {UP(999999000), UP_A "freq = 1000000000; offset_s = 1700000001; offset = 0", 1,
         INT64_C(1700000060999999000)},
        {UP_A UP(7000), "freq = 1000000000; offset_s = 1700000060; offset = 7000", 2,
         INT64_C(1700000120000007000)},
        {UP_A UP(7000), "freq = 1000000000; offset_s = 1700000001; offset = 8000", 2,
         INT64_C(1700000061000008000)},
        {UP(7000), UP_A "freq = 1000000000; offset_s = 1699999940; offset = 7000", 2,
         INT64_C(1700000000000007000)},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *dir = new_directory();
        add_up_trace(dir, "a", cases[i].first);
        add_up_trace(dir, "b", cases[i].second);
        struct lull_session *session = open_or_die(dir);
        g_assert_cmpuint(lull_session_host_count(session), ==, cases[i].hosts);
        g_assert_cmpint(lull_session_trace(session, 1)->start_ns, ==, cases[i].start_ns);
        g_assert_cmpuint(lull_session_problem_count(session), ==, cases[i].hosts - 1);
        if (cases[i].hosts > 1) {
            assert_remark(session, 0, "*not started at the same moment*");
        } else { /* another one of another boot, and of this one */
            g_autoptr(GError) error = NULL;
            add_up_trace(dir, "c", "freq = 1000000000; offset_s = 1600000000; offset = 0");
            add_up_trace(dir, "d", UP_A UP(9000));
            add_up_trace(dir, "e", UP(9000));
            g_assert_true(lull_session_add(session, dir, &error));
            const uint32_t wanted[] = {0, 0, 1, 0, 0};
            for (uint32_t t = 0; t < G_N_ELEMENTS(wanted); t++) {
                g_assert_cmpuint(lull_session_trace(session, t)->host, ==, wanted[t]);
            }
        }
        lull_session_free(session);
        remove_tree(dir);
    }
}

/* Releases of kernels tell boots apart, and recordings of one boot that follow each other are one
 * host without a word. */
static void test_kernels(void)
{
    g_autofree char *dir = new_directory();
    add_host_trace(dir, "a", "hostname = \"db\"; kernel_release = \"6.1\"", CLOCK_1GHZ);
    add_host_trace(dir, "b", "hostname = \"db\"; kernel_release = \"6.1\"",
                   "freq = 1000000000; offset = 5000");
    struct lull_session *session = open_or_die(dir);
    g_assert_cmpuint(lull_session_host_count(session), ==, 1);
    g_assert_cmpuint(lull_session_problem_count(session), ==, 0);
    add_host_trace(dir, "c", "hostname = \"db\"; kernel_release = \"6.2\"", CLOCK_1GHZ);
    g_autoptr(GError) error = NULL;
    g_assert_true(lull_session_add(session, dir, &error));
    g_assert_cmpuint(lull_session_host_count(session), ==, 2);
    g_assert_cmpuint(lull_session_trace(session, 2)->host, ==, 1);
    g_assert_cmpuint(lull_session_problem_count(session), ==, 1);
    assert_remark(session, 0, "*kernels differ*");
    lull_session_free(session);
    remove_tree(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/session/fields/le", GINT_TO_POINTER(0), test_fields);
    g_test_add_data_func("/session/fields/be", GINT_TO_POINTER(1), test_fields);
    g_test_add_data_func("/session/bits/le", GINT_TO_POINTER(0), test_bit_fields);
    g_test_add_data_func("/session/bits/be", GINT_TO_POINTER(1), test_bit_fields);
    g_test_add_func("/session/headers", test_headers);
    g_test_add_func("/session/bare", test_bare_stream);
    g_test_add_func("/session/merge", test_merge_and_limits);
    g_test_add_func("/session/first-subscription", test_first_subscription_wins);
    g_test_add_func("/session/hosts", test_hosts);
    g_test_add_func("/session/slices", test_slices);
    g_test_add_func("/session/namesakes", test_namesakes);
    g_test_add_func("/session/same-boot", test_same_boot);
    g_test_add_func("/session/kernels", test_kernels);
    return g_test_run();
}
