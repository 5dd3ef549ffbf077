/* SPDX-License-Identifier: MIT */
/* Reading streams apart by several threads: counts, sums, problems and losses must be the same
 * whatever the number of threads. */
#include <lull/session.h>

#include "source/trace_files.h"

#define STREAMS 7
#define PACKETS 5
#define EVENTS 20

static void write_metadata(const char *dir)
{
    g_autofree char *head =
        metadata_head("le", "hostname = \"box\"", "freq = 1000000000; offset = 0");
    g_autofree char *text = g_strconcat(
        head,
        "stream { id = 0; event.header := struct large; packet.context := struct "
        "packet_context; };\n"
        "event { name = tick; id = 1; stream_id = 0; fields := struct { uint32_t n; }; };\n"
        "event { name = tock; id = 2; stream_id = 0; fields := struct { string s; }; };\n",
        NULL);
    write_text(dir, "metadata", text);
}

/* Streams of ticks, some with a packet that is damaged in the middle, and with lost events. */
static char *new_trace(void)
{
    char *dir = new_directory();
    write_metadata(dir);
    for (uint32_t s = 0; s < STREAMS; s++) {
        g_autoptr(GByteArray) file = g_byte_array_new();
        for (uint32_t p = 0; p < PACKETS; p++) {
            g_autoptr(GByteArray) contents = g_byte_array_new();
            for (uint32_t e = 0; e < EVENTS; e++) {
                bool is_bad = s % 3 == 1 && p == 2 && e == 10;
                put_large(contents, false, is_bad ? 77 : 1 + e % 2, 1000 * p + e);
                if (e % 2 == 0) {
                    put(contents, false, 4, s);
                } else {
                    put_bytes(contents, "ab", 3);
                }
            }
            struct test_packet packet = {.start = 1000 * p,
                                         .end = 1000 * p + 500,
                                         .sequence = p,
                                         .discarded = s == 4 ? p : 0,
                                         .cpu = s};
            put_packet(file, false, &packet, contents);
        }
        g_autofree char *name = g_strdup_printf("s%u", s);
        write_file(dir, name, file->data, file->len);
    }
    return dir;
}

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    g_string_append_printf(user, "%s %" G_GUINT64_FORMAT "\n", lull_event_class_name(event_class),
                           count);
}

static char *outcome(const char *dir, uint32_t n_threads)
{
    g_autoptr(GError) error = NULL;
    struct lull_session *session = lull_session_new();
    GString *text = g_string_new(NULL);
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    lull_session_set_threads(session, n_threads);
    lull_session_count(session, add_count, text);
    struct lull_decoded decoded;
    lull_session_decode_all(session, &decoded);
    g_string_append_printf(text,
                           "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n",
                           decoded.events, decoded.fields, decoded.checksum);
    for (uint32_t i = 0; i < lull_session_problem_count(session); i++) {
        g_string_append_printf(text, "%s\n", lull_session_problem(session, i));
    }
    for (uint32_t i = 0; i < lull_session_loss_count(session); i++) {
        const struct lull_loss *loss = lull_session_loss(session, i);
        g_string_append_printf(text, "%u %" G_GINT64_FORMAT " %" G_GUINT64_FORMAT "\n",
                               loss->stream, loss->start_ns, loss->events);
    }
    lull_session_free(session);
    return g_string_free(text, FALSE);
}

static void test_same(void)
{
    g_autofree char *dir = new_trace();
    g_autofree char *one = outcome(dir, 1);
    /* Streams 1 and 4 lose 10 events each; of those that are left half are ticks, of value s. */
    uint64_t events = STREAMS * PACKETS * EVENTS - 2 * 10;
    uint64_t ticks = 0, word = 'a' + 256 * 'b' + 2;
    for (uint32_t s = 0; s < STREAMS; s++) {
        ticks += s * (s % 3 == 1 && s < 6 ? 45 : 50);
    }
    g_autofree char *sums =
        g_strdup_printf("tick %" G_GUINT64_FORMAT "\ntock %" G_GUINT64_FORMAT "\n%" G_GUINT64_FORMAT
                        " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n",
                        events / 2, events / 2, events, events, ticks + events / 2 * word);
    g_assert_true(g_str_has_prefix(one, sums));
    const char *first = strstr(one, "/s1: packet 2"), *second = strstr(one, "/s4: packet 2");
    g_assert_true(first && second && first < second);
    for (uint32_t n = 0; n <= 9; n++) {
        g_autofree char *several = outcome(dir, n);
        g_assert_cmpstr(several, ==, one);
    }
    remove_tree(dir);
}

