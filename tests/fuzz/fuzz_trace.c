/* SPDX-License-Identifier: MIT */
/* Streams whose bytes are the fuzzer's. The ways to read a stream share little code, so they check
 * each other: what one of them counts, shows or adds up, the others must as well. A session is
 * opened on each trace once; then the cursor of its stream is exchanged for one over other bytes.
 */
#include "fuzz/fuzz_trace.h"

#include <stdlib.h>
#include <string.h>

#include "ctf/stream/stream.h"
#include "fuzz/fuzz_bytes.h"
#include "source/session/private.h"
#include "source/files/stitch.h"
#include "view/event/babeltrace.h"

/* Printing is slow; what it does wrong shows in the first events, and without an index. */
#define MOST_PRINTED 5

struct fuzz_trace {
    struct lull_session *session; /* with one stream */
    const struct lull_ctf_plan *plan;
    struct lull_ctf_stream *cursor; /* of the stream */
    uint8_t *data;                  /* of its file */
    size_t size;
    unsigned most_printed; /* events */
};

static GPtrArray *traces; /* struct fuzz_trace, in order of their letters */

/* ---- reading ---- */

struct seen {
    uint64_t events, fields, checksum;
    int64_t middle, last; /* times of events */
    bool is_whole;        /* no event's fields were damaged */
};

static void ignore_start(void *user, const char *name, enum lull_visit_kind kind)
{
}

static void ignore_end(void *user, enum lull_visit_kind kind)
{
}

static void see_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    struct seen *seen = user;
    seen->fields++;
    seen->checksum += value->bits;
    if (value->label && strlen(value->label) > G_MAXINT) {
        abort();
    }
}

static void see_real(void *user, const char *name, double value)
{
    struct seen *seen = user;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    seen->fields++;
    seen->checksum += bits;
}

static void see_text(void *user, const char *name, struct lull_text text)
{
    struct seen *seen = user;
    seen->fields++;
    seen->checksum += text.length;
    for (uint32_t i = 0; i < text.length; i++) {
        seen->checksum += (uint64_t)(uint8_t)text.data[i] << i % 8 * 8;
    }
}

static void see_blob(void *user, const char *name, struct lull_text bytes, const char *media_type)
{
    see_text(user, name, bytes);
}

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    *(uint64_t *)user += count;
}

struct bound {
    uint64_t have;
    int64_t tid;
    struct lull_text comm, address;
    double real;
};

static const struct lull_binding bindings[] = {
    {(const char *const[]){"prev_tid", "tid", "context.tid", "a", "v", NULL}, LULL_BIND_INT,
     offsetof(struct bound, tid)},
    {(const char *const[]){"prev_comm", "comm", "name", "text", "b", NULL}, LULL_BIND_TEXT,
     offsetof(struct bound, comm)},
    {(const char *const[]){"network_header.ipv4.saddr", "words", NULL}, LULL_BIND_RAW,
     offsetof(struct bound, address)},
    {(const char *const[]){"ratio", "choice.small", "i", NULL}, LULL_BIND_REAL,
     offsetof(struct bound, real)},
};

/* Touches what was loaded for a subscriber. */
static void see_bound(const struct bound *bound)
{
    struct seen unused = {0};
    see_text(&unused, NULL, bound->comm);
    see_text(&unused, NULL, bound->address);
    see_real(&unused, NULL, bound->real);
    __asm__ volatile("" : : "r"(unused.checksum));
}

/* The event's text with a print program and by walking it: they must be the same. */
static void print_both_ways(struct lull_event_babeltrace *fast, struct lull_event_babeltrace *slow,
                            const struct lull_event *event)
{
    fast->line.length = slow->line.length = 0;
    bool is_whole = lull_event_babeltrace_format(fast, event, NULL);
    g_assert_true(lull_event_babeltrace_format(slow, event, NULL) == is_whole);
    g_assert_cmpmem(fast->line.data, fast->line.length, slow->line.data, slow->line.length);
}

