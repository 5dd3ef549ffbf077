/* SPDX-License-Identifier: MIT */
/* Reading ahead by another thread: the events, their fields and texts are those that the generator
 * wrote, and what is reported comes between the same events as without it. */
#include <lull/session.h>

#include "kernel/model.h"
#include "kernel/vocabulary.h"
#include "source/session/batch.h"
#include "source/session/streams.h"
#include "source/trace_files.h"

#define STREAMS 3
#define PACKETS 60
#define EVENTS 150 /* of a packet; all of them take several times what is read ahead */
#define LARGEST_TEXT 200000
#define FILLED_US 20000 /* after this, what is read ahead waits for its reader, as a rule */

/* What reading must give, in this order. */
struct expected {
    int64_t time_ns;
    uint32_t stream;
    uint64_t n;      /* of a tick */
    uint32_t length; /* of a tock */
    bool is_tock;
};

static bool is_damaged(uint32_t stream, uint32_t packet)
{
    return stream == 1 && packet % 20 == 7;
}

/* Short texts and empty ones, some of a few thousand bytes, and some that fill blocks. */
static uint32_t text_length(uint32_t stream, uint32_t packet, uint32_t event)
{
    const uint32_t number = (packet * EVENTS + event) * STREAMS + stream;
    return number % 1999 == 7 ? LARGEST_TEXT : number % 97 == 5 ? 4000 : number % 40;
}

static char letter(uint32_t length, uint64_t time)
{
    return (char)('a' + (length + time) % 26);
}

static void put_event(GByteArray *contents, const struct expected *event)
{
    put_large(contents, false, event->is_tock ? 2 : 1, (uint32_t)event->time_ns);
    if (event->is_tock) {
        g_autofree char *text =
            g_strnfill(event->length, letter(event->length, (uint64_t)event->time_ns));
        put_bytes(contents, text, event->length + 1);
    } else {
        put(contents, false, 8, event->n);
    }
}

static void put_events(GByteArray *contents, uint32_t stream, uint32_t packet, GArray *expected)
{
    for (uint32_t e = 0; e < EVENTS; e++) {
        struct expected event = {.time_ns = (int64_t)packet * 1000 + e * 5 + (stream == 2 ? 1 : 0),
                                 .stream = stream,
                                 .is_tock = e % 3 == 0};
        if (event.is_tock) {
            event.length = text_length(stream, packet, e);
        } else {
            event.n = (uint64_t)stream << 40 | (uint64_t)packet << 20 | e;
        }
        if (is_damaged(stream, packet) && e == 50) {
            put_large(contents, false, 77, (uint32_t)event.time_ns); /* nobody declares it */
            return;
        }
        put_event(contents, &event);
        g_array_append_val(expected, event);
    }
}

static int by_time(gconstpointer a, gconstpointer b)
{
    const struct expected *x = a, *y = b;
    return x->time_ns != y->time_ns ? (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns)
                                    : (x->stream > y->stream) - (x->stream < y->stream);
}

static char *new_trace(GArray *expected)
{
    char *dir = new_directory();
    g_autofree char *head =
        metadata_head("le", "hostname = \"box\"", "freq = 1000000000; offset = 0");
    g_autofree char *text = g_strconcat(
        head,
        "stream { id = 0; event.header := struct large; packet.context := struct "
        "packet_context; };\n"
        "event { name = tick; id = 1; stream_id = 0; fields := struct { uint64_t n; }; };\n"
        "event { name = tock; id = 2; stream_id = 0; fields := struct { string s; }; };\n",
        NULL);
    write_text(dir, "metadata", text);
    for (uint32_t s = 0; s < STREAMS; s++) {
        g_autoptr(GByteArray) file = g_byte_array_new();
        for (uint32_t p = 0; p < PACKETS; p++) {
            g_autoptr(GByteArray) contents = g_byte_array_new();
            put_events(contents, s, p, expected);
            const struct test_packet packet = {
                .start = 1000 * p, .end = 1000 * p + 999, .sequence = p, .cpu = s};
            put_packet(file, false, &packet, contents);
        }
        g_autofree char *name = g_strdup_printf("s%u", s);
        write_file(dir, name, file->data, file->len);
    }
    g_array_sort(expected, by_time);
    return dir;
}

struct fields {
    uint64_t have;
    int64_t n;
    struct lull_text s;
};

static struct lull_session *open_session(const char *dir, uint32_t n_threads)
{
    static const char *const names[] = {"*", NULL};
    static const char *const path_n[] = {"n", NULL}, *const path_s[] = {"s", NULL};
    static const struct lull_binding bindings[] = {
        {path_n, LULL_BIND_INT, offsetof(struct fields, n)},
        {path_s, LULL_BIND_TEXT, offsetof(struct fields, s)},
    };
    g_autoptr(GError) error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    lull_session_set_threads(session, n_threads);
    lull_session_subscribe(session, names, bindings, 2, sizeof(struct fields));
    return session;
}