#define LARGE_PACKETS 44
#define LARGE_EVENTS 64
#define LARGE_TEXT                                                                                 \
    4000 /* bytes, of 'b': its sum is that of its words of 8 bytes, and its length                 \
          */

/* One stream of 11 MiB, which several threads share in parts; of packets 7, 20 and 43 all but 10
 * events are damaged. */
static char *new_large_trace(void)
{
    char *dir = new_directory();
    g_autofree char *filler = g_strnfill(LARGE_TEXT, 'b');
    g_autoptr(GByteArray) file = g_byte_array_new();
    write_metadata(dir);
    for (uint32_t p = 0; p < LARGE_PACKETS; p++) {
        g_autoptr(GByteArray) contents = g_byte_array_new();
        for (uint32_t e = 0; e < LARGE_EVENTS; e++) {
            bool is_bad = (p == 7 || p == 20 || p == 43) && e == 10;
            put_large(contents, false, is_bad ? 77 : 2, 1000 * p + e);
            put_bytes(contents, filler, LARGE_TEXT + 1);
        }
        struct test_packet packet = {
            .start = 1000 * p, .end = 1000 * p + 500, .sequence = p, .discarded = p / 2};
        put_packet(file, false, &packet, contents);
    }
    g_assert_cmpuint(file->len, >, 8 << 20); /* else it would not be shared */
    write_file(dir, "s0", file->data, file->len);
    return dir;
}

static void test_shared(void)
{
    g_autofree char *dir = new_large_trace();
    g_autofree char *one = outcome(dir, 1);
    uint64_t events = LARGE_PACKETS * LARGE_EVENTS - 3 * (LARGE_EVENTS - 10);
    g_autofree char *sums =
        g_strdup_printf("tock %" G_GUINT64_FORMAT "\n%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT
                        " %" G_GUINT64_FORMAT "\n",
                        events, events, events,
                        events * (LARGE_TEXT / 8 * UINT64_C(0x6262626262626262) + LARGE_TEXT));
    g_assert_true(g_str_has_prefix(one, sums));
    const char *at = one;
    for (uint32_t i = 0; i < 3; i++) {
        g_autofree char *where = g_strdup_printf("/s0: packet %d,", (int[]){7, 20, 43}[i]);
        g_assert_nonnull(at = strstr(at, where));
    }
    for (uint32_t n = 0; n <= 5; n++) {
        g_autofree char *several = outcome(dir, n);
        g_assert_cmpstr(several, ==, one);
    }
    remove_tree(dir);
}

/* A file that goes away after it was opened is told once, not once a part. */
static void test_vanished(void)
{
    g_autofree char *dir = new_large_trace();
    for (uint32_t n = 1; n <= 3; n++) {
        struct lull_session *session = lull_session_new();
        g_autofree char *file = g_build_filename(dir, "s0", NULL);
        g_autofree char *away = g_build_filename(dir, "away", NULL);
        g_autoptr(GString) text = g_string_new(NULL);
        g_assert_true(lull_session_add(session, dir, NULL));
        g_assert_cmpint(g_rename(file, away), ==, 0);
        lull_session_set_threads(session, n);
        lull_session_count(session, add_count, text);
        g_assert_cmpint(g_rename(away, file), ==, 0);
        g_assert_cmpstr(text->str, ==, "");
        g_assert_cmpuint(lull_session_problem_count(session), ==, 1);
        g_assert_nonnull(strstr(lull_session_problem(session, 0), "/s0: No such file"));
        lull_session_free(session);
    }
    remove_tree(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/threads/same", test_same);
    g_test_add_func("/threads/shared", test_shared);
    g_test_add_func("/threads/vanished", test_vanished);
    return g_test_run();
}
