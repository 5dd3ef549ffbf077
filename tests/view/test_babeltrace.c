/* SPDX-License-Identifier: MIT */
/* Babeltrace's text, byte for byte: lines derived by hand from the form that its manual and output
 * show, the same from babeltrace2 itself where it is installed, and both ways of writing (print
 * programs, walking) against each other. The trace has every kind of field. */
#include <lull/error.h>
#include <stdlib.h>
#include <time.h>

#include "source/trace_files.h"
#include "view/event/babeltrace.h"
#include "view/event/text.h"

#define T0 UINT64_C(1000000005) /* cycles of 1 ns; the clock's origin is 1795224179 s */

static const char metadata[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 8; align = 8; } := u8;\n"
    "typealias integer { size = 16; align = 8; } := u16;\n"
    "typealias integer { size = 32; align = 8; } := u32;\n"
    "typealias integer { size = 64; align = 8; } := u64;\n"
    "typealias integer { size = 8; align = 8; encoding = UTF8; } := letter;\n"
    "trace { major = 1; minor = 8; byte_order = le;\n"
    "  uuid = \"" TEST_UUID "\";\n"
    "  packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; u64 stream_instance_id; "
    "};\n"
    "};\n"
    "env { hostname = \"ho st\"; domain = \"ust\"; procname = \"prog\"; vpid = 77; };\n"
    "clock { name = mono; freq = 1000000000; offset_s = 1795224179; };\n"
    "typealias integer { size = 64; align = 8; map = clock.mono.value; } := tick;\n"
    "stream { id = 0;\n"
    "  packet.context := struct { tick timestamp_begin; tick timestamp_end; u64 content_size;\n"
    "    u64 packet_size; u64 packet_seq_num; u64 events_discarded; u32 cpu_id;\n"
    "    struct { u8 a; u8 b[2]; } ring; };\n"
    "  event.header := struct { u16 id; tick timestamp; };\n"
    "  event.context := struct { u32 tid; letter procname[6]; };\n"
    "};\n"
    "event { name = \"ints\"; id = 0; stream_id = 0; loglevel = 13;\n"
    "  model.emf.uri = \"http://model/1\";\n"
    "  fields := struct { u8 _small; integer { size = 8; signed = true; align = 8; } minus;\n"
    "    integer { size = 16; align = 8; base = 16; } hex;\n"
    "    integer { size = 5; align = 1; signed = true; base = 16; } nibbles;\n"
    "    integer { size = 3; align = 1; } three;\n"
    "    integer { size = 16; align = 8; base = 8; } mode;\n"
    "    integer { size = 8; align = 8; signed = true; base = 8; } octal;\n"
    "    integer { size = 4; align = 8; base = 2; } bits;\n"
    "    integer { size = 64; align = 64; signed = true; } least;\n"
    "    u64 most; tick when; integer { size = 16; align = 8; byte_order = be; } other;\n"
    "    integer { size = 64; align = 8; base = 16; } address; }; };\n"
    "event { name = \"enums\"; id = 1; stream_id = 0;\n"
    "  context := struct { u8 depth; };\n"
    "  fields := struct { enum : u8 { low = 0 ... 5, three = 3, \"t w o\" = 2 } e[4];\n"
    "    enum : integer { size = 8; align = 8; signed = true; base = 16; } { minus = -1 } m; }; "
    "};\n"
    "event { name = \"texts\"; id = 2; stream_id = 0;\n"
    "  fields := struct { string s; letter fixed[20]; u8 n; letter counted[n]; }; };\n"
    "event { name = \"nests\"; id = 3; stream_id = 0;\n"
    "  fields := struct { struct { } nothing; struct { u8 x; struct { u8 y; } in; } out;\n"
    "    u8 list[3]; u16 n; struct { u8 n; u8 v[n]; } deep[n];\n"
    "    enum : u8 { one = 1, few = 2 ... 4 } tag;\n"
    "    variant <tag> { u32 one; struct { u8 p; u8 q; } few; } choice;\n"
    "    floating_point { exp_dig = 8; mant_dig = 24; align = 8; } f;\n"
    "    floating_point { exp_dig = 11; mant_dig = 53; align = 8; } d;\n"
    "    variant <tag> { string one; u8 few[2]; } more[2]; u8 last; }; };\n"
    "event { name = \"bare\"; id = 4; stream_id = 0; };\n"
    "event { name = \"void\"; id = 5; stream_id = 0; fields := struct { }; };\n"
    "event { name = \"ticks\"; id = 6; stream_id = 0;\n"
    "  fields := struct { tick t; struct { tick a; tick b; } two; }; };\n";