static void check_event(const struct lull_event *event, const struct expected *expected)
{
    const struct fields *fields = event->fields;
    g_assert_cmpint(event->time_ns, ==, expected->time_ns);
    g_assert_cmpuint(event->stream, ==, expected->stream);
    g_assert_cmpint(event->cpu, ==, (int32_t)expected->stream);
    g_assert_cmpuint(event->host, ==, 0);
    g_assert_cmpuint(event->trace, ==, 0);
    g_assert_cmpuint(fields->have, ==, expected->is_tock ? 2 : 1);
    g_assert_cmpint(fields->n, ==, (int64_t)expected->n);
    g_assert_cmpuint(fields->s.length, ==, expected->length);
    const char c = letter(expected->length, (uint64_t)expected->time_ns);
    for (uint32_t i = 0; i < expected->length; i++) {
        if (fields->s.data[i] != c) {
            g_assert_not_reached();
        }
    }
    g_assert_cmpstr(lull_event_class_name(event->event_class), ==,
                    expected->is_tock ? "tock" : "tick");
}

/* What was reported, and after how many events. */
static void note_new(const struct lull_session *session, guint n_events, GString *trail)
{
    g_string_append_printf(trail, "%u: %u problems, %u losses\n", n_events,
                           lull_session_problem_count(session), lull_session_loss_count(session));
}

static void read_all(struct lull_session *session, const GArray *expected, GString *trail)
{
    uint32_t n_problems = UINT32_MAX;
    const struct lull_event *event;
    guint n = 0;
    double progress = 0;
    while ((event = lull_session_read(session))) {
        g_assert_cmpuint(n, <, expected->len);
        check_event(event, &g_array_index(expected, struct expected, n++));
        if (n % (expected->len / 2) == 1) {
            g_usleep(FILLED_US);
        }
        if (lull_session_problem_count(session) != n_problems) {
            n_problems = lull_session_problem_count(session);
            note_new(session, n, trail);
        }
        const double now = lull_session_progress(session);
        g_assert_cmpfloat(now, >=, progress);
        g_assert_cmpfloat(now, <=, 1);
        progress = now;
    }
    g_assert_cmpuint(n, ==, expected->len);
    g_assert_null(lull_session_read(session));
}

static void note_all(const struct lull_session *session, GString *trail)
{
    for (uint32_t i = 0; i < lull_session_problem_count(session); i++) {
        g_string_append_printf(trail, "%s\n", lull_session_problem(session, i));
    }
    for (uint32_t i = 0; i < lull_session_loss_count(session); i++) {
        const struct lull_loss *loss = lull_session_loss(session, i);
        g_string_append_printf(trail, "%u %" G_GINT64_FORMAT "\n", loss->stream, loss->start_ns);
    }
}

static void test_same(void)
{
    g_autoptr(GArray) expected = g_array_new(FALSE, FALSE, sizeof(struct expected));
    g_autofree char *dir = new_trace(expected);
    g_autoptr(GString) usual = g_string_new(NULL);
    struct lull_session *session = open_session(dir, 1);
    lull_session_read_ahead(session); /* is not allowed */
    read_all(session, expected, usual);
    lull_session_end_ahead(session);
    note_all(session, usual);
    lull_session_free(session);
    g_assert_nonnull(strstr(usual->str, "/s1: packet 47"));
    for (int i = 0; i < 5; i++) {
        g_autoptr(GString) trail = g_string_new(NULL);
        session = open_session(dir, 2);
        lull_session_read_ahead(session);
        read_all(session, expected, trail);
        lull_session_end_ahead(session);
        g_assert_null(lull_session_read(session));
        note_all(session, trail);
        g_assert_cmpstr(trail->str, ==, usual->str);
        lull_session_free(session);
    }
    remove_tree(dir);
}

/* Batches hold the same as single events, in the same order, whoever takes the first ones. */
static void test_batches(void)
{
    g_autoptr(GArray) expected = g_array_new(FALSE, FALSE, sizeof(struct expected));
    g_autofree char *dir = new_trace(expected);
    for (guint first = 0; first < 3000; first = 2 * first + 1) {
        struct lull_session *session = open_session(dir, 2);
        struct lull_batch batch;
        guint n = 0, n_notes = 0;
        lull_session_read_ahead(session);
        for (; n < first; n++) {
            check_event(lull_session_read(session), &g_array_index(expected, struct expected, n));
        }
        while (lull_session_read_batch(session, &batch)) {
            for (const struct lull_record *record = batch.at; record != batch.end;
                 record = lull_record_next(record)) {
                if (!record->event_class) {
                    lull_record_pass_on(record);
                    n_notes++;
                    continue;
                }
                const struct lull_event event = {.time_ns = record->time_ns,
                                                 .host = batch.places[record->stream].host,
                                                 .trace = batch.places[record->stream].trace,
                                                 .stream = record->stream,
                                                 .cpu = record->cpu,
                                                 .event_class = record->event_class,
                                                 .fields = record + 1};
                g_assert_cmpuint(n, <, expected->len);
                check_event(&event, &g_array_index(expected, struct expected, n++));
            }
        }
        g_assert_cmpuint(n, ==, expected->len);
        g_assert_true(first > 0 || n_notes > 0);
        g_assert_cmpuint(lull_session_problem_count(session), >, 0);
        g_assert_null(lull_session_read(session));
        lull_session_end_ahead(session);
        lull_session_free(session);
        session = open_session(dir, 1); /* not read ahead: there are none */
        lull_session_read_ahead(session);
        g_assert_false(lull_session_read_batch(session, &batch));
        check_event(lull_session_read(session), &g_array_index(expected, struct expected, 0));
        lull_session_free(session);
    }
    remove_tree(dir);
}

