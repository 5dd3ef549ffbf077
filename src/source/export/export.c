/* SPDX-License-Identifier: MIT */
/* Where the traces of an export go, which clock they get, and that nothing half-written stays. */
#include "source/export/export.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/tree.h"
#include "source/export/records.h"

struct lull_export {
    struct lull_session *session;
    char *path, *part;
    bool is_made, is_finished, has_streams;
    char *joined_clock;                   /* of the joined clock, or NULL */
    struct lull_ctf_writer **writers;     /* by trace; NULL: nothing of it is selected */
    struct lull_ctf_out_stream **streams; /* of CTF traces */
    struct lull_export_records *records;  /* of others */
};

/* ---- directories ---- */

static bool make_directory(const char *path, GError **error)
{
    if (mkdir(path, 0777) == 0) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: cannot be created: %s", path,
                g_strerror(errno));
    return false;
}

/* A name that is one directory, whatever the trace says the host is called. */
static char *safe_name(const char *name)
{
    char *safe = g_strdup(*name != '\0' ? name : "trace");
    for (char *p = safe; *p != '\0'; p++) {
        if (*p == '/' || (unsigned char)*p < ' ' || *p == 0x7f || (*p == '.' && p == safe)) {
            *p = '_';
        }
    }
    if (strlen(safe) > 200) {
        safe[200] = '\0';
    }
    return safe;
}

/* A new directory in `parent`, of that name or the name with a number. */
static char *new_directory(const char *parent, const char *name, GError **error)
{
    g_autofree char *safe = safe_name(name);
    for (unsigned n = 1;; n++) {
        g_autofree char *numbered = g_strdup_printf("%s-%u", safe, n);
        g_autofree char *path = g_build_filename(parent, n == 1 ? safe : numbered, NULL);
        if (mkdir(path, 0777) == 0) {
            return g_steal_pointer(&path);
        }
        if (errno != EEXIST) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: cannot be created: %s", path,
                        g_strerror(errno));
            return NULL;
        }
    }
}

static bool is_selected(const struct lull_session *session, const struct session_trace *trace)
{
    return session->only_host < 0 || (uint32_t)session->only_host == trace->source->info.host;
}

static uint32_t count_traces(const struct lull_session *session, uint32_t host)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < session->traces->len; i++) {
        n += lull_session_trace_at(session, i)->source->info.host == host;
    }
    return n;
}

/* ---- clocks ---- */

static bool is_moved(const struct session_host *host)
{
    return host->transform.offset_ns != 0 || host->transform.rate_num != 0;
}

/* Names the joined clock by all that went into it; NULL if no clock was moved. */
static char *name_joined_clock(const struct lull_session *session)
{
    g_autoptr(GString) text = g_string_new(NULL);
    bool any = false;
    for (uint32_t i = 0; i < session->hosts->len; i++) {
        const struct session_host *host = lull_session_host_at(session, i);
        any |= is_moved(host);
        g_string_append_printf(
            text, "%s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n",
            host->info.name, host->transform.origin_ns, host->transform.offset_ns,
            host->transform.rate_num);
    }
    if (!any) {
        return NULL;
    }
    return g_compute_checksum_for_string(G_CHECKSUM_SHA1, text->str, (gssize)text->len);
}

/* All traces of a host whose clock is rewritten get the same offset: a session takes differences of
 * it for errors of measurement. */
static struct lull_ctf_writer_clock writer_clock(const struct lull_session *session,
                                                 const struct session_trace *trace)
{
    const struct session_host *host = lull_session_host_at(session, trace->source->info.host);
    struct lull_ctf_writer_clock clock = {.offset_ns = host->clock_offset_ns};
    int64_t start_ns, end_ns;
    bool is_ctf = lull_ctf_source_plan(trace->source) != NULL;
    clock.is_rewritten = is_moved(host) || trace->delta_ns != 0 || !is_ctf;
    if (is_moved(host) && lull_session_range(session, &start_ns, &end_ns)) {
        clock.offset_ns = MIN(clock.offset_ns, start_ns);
    }
    if (!is_ctf && !is_moved(host)) { /* offsets of single CPUs may be negative */
        clock.offset_ns = MIN(clock.offset_ns, trace->source->info.start_ns + trace->delta_ns);
    }
    return clock;
}

/* ---- opening ---- */