static void start_event(GByteArray *b, uint16_t id, uint64_t clock)
{
    put(b, false, 2, id);
    put(b, false, 8, clock);
    put(b, false, 4, 4711);
    put_bytes(b, "a\"b\0c\0", 6);
}

static void put_ints(GByteArray *b)
{
    start_event(b, 0, T0);
    pad(b, 8); /* the structure has the alignment of `least` */
    put(b, false, 1, 200);
    put(b, false, 1, 0xfb);
    put(b, false, 2, 0xbeef);
    put(b, false, 1, 6 << 5 | 31); /* -1 in 5 bits, then 6 */
    put(b, false, 2, 0644);
    put(b, false, 1, 0xff);
    put(b, false, 1, 5);
    pad(b, 8);
    put(b, false, 8, UINT64_C(1) << 63);
    put(b, false, 8, UINT64_MAX);
    put(b, false, 8, 12345);
    put(b, true, 2, 4660);
    put(b, false, 8, UINT64_C(0xffff888000000001));
}

static void put_enums(GByteArray *b)
{
    start_event(b, 1, T0 + 1);
    put(b, false, 1, 9);
    put_bytes(b, "\1\3\2\7\xff", 5);
}

static void put_texts(GByteArray *b)
{
    static const char text[] = "plain, then: \"\\'? \a\b\x1b\f\n\r\t\v\x01\x7f caf\xc3\xa9";
    start_event(b, 2, T0 + 1000000000);
    put_bytes(b, text, sizeof text);
    put_bytes(b, "nineteen characters\0", 20);
    put(b, false, 1, 5);
    put_bytes(b, "a\0bcd", 5);
}

/* `tag` 1: a number and two strings; 3: a structure and two arrays. */
static void put_nests(GByteArray *b, uint64_t clock, uint8_t tag)
{
    const float f = 0.1f;
    const double d = -1e300;
    start_event(b, 3, clock);
    put_bytes(b, "\5\6\1\2\3", 5);
    put(b, false, 2, 2);
    put_bytes(b, "\0\2\x0a\x0b", 4); /* deep: none, two */
    put(b, false, 1, tag);
    if (tag == 1) {
        put(b, false, 4, 70000);
    } else {
        put_bytes(b, "\x15\x16", 2);
    }
    put_bytes(b, (const char *)&f, sizeof f);
    put_bytes(b, (const char *)&d, sizeof d);
    put_bytes(b, tag == 1 ? "x\0yz" : "\1\2\3\4", tag == 1 ? 5 : 4);
    put(b, false, 1, 99);
}

static void write_stream(const char *dir, const char *name, uint64_t instance, uint32_t cpu,
                         const GByteArray *events)
{
    g_autoptr(GByteArray) b = g_byte_array_new();
    const uint64_t bits = (32 + 48 + 4 + 3 + events->len) * 8;
    put(b, false, 4, 0xC1FC1FC1);
    put_bytes(b, (const char *)test_uuid, 16);
    put(b, false, 4, 0);
    put(b, false, 8, instance);
    put(b, false, 8, T0 - 5);
    put(b, false, 8, T0 + 3000000000);
    put(b, false, 8, bits);
    put(b, false, 8, bits);
    put(b, false, 8, 0);
    put(b, false, 8, 0);
    put(b, false, 4, cpu);
    put_bytes(b, "\x07\x08\x09", 3);
    g_byte_array_append(b, events->data, events->len);
    write_file(dir, name, b->data, b->len);
}

/* Two streams, whose names are in another order than their numbers, with events of equal time. */
static char *write_trace(void)
{
    char *dir = new_directory();
    g_autoptr(GByteArray) first = g_byte_array_new(), second = g_byte_array_new();
    write_text(dir, "t/metadata", metadata);
    put_enums(first);
    put_texts(first);
    put_nests(first, T0 + 2000000000, 3);
    start_event(first, 4, T0 + 2000000000);
    start_event(first, 5, T0 + 2000000001);
    start_event(first, 6, T0 + 2000000001);
    put_bytes(first, "xxxxxxxxyyyyyyyyzzzzzzzz", 24);
    write_stream(dir, "t/a", 10, 1, first);
    start_event(second, 4, T0 + 1);
    put_nests(second, T0 + 2000000000, 1);
    write_stream(dir, "t/b", 9, 0, second);
    return dir;
}

