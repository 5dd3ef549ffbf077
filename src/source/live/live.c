/* SPDX-License-Identifier: MIT */
/* A live session: attaches to the recordings of a name, keeps up with what the relay says is new,
 * and knows when it has ended. */
#include "source/live/private.h"

#include <lull/error.h>
#include <string.h>

/* Pauses while nothing happens: short after something did, then longer. */
#define FIRST_PAUSE_MS 5
#define LONGEST_PAUSE_MS 100
/* Whoever does not want to read on does not wait long for the relay to say goodbye. */
#define GOODBYE_MS 1000

void live_problem(struct lull_live *live, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    if (live->hooks.problem) {
        live->hooks.problem(live->hooks.user, text);
    }
}

static void report_problem(void *user, const char *text)
{
    live_problem(user, "%s", text);
}

static void ignore_loss(void *user, uint32_t stream, int64_t start_ns, int64_t end_ns,
                        uint64_t events, uint64_t packets)
{
}

/* Nothing more is read: metadata that was still waited for will not get better. */
static void end(struct lull_live *live)
{
    live->is_over = true;
    for (guint i = 0; i < live->traces->len; i++) {
        live_trace_end(live->traces->pdata[i]);
    }
}

void live_fail(struct lull_live *live, GError *error)
{
    end(live);
    if (live->relay.wire.is_stopped || live->error) {
        g_clear_error(&error);
    } else {
        live->error = error;
    }
}

bool live_idle(struct lull_live *live)
{
    if (live->is_over) {
        return false;
    }
    live->pause_ms = CLAMP(live->pause_ms * 2, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    if (!live_wire_pause(&live->relay.wire, live->pause_ms)) {
        end(live);
    }
    return !live->is_over;
}

/* ---- what is new ---- */

void live_expect_streams(struct lull_live *live)
{
    for (guint i = 0; i < live->attached->len; i++) {
        struct live_attached *attached = &g_array_index(live->attached, struct live_attached, i);
        attached->needs_streams = !attached->is_closed;
    }
}

guint live_key_hash(gconstpointer data)
{
    const struct live_key *key = data;
    uint64_t h = (key->outer * UINT64_C(0x9e3779b97f4a7c15)) ^ key->inner;
    return (guint)((h * UINT64_C(0xff51afd7ed558ccd)) >> 32);
}

gboolean live_key_equal(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct live_key)) == 0;
}

GHashTable *live_keys_new(void)
{
    return g_hash_table_new_full(live_key_hash, live_key_equal, g_free, NULL);
}

static struct live_trace *trace_of(struct lull_live *live, uint64_t session, uint64_t id)
{
    struct live_key key = {session, id};
    struct live_trace *trace = g_hash_table_lookup(live->by_id, &key);
    if (!trace) {
        trace = live_trace_new(live, session, id);
        g_ptr_array_add(live->traces, trace);
        g_hash_table_insert(live->by_id, g_memdup2(&key, sizeof key), trace);
    }
    return trace;
}

/* No recording has more. */
#define MOST_STREAMS 65536u

static void add_streams(struct lull_live *live, uint64_t session, const GPtrArray *infos)
{
    for (guint i = 0; i < infos->len; i++) {
        const struct live_stream_info *info = infos->pdata[i];
        struct live_key key = {session, info->id};
        if (g_hash_table_size(live->known) >= MOST_STREAMS) {
            live_fail(live, g_error_new(LULL_ERROR, LULL_ERROR_FORMAT,
                                        "%s: the relay has more than %u streams",
                                        live->relay.wire.name, MOST_STREAMS));
            return;
        }
        if (g_hash_table_contains(live->known, &key)) { /* nothing is read twice */
            continue;
        }
        g_hash_table_add(live->known, g_memdup2(&key, sizeof key));
        live_trace_add_stream(trace_of(live, session, info->trace), info);
    }
}

static bool fetch_streams(struct lull_live *live, struct live_attached *attached)
{
    g_autoptr(GPtrArray) infos = live_stream_infos_new();
    enum live_streams_status status;
    GError *error = NULL;
    attached->needs_streams = false;
    if (!live_relay_new_streams(&live->relay, attached->id, infos, &status, &error)) {
        live_fail(live, error);
        return false;
    }
    /* An error is what a relay answers that has forgotten the recording. */
    attached->is_closed = status == LIVE_STREAMS_HUP || status == LIVE_STREAMS_ERROR;
    add_streams(live, attached->id, infos);
    return !live->is_over;
}