static struct seen read_events(struct lull_session *session, unsigned most_printed)
{
    static const struct lull_visitor visitor = {.start = ignore_start,
                                                .end = ignore_end,
                                                .integer = see_integer,
                                                .real = see_real,
                                                .text = see_text,
                                                .blob = see_blob};
    struct seen seen = {.is_whole = true, .middle = INT64_MIN, .last = INT64_MIN};
    struct lull_event_babeltrace fast = {.session = session,
                                         .shown_fields = LULL_BABELTRACE_ALL_FIELDS,
                                         .shown_names = LULL_BABELTRACE_ALL_NAMES};
    struct lull_event_babeltrace slow = fast;
    slow.always_walks = true;
    const struct lull_event *event;
    while ((event = lull_session_read(session))) {
        g_assert_cmpint(event->time_ns, >=, seen.last);
        seen.last = event->time_ns;
        if ((seen.events & (seen.events + 1)) == 0) {
            seen.middle = event->time_ns;
        }
        see_bound(event->fields);
        if (!lull_event_visit(event, &visitor, &seen, NULL)) {
            seen.is_whole = false;
        }
        if (seen.events++ < most_printed) {
            print_both_ways(&fast, &slow, event);
        }
    }
    lull_event_babeltrace_clear(&fast);
    lull_event_babeltrace_clear(&slow);
    return seen;
}

static uint64_t count_events(struct lull_session *session)
{
    uint64_t count = 0;
    lull_session_count(session, add_count, &count);
    return count;
}

/* A part of the stream. Which events are in it is not known: packets may lie about their times. */
static void read_part(struct lull_session *session, const struct seen *seen)
{
    uint64_t n = 0;
    const struct lull_event *event;
    lull_session_limit(session, seen->middle, seen->last);
    for (; (event = lull_session_read(session)); n++) {
        g_assert_true(event->time_ns >= seen->middle && event->time_ns < seen->last);
    }
    g_assert_cmpuint(count_events(session), ==, n);
}

static void read_stream(struct lull_session *session, unsigned most_printed)
{
    struct lull_decoded decoded;
    lull_session_limit(session, INT64_MIN, INT64_MAX);
    struct seen seen = read_events(session, most_printed);
    g_assert_cmpuint(count_events(session), ==, seen.events);
    lull_session_decode_all(session, &decoded);
    g_assert_cmpuint(decoded.events, ==, seen.events);
    if (seen.is_whole) {
        g_assert_cmpuint(decoded.fields, ==, seen.fields);
        g_assert_cmpuint(decoded.checksum, ==, seen.checksum);
    }
    if (seen.middle < seen.last) {
        read_part(session, &seen);
    }
}

/* What was said of damage; it is forgotten, so that notes do not pile up. */
static void check_notes(struct lull_session *session)
{
    for (uint32_t i = 0; i < lull_session_problem_count(session); i++) {
        g_assert_cmpuint(strlen(lull_session_problem(session, i)), >, 0);
    }
    for (uint32_t i = 0; i < lull_session_loss_count(session); i++) {
        g_assert_cmpint(lull_session_loss(session, i)->start_ns, <=,
                        lull_session_loss(session, i)->end_ns);
    }
    g_ptr_array_set_size(session->notes->problems, 0);
    session->notes->n_problems = 0;
    session->notes->problem_bytes = 0;
    g_array_set_size(session->notes->raw, 0);
    session->notes->is_stale = true;
}

/* ---- streams of given bytes ---- */

/* As the source does for streams whose packets do not say their times. */
static void measure(struct lull_ctf_stream *cursor)
{
    static const struct lull_clock_transform identity;
    const struct lull_clock *clock = cursor->stream->clock;
    struct lull_clock_map map;
    lull_clock_map_init(&map, clock ? clock->frequency : 1000000000, clock ? clock->offset_s : 0,
                        clock ? clock->offset_cycles : 0, 0, &identity);
    lull_ctf_stream_start(cursor, &map, INT64_MIN, INT64_MAX, 0);
    lull_ctf_stream_measure(cursor);
}

static void exchange(struct lull_ctf_stream *a, struct lull_ctf_stream *b)
{
    struct lull_ctf_stream c = *a;
    *a = *b;
    *b = c;
}

static void try_stream(void *user, struct lull_stitched *found)
{
    struct fuzz_trace *trace = user;
    const struct lull_report *report = &lull_session_trace_at(trace->session, 0)->report;
    struct lull_ctf_stream *cursor =
        lull_ctf_stream_new_from(trace->plan, found->bytes, found->path, &found->list, 0, report);
    g_free(found->path);
    if (!cursor->list.in_order) {
        measure(cursor);
    }
    exchange(trace->cursor, cursor);
    read_stream(trace->session, trace->most_printed);
    check_notes(trace->session);
    lull_session_rewind(trace->session);
    exchange(trace->cursor, cursor);
    lull_ctf_stream_free(cursor);
}