/* One event whose fields need alignment. pad() must count from the begin of the packet, which has
 * 87 bytes of header and context: 7 modulo 8. */
static char *write_ints(void)
{
    char *dir = new_directory();
    g_autoptr(GByteArray) events = g_byte_array_new();
    write_text(dir, "t/metadata", metadata);
    put_bytes(events, "-------", 7);
    put_ints(events);
    g_byte_array_remove_range(events, 0, 7);
    write_stream(dir, "t/a", 0, 0, events);
    return dir;
}

/* ---- printing ---- */

struct how {
    const char *arguments; /* of babeltrace2 */
    const char *fields, *names;
    enum lull_time_style style;
    bool is_gmt, no_delta;
};

static struct lull_session *open_session(const char *dir)
{
    static const char *const all[] = {"*", NULL};
    GError *error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    lull_session_set_order(session, LULL_ORDER_BABELTRACE);
    lull_session_subscribe(session, all, NULL, 0, 0);
    return session;
}

static char *print(const char *dir, const struct how *how, bool always_walks)
{
    GError *error = NULL;
    const struct lull_event *event;
    struct lull_session *session = open_session(dir);
    struct lull_event_babeltrace text = {.session = session,
                                         .clock = {.style = how->style, .is_local = !how->is_gmt},
                                         .no_delta = how->no_delta,
                                         .always_walks = always_walks};
    g_assert_true(lull_babeltrace_parse_fields(how->fields, &text.shown_fields, &error));
    g_assert_true(lull_babeltrace_parse_names(how->names, &text.shown_names, &error));
    while ((event = lull_session_read(session))) {
        g_assert_true(lull_event_babeltrace_format(&text, event, &error));
        g_assert_no_error(error);
    }
    g_assert_cmpuint(lull_session_problem_count(session), ==, 0);
    char *lines = g_strndup(text.line.data, text.line.length);
    lull_event_babeltrace_clear(&text);
    lull_session_free(session);
    return lines;
}

static char *peer(const char *dir, const char *arguments)
{
    g_autofree char *program = g_find_program_in_path("babeltrace2");
    g_auto(GStrv) words = g_strsplit(arguments, " ", -1);
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    char *out = NULL;
    int status = 0;
    if (!program) {
        return NULL;
    }
    g_ptr_array_add(argv, program);
    for (char **word = words; *word; word++) {
        if (**word != '\0') {
            g_ptr_array_add(argv, *word);
        }
    }
    g_ptr_array_add(argv, (char *)dir);
    g_ptr_array_add(argv, NULL);
    g_assert_true(g_spawn_sync(NULL, (char **)argv->pdata, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                               NULL, &out, NULL, &status, NULL));
    g_assert_cmpint(status, ==, 0);
    return out;
}

static const struct how usual = {.arguments = ""};

/* ---- by hand ---- */

/* What stands before and behind the fields in all lines, in UTC: 1795224179 s is 01:22:59. */
#define TIME(time, delta) "[01:" time "] (+" delta ") ho st:prog:(77) "
#define CPU0 "{ cpu_id = 0, ring = { a = 7, b = [ [0] = 8, [1] = 9 ] } }, "
#define CPU1 "{ cpu_id = 1, ring = { a = 7, b = [ [0] = 8, [1] = 9 ] } }, "
#define TASK "{ tid = 4711, procname = \"a\\\"b\" }"
#define NESTS                                                                                      \
    ", { nothing = { }, out = { x = 5, in = { y = 6 } }, "                                         \
    "list = [ [0] = 1, [1] = 2, [2] = 3 ], n = 2, "                                                \
    "deep = [ [0] = { n = 0, v = [ ] }, [1] = { n = 2, v = [ [0] = 10, [1] = 11 ] } ], "

