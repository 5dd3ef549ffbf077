/* SPDX-License-Identifier: MIT */
/* Records with LTTng: its kernel modules make the events, its session daemon writes them as CTF; we
 * only send the daemon commands. Everything happens in a recording session of our own. */
#include "record/counters.h"
#include "record/lttng/lttng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHANNEL "channel0"
/* Contexts are a channel's: what they are read for has one of its own. */
#define COUNTED_CHANNEL "counted"
#define COUNTED "sched_switch"
/* Everything that LTTng records about the machine when a recording starts. */
#define STATE_DUMP "lttng_statedump_*"
#define SYSTEM_CALLS "syscall"
/* Of one CPU and of all. */
#define BUFFER_BYTES (UINT64_C(16) << 20)
#define ALL_BUFFERS_BYTES (UINT64_C(512) << 20)
#define LEAST_BUFFER_BYTES (UINT64_C(1) << 20)
/* Parts of a buffer, which are written one by one: a power of two. */
#define PARTS 8
#define FEWEST_PARTS 2
/* How long the daemon may take to write what the buffers hold. */
#define WRITE_SECONDS 120
#define STEP_US (20 * 1000)
/* The directory that it makes. */
#define FILES "kernel"

struct lttng {
    struct lull_tracer base;
    struct lull_tracer_request request;
    struct lull_lttng_daemon daemon;
    char *session;
    bool has_session;
    struct lttng_handle *handle;
    GPtrArray *events; /* names, NULL at the end */
    char *remark;      /* which counters there are not; or NULL */
};

/* ---- setting up ---- */

/* The daemon will make such files: in the directory that is returned; NULL and an error. */
static const char *expect_files(const struct lttng *l, const char *pattern, GError **error)
{
    const struct lull_keeper *keeper = l->request.keeper;
    return lull_keeper_expect(keeper, pattern, error) ? lull_keeper_path_for_daemon(keeper, error)
                                                      : NULL;
}

static bool create_session(struct lttng *l, GError **error)
{
    /* The flight recorder's session writes nothing by itself. */
    const char *dir = NULL;
    if (!l->request.is_snapshot && !(dir = expect_files(l, FILES, error))) {
        return false;
    }
    struct lttng_session_descriptor *descriptor =
        l->request.is_snapshot ? lttng_ctl.lttng_session_descriptor_snapshot_create(l->session)
                               : lttng_ctl.lttng_session_descriptor_local_create(l->session, dir);
    /* The daemon makes all files of a session with the rights of its owner. */
    enum lttng_error_code code = LTTNG_ERR_EPERM;
    if (lull_invoker_speak_as(l->request.invoker)) {
        code = descriptor ? lttng_ctl.lttng_create_session_ext(descriptor) : LTTNG_ERR_INVALID;
        lull_invoker_speak_as_self();
    }
    lttng_ctl.lttng_session_descriptor_destroy(descriptor);
    if (code != LTTNG_OK) {
        g_autofree char *what = g_strdup_printf("no session “%s” that writes to “%s” can be made",
                                                l->session, dir ? dir : "memory");
        return lull_lttng_fail(what, -(int)code, error);
    }
    l->has_session = true;
    struct lttng_domain domain = {.type = LTTNG_DOMAIN_KERNEL, .buf_type = LTTNG_BUFFER_GLOBAL};
    l->handle = lttng_ctl.lttng_create_handle(l->session, &domain);
    return l->handle || lull_lttng_fail("no handle of the session", -LTTNG_ERR_NOMEM, error);
}

static uint64_t power_of_two_from(uint64_t least)
{
    uint64_t power = 1;
    while (power < least && power < UINT64_C(1) << 62) {
        power <<= 1;
    }
    return power;
}

/* LTTng wants powers of two, and no part below a page: the buffer is as large as requested, or the
 * next size above. */