static void free_piece(gpointer piece)
{
    lull_piece_free(piece);
}

void fuzz_trace_try(struct fuzz_trace *trace, const struct fuzz_file *files, unsigned n_files)
{
    static const char *const names[] = {"s0_0_0", "s0_0_1"};
    const struct lull_report *report = &lull_session_trace_at(trace->session, 0)->report;
    g_autoptr(GPtrArray) pieces = g_ptr_array_new_with_free_func(free_piece);
    for (unsigned i = 0; i < n_files; i++) {
        g_autoptr(GError) error = NULL;
        struct lull_piece *piece =
            lull_piece_new(names[i], names[i], fuzz_bytes_new(files[i].data, files[i].size));
        struct lull_packet_file file = {.bytes = piece->bytes,
                                        .size = files[i].size,
                                        .path = names[i],
                                        .index_path = "index",
                                        .index = (const char *)files[i].index,
                                        .index_size = files[i].index_size};
        g_ptr_array_add(pieces, piece);
        if (files[i].size == 0 ||
            !lull_packet_list_find(&piece->list, trace->plan, &file, report, &error)) {
            g_assert_true(files[i].size == 0 || strlen(error->message) > 0);
            g_ptr_array_set_size(pieces, (gint)pieces->len - 1);
        }
    }
    lull_stitch(trace->plan, pieces, try_stream, trace);
    check_notes(trace->session);
}

/* ---- the traces ---- */

static struct fuzz_trace *open_trace(const char *path, bool with_index)
{
    static const char *const all[] = {"*", NULL};
    static const char *const streams[] = {"c0_0", "stream_0"};
    g_autofree char *index = g_build_filename(path, "index", NULL);
    g_autoptr(GError) error = NULL;
    if (with_index && !g_file_test(index, G_FILE_TEST_IS_DIR)) {
        return NULL;
    }
    struct fuzz_trace *trace = g_new0(struct fuzz_trace, 1);
    trace->session = lull_session_new();
    trace->most_printed = with_index ? 0 : MOST_PRINTED;
    if (!lull_session_add(trace->session, path, &error)) {
        g_error("%s", error->message);
    }
    lull_session_subscribe(trace->session, all, bindings, G_N_ELEMENTS(bindings),
                           sizeof(struct bound));
    trace->plan = lull_ctf_source_plan(lull_session_trace_at(trace->session, 0)->source);
    g_ptr_array_set_size(trace->session->streams, 1);
    trace->cursor =
        (struct lull_ctf_stream *)lull_ctf_source_cursor(trace->session->streams->pdata[0]);
    for (unsigned i = 0; i < G_N_ELEMENTS(streams) && !trace->data; i++) {
        g_autofree char *name = g_build_filename(path, streams[i], NULL);
        g_file_get_contents(name, (char **)&trace->data, &trace->size, NULL);
    }
    return trace;
}

static void free_trace(gpointer data)
{
    struct fuzz_trace *trace = data;
    lull_session_free(trace->session);
    g_free(trace->data);
    g_free(trace);
}

static void clean(void)
{
    g_ptr_array_unref(traces);
}

static int by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void fuzz_trace_init(bool with_index)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(FUZZ_DIRECTORY "/traces", 0, NULL);
    if (!dir) {
        g_error("%s/traces cannot be read", FUZZ_DIRECTORY);
    }
    for (const char *name; (name = g_dir_read_name(dir));) {
        g_ptr_array_add(names, g_build_filename(FUZZ_DIRECTORY, "traces", name, NULL));
    }
    g_ptr_array_sort(names, by_name);
    traces = g_ptr_array_new_with_free_func(free_trace);
    for (guint i = 0; i < names->len; i++) {
        struct fuzz_trace *trace = open_trace(names->pdata[i], with_index);
        if (trace) {
            g_ptr_array_add(traces, trace);
        }
    }
    atexit(clean);
}

struct fuzz_trace *fuzz_trace_find(uint8_t letter)
{
    return traces->pdata[(uint8_t)(letter - 'a') % traces->len];
}

const uint8_t *fuzz_trace_stream(const struct fuzz_trace *trace, size_t *size)
{
    *size = trace->size;
    return trace->data;
}
