/* SPDX-License-Identifier: MIT */
/* What a session found damaged, what was lost, and in which streams that may be. */
#include "source/session/streams.h"
#include "source/session/private.h"
#include "source/session/unpacking.h"

#include <string.h>

/* A relay may go on for ever with what is damaged or lost. The first problems are kept and the rest
 * are counted; when there are this many losses of live sessions, a stream's last one grows. */
#define MOST_PROBLEM_BYTES ((size_t)16 << 20)
#define MOST_LIVE_LOSSES (1u << 16)

struct session_notes *lull_session_notes_new(void)
{
    struct session_notes *notes = g_new0(struct session_notes, 1);
    notes->problems = g_ptr_array_new_with_free_func(g_free);
    notes->remarks = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    notes->raw = g_array_new(FALSE, FALSE, sizeof(struct lull_loss));
    notes->losses = g_array_new(FALSE, FALSE, sizeof(struct lull_loss));
    return notes;
}

void lull_session_notes_free(struct session_notes *notes)
{
    g_ptr_array_unref(notes->problems);
    g_array_unref(notes->remarks);
    g_array_unref(notes->raw);
    g_array_unref(notes->losses);
    lull_map_free(&notes->by_stream);
    g_free(notes);
}

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void lull_session_note_problem(struct lull_session *session, const char *text)
{
    struct session_notes *notes = session->notes;
    notes->n_problems++;
    notes->problem_bytes += strlen(text) + sizeof text;
    if (notes->problem_bytes <= MOST_PROBLEM_BYTES) {
        g_ptr_array_add(notes->problems, g_strdup(text));
    }
}

void lull_session_note_remark(struct lull_session *session, const char *text)
{
    struct session_notes *notes = session->notes;
    if (notes->problem_bytes + strlen(text) + sizeof text <= MOST_PROBLEM_BYTES) {
        g_array_append_val(notes->remarks, notes->problems->len);
        lull_session_note_problem(session, text);
    }
}

bool lull_session_problem_is_remark(const struct lull_session *session, uint32_t index)
{
    return g_array_binary_search(session->notes->remarks, &index, compare_numbers, NULL);
}

static void note_remark(void *user, const char *text)
{
    struct session_trace *trace = user;
    lull_session_note_remark(trace->session, text);
}

static void note_problem(void *user, const char *text)
{
    struct session_trace *trace = user;
    lull_session_note_problem(trace->session, text);
}

static void note_loss(void *user, uint32_t stream, int64_t start_ns, int64_t end_ns,
                      uint64_t events, uint64_t packets)
{
    struct session_trace *trace = user;
    struct session_notes *notes = trace->session->notes;
    /* Streams of a live trace that came later do not follow its first ones. */
    uint32_t number = stream < trace->n_streams ? trace->source->streams[stream]->event.stream
                                                : trace->first_stream + stream;
    struct lull_loss loss = {.trace = trace->index,
                             .stream = number,
                             .start_ns = start_ns,
                             .end_ns = end_ns,
                             .events = events,
                             .packets = packets};
    uint32_t last = lull_map_find(&notes->by_stream, number);
    notes->is_stale = true;
    if (trace->session->lives->len > 0 && notes->raw->len >= MOST_LIVE_LOSSES &&
        last != LULL_MAP_NONE) {
        struct lull_loss *known = &g_array_index(notes->raw, struct lull_loss, last);
        known->start_ns = MIN(known->start_ns, start_ns);
        known->end_ns = MAX(known->end_ns, end_ns);
        known->events += events;
        known->packets += packets;
        return;
    }
    lull_map_insert(&notes->by_stream, number, notes->raw->len);
    g_array_append_val(notes->raw, loss);
}

void lull_session_trace_listen(struct session_trace *trace)
{
    trace->report.problem = note_problem;
    trace->report.lost = note_loss;
    trace->report.remark = note_remark;
    trace->report.user = trace;
}

static void keep_problem(void *user, const char *text)
{
    const struct lull_note_keeper *keeper = user;
    keeper->keep(keeper->user, &(struct lull_session_note){.text = g_strdup(text)});
}

static void keep_remark(void *user, const char *text)
{
    const struct lull_note_keeper *keeper = user;
    keeper->keep(keeper->user,
                 &(struct lull_session_note){.text = g_strdup(text), .is_remark = true});
}

static void keep_loss(void *user, uint32_t stream, int64_t start_ns, int64_t end_ns,
                      uint64_t events, uint64_t packets)
{
    const struct lull_note_keeper *keeper = user;
    keeper->keep(keeper->user, &(struct lull_session_note){.stream = stream,
                                                           .start_ns = start_ns,
                                                           .end_ns = end_ns,
                                                           .events = events,
                                                           .packets = packets});
}

