/* SPDX-License-Identifier: MIT */
/* Finds the slowest request in traces and prints its critical path:
 *   cc slowest_request.c $(pkg-config --cflags --libs lull) && ./a.out TRACE... */
#include <lull/lull.h>
#include <stdio.h>

static int fail(const GError *error)
{
    return fprintf(stderr, "slowest_request: %s\n", error->message) > 0;
}

int main(int argc, char **argv)
{
    GError *error = NULL;
    struct lull_session *traces = argc < 2 ? NULL : lull_session_new();
    if (!traces || !lull_session_add_all(traces, (const char *const *)argv + 1, argc - 1, &error)) {
        return !traces ? 2 : fail(error);
    }
    lull_session_join(traces, NULL, NULL); /* several machines: one clock */
    struct lull_waits *waits = lull_waits_new(traces, LULL_WANT_PATHS | LULL_WANT_REQUESTS, &error);
    if (!waits) {
        return fail(error);
    }
    lull_waits_read(waits, NULL, NULL);
    GPtrArray *slowest = lull_waits_select_requests(waits, NULL, 1);
    int64_t id = slowest->len > 0 ? ((const struct lull_request *)slowest->pdata[0])->id : 0;
    struct lull_path *path = lull_waits_request_path(waits, id, LULL_PATH_BOUNDED, &error);
    for (uint32_t i = 0; path && i < lull_path_segment_count(path); i++) {
        const struct lull_segment *s = lull_path_segment(path, i);
        printf("%10.3f ms  %s/%d on %s %s %s\n", (double)(s->end_ns - s->start_ns) / 1e6, s->comm,
               s->tid, lull_session_host(traces, s->host)->name, lull_state_name(s->state),
               s->detail ? s->detail : "");
    }
    lull_path_free(path);
    g_ptr_array_unref(slowest);
    lull_waits_free(waits);
    lull_session_free(traces);
    return error ? fail(error) : 0;
}