static void set_buffers(const struct lttng *l, struct lttng_channel_attr *attr)
{
    const uint64_t page = (uint64_t)MAX(sysconf(_SC_PAGESIZE), 1);
    const uint64_t cpus = (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
    uint64_t bytes = l->request.buffer_bytes;
    if (bytes == 0) {
        bytes = CLAMP(ALL_BUFFERS_BYTES / cpus, LEAST_BUFFER_BYTES, BUFFER_BYTES);
    }
    attr->num_subbuf = bytes < PARTS * page ? FEWEST_PARTS : PARTS;
    attr->subbuf_size = power_of_two_from(MAX((bytes - 1) / attr->num_subbuf + 1, page));
}

static bool create_channel(struct lttng *l, const char *name, GError **error)
{
    struct lttng_channel *channel = lttng_ctl.lttng_channel_create(&l->handle->domain);
    int code = -LTTNG_ERR_NOMEM;
    if (channel) {
        g_strlcpy(channel->name, name, sizeof channel->name);
        set_buffers(l, &channel->attr);
        channel->attr.overwrite = l->request.is_snapshot;
        if (l->request.is_snapshot) {
            channel->attr.output = LTTNG_EVENT_MMAP; /* LTTng cannot splice what is overwritten */
        }
        code = lttng_ctl.lttng_enable_channel(l->handle, channel);
    }
    lttng_ctl.lttng_channel_destroy(channel);
    return code == 0 || lull_lttng_fail("no buffers for the kernel's events", code, error);
}

/* Each event records who did it, so that it is known although an event was lost. */
static bool add_contexts(const struct lttng *l, const char *channel, GError **error)
{
    static const enum lttng_event_context_type contexts[] = {
        LTTNG_EVENT_CONTEXT_PID, LTTNG_EVENT_CONTEXT_TID, LTTNG_EVENT_CONTEXT_PROCNAME};
    for (size_t i = 0; i < G_N_ELEMENTS(contexts); i++) {
        struct lttng_event_context context = {.ctx = contexts[i]};
        const int code = lttng_ctl.lttng_add_context(l->handle, &context, NULL, channel);
        if (code != 0) {
            return lull_lttng_fail("pid, tid and procname cannot be added to events", code, error);
        }
    }
    return true;
}

/* "page-faults" is the field perf_cpu_page_faults; "lttng add-context -t perf:cpu:page-faults" names it so. */
static bool add_counter(const struct lttng *l, const struct lull_counter_kind *kind, GError **error)
{
    struct lttng_event_context context = {.ctx = LTTNG_EVENT_CONTEXT_PERF_CPU_COUNTER};
    context.u.perf_counter.type = kind->type;
    context.u.perf_counter.config = kind->config;
    g_snprintf(context.u.perf_counter.name, sizeof context.u.perf_counter.name, "perf_cpu_%s",
               kind->name);
    g_strdelimit(context.u.perf_counter.name, "-", '_');
    const int code = lttng_ctl.lttng_add_context(l->handle, &context, NULL, COUNTED_CHANNEL);
    if (code == 0) {
        return true;
    }
    g_autofree char *what = g_strdup_printf("the counter %s cannot be added to events", kind->name);
    return lull_lttng_fail(what, code, error);
}

/* LTTng records nothing at all, and says so nowhere, if one of them cannot be read: only those that
 * can be are asked for. */
static bool add_counters(struct lttng *l, GError **error)
{
    if (!l->request.counters) {
        return true;
    }
    g_autoptr(GStringChunk) texts = g_string_chunk_new(64);
    g_autoptr(GArray) kinds = lull_counters_choose(l->request.counters, texts, &l->remark, error);
    l->base.remark = l->remark;
    bool is_done = kinds && create_channel(l, COUNTED_CHANNEL, error) &&
                   add_contexts(l, COUNTED_CHANNEL, error);
    for (guint i = 0; is_done && i < kinds->len; i++) {
        is_done = add_counter(l, &g_array_index(kinds, struct lull_counter_kind, i), error);
    }
    return is_done;
}

static int enable(const struct lttng *l, enum lttng_event_type type, const char *name)
{
    struct lttng_event *event = lttng_ctl.lttng_event_create();
    int code = -LTTNG_ERR_NOMEM;
    if (event) {
        event->type = type;
        event->loglevel = -1;
        g_strlcpy(event->name, name, sizeof event->name);
        const bool is_counted = l->request.counters && strcmp(name, COUNTED) == 0;
        code =
            lttng_ctl.lttng_enable_event(l->handle, event, is_counted ? COUNTED_CHANNEL : CHANNEL);
    }
    lttng_ctl.lttng_event_destroy(event);
    return code;
}

static bool is_on(const struct lttng *l, const char *name)
{
    for (uint32_t i = 0; i < l->events->len; i++) {
        if (strcmp(l->events->pdata[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Those events that the modules do not know are left out, unless the purpose needs them. */
static bool switch_one_on(struct lttng *l, const char *name, bool is_needed, GHashTable *known,
                          GError **error)
{
    const bool is_calls = strcmp(name, SYSTEM_CALLS) == 0;
    const bool is_known = is_calls || strchr(name, '*') || g_hash_table_contains(known, name);
    int code = -LTTNG_ERR_NO_EVENT;
    if (is_known) {
        code = enable(l, is_calls ? LTTNG_EVENT_SYSCALL : LTTNG_EVENT_TRACEPOINT,
                      is_calls ? "*" : name);
    }
    if (code == 0) {
        g_ptr_array_add(l->events, g_strdup(name));
    }
    /* The kernel may have been built without tracing of system calls. */
    if (code == 0 || (!is_needed && (!is_known || is_calls))) {
        return true;
    }
    g_autofree char *what = g_strdup_printf("event %s", name);
    return lull_lttng_fail(what, code, error);
}

static bool switch_on(struct lttng *l, GError **error)
{
    g_autoptr(GHashTable) known = lull_lttng_tracepoints(error);
    if (!known || !switch_one_on(l, STATE_DUMP, true, known, error)) {
        return false;
    }
    for (uint32_t i = 0; i < lull_purpose_n_events; i++) {
        const struct lull_purpose_event *event = &lull_purpose_events[i];
        if (event->lttng && (event->purposes & (1u << l->request.purpose)) != 0 &&
            !is_on(l, event->lttng) &&
            !switch_one_on(l, event->lttng, event->is_needed, known, error)) {
            return false;
        }
    }
    g_ptr_array_add(l->events, NULL);
    l->base.events = (const char *const *)l->events->pdata;
    return true;
}

/* Without it nothing of us is in the daemon any more, and all files are complete. */
static bool destroy_session(struct lttng *l, GError **error)
{
    if (!l->has_session) {
        return true;
    }
    l->has_session = false;
    const int code = lttng_ctl.lttng_destroy_session(l->session);
    return code == 0 || lull_lttng_fail("the session cannot be removed", code, error);
}

static void tracer_free(struct lull_tracer *tracer)
{
    struct lttng *l = (struct lttng *)tracer;
    if (!l) {
        return;
    }
    destroy_session(l, NULL);
    lttng_ctl.lttng_destroy_handle(l->handle);
    lull_lttng_daemon_end(&l->daemon);
    g_ptr_array_unref(l->events);
    g_free(l->session);
    g_free(l->remark);
    g_free(l);
}

static struct lull_tracer *tracer_set_up(const struct lull_tracer_request *request, GError **error)
{
    struct lttng *l = g_new0(struct lttng, 1);
    l->base.kind = &lull_tracer_lttng;
    l->request = *request;
    l->session = lull_lttng_session_name();
    l->events = g_ptr_array_new_with_free_func(g_free);
    if (lull_lttng_daemon_start(&l->daemon, error) && create_session(l, error) &&
        create_channel(l, CHANNEL, error) && add_contexts(l, CHANNEL, error) &&
        add_counters(l, error) && switch_on(l, error)) {
        return &l->base;
    }
    tracer_free(&l->base);
    return NULL;
}

/* missing() says that there is no is_filtered with LTTng, so nobody has a reason to call this. */
static bool tracer_follow(struct lull_tracer *tracer, pid_t pid, GError **error)
{
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED, "LTTng cannot follow tasks");
    return false;
}

/* ---- recording ---- */

static bool start_tracing(struct lull_tracer *tracer, GError **error)
{
    const struct lttng *l = (const struct lttng *)tracer;
    const int code = lttng_ctl.lttng_start_tracing(l->session);
    return code == 0 || lull_lttng_fail("recording cannot start", code, error);
}

static bool tracer_check(struct lull_tracer *tracer, GError **error)
{
    const struct lttng *l = (const struct lttng *)tracer;
    struct lttng_session *sessions = NULL;
    const int n = lttng_ctl.lttng_list_sessions(&sessions);
    bool goes_on = false;
    for (int i = 0; i < n; i++) {
        goes_on = goes_on || (strcmp(sessions[i].name, l->session) == 0 && sessions[i].enabled);
    }
    free(sessions);
    if (n < 0) {
        return lull_lttng_fail("its session daemon is gone", n, error);
    }
    if (!goes_on) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "LTTng: somebody else ended the session “%s”",
                    l->session);
    }
    /* The daemon does not report when it cannot write. */
    tracer->is_full =
        goes_on && !l->request.is_snapshot && !lull_keeper_has_room(l->request.keeper, error);
    return goes_on && !tracer->is_full;
}

static bool count_lost(const struct lttng *l, struct lull_tracer_result *result, GError **error)
{
    struct lttng_channel *channels = NULL;
    const int n = lttng_ctl.lttng_list_channels(l->handle, &channels);
    int code = MIN(n, 0);
    for (int i = 0; i < n && code == 0; i++) {
        uint64_t lost = 0;
        code = lttng_ctl.lttng_channel_get_discarded_event_count(&channels[i], &lost);
        result->lost_events += lost;
    }
    free(channels);
    return code == 0 || lull_lttng_fail("lost events cannot be counted", code, error);
}

/* Measures what the daemon wrote, and sees that it is there. */
static bool measure(const struct lttng *l, struct lull_tracer_result *result, GError **error)
{
    const struct lull_keeper *keeper = l->request.keeper;
    uint64_t metadata;
    if (!lull_keeper_measure(keeper, FILES "/metadata", &metadata, error) ||
        !lull_keeper_measure(keeper, FILES, &result->bytes, error)) {
        return false;
    }
    if (metadata == 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "LTTng: its session daemon has written no trace to “%s/" FILES "”",
                    keeper->part);
    }
    return metadata > 0;
}

/* LTTng writes below a directory "NAME-TIME-NUMBER" that it makes: its "kernel" is what we want. */
static bool record_snapshot(const struct lttng *l, const char *path, GError **error)
{
    struct lttng_snapshot_output *output = lttng_ctl.lttng_snapshot_output_create();
    int code =
        output ? lttng_ctl.lttng_snapshot_output_set_local_path(path, output) : -LTTNG_ERR_NOMEM;
    if (code == 0) {
        code = lttng_ctl.lttng_snapshot_output_set_name(l->session, output);
    }
    if (code == 0) {
        code = lttng_ctl.lttng_snapshot_record(l->session, output, 1);
    }
    lttng_ctl.lttng_snapshot_output_destroy(output);
    return code == 0 || lull_lttng_fail("no snapshot of the buffers", code, error);
}

static bool tracer_freeze(struct lull_tracer *tracer, GError **error)
{
    const struct lttng *l = (const struct lttng *)tracer;
    const int code = lttng_ctl.lttng_stop_tracing_no_wait(l->session);
    return code == 0 || lull_lttng_fail("its buffers do not freeze", code, error);
}

static bool write_snapshot(const struct lttng *l, struct lull_tracer_result *result, GError **error)
{
    g_autofree char *made = g_strconcat(l->session, "-*", NULL);
    const char *path = expect_files(l, made, error);
    *result = (struct lull_tracer_result){0};
    return path && lull_keeper_expect(l->request.keeper, FILES, error) &&
           record_snapshot(l, path, error) && count_lost(l, result, error) &&
           lull_keeper_lift(l->request.keeper, l->session, FILES, error) &&
           measure(l, result, error);
}

static bool tracer_snapshot(struct lull_tracer *tracer, struct lull_tracer_result *result,
                            GError **error)
{
    const bool done = write_snapshot((const struct lttng *)tracer, result, error);
    const bool goes_on = start_tracing(tracer, done ? error : NULL);
    return done && goes_on;
}

static bool wait_until_written(const struct lttng *l, GError **error)
{
    int pending = 1;
    for (unsigned i = 0; i < WRITE_SECONDS * (G_USEC_PER_SEC / STEP_US); i++) {
        pending = lttng_ctl.lttng_data_pending(l->session);
        if (pending <= 0) {
            break;
        }
        g_usleep(STEP_US);
    }
    if (pending > 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "LTTng: its session daemon has not written the buffers within %d s",
                    WRITE_SECONDS);
        return false;
    }
    return pending == 0 ||
           lull_lttng_fail("Lull cannot tell whether all was written", pending, error);
}

static bool tracer_stop(struct lull_tracer *tracer, struct lull_tracer_result *result,
                        GError **error)
{
    struct lttng *l = (struct lttng *)tracer;
    *result = (struct lull_tracer_result){.end_ns = INT64_MAX};
    lull_keeper_release(l->request.keeper);
    const int code = lttng_ctl.lttng_stop_tracing_no_wait(l->session);
    if (code != 0) {
        return lull_lttng_fail("recording cannot be ended", code, error);
    }
    if (l->request.is_snapshot) {
        return destroy_session(l, error);
    }
    return wait_until_written(l, error) && count_lost(l, result, error) &&
           destroy_session(l, error) && measure(l, result, error);
}

static const char *tracer_name_of(const struct lull_tracer *tracer)
{
    return ((const struct lttng *)tracer)->session;
}

const struct lull_tracer_kind lull_tracer_lttng = {
    .name = "lttng",
    .files = FILES,
    .can_count = true,
    .needs_state = false,
    .needs_root = true,
    .missing = lull_lttng_missing,
    .set_up = tracer_set_up,
    .follow = tracer_follow,
    .start = start_tracing,
    .check = tracer_check,
    .freeze = tracer_freeze,
    .thaw = start_tracing,
    .snapshot = tracer_snapshot,
    .stop = tracer_stop,
    .free = tracer_free,
    .clean_up = lull_lttng_clean_up,
    .name_of = tracer_name_of,
    .remove = lull_lttng_remove,
};