void lull_session_keep_notes(struct lull_note_keeper *keeper,
                             void (*keep)(void *user, const struct lull_session_note *note),
                             void *user)
{
    keeper->keep = keep;
    keeper->user = user;
    keeper->report = (struct lull_report){keep_problem, keep_loss, keeper, keep_remark};
}

void lull_session_pass_note(const struct lull_report *report, const struct lull_session_note *note)
{
    if (!note->text) {
        report->lost(report->user, note->stream, note->start_ns, note->end_ns, note->events,
                     note->packets);
    } else {
        (note->is_remark ? report->remark : report->problem)(report->user, note->text);
    }
}

uint32_t lull_session_problem_count(const struct lull_session *session)
{
    return (uint32_t)MIN(session->notes->n_problems, UINT32_MAX);
}

const char *lull_session_problem(const struct lull_session *session, uint32_t index)
{
    const GPtrArray *problems = session->notes->problems;
    g_return_val_if_fail(index < session->notes->n_problems, NULL);
    return index < problems->len ? problems->pdata[index] : NULL;
}

static int compare_losses(gconstpointer a, gconstpointer b)
{
    const struct lull_loss *x = a, *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

struct lull_loss lull_session_found_loss(const struct lull_session *session, uint32_t index)
{
    struct lull_loss loss = g_array_index(session->notes->raw, struct lull_loss, index);
    const struct session_trace *trace = lull_session_trace_at(session, loss.trace);
    loss.host = trace->source->info.host;
    const struct lull_clock_transform *transform =
        &lull_session_host_at(session, loss.host)->transform;
    loss.start_ns = lull_clock_join(transform, loss.start_ns, trace->delta_ns);
    loss.end_ns = lull_clock_join(transform, loss.end_ns, trace->delta_ns);
    return loss;
}

/* Joins the times and sorts, if something has changed since. */
static void refresh(const struct lull_session *session)
{
    struct session_notes *notes = session->notes;
    if (!notes->is_stale) {
        return;
    }
    notes->is_stale = false;
    g_array_set_size(notes->losses, 0);
    for (uint32_t i = 0; i < notes->raw->len; i++) {
        struct lull_loss loss = lull_session_found_loss(session, i);
        g_array_append_val(notes->losses, loss);
    }
    g_array_sort(notes->losses, compare_losses);
}

uint32_t lull_session_stream_count(const struct lull_session *session)
{
    return session->streams->len;
}

struct lull_stream_info lull_session_stream(const struct lull_session *session, uint32_t stream)
{
    const struct lull_source_stream *found = session->streams->pdata[stream];
    const struct session_trace *trace = lull_session_trace_at(session, found->event.trace);
    struct lull_stream_info info = {.trace = found->event.trace,
                                    .host = trace->source->info.host,
                                    .cpu = found->cpu,
                                    .start_ns = INT64_MAX,
                                    .end_ns = INT64_MIN,
                                    .may_grow = session->lives->len > 0};
    struct lull_source_window window = lull_session_window(session, found);
    if (found->start_ns <= found->end_ns) {
        info.start_ns = MAX(lull_clock_join(&window.transform, found->start_ns, window.delta_ns),
                            window.start_ns);
        info.end_ns = lull_clock_join(&window.transform, found->end_ns, window.delta_ns);
    }
    return info;
}

const unsigned *lull_session_loss_counter(const struct lull_session *session)
{
    return &session->notes->raw->len;
}

uint32_t lull_session_loss_count(const struct lull_session *session)
{
    return session->notes->raw->len;
}

const struct lull_loss *lull_session_loss(const struct lull_session *session, uint32_t index)
{
    g_return_val_if_fail(index < session->notes->raw->len, NULL);
    refresh(session);
    return &g_array_index(session->notes->losses, struct lull_loss, index);
}

bool lull_session_is_joined(const struct lull_session *session)
{
    const char *first = NULL;
    for (uint32_t i = 0; i < session->traces->len; i++) {
        const char *clock = lull_session_trace_at(session, i)->source->joined_clock;
        if (!clock || (first && strcmp(first, clock) != 0)) {
            return false;
        }
        first = clock;
    }
    return first != NULL;
}

void lull_session_watch_unpacking(struct lull_session *session,
                                  void (*progress)(void *user, const char *path, uint64_t done,
                                                   uint64_t size),
                                  void *user)
{
    session->unpacking = progress;
    session->unpacking_user = user;
}
