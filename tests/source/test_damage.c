/* SPDX-License-Identifier: MIT */
/* Damaged traces: what can be read is read, and what was lost is said with file and byte. */
#include <lull/session.h>

#include "source/trace_files.h"

#define METADATA                                                                                   \
    "stream { id = 0; event.header := struct large; packet.context := struct packet_context; };\n" \
    "event { id = 1; name = \"tick\"; stream_id = 0; fields := struct { uint8_t n; }; };\n"        \
    "event { id = 2; name = \"text\"; stream_id = 0; fields := struct { uint8_t n;\n"              \
    "  enum : uint8_t { a = 0 } tag; variant <tag> { uint8_t a; } v; string s; }; };\n"

#define PACKET_BYTES 1024
#define EVENT_BYTES 7
#define PER_PACKET 10

/* `n` packets of PER_PACKET ticks, 1000 ns a packet from 1000 on. */
static GByteArray *ticks(unsigned n)
{
    GByteArray *file = g_byte_array_new();
    for (unsigned p = 0; p < n; p++) {
        g_autoptr(GByteArray) contents = g_byte_array_new();
        for (unsigned i = 0; i < PER_PACKET; i++) {
            put_large(contents, false, 1, 1000 + p * 1000 + i * 10);
            put(contents, false, 1, i);
        }
        struct test_packet packet = {
            .start = 1000 + p * 1000, .end = 1900 + p * 1000, .sequence = p, .size = PACKET_BYTES};
        put_packet(file, false, &packet, contents);
    }
    return file;
}

static GByteArray *tick_index(unsigned n)
{
    GByteArray *index = g_byte_array_new();
    put_index_head(index);
    for (unsigned p = 0; p < n; p++) {
        struct test_packet packet = {
            .start = 1000 + p * 1000, .end = 1900 + p * 1000, .sequence = p};
        put_index_entry(index, p * PACKET_BYTES, PACKET_BYTES,
                        TEST_HEADER_BYTES + PER_PACKET * EVENT_BYTES, &packet);
    }
    return index;
}

static char *new_trace(void)
{
    char *dir = new_directory();
    g_autofree char *head = metadata_head("le", "hostname = \"box\"", "freq = 1000000000");
    g_autofree char *text = g_strconcat(head, METADATA, NULL);
    write_text(dir, "metadata", text);
    return dir;
}

struct outcome {
    unsigned events, problems, losses;
    uint64_t lost_events, lost_packets;
    char *text; /* of the problems */
};

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    *(uint64_t *)user += count;
}

/* Reads twice and counts: all must agree, and nothing be told twice. */
static struct outcome read_trace(const char *dir)
{
    g_autoptr(GError) error = NULL;
    struct outcome outcome = {0};
    struct lull_session *session = lull_session_new();
    if (!lull_session_add(session, dir, &error)) {
        g_error("%s", error->message);
    }
    lull_session_subscribe(session, (const char *const[]){"*", NULL}, NULL, 0, 0);
    struct lull_event event;
    uint64_t counted = 0;
    while (lull_session_next(session, &event)) {
        outcome.events++;
    }
    lull_session_count(session, add_count, &counted);
    g_assert_cmpuint(counted, ==, outcome.events);
    outcome.problems = lull_session_problem_count(session);
    outcome.losses = lull_session_loss_count(session);
    GString *text = g_string_new(NULL);
    for (uint32_t i = 0; i < outcome.problems; i++) {
        g_string_append_printf(text, "%s\n", lull_session_problem(session, i));
    }
    int64_t before = INT64_MIN;
    for (uint32_t i = 0; i < outcome.losses; i++) {
        const struct lull_loss *loss = lull_session_loss(session, i);
        g_assert_cmpint(loss->start_ns, >=, before);
        g_assert_cmpint(loss->end_ns, >=, loss->start_ns);
        before = loss->start_ns;
        outcome.lost_events += loss->events;
        outcome.lost_packets += loss->packets;
    }
    outcome.text = g_string_free(text, FALSE);
    g_test_message("%s", outcome.text);
    lull_session_free(session);
    return outcome;
}

static struct outcome read_bytes(const GByteArray *stream, const GByteArray *index)
{
    g_autofree char *dir = new_trace();
    write_file(dir, "s0", stream->data, stream->len);
    if (index) {
        write_file(dir, "index/s0.idx", index->data, index->len);
    }
    struct outcome outcome = read_trace(dir);
    remove_tree(dir);
    return outcome;
}

#define ASSERT_SAYS(outcome, part) g_assert_nonnull(strstr((outcome).text, part))