bool live_catch_up(struct lull_live *live)
{
    bool is_waiting;
    do {
        is_waiting = false;
        for (guint i = 0; i < live->attached->len; i++) {
            struct live_attached *attached =
                &g_array_index(live->attached, struct live_attached, i);
            if (attached->needs_streams && !fetch_streams(live, attached)) {
                return false;
            }
        }
        for (guint i = 0; i < live->traces->len; i++) {
            struct live_trace *trace = live->traces->pdata[i];
            if (!live_trace_update(trace)) {
                return false;
            }
            is_waiting |= live_trace_is_waiting(trace);
        }
        /* What cannot be read yet may be earlier than all the rest. */
        if (is_waiting) {
            live_expect_streams(live);
            if (!live_idle(live)) {
                return false;
            }
        }
    } while (is_waiting);
    return !live->is_over;
}

static bool drain(struct lull_live *live)
{
    for (guint t = 0; t < live->traces->len; t++) {
        const struct live_trace *trace = live->traces->pdata[t];
        for (guint i = 0; i < trace->streams->len; i++) {
            struct live_stream *stream = trace->streams->pdata[i];
            if ((stream->is_ended || trace->is_dropped) && !live_stream_drain(stream)) {
                return false;
            }
        }
    }
    return true;
}

bool lull_live_follow(struct lull_live *live)
{
    bool is_open = false;
    for (guint i = 0; i < live->attached->len; i++) {
        is_open |= !g_array_index(live->attached, struct live_attached, i).is_closed;
    }
    if (!is_open || live->passed_end) {
        end(live);
    }
    live_expect_streams(live);
    return live_idle(live) && drain(live) && live_catch_up(live);
}

struct lull_source *lull_live_take(struct lull_live *live, const struct lull_report *report)
{
    for (guint i = 0; i < live->traces->len; i++) {
        struct live_trace *trace = live->traces->pdata[i];
        if (!trace->report && trace->newest && trace->streams->len > 0) {
            trace->report = report;
            return &trace->base;
        }
    }
    return NULL;
}

const GError *lull_live_error(const struct lull_live *live)
{
    return live->error;
}

/* ---- life ---- */

static bool matches(const struct lull_live_url *url, const struct live_session_info *info)
{
    return !url->session ||
           (strcmp(info->host, url->target) == 0 && strncmp(info->name, url->session, 255) == 0);
}

static bool connect_relay(struct lull_live *live, const struct lull_live_url *url, GError **error)
{
    live->relay.wire.wait = live->hooks.wait;
    live->relay.wire.user = live->hooks.user;
    return live_relay_open(&live->relay, url, error);
}

static void not_there(const char *text, const GPtrArray *infos, GError **error)
{
    g_autoptr(GString) known = g_string_new(NULL);
    for (guint i = 0; i < infos->len && i < 20; i++) {
        const struct live_session_info *info = infos->pdata[i];
        g_string_append_printf(known, "%s/host/%s/%s", i == 0 ? "" : ", ", info->host, info->name);
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                "%s: the relay has no such session; it has: %s", text,
                known->len > 0 ? known->str : "none");
}

/* Attaches to all recordings of the name: there may be one of the kernel and one of user space. */
static bool attach(struct lull_live *live, const struct lull_live_url *url, const char *text,
                   bool from_start, GError **error)
{
    g_autoptr(GPtrArray) infos = live_relay_sessions(&live->relay, error);
    if (!infos || !live_relay_create_session(&live->relay, error)) {
        return false;
    }
    for (guint i = 0; i < infos->len; i++) {
        const struct live_session_info *info = infos->pdata[i];
        if (!matches(url, info)) {
            continue;
        }
        g_autoptr(GPtrArray) streams = live_stream_infos_new();
        live->gives_whole = from_start;
        if (!live_relay_attach(&live->relay, info->id, from_start, streams, error)) {
            g_prefix_error(error, "%s: ", text);
            return false;
        }
        struct live_attached attached = {
            .id = info->id, .timer_us = info->timer_us, .needs_streams = true};
        g_array_append_val(live->attached, attached);
        add_streams(live, info->id, streams);
    }
    live->gives_whole = true; /* those that come later */
    if (live->attached->len == 0) {
        not_there(text, infos, error);
    }
    return live->attached->len > 0;
}

