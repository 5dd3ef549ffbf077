/* SPDX-License-Identifier: MIT */
/* The daemon's side of liblttng-ctl; what only fills structures is the real library's. */
#include "record/fake_lttng.h"

#include <lttng/lttng.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/lttng/lttng.h"

struct fake_lttng fake;

static void add_session(const char *name)
{
    g_ptr_array_add(fake.sessions, g_strdup(name));
}

void fake_lttng_start(const char *const *known)
{
    fake = (struct fake_lttng){.is_alive = true, .known = known};
    fake.sessions = g_ptr_array_new_with_free_func(g_free);
    fake.calls = g_ptr_array_new_with_free_func(g_free);
    g_assert_true(lull_lttng_load(NULL));
#define USE(name) lttng_ctl.name = (name);
    LULL_LTTNG_FUNCTIONS(USE)
#undef USE
}

void fake_lttng_end(void)
{
    g_ptr_array_unref(fake.sessions);
    g_ptr_array_unref(fake.calls);
    g_free(fake.path);
}

static bool is_in(const GPtrArray *texts, const char *text, unsigned *at)
{
    return g_ptr_array_find_with_equal_func((GPtrArray *)texts, text, g_str_equal, at);
}

bool fake_lttng_was_called(const char *call)
{
    return is_in(fake.calls, call, NULL);
}

/* Notes the call; 0 or the error that it shall have. */
static int called(const char *function, const char *what)
{
    g_ptr_array_add(fake.calls,
                    what ? g_strdup_printf("%s %s", function, what) : g_strdup(function));
    if (!fake.is_alive) {
        return -LTTNG_ERR_NO_SESSIOND;
    }
    return g_strcmp0(fake.failing, function) == 0 ? -LTTNG_ERR_FATAL : 0;
}

/* ---- sessions ---- */

int lttng_session_daemon_alive(void)
{
    return fake.is_alive;
}

struct lttng_session_descriptor {
    char *name, *path;
};

struct lttng_session_descriptor *lttng_session_descriptor_local_create(const char *name,
                                                                       const char *path)
{
    struct lttng_session_descriptor *d = g_new0(struct lttng_session_descriptor, 1);
    d->name = g_strdup(name);
    d->path = g_strdup(path);
    return d;
}

struct lttng_session_descriptor *lttng_session_descriptor_snapshot_create(const char *name)
{
    return lttng_session_descriptor_local_create(name, NULL);
}

void lttng_session_descriptor_destroy(struct lttng_session_descriptor *d)
{
    g_free(d->name);
    g_free(d->path);
    g_free(d);
}

enum lttng_error_code lttng_create_session_ext(struct lttng_session_descriptor *d)
{
    const int code = called("lttng_create_session_ext", d->path ? "local" : "snapshot");
    if (code != 0) {
        return (enum lttng_error_code) - code;
    }
    add_session(d->name);
    g_free(fake.path);
    fake.path = g_strdup(d->path);
    fake.owner = geteuid();
    return LTTNG_OK;
}

int lttng_destroy_session(const char *name)
{
    unsigned at;
    const int code = called("lttng_destroy_session", name);
    if (!is_in(fake.sessions, name, &at)) {
        return -LTTNG_ERR_SESS_NOT_FOUND;
    }
    g_ptr_array_remove_index(fake.sessions, at);
    return code;
}

int lttng_list_sessions(struct lttng_session **sessions)
{
    const int code = called("lttng_list_sessions", NULL);
    if (code != 0) {
        return code;
    }
    *sessions = calloc(fake.sessions->len + 1, sizeof **sessions);
    for (unsigned i = 0; i < fake.sessions->len; i++) {
        g_strlcpy((*sessions)[i].name, fake.sessions->pdata[i], sizeof(*sessions)->name);
        (*sessions)[i].enabled = !fake.is_stopped_by_others;
    }
    return (int)fake.sessions->len;
}

/* ---- channel and events ---- */

int lttng_enable_channel(struct lttng_handle *handle, struct lttng_channel *channel)
{
    fake.subbuf_size = channel->attr.subbuf_size;
    fake.num_subbuf = channel->attr.num_subbuf;
    fake.overwrite = channel->attr.overwrite;
    return called("lttng_enable_channel", NULL);
}

