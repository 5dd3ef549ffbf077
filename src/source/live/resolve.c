/* SPDX-License-Identifier: MIT */
/* The thread that resolves and the one that wants the result share a lookup; the last one frees it.
 */
#include "source/live/resolve.h"

#include <stdint.h>
#include <sys/socket.h>

struct live_lookup {
    gatomicrefcount references;
    GMutex lock;
    GCond is_changed;
    bool is_done;
    char *host, *port;
    int family, code;
    struct addrinfo *found;
};

static void unref(struct live_lookup *lookup)
{
    if (!g_atomic_ref_count_dec(&lookup->references)) {
        return;
    }
    if (lookup->found) {
        freeaddrinfo(lookup->found);
    }
    g_mutex_clear(&lookup->lock);
    g_cond_clear(&lookup->is_changed);
    g_free(lookup->host);
    g_free(lookup->port);
    g_free(lookup);
}

static void look_up(struct live_lookup *lookup, int flags)
{
    struct addrinfo hints = {
        .ai_family = lookup->family, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *found = NULL;
    int code = getaddrinfo(lookup->host, lookup->port, &hints, &found);
    g_mutex_lock(&lookup->lock);
    lookup->code = code;
    lookup->found = code == 0 ? found : NULL;
    lookup->is_done = true;
    g_cond_signal(&lookup->is_changed);
    g_mutex_unlock(&lookup->lock);
}

static gpointer run(gpointer data)
{
    look_up(data, 0);
    unref(data);
    return NULL;
}

struct live_lookup *live_lookup_new(const struct lull_live_url *url)
{
    struct live_lookup *lookup = g_new0(struct live_lookup, 1);
    g_atomic_ref_count_init(&lookup->references);
    g_mutex_init(&lookup->lock);
    g_cond_init(&lookup->is_changed);
    lookup->host = g_strdup(url->host);
    lookup->port = g_strdup(url->port);
    lookup->family = url->family;
    look_up(lookup, AI_NUMERICHOST); /* which needs to ask nobody */
    if (lookup->code == 0) {
        return lookup;
    }
    lookup->is_done = false;
    g_atomic_ref_count_inc(&lookup->references);
    GThread *thread = g_thread_try_new("lull-lookup", run, lookup, NULL);
    if (thread) {
        g_thread_unref(thread);
    } else { /* then waiting cannot be broken off */
        run(lookup);
    }
    return lookup;
}

bool live_lookup_wait(struct live_lookup *lookup, int ms, int *code, struct addrinfo **found)
{
    int64_t end_us = g_get_monotonic_time() + INT64_C(1000) * ms;
    g_mutex_lock(&lookup->lock);
    while (!lookup->is_done && g_cond_wait_until(&lookup->is_changed, &lookup->lock, end_us))
        ;
    bool is_done = lookup->is_done;
    *code = lookup->code;
    *found = lookup->found;
    g_mutex_unlock(&lookup->lock);
    return is_done;
}

void live_lookup_free(struct live_lookup *lookup)
{
    unref(lookup);
}