/* Until a trace can be read: the recording may not have started. */
static void await_trace(struct lull_live *live)
{
    while (live_catch_up(live)) {
        for (guint i = 0; i < live->traces->len; i++) {
            const struct live_trace *trace = live->traces->pdata[i];
            if (trace->newest && trace->streams->len > 0) {
                return;
            }
        }
        if (!lull_live_follow(live)) {
            return;
        }
    }
}

struct lull_live *lull_live_open(const char *text, bool from_start,
                                 const struct lull_live_hooks *hooks, GError **error)
{
    struct lull_live_url url;
    if (!lull_live_url_parse(text, &url, error)) {
        return NULL;
    }
    if (!url.session) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "%s: the address names no session; 'lull info %s' lists the sessions", text,
                    text);
        lull_live_url_clear(&url);
        return NULL;
    }
    struct lull_live *live = g_new0(struct lull_live, 1);
    live->hooks = *hooks;
    live->report = (struct lull_report){report_problem, ignore_loss, live, NULL};
    live->attached = g_array_new(FALSE, TRUE, sizeof(struct live_attached));
    live->traces = g_ptr_array_new_with_free_func(live_trace_free);
    live->by_id = live_keys_new();
    live->known = live_keys_new();
    GError *cause = NULL;
    if (!connect_relay(live, &url, &cause) || !attach(live, &url, text, from_start, &cause)) {
        live_fail(live, cause);
    } else {
        await_trace(live);
    }
    lull_live_url_clear(&url);
    if (live->error) {
        g_propagate_error(error, g_steal_pointer(&live->error));
        lull_live_free(live);
        return NULL;
    }
    return live;
}

void lull_live_free(struct lull_live *live)
{
    struct live_wire *wire = &live->relay.wire;
    /* In the middle of an answer nothing can be said; closing detaches as well. */
    wire->wait = NULL;
    wire->is_stopped = false;
    wire->timeout_ms = GOODBYE_MS;
    int64_t end_us = g_get_monotonic_time() + INT64_C(1000) * GOODBYE_MS;
    for (guint i = 0; i < live->attached->len && wire->fd >= 0 && !wire->is_broken &&
                      g_get_monotonic_time() < end_us;
         i++) {
        live_relay_detach(&live->relay, g_array_index(live->attached, struct live_attached, i).id,
                          NULL);
    }
    live_relay_close(&live->relay);
    g_ptr_array_unref(live->traces);
    g_array_unref(live->attached);
    g_hash_table_unref(live->by_id);
    g_hash_table_unref(live->known);
    g_clear_error(&live->error);
    g_free(live);
}

/* ---- listing ---- */

static void recording_free(gpointer data)
{
    struct lull_live_recording *recording = data;
    g_free(recording->url);
    g_free(recording->host);
    g_free(recording->name);
    g_free(recording);
}

static void add_recording(GPtrArray *recordings, GHashTable *by_url, const char *relay,
                          const struct live_session_info *info)
{
    g_autofree char *url = g_strdup_printf("%s/host/%s/%s", relay, info->host, info->name);
    struct lull_live_recording *recording = g_hash_table_lookup(by_url, url);
    if (!recording) {
        recording = g_new0(struct lull_live_recording, 1);
        recording->url = g_steal_pointer(&url);
        recording->host = g_strdup(info->host);
        recording->name = g_strdup(info->name);
        g_ptr_array_add(recordings, recording);
        g_hash_table_insert(by_url, recording->url, recording);
    }
    recording->streams += info->streams;
    recording->timer_us = MAX(recording->timer_us, info->timer_us);
    recording->clients = MAX(recording->clients, info->clients);
}

GPtrArray *lull_live_list(const char *text, const struct lull_live_hooks *hooks, GError **error)
{
    struct lull_live_url url;
    struct lull_live live = {.hooks = *hooks};
    if (!lull_live_url_parse(text, &url, error)) {
        return NULL;
    }
    g_autoptr(GPtrArray) infos = NULL;
    if (connect_relay(&live, &url, error)) {
        infos = live_relay_sessions(&live.relay, error);
    }
    live_relay_close(&live.relay);
    GPtrArray *recordings = NULL;
    if (infos) {
        g_autoptr(GHashTable) by_url = g_hash_table_new(g_str_hash, g_str_equal);
        recordings = g_ptr_array_new_with_free_func(recording_free);
        for (guint i = 0; i < infos->len; i++) {
            if (matches(&url, infos->pdata[i])) {
                add_recording(recordings, by_url, url.relay, infos->pdata[i]);
            }
        }
    }
    lull_live_url_clear(&url);
    return recordings;
}