/* Who stops early loses nothing that was reported, and begins again. */
static void test_stopped(void)
{
    g_autoptr(GArray) expected = g_array_new(FALSE, FALSE, sizeof(struct expected));
    g_autofree char *dir = new_trace(expected);
    g_autoptr(GString) usual = g_string_new(NULL), unused = g_string_new(NULL);
    struct lull_session *session = open_session(dir, 1);
    read_all(session, expected, unused);
    note_all(session, usual);
    lull_session_free(session);
    for (guint n = 0; n < expected->len + 5000; n = n == 0 ? 1 : n * 5) {
        g_autoptr(GString) trail = g_string_new(NULL);
        const struct lull_event *event = NULL;
        session = open_session(dir, 2);
        lull_session_read_ahead(session);
        for (guint i = 0; i < MIN(n, expected->len); i++) {
            g_assert_nonnull(event = lull_session_read(session));
            g_assert_null(event->impl);
        }
        if (n == 1) {
            g_usleep(FILLED_US);
        }
        if (n % 2 == 1) {
            lull_session_end_ahead(session);
        }
        lull_session_rewind(session);
        read_all(session, expected, unused);
        lull_session_end_ahead(session);
        note_all(session, trail);
        g_assert_cmpstr(trail->str, ==, usual->str);
        lull_session_rewind(session);
        g_assert_nonnull(event = lull_session_read(session));
        g_assert_nonnull(event->impl);
        lull_session_free(session);
        session = open_session(dir, 2);
        lull_session_read_ahead(session);
        lull_session_read(session);
        lull_session_free(session); /* while it is read ahead */
    }
    remove_tree(dir);
}

/* ---- the model ---- */

struct facts {
    struct lull_model *model;
    GChecksum *checksum;
    guint n;
};

static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct facts *facts = user;
    g_autofree char *text = g_strdup_printf(
        "%u %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %d %d %c %s\n", fact->task, fact->start_ns,
        fact->end_ns, (int)fact->state, fact->cpu, fact->letter ? fact->letter : '-',
        lull_model_comm(facts->model, fact->task, fact->end_ns));
    g_checksum_update(facts->checksum, (const guchar *)text, -1);
    facts->n++;
}

static void on_syscall(void *user, const struct lull_syscall_fact *fact)
{
    struct facts *facts = user;
    g_autofree char *text = g_strdup_printf(
        "%u %s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n", fact->task,
        lull_model_label(facts->model, fact->name), fact->start_ns, fact->end_ns, fact->ret);
    g_checksum_update(facts->checksum, (const guchar *)text, -1);
    facts->n++;
}

static char *facts_of(const char *dir, uint32_t n_threads)
{
    static const struct lull_facts wanted = {.state = on_state, .syscall = on_syscall};
    const char *const paths[] = {dir};
    g_autoptr(GError) error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add_all(session, paths, 1, &error);
    g_assert_no_error(error);
    lull_session_set_threads(session, n_threads);
    struct facts facts = {lull_model_new(session, LULL_GROUP_SCHED | LULL_GROUP_STATE |
                                                      LULL_GROUP_IRQ | LULL_GROUP_NET |
                                                      LULL_GROUP_SYSCALL | LULL_GROUP_IO),
                          g_checksum_new(G_CHECKSUM_SHA1), 0};
    lull_model_subscribe(facts.model, &wanted, &facts);
    lull_model_run(facts.model, NULL, NULL);
    g_assert_cmpuint(facts.n, >, 10000);
    char *sum = g_strdup(g_checksum_get_string(facts.checksum));
    g_checksum_free(facts.checksum);
    lull_model_free(facts.model);
    lull_session_free(session);
    return sum;
}

/* Four machines, with all that the model wants to know. */
static void test_model(void)
{
    const char *traces = g_getenv("LULL_TEST_TRACES");
    g_autofree char *dir = traces ? g_build_filename(traces, "..", "django", NULL) : NULL;
    if (!dir || !g_file_test(dir, G_FILE_TEST_IS_DIR)) {
        g_test_skip("the sample traces are not unpacked");
        return;
    }
    g_autofree char *one = facts_of(dir, 1);
    g_autofree char *two = facts_of(dir, 2);
    g_assert_cmpstr(one, ==, two);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ahead/batches", test_batches);
    g_test_add_func("/ahead/same", test_same);
    g_test_add_func("/ahead/stopped", test_stopped);
    g_test_add_func("/ahead/model", test_model);
    return g_test_run();
}