int lttng_add_context(struct lttng_handle *handle, struct lttng_event_context *context,
                      const char *event, const char *channel)
{
    g_autofree char *number = g_strdup_printf("%d", (int)context->ctx);
    called("lttng_add_context", number);
    if (context->ctx == LTTNG_EVENT_CONTEXT_PERF_CPU_COUNTER) {
        const struct lttng_event_perf_counter_ctx *counter = &context->u.perf_counter;
        g_autofree char *what = g_strdup_printf("%s %u:%u %s", counter->name, counter->type,
                                                (unsigned)counter->config, channel);
        called("counter", what);
    }
    return g_strcmp0(fake.failing, "lttng_add_context") == 0 ? -LTTNG_ERR_FATAL : 0;
}

int lttng_enable_event(struct lttng_handle *handle, struct lttng_event *event, const char *channel)
{
    g_autofree char *what =
        g_strdup_printf("%s%s", event->type == LTTNG_EVENT_SYSCALL ? "syscall " : "", event->name);
    g_autofree char *where = g_strdup_printf("%s %s", event->name, channel);
    called("in_channel", where);
    return called("lttng_enable_event", what);
}

int lttng_list_tracepoints(struct lttng_handle *handle, struct lttng_event **events)
{
    const int code = called("lttng_list_tracepoints", NULL);
    const unsigned n = g_strv_length((char **)fake.known);
    if (code != 0) {
        return code;
    }
    *events = calloc(n + 1, sizeof **events);
    for (unsigned i = 0; i < n; i++) {
        g_strlcpy((*events)[i].name, fake.known[i], sizeof(*events)->name);
    }
    return (int)n;
}

int lttng_list_channels(struct lttng_handle *handle, struct lttng_channel **channels)
{
    const int code = called("lttng_list_channels", NULL);
    if (code != 0) {
        return code;
    }
    *channels = calloc(1, sizeof **channels);
    return 1;
}

int lttng_channel_get_discarded_event_count(struct lttng_channel *channel, uint64_t *n)
{
    *n = FAKE_LOST_EVENTS;
    return 0;
}

/* ---- recording ---- */

static void write_trace(const char *dir)
{
    g_autofree char *zeros = g_malloc0(FAKE_STREAM_BYTES);
    g_autofree char *kernel = g_build_filename(dir, "kernel", NULL);
    g_autofree char *metadata = g_build_filename(kernel, "metadata", NULL);
    g_autofree char *stream = g_build_filename(kernel, "channel0_0", NULL);
    g_assert_cmpint(g_mkdir_with_parents(kernel, 0700), ==, 0);
    g_assert_true(g_file_set_contents(metadata, zeros, FAKE_METADATA_BYTES, NULL));
    g_assert_true(g_file_set_contents(stream, zeros, FAKE_STREAM_BYTES, NULL));
}

int lttng_start_tracing(const char *name)
{
    const int code = called("lttng_start_tracing", NULL);
    if (code == 0 && fake.path) {
        write_trace(fake.path);
    }
    return code;
}

int lttng_stop_tracing_no_wait(const char *name)
{
    return called("lttng_stop_tracing_no_wait", NULL);
}

int lttng_data_pending(const char *name)
{
    const int code = called("lttng_data_pending", NULL);
    if (code != 0 || fake.n_pending == 0) {
        return code;
    }
    fake.n_pending--;
    return 1;
}

/* As the real one, in a directory that it makes. */
int lttng_snapshot_record(const char *name, struct lttng_snapshot_output *output, int wait)
{
    const int code = called("lttng_snapshot_record", NULL);
    const char *url = lttng_snapshot_output_get_ctrl_url(output);
    if (code == 0) {
        g_autofree char *made =
            g_strdup_printf("%s/%s-20261121-120000-0",
                            g_str_has_prefix(url, "file://") ? url + strlen("file://") : url,
                            lttng_snapshot_output_get_name(output));
        write_trace(made);
    }
    return code;
}