static void test_whole(void)
{
    g_autoptr(GByteArray) file = ticks(4), index = tick_index(4);
    struct outcome with = read_bytes(file, index), without = read_bytes(file, NULL);
    g_assert_cmpuint(with.events, ==, 40);
    g_assert_cmpuint(with.problems + with.losses, ==, 0);
    g_assert_cmpuint(without.events, ==, 40);
    g_assert_cmpuint(without.problems + without.losses, ==, 0);
    g_free(with.text);
    g_free(without.text);
}

/* Cut anywhere: whole events of what is left are read. A packet that is cut off where its events end lacks
 * nothing but padding, unless an index says how long it was. */
static void test_cut(void)
{
    g_autoptr(GByteArray) whole = ticks(3), index = tick_index(3);
    for (guint size = 1; size < whole->len; size += 3) {
        g_autoptr(GByteArray) file = g_byte_array_new();
        g_byte_array_append(file, whole->data, size);
        guint packets = size / PACKET_BYTES, rest = size % PACKET_BYTES;
        guint expected = packets * PER_PACKET;
        if (rest > TEST_HEADER_BYTES) {
            expected += MIN((rest - TEST_HEADER_BYTES) / EVENT_BYTES, PER_PACKET);
        }
        const bool is_padding = rest == TEST_HEADER_BYTES + PER_PACKET * EVENT_BYTES;
        for (int with_index = 0; with_index < 2; with_index++) {
            struct outcome outcome = read_bytes(file, with_index ? index : NULL);
            g_assert_cmpuint(outcome.events, ==, expected);
            if (with_index || (rest != 0 && !is_padding)) {
                g_assert_cmpuint(outcome.problems, >=, 1);
            }
            if (with_index && rest > TEST_HEADER_BYTES) {
                g_assert_cmpuint(outcome.lost_packets, ==, 3 - packets);
            }
            g_free(outcome.text);
        }
    }
}

/* The second of three packets has no magic number any more. */
static void test_bad_magic(void)
{
    g_autoptr(GByteArray) file = ticks(3), index = tick_index(3);
    file->data[PACKET_BYTES + 1] ^= 0x10;
    struct outcome with = read_bytes(file, index), without = read_bytes(file, NULL);
    g_assert_cmpuint(with.events, ==, 20);
    g_assert_cmpuint(with.problems, ==, 1);
    g_assert_cmpuint(with.lost_packets, ==, 1);
    ASSERT_SAYS(with, "s0: packet 1, byte 1024: no packet starts here");
    g_assert_cmpuint(without.events, ==, 20);
    g_assert_cmpuint(without.lost_packets, ==, 1);
    ASSERT_SAYS(without, "byte 1024: no packet starts here");
    g_free(with.text);
    g_free(without.text);
}

/* An id that nothing declares ends its packet; the next one is read. */
static void test_bad_event(void)
{
    g_autoptr(GByteArray) file = ticks(3);
    guint at = PACKET_BYTES + TEST_HEADER_BYTES + 4 * EVENT_BYTES;
    file->data[at] = 99;
    struct outcome outcome = read_bytes(file, NULL);
    g_autofree char *location = g_strdup_printf("s0: packet 1, byte %u: ", at);
    g_assert_cmpuint(outcome.events, ==, 24);
    g_assert_cmpuint(outcome.problems, ==, 1);
    g_assert_cmpuint(outcome.lost_packets, ==, 1);
    ASSERT_SAYS(outcome, location);
    g_free(outcome.text);
}

/* Packets whose last event is damaged in several ways. */
static void test_bad_fields(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } cases[] = {
        {"\0\1\0abc", 7, "selects no option"}, /* tag 1 is not declared */
        {"\0\0\0abc", 6, "goes past the end"}, /* the string has no NUL */
        {"\0", 1, "goes past the end"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GByteArray) contents = g_byte_array_new(), file = g_byte_array_new();
        put_large(contents, false, 1, 10);
        put(contents, false, 1, 0);
        put_large(contents, false, 2, 20);
        put_bytes(contents, cases[i].bytes, cases[i].size);
        struct test_packet packet = {.start = 0, .end = 100, .size = 512};
        put_packet(file, false, &packet, contents);
        struct outcome outcome = read_bytes(file, NULL);
        g_assert_cmpuint(outcome.events, ==, 1);
        g_assert_cmpuint(outcome.problems, ==, 1);
        ASSERT_SAYS(outcome, cases[i].says);
        ASSERT_SAYS(outcome, "byte 79:");
        g_free(outcome.text);
    }
}

