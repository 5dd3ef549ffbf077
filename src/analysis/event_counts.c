/* SPDX-License-Identifier: MIT */
/* Sums the counts of event classes to counts of names: each trace, and each stream class in it, has
 * its own class for the same event. */
#include "analysis/event_counts.h"

#include <string.h>

#include "source/session/streams.h"

struct counting {
    struct lull_session *session;
    GHashTable **by_name; /* by host: name to index in `counts`, plus one */
    GArray *counts;
};

static void add(void *user, uint32_t trace, const struct lull_event_class *event_class,
                uint64_t count)
{
    struct counting *counting = user;
    const char *name = lull_event_class_name(event_class);
    const uint32_t host = lull_session_trace(counting->session, trace)->host;
    const uint32_t at = GPOINTER_TO_UINT(g_hash_table_lookup(counting->by_name[host], name));
    if (at) {
        g_array_index(counting->counts, struct lull_event_count, at - 1).count += count;
        return;
    }
    const struct lull_event_count fresh = {.host = host, .name = name, .count = count};
    g_array_append_val(counting->counts, fresh);
    g_hash_table_insert(counting->by_name[host], (void *)name,
                        GUINT_TO_POINTER(counting->counts->len));
}

static int compare(const void *a, const void *b)
{
    const struct lull_event_count *x = a, *y = b;
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    int by_name = strcmp(x->name, y->name);
    return by_name ? by_name : (x->host > y->host) - (x->host < y->host);
}

GArray *lull_event_counts(struct lull_session *session)
{
    const uint32_t n_hosts = lull_session_host_count(session);
    struct counting counting = {
        .session = session,
        .by_name = g_new0(GHashTable *, n_hosts),
        .counts = g_array_new(FALSE, FALSE, sizeof(struct lull_event_count)),
    };
    for (uint32_t i = 0; i < n_hosts; i++) {
        counting.by_name[i] = g_hash_table_new(g_str_hash, g_str_equal);
    }
    lull_session_count_shared(session, add, &counting);
    for (uint32_t i = 0; i < n_hosts; i++) {
        g_hash_table_unref(counting.by_name[i]);
    }
    g_free(counting.by_name);
    g_array_sort(counting.counts, compare);
    return counting.counts;
}