static void test_usual(void)
{
    static const char expected[] =
        /* equal times: stream 9 before stream 10 */
        TIME("23:00.000000006", "?.?????????") "bare: " CPU0 TASK "\n" TIME(
            "23:00.000000006",
            "0.000000000") "enums: " CPU1 TASK ", { depth = 9 }, "
                           "{ e = [ [0] = ( \"low\" : container = 1 ), [1] = ( \"low\", \"three\" "
                           ": container = 3 ), "
                           "[2] = ( \"low\", \"t w o\" : container = 2 ), [3] = ( <unknown> : "
                           "container = 7 ) ], "
                           "m = ( \"minus\" : container = 0xFF ) }\n" TIME(
                               "23:01.000000005",
                               "0.999999999") "texts: " CPU1 TASK
                                              ", { s = \"plain, then: \\\"\\\\\\'\\? "
                                              "\\a\\b\\e\\f\\n\\r\\t\\v\\x01\\x7f caf\xc3\xa9\", "
                                              "fixed = \"nineteen characters\", n = 5, counted = "
                                              "\"a\" }\n" TIME(
                                                  "23:02.000000005",
                                                  "1.000000000") "nests: " CPU0
                                                  TASK NESTS "tag = ( \"one\" : container = 1 ), choice "
                                                                 "= { 70000 }, f = 0.1, d = "
                                                                 "-1e+300, "
                                                                 "more = [ [0] = { \"x\" }, [1] = "
                                                                 "{ \"yz\" } ], last = 99 }\n" TIME(
                                                                     "23:02.000000005",
                                                                     "0.000000000") "nests: " CPU1
                                                                     TASK NESTS "tag = ( \"few\" : "
                                                                                    "container = 3 "
                                                                                    "), "
                                                                                    "choice = { { "
                                                                                    "p = "
                                                                                    "21, q = 22 } "
                                                                                    "}, f "
                                                                                    "= 0.1, d = "
                                                                                    "-1e+300, "
                                                                                    "more = [ [0] "
                                                                                    "= { [ [0] = "
                                                                                    "1, [1] = 2 ] "
                                                                                    "}, [1] = { [ "
                                                                                    "[0] = 3, [1] "
                                                                                    "= 4 ] } ], "
                                                                                    "last = 99 "
                                                                                    "}\n" TIME(
                                                                                        "23:"
                                                                                        "02."
                                                                                        "000"
                                                                                        "000"
                                                                                        "00"
                                                                                        "5",
                                                                                        "0."
                                                                                        "000"
                                                                                        "000"
                                                                                        "00"
                                                                                        "0") "bare: " CPU1 TASK
                                                                                             "\n" TIME(
                                                                                                 "23:02."
                                                                                                 "000000"
                                                                                                 "006",
                                                                                                 "0."
                                                                                                 "000000"
                                                                                                 "001") "void: " CPU1 TASK
                                                                                                        ","
                                                                                                        " "
                                                                                                        "{"
                                                                                                        " "
                                                                                                        "}"
                                                                                                        "\n" TIME(
                                                                                                            "23:02.000000006",
                                                                                                            "0.000000000") "ticks: " CPU1 TASK
                                                                                                                           "\n";
    g_setenv("TZ", "UTC", TRUE);
    tzset();
    g_autofree char *dir = write_trace();
    g_autofree char *fast = print(dir, &usual, false);
    g_autofree char *slow = print(dir, &usual, true);
    g_assert_cmpstr(fast, ==, expected);
    g_assert_cmpstr(slow, ==, expected);
    remove_tree(dir);
}

static void test_integers(void)
{
    static const char expected[] = TIME(
        "23:00.000000005",
        "?.?????????") "ints: " CPU0 TASK
                       ", { small = 200, minus = -5, hex = 0xBEEF, nibbles = 0xFF, three = 6, mode = 0644, "
                       "octal = 0777, bits = 0b0101, least = "
                       "-9223372036854775808, most = 18446744073709551615, "
                       "other = 4660, address = 0xFFFF888000000001 }\n";
    g_setenv("TZ", "UTC", TRUE);
    tzset();
    g_autofree char *dir = write_ints();
    g_autofree char *fast = print(dir, &usual, false);
    g_autofree char *slow = print(dir, &usual, true);
    g_assert_cmpstr(fast, ==, expected);
    g_assert_cmpstr(slow, ==, expected);
    remove_tree(dir);
}

/* No field of header or packet tells a time: there is none to print. */
static char *write_timeless(void)
{
    char *dir = new_directory();
    write_text(dir, "t/metadata",
               "/* CTF 1.8 */\n"
               "trace { major = 1; minor = 8; byte_order = be; };\n"
               "event { name = \"ev\"; fields := struct { string s; }; };\n");
    write_file(dir, "t/a", "hello\0there", 12);
    return dir;
}