static bool start_trace(struct lull_export *e, uint32_t index, GError **error)
{
    const struct lull_session *session = e->session;
    const struct session_trace *trace = lull_session_trace_at(session, index);
    const struct lull_trace *info = &trace->source->info;
    const struct session_host *host = lull_session_host_at(session, info->host);
    const struct lull_ctf_plan *plan = lull_ctf_source_plan(trace->source);
    if (!plan) {
        plan = lull_export_records_plan(e->records, index, error);
    }
    if (!plan) {
        return false;
    }
    g_autofree char *dir = NULL;
    if (count_traces(session, info->host) > 1) {
        g_autofree char *name = safe_name(host->info.name);
        g_autofree char *parent = g_build_filename(e->part, name, NULL);
        if (mkdir(parent, 0777) != 0 && errno != EEXIST) {
            return make_directory(parent, error);
        }
        dir = new_directory(parent, info->domain, error);
    } else {
        dir = new_directory(e->part, host->info.name, error);
    }
    if (!dir) {
        return false;
    }
    struct lull_ctf_writer_env env[3] = {{NULL, NULL}};
    unsigned n = 0;
    if (!trace->source->hostname) {
        env[n++] = (struct lull_ctf_writer_env){"hostname", host->info.name};
    }
    if (e->joined_clock) {
        env[n++] = (struct lull_ctf_writer_env){LULL_ENV_JOINED_CLOCK, e->joined_clock};
    }
    struct lull_ctf_writer_clock clock = writer_clock(session, trace);
    e->writers[index] = lull_ctf_writer_new(dir, plan, &clock, env, error);
    if (!e->writers[index]) {
        g_prefix_error(error, "%s: ", info->path);
    }
    return e->writers[index] != NULL;
}

static bool start(struct lull_export *e, GError **error)
{
    struct stat st;
    if (lstat(e->path, &st) == 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "%s: already exists; name a new directory", e->path);
        return false;
    }
    if (lstat(e->part, &st) == 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "%s: already exists: another export is still running or was interrupted; "
                    "remove it if none is running",
                    e->part);
        return false;
    }
    if (!make_directory(e->part, error)) {
        return false;
    }
    e->is_made = true;
    for (uint32_t i = 0; i < e->session->traces->len; i++) {
        if (is_selected(e->session, lull_session_trace_at(e->session, i)) &&
            !start_trace(e, i, error)) {
            return false;
        }
    }
    return true;
}

struct lull_export *lull_export_new(struct lull_session *session, const char *path, GError **error)
{
    struct lull_export *e = g_new0(struct lull_export, 1);
    e->session = session;
    e->path = g_canonicalize_filename(path, NULL);
    e->part = g_strconcat(e->path, ".part", NULL);
    e->joined_clock = name_joined_clock(session);
    e->writers = g_new0(struct lull_ctf_writer *, MAX(session->traces->len, 1));
    e->streams = g_new0(struct lull_ctf_out_stream *, MAX(session->streams->len, 1));
    e->records = lull_export_records_new(session);
    if (start(e, error)) {
        return e;
    }
    lull_export_free(e);
    return NULL;
}

void lull_export_free(struct lull_export *e)
{
    if (!e) {
        return;
    }
    for (uint32_t i = 0; i < e->session->traces->len; i++) {
        lull_ctf_writer_free(e->writers[i]);
    }
    lull_export_records_free(e->records);
    if (e->is_made && !e->is_finished) {
        lull_tree_remove(e->part, 3);
    }
    g_free(e->streams);
    g_free(e->writers);
    g_free(e->joined_clock);
    g_free(e->part);
    g_free(e->path);
    g_free(e);
}

void lull_export_remove_part(const char *path)
{
    g_autofree char *whole = g_canonicalize_filename(path, NULL);
    g_autofree char *part = g_strconcat(whole, ".part", NULL);
    lull_tree_remove_busy(part, 3); /* the export may make another file meanwhile */
}

/* ---- writing ---- */

/* Called when reading has started, so that streams know their limits. */
static void start_streams(struct lull_export *e)
{
    e->has_streams = true;
    for (uint32_t i = 0; i < e->session->streams->len; i++) {
        const struct lull_source_stream *stream = e->session->streams->pdata[i];
        struct lull_ctf_writer *writer = e->writers[stream->event.trace];
        const struct lull_ctf_stream *cursor = lull_ctf_source_cursor(stream);
        if (!writer || !lull_session_is_selected(e->session, stream)) {
            continue;
        }
        if (cursor) {
            e->streams[i] = lull_ctf_writer_add_stream(writer, cursor);
        } else {
            lull_export_records_start(e->records, i, writer);
        }
    }
}

bool lull_export_event(struct lull_export *e, const struct lull_event *event, GError **error)
{
    if (!e->has_streams) {
        start_streams(e);
    }
    if (!e->streams[event->stream]) {
        return lull_export_records_event(e->records, event, error);
    }
    return lull_ctf_out_stream_write(e->streams[event->stream], event->time_ns, error);
}

static bool finish_stream(struct lull_export *e, uint32_t stream, GError **error)
{
    return e->streams[stream] ? lull_ctf_out_stream_finish(e->streams[stream], error)
                              : lull_export_records_finish(e->records, stream, error);
}

bool lull_export_finish(struct lull_export *e, GError **error)
{
    if (!e->has_streams) {
        start_streams(e);
    }
    for (uint32_t i = 0; i < e->session->streams->len; i++) {
        if (!finish_stream(e, i, error)) {
            return false;
        }
    }
    if (!lull_tree_publish(e->part, e->path, error)) {
        return false;
    }
    e->is_finished = true;
    return true;
}