/* Indexes that are of something else, cut, or lie; the headers are scanned instead. */
static void test_bad_index(void)
{
    g_autoptr(GByteArray) file = ticks(4);
    for (unsigned i = 0; i < 5; i++) {
        g_autoptr(GByteArray) index = tick_index(i == 0 ? 3 : 4);
        if (i == 1) {
            index->data[0] ^= 1;
        }
        if (i == 2) {
            g_byte_array_set_size(index, index->len - 5);
        }
        if (i == 3) {
            index->data[16 + 72 * 2 + 7] ^= 4; /* offset of the third */
        }
        if (i == 4) {
            index->data[16 + 72 * 3 + 31] ^= 1; /* begin of the last */
        }
        struct outcome outcome = read_bytes(file, index);
        g_assert_cmpuint(outcome.events, ==, 40);
        g_assert_cmpuint(outcome.problems, ==, 1);
        g_assert_cmpuint(outcome.losses, ==, 0);
        ASSERT_SAYS(outcome, "s0.idx: the index is not used");
        g_free(outcome.text);
    }
}

/* Without indexes nothing says that an empty stream ever held anything; that tracers leave such is
 * usual. */
static void test_empty_file(void)
{
    g_autofree char *dir = new_trace();
    g_autoptr(GByteArray) good = ticks(2);
    write_file(dir, "idle", "", 0);
    write_file(dir, "s0", good->data, good->len);
    struct outcome outcome = read_trace(dir);
    g_assert_cmpuint(outcome.events, ==, 20);
    g_assert_cmpuint(outcome.problems, ==, 0);
    g_free(outcome.text);
    remove_tree(dir);
}

/* One stream with another UUID, which is read and reported, one that lost its packets, one that is no
 * stream: the good one is read. Empty ones that nothing says more of are idle. */
static void test_odd_files(void)
{
    g_autofree char *dir = new_trace();
    g_autoptr(GByteArray) good = ticks(2), foreign = ticks(2);
    for (unsigned p = 0; p < 2; p++) {
        foreign->data[p * PACKET_BYTES + 10] ^= 0xff;
    }
    write_file(dir, "a_foreign", foreign->data, foreign->len);
    write_file(dir, "b_empty", "", 0);
    write_text(dir, "c_text",
               "this is not a stream at all, and long enough for a header: no, not yet, "
               "but now it must be");
    write_text(dir, ".hidden", "not looked at");
    /* What a tracer leaves that had nothing to write: an index without entries. */
    g_autofree char *index = g_build_filename(dir, "index", NULL);
    g_assert_cmpint(g_mkdir(index, 0700), ==, 0);
    write_file(dir, "d_idle", "", 0);
    const char listing[16 + 72] = "\xc1\xf1\xdc\xc1\0\0\0\1\0\0\0\1\0\0\0\x48";
    write_file(index, "d_idle.idx", listing, 16);
    write_file(dir, "e_emptied", "", 0);
    write_file(index, "e_emptied.idx", listing, sizeof listing);
    write_file(dir, "s0", good->data, good->len);
    struct outcome outcome = read_trace(dir);
    g_assert_cmpuint(outcome.events, ==, 40);
    g_assert_cmpuint(outcome.problems, ==, 3);
    ASSERT_SAYS(outcome,
                "e_emptied: byte 0: the stream file is empty, but its index lists packets");
    ASSERT_SAYS(outcome, "a_foreign: byte 0: the packet's UUID differs from the metadata's");
    ASSERT_SAYS(outcome, "c_text: byte 0: no packet starts here");
    g_free(outcome.text);
    remove_tree(dir);
}

/* Five discarded by the end of packet 0, none more in 1, four more in 2; packets 2 and 3 missing.
 */
static void test_counters(void)
{
    static const uint32_t discarded[] = {5, 5, 9};
    static const uint64_t sequence[] = {0, 1, 4};
    g_autoptr(GByteArray) file = g_byte_array_new();
    for (unsigned p = 0; p < 3; p++) {
        g_autoptr(GByteArray) contents = g_byte_array_new();
        struct test_packet packet = {.start = 1000 + p * 1000,
                                     .end = 1900 + p * 1000,
                                     .sequence = sequence[p],
                                     .discarded = discarded[p]};
        put_packet(file, false, &packet, contents);
    }
    struct outcome outcome = read_bytes(file, NULL);
    g_assert_cmpuint(outcome.events, ==, 0);
    g_assert_cmpuint(outcome.problems, ==, 0);
    g_assert_cmpuint(outcome.lost_events, ==, 9);
    g_assert_cmpuint(outcome.lost_packets, ==, 2);
    g_assert_cmpuint(outcome.losses, ==, 3);
    g_free(outcome.text);
}

/* The 32-bit counter wraps: 2^32 - 2, then 3, is five more. In a snapshot, whose first packet is
 * not number 0, what was discarded before does not count. */