static void test_timeless(void)
{
    static const char expected[] = "ev: { s = \"hello\" }\nev: { s = \"there\" }\n";
    g_autofree char *dir = write_timeless();
    g_autofree char *fast = print(dir, &usual, false);
    g_autofree char *slow = print(dir, &usual, true);
    g_assert_cmpstr(fast, ==, expected);
    g_assert_cmpstr(slow, ==, expected);
    remove_tree(dir);
}

static void test_everything_named(void)
{
    static const char expected[] =
        "timestamp = 2026-11-21 01:23:00.000000005, delta = +?.?????????, trace = ho st/t, , "
        "trace:hostname = ho st, trace:domain = ust, trace:procname = prog, trace:vpid = (77), "
        "loglevel = TRACE_DEBUG_LINE (13), model.emf.uri = http://model/1, name = ints, "
        "stream.packet.context = { cpu_id = 0, ring = { a = 7, b = [ [0] = 8, [1] = 9 ] } }, "
        "stream.event.context = { tid = 4711, procname = \"a\\\"b\" }, "
        "event.fields = { small = 200, ";
    static const struct how how = {
        .fields = "all", .names = "all", .style = LULL_TIME_DATE, .is_gmt = true};
    g_autofree char *dir = write_ints();
    g_autofree char *got = print(dir, &how, false);
    g_assert_true(g_str_has_prefix(got, expected));
    remove_tree(dir);
}

static void test_nothing_named(void)
{
    static const char expected[] =
        "[1795224180.000000005] ints: { 0, { 7, [ 8, 9 ] } }, { 4711, \"a\\\"b\" }, { 200, -5, ";
    static const struct how how = {
        .fields = "none", .names = "none", .style = LULL_TIME_SECONDS, .no_delta = true};
    g_autofree char *dir = write_ints();
    g_autofree char *got = print(dir, &how, false);
    g_assert_true(g_str_has_prefix(got, expected));
    remove_tree(dir);
}

/* ---- by the peer ---- */

static const struct how hows[] = {
    {.arguments = ""},
    {.arguments = "--no-delta", .no_delta = true},
    {.arguments = "--clock-seconds", .style = LULL_TIME_SECONDS},
    {.arguments = "--clock-date", .style = LULL_TIME_DATE},
    {.arguments = "--clock-date --clock-gmt", .style = LULL_TIME_DATE, .is_gmt = true},
    {.arguments = "--clock-cycles", .style = LULL_TIME_CYCLES},
    {.arguments = "--names=all", .names = "all"},
    {.arguments = "--names=none", .names = "none"},
    {.arguments = "--names=payload", .names = "payload"},
    {.arguments = "--names=ctx,scope", .names = "ctx,scope"},
    {.arguments = "--names=header", .names = "header"},
    {.arguments = "--names=header --no-delta", .names = "header", .no_delta = true},
    {.arguments = "--names=all,payload --clock-cycles",
     .names = "all,payload",
     .style = LULL_TIME_CYCLES},
    {.arguments = "--fields=all", .fields = "all"},
    {.arguments = "--fields=trace", .fields = "trace"},
    {.arguments = "--fields=trace,trace:hostname", .fields = "trace,trace:hostname"},
    {.arguments = "--fields=trace:domain,trace:vpid", .fields = "trace:domain,trace:vpid"},
    {.arguments = "--fields=loglevel,emf", .fields = "loglevel,emf"},
    {.arguments = "--fields=emf,callsite --names=all", .fields = "emf,callsite", .names = "all"},
    {.arguments = "--fields=all --names=all", .fields = "all", .names = "all"},
};

static void compare(char *(*write)(void))
{
    static const char *const zones[] = {"UTC", "Europe/Paris", "America/St_Johns", "XYZ-5:45"};
    g_autofree char *dir = write();
    for (guint i = 0; i < G_N_ELEMENTS(hows); i++) {
        g_setenv("TZ", zones[i % G_N_ELEMENTS(zones)], TRUE);
        tzset();
        g_autofree char *fast = print(dir, &hows[i], false);
        g_autofree char *slow = print(dir, &hows[i], true);
        g_autofree char *theirs = peer(dir, hows[i].arguments);
        g_assert_cmpstr(fast, ==, slow);
        if (theirs) {
            g_assert_cmpstr(fast, ==, theirs);
        } else {
            g_test_skip("babeltrace2 is not installed");
        }
    }
    remove_tree(dir);
}

static void test_peer(void)
{
    compare(write_trace);
}

static void test_peer_integers(void)
{
    compare(write_ints);
}

static void test_peer_timeless(void)
{
    compare(write_timeless);
}

/* ---- damage ---- */

