/* SPDX-License-Identifier: MIT */
/* Says what traces hold: hosts and their clocks, traces, recordings, what was lost, how much there is.
 *
 *   cc trace_info.c $(pkg-config --cflags --libs lull) -o trace_info
 *   ./trace_info TRACE...
 *
 * Shows what is known without reading events, and how clocks are joined and set. */
#include <lull/lull.h>

#include <stdio.h>

static void print_clocks(struct lull_session *session)
{
    if (!lull_session_is_joined(session)) {
        lull_session_join(session, NULL, NULL);
    }
    for (uint32_t i = 0; i < lull_session_host_count(session); i++) {
        const struct lull_host_clock *known = lull_session_host_clock(session, i);
        const struct lull_clock_transform *clock = lull_session_clock(session, i);
        const int64_t joined_ns = lull_clock_transform_apply(clock, lull_session_origin(session));
        printf("host %s: %s, %+" G_GINT64_FORMAT " ns, there and back %+" G_GINT64_FORMAT " ns\n",
               lull_session_host(session, i)->name,
               known && known->is_joined ? "joined" : "on its own clock", clock->offset_ns,
               lull_clock_transform_invert(clock, joined_ns) - lull_session_origin(session));
    }
}

static void print_traces(const struct lull_session *session)
{
    static const char *const switches[] = {"sched_switch", NULL};
    for (uint32_t i = 0; i < lull_session_trace_count(session); i++) {
        const struct lull_trace *trace = lull_session_trace(session, i);
        const char *hostname = lull_session_environment(session, i, "hostname");
        printf("trace %s: %s, %u streams, of %s%s\n", trace->path, trace->format,
               trace->stream_count, hostname ? hostname : "an unknown machine",
               lull_session_declares(session, trace->host, switches) ? "" : "; no scheduling");
    }
}

static void print_recordings(const struct lull_session *session)
{
    const struct lull_recording_info *command = lull_session_command(session, -1, NULL);
    for (uint32_t i = 0; i < lull_session_recording_count(session); i++) {
        const struct lull_recording_info *info = lull_session_recording(session, i);
        printf("recording %s: by %s%s\n", info->path, info->tracer,
               info == command ? ", of a command" : "");
    }
}

/* All events, and those of the time in which all streams were recorded. */
static void print_amounts(struct lull_session *session)
{
    struct lull_decoded all, common = {0};
    lull_session_set_threads(session, 0);
    lull_session_decode_all(session, &all);
    if (lull_session_intersect(session, NULL)) {
        lull_session_decode_all(session, &common);
    }
    printf("%" G_GUINT64_FORMAT " events, %" G_GUINT64_FORMAT
           " of them while all streams were recorded\n",
           all.events, common.events);
}

int main(int argc, char **argv)
{
    static const struct lull_clock_transform later = {.offset_ns = 1000000000};
    if (argc < 2) {
        fprintf(stderr, "usage: %s TRACE...\n", argv[0]);
        return 2;
    }
    GError *error = NULL;
    struct lull_session *session = lull_session_new();
    if (!lull_session_add_all(session, (const char *const *)argv + 1, (uint32_t)argc - 1, &error)) {
        const bool is_ours = g_error_matches(error, LULL_ERROR, LULL_ERROR_IO);
        fprintf(stderr, "%s: %s%s\n", argv[0], is_ours ? "cannot read: " : "", error->message);
        g_error_free(error);
        lull_session_free(session);
        return 1;
    }
    print_clocks(session);
    print_traces(session);
    print_recordings(session);
    print_amounts(session);
    const int64_t before_ns = lull_session_origin(session);
    lull_session_set_clock(session, 0, &later);
    printf("with the clock of the first host a second later, all starts %" G_GINT64_FORMAT
           " ns later\n",
           lull_session_origin(session) - before_ns);
    lull_session_free(session);
    return 0;
}