static void test_counter_wraps(void)
{
    static const uint32_t discarded[] = {UINT32_MAX - 1, 3};
    g_autoptr(GByteArray) file = g_byte_array_new();
    for (unsigned p = 0; p < 2; p++) {
        g_autoptr(GByteArray) contents = g_byte_array_new();
        struct test_packet packet = {.start = 1000 + p * 1000,
                                     .end = 1900 + p * 1000,
                                     .sequence = 7 + p,
                                     .discarded = discarded[p]};
        put_packet(file, false, &packet, contents);
    }
    struct outcome outcome = read_bytes(file, NULL);
    g_assert_cmpuint(outcome.lost_events, ==, 5);
    g_assert_cmpuint(outcome.losses, ==, 1);
    g_free(outcome.text);
}

/* A time that goes back is held at the one before, and told once. */
static void test_time_goes_back(void)
{
    g_autofree char *dir = new_trace();
    g_autoptr(GByteArray) contents = g_byte_array_new(), file = g_byte_array_new();
    static const uint64_t times[] = {5000, 7000, 6000, 6500, 8000};
    static const int64_t expected[] = {5000, 7000, 7000, 7000, 8000};
    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
        put(contents, false, 2, 65535);
        put(contents, false, 4, 1);
        put(contents, false, 8, times[i]);
        put(contents, false, 1, 0);
    }
    struct test_packet packet = {.start = 5000, .end = 9000};
    put_packet(file, false, &packet, contents);
    write_file(dir, "s0", file->data, file->len);
    struct lull_session *session = lull_session_new();
    g_assert_true(lull_session_add(session, dir, NULL));
    lull_session_subscribe(session, (const char *const[]){"tick", NULL}, NULL, 0, 0);
    struct lull_event event;
    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
        g_assert_cmpint(lull_session_next(session, &event), ==, 1);
        g_assert_cmpint(event.time_ns, ==, expected[i]);
    }
    g_assert_cmpuint(lull_session_problem_count(session), ==, 1);
    lull_session_free(session);
    remove_tree(dir);
}

static void assert_add_fails(const char *path, enum lull_error code, const char *says)
{
    g_autoptr(GError) error = NULL;
    struct lull_session *session = lull_session_new();
    g_assert_false(lull_session_add(session, path, &error));
    g_assert_error(error, LULL_ERROR, (int)code);
    g_assert_nonnull(strstr(error->message, says));
    g_assert_cmpuint(lull_session_problem_count(session), ==, 0);
    lull_session_free(session);
}

static void test_no_trace(void)
{
    g_autofree char *dir = new_directory();
    g_autofree char *file = g_build_filename(dir, "file", NULL);
    g_autofree char *gone = g_build_filename(dir, "gone", NULL);
    assert_add_fails(dir, LULL_ERROR_FORMAT, "there is no trace in it");
    write_text(dir, "file", "x");
    assert_add_fails(file, LULL_ERROR_FORMAT, "not a directory");
    assert_add_fails(gone, LULL_ERROR_IO, gone);
    write_text(dir, "sub/metadata", "/* CTF 1.8 */ trace { major = 1;");
    assert_add_fails(dir, LULL_ERROR_FORMAT, "sub/metadata");
    remove_tree(dir);
}

/* One of two traces has damaged metadata: the other is read, and it is said. */
static void test_one_of_two(void)
{
    g_autofree char *dir = new_directory(), *good = new_trace();
    g_autofree char *metadata_path = g_build_filename(good, "metadata", NULL);
    g_autofree char *metadata = NULL;
    g_autoptr(GByteArray) file = ticks(2);
    g_assert_true(g_file_get_contents(metadata_path, &metadata, NULL, NULL));
    write_text(dir, "good/metadata", metadata);
    write_file(dir, "good/s0", file->data, file->len);
    metadata[strlen(metadata) / 2] = '\0';
    write_text(dir, "bad/metadata", metadata);
    struct outcome outcome = read_trace(dir);
    g_assert_cmpuint(outcome.events, ==, 20);
    g_assert_cmpuint(outcome.problems, ==, 1);
    ASSERT_SAYS(outcome, "bad/metadata");
    g_free(outcome.text);
    remove_tree(dir);
    remove_tree(good);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/damage/whole", test_whole);
    g_test_add_func("/damage/cut", test_cut);
    g_test_add_func("/damage/magic", test_bad_magic);
    g_test_add_func("/damage/event", test_bad_event);
    g_test_add_func("/damage/fields", test_bad_fields);
    g_test_add_func("/damage/index", test_bad_index);
    g_test_add_func("/damage/files", test_odd_files);
    g_test_add_func("/damage/empty-file", test_empty_file);
    g_test_add_func("/damage/counters", test_counters);
    g_test_add_func("/damage/counter-wraps", test_counter_wraps);
    g_test_add_func("/damage/time", test_time_goes_back);
    g_test_add_func("/damage/no-trace", test_no_trace);
    g_test_add_func("/damage/one-of-two", test_one_of_two);
    return g_test_run();
}