static void print_damaged(const char *dir, GString *lines, bool always_walks)
{
    const struct lull_event *event;
    struct lull_session *session = open_session(dir);
    struct lull_event_babeltrace text = {.session = session,
                                         .shown_fields = LULL_BABELTRACE_ALL_FIELDS,
                                         .shown_names = LULL_BABELTRACE_ALL_NAMES,
                                         .always_walks = always_walks};
    while ((event = lull_session_read(session))) {
        GError *error = NULL;
        if (!lull_event_babeltrace_format(&text, event, &error)) {
            g_string_append(lines, error->message);
        }
        g_clear_error(&error);
    }
    g_string_append_len(lines, text.line.data, (gssize)text.line.length);
    lull_event_babeltrace_clear(&text);
    lull_session_free(session);
}

/* Whatever the bytes say, both ways see the same, and no way sees more than there is. */
static void test_damage(void)
{
    g_autofree char *dir = write_trace();
    g_autofree char *path = g_build_filename(dir, "t/a", NULL);
    g_autofree char *good = NULL;
    gsize size, changed = 0;
    g_assert_true(g_file_get_contents(path, &good, &size, NULL));
    g_autoptr(GString) whole = g_string_new(NULL);
    print_damaged(dir, whole, false);
    for (int i = 0; i < 500; i++) {
        g_autofree char *bad = g_memdup2(good, size);
        for (int n = g_test_rand_int_range(1, 4); n > 0; n--) {
            bad[g_test_rand_int_range(87, (gint32)size)] = (char)g_test_rand_int_range(0, 256);
        }
        write_file(dir, "t/a", bad, size);
        g_autoptr(GString) fast = g_string_new(NULL);
        g_autoptr(GString) slow = g_string_new(NULL);
        print_damaged(dir, fast, false);
        print_damaged(dir, slow, true);
        g_assert_cmpstr(fast->str, ==, slow->str);
        changed += !g_string_equal(fast, whole);
    }
    g_assert_cmpuint(changed, >, 400);
    remove_tree(dir);
}

/* ---- Lull's own text, both ways ---- */

static char *print_text(const char *dir, bool always_walks)
{
    GError *error = NULL;
    const struct lull_event *event;
    struct lull_session *session = open_session(dir);
    struct lull_event_text text = {
        .session = session,
        .fields = {.dialect = lull_dialect_plain, .always_walks = always_walks}};
    while ((event = lull_session_read(session))) {
        g_assert_true(lull_event_text_format(&text, event, &error));
        g_assert_no_error(error);
    }
    char *lines = g_strndup(text.line.data, text.line.length);
    lull_event_text_clear(&text);
    lull_session_free(session);
    return lines;
}

static void test_own_text(void)
{
    char *(*const writers[])(void) = {write_trace, write_ints};
    for (guint i = 0; i < G_N_ELEMENTS(writers); i++) {
        g_autofree char *dir = writers[i]();
        g_autofree char *fast = print_text(dir, false);
        g_autofree char *slow = print_text(dir, true);
        g_assert_cmpstr(fast, ==, slow);
        g_assert_cmpuint(strlen(fast), >, 100);
        remove_tree(dir);
    }
}

static void test_words(void)
{
    static const char *const bad[] = {"payload,colour", "all,none", "trace"};
    uint32_t bits;
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        GError *error = NULL;
        g_assert_false(lull_babeltrace_parse_names(bad[i], &bits, &error));
        g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
        g_error_free(error);
    }
    GError *error = NULL;
    g_assert_false(lull_babeltrace_parse_fields("trace,payload", &bits, &error));
    g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
    g_error_free(error);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/view/babeltrace/usual", test_usual);
    g_test_add_func("/view/babeltrace/integers", test_integers);
    g_test_add_func("/view/babeltrace/everything-named", test_everything_named);
    g_test_add_func("/view/babeltrace/nothing-named", test_nothing_named);
    g_test_add_func("/view/babeltrace/peer", test_peer);
    g_test_add_func("/view/babeltrace/peer-integers", test_peer_integers);
    g_test_add_func("/view/babeltrace/timeless", test_timeless);
    g_test_add_func("/view/babeltrace/peer-timeless", test_peer_timeless);
    g_test_add_func("/view/babeltrace/damage", test_damage);
    g_test_add_func("/view/babeltrace/own-text", test_own_text);
    g_test_add_func("/view/babeltrace/words", test_words);
    return g_test_run();
}
