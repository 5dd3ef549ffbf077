/* SPDX-License-Identifier: MIT */
/* Events that nobody wants, of fixed and of varying length, between those that somebody does: what is
 * handed out and counted is what was written. */
#include <stddef.h>

#include <lull/session.h>

#include "source/trace_files.h"

#define FIELDS(id, name, fields)                                                                   \
    "event { id = " #id "; name = \"" name "\"; stream_id = 0; fields := struct { " fields         \
    " }; };\n"

enum { TICK, PATHS, LATE, PLAIN, BYTES, CLASSES };

static const char *const names[CLASSES] = {"tick", "paths", "late", "plain", "bytes"};
static const char classes[] =
    "typealias integer { size = 64; align = 64; signed = false; } := wide_t;\n" FIELDS(
        0, "tick", "uint32_t n;") FIELDS(1, "paths", "string a; uint32_t b; string c;")
        FIELDS(2, "late", "string s; wide_t v;") FIELDS(3, "plain", "wide_t v;")
            FIELDS(4, "bytes", "uint8_t n; uint8_t bytes[n]; string s;");

struct written {
    uint32_t class, time;
};

struct form {
    bool be, is_compact;
};

static void put_text(GByteArray *bytes, GRand *rand)
{
    /* Some are long enough for a window to end in them. */
    const int length = g_rand_int_range(rand, 0, g_rand_int_range(rand, 0, 50) == 0 ? 3000 : 40);
    for (int i = 0; i < length; i++) {
        put(bytes, false, 1, (uint64_t)g_rand_int_range(rand, 1, 256));
    }
    put(bytes, false, 1, 0);
}

static void put_header(GByteArray *bytes, const struct form *form, uint32_t class, uint32_t time)
{
    const uint32_t low = time & 0x7ffffff;
    if (form->is_compact) {
        put(bytes, form->be, 4, form->be ? class << 27 | low : low << 5 | class);
    } else {
        put_large(bytes, form->be, (uint16_t)class, time);
    }
}

static void put_event(GByteArray *bytes, const struct form *form, GRand *rand, uint32_t class,
                      uint32_t time)
{
    put_header(bytes, form, class, time);
    switch (class) {
    case TICK:
        put(bytes, form->be, 4, ~time);
        break;
    case PATHS:
        put_text(bytes, rand);
        put(bytes, form->be, 4, 0);
        put_text(bytes, rand);
        break;
    case BYTES: {
        const int n = g_rand_int_range(rand, 0, 256);
        put(bytes, false, 1, (uint64_t)n);
        for (int i = 0; i < n; i++) {
            put(bytes, false, 1, (uint64_t)g_rand_int_range(rand, 0, 256));
        }
        put_text(bytes, rand);
        break;
    }
    case LATE:
        pad(bytes, 8); /* a structure is aligned as its members are */
        put_text(bytes, rand);
        /* fall through */
    default:
        pad(bytes, 8);
        put(bytes, form->be, 8, 0);
    }
}

/* Two packets of several windows each. The second ends with a text whose NUL is behind its content. */
static GArray *write_trace(const char *dir, const struct form *form)
{
    g_autofree char *head = metadata_head(form->be ? "be" : "le", "hostname = \"box\"",
                                          "freq = 1000000000; offset = 0");
    g_autofree char *text =
        g_strdup_printf("%sstream { id = 0; event.header := struct %s; packet.context := struct "
                        "packet_context; };\n%s",
                        head, form->is_compact ? "compact" : "large", classes);
    g_autoptr(GByteArray) file = g_byte_array_new();
    GArray *all = g_array_new(FALSE, FALSE, sizeof(struct written));
    GRand *rand = g_rand_new_with_seed(4);
    uint32_t time = 1000;
    write_text(dir, "metadata", text);
    for (unsigned p = 0; p < 2; p++) {
        struct test_packet packet = {.start = time, .sequence = p};
        g_autoptr(GByteArray) contents = g_byte_array_new();
        while (contents->len < 700000) {
            struct written event = {(uint32_t)g_rand_int_range(rand, 0, CLASSES),
                                    time += (uint32_t)g_rand_int_range(rand, 0, 1000)};
            put_event(contents, form, rand, event.class, event.time);
            g_array_append_val(all, event);
        }
        if (p == 1) {
            put_header(contents, form, LATE, time);
            put_bytes(contents, "never ends", 10);
        }
        packet.end = time;
        packet.size = TEST_HEADER_BYTES + contents->len + 64;
        put_packet(file, form->be, &packet, contents);
    }
    write_file(dir, "s0", file->data, file->len);
    g_rand_free(rand);
    return all;
}

static void check_ticks(struct lull_session *session, const GArray *all)
{
    struct fields {
        uint64_t have;
        int64_t n;
    };
    const struct lull_binding bindings[] = {
        {(const char *const[]){"n", NULL}, LULL_BIND_INT, offsetof(struct fields, n)}};
    struct lull_event event;
    lull_session_subscribe(session, (const char *const[]){"tick", NULL}, bindings, 1,
                           sizeof(struct fields));
    for (guint i = 0; i < all->len; i++) {
        const struct written *written = &g_array_index(all, struct written, i);
        if (written->class == TICK) {
            g_assert_cmpint(lull_session_next(session, &event), ==, 1);
            g_assert_cmpint(event.time_ns, ==, written->time);
            g_assert_cmpint(((const struct fields *)event.fields)->n, ==, (uint32_t)~written->time);
        }
    }
    g_assert_cmpint(lull_session_next(session, &event), ==, 0);
    lull_session_unsubscribe_all(session);
}

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    uint64_t *counts = user;
    for (unsigned i = 0; i < CLASSES; i++) {
        if (g_str_equal(lull_event_class_name(event_class), names[i])) {
            counts[i] += count;
        }
    }
}

static void check_counts(struct lull_session *session, const GArray *all, int64_t start,
                         int64_t end)
{
    uint64_t expected[CLASSES] = {0}, counts[CLASSES] = {0};
    for (guint i = 0; i < all->len; i++) {
        const struct written *written = &g_array_index(all, struct written, i);
        expected[written->class] += written->time >= start && written->time < end;
    }
    lull_session_limit(session, start, end);
    lull_session_count(session, add_count, counts);
    g_assert_cmpmem(counts, sizeof counts, expected, sizeof expected);
}

static void test_skipped(gconstpointer data)
{
    const struct form *form = data;
    g_autofree char *dir = new_directory();
    g_autoptr(GArray) all = write_trace(dir, form);
    const int64_t middle = g_array_index(all, struct written, all->len / 2).time;
    g_autoptr(GError) error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    check_ticks(session, all);
    g_assert_cmpuint(lull_session_problem_count(session), ==, 1);
    check_counts(session, all, INT64_MIN, INT64_MAX);
    check_counts(session, all, middle, INT64_MAX);
    check_counts(session, all, 2000, middle);
    g_assert_cmpuint(lull_session_problem_count(session), ==, 1);
    lull_session_free(session);
    remove_tree(dir);
}

int main(int argc, char **argv)
{
    static const struct form forms[] = {{false, false}, {true, false}, {false, true}, {true, true}};
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/skipped/large/le", &forms[0], test_skipped);
    g_test_add_data_func("/skipped/large/be", &forms[1], test_skipped);
    g_test_add_data_func("/skipped/compact/le", &forms[2], test_skipped);
    g_test_add_data_func("/skipped/compact/be", &forms[3], test_skipped);
    return g_test_run();
}
