/* SPDX-License-Identifier: MIT */
/* The reading of packets that the join of clocks needs. */
#include "clock/join.h"

#include "clock/contain.h"
#include "kernel/model.h"
#include "kernel/vocabulary.h"
#include "source/session/streams.h"

static void on_packet(void *user, const struct lull_packet_fact *fact)
{
    lull_sync_add(user, fact->packet);
}

/* Their numbers mean the same on both hosts only if both saw the connection start. */
static void on_segment(void *user, const struct lull_packet_fact *fact)
{
    if (fact->is_whole && fact->packet->payload) {
        lull_sync_add(user, fact->packet);
    }
}

/* Has `sync` see all packets, in the hosts' own times. */
static void read_packets(struct lull_session *session, struct lull_sync *sync,
                         void (*progress)(void *user), void *user)
{
    static const struct lull_facts facts = {.packet = on_packet, .segment = on_segment};
    static const struct lull_clock_transform identity = {0};
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        lull_session_set_clock(session, host, &identity);
    }
    struct lull_model *model = lull_model_new(session, LULL_GROUP_NET);
    lull_model_subscribe(model, &facts, sync);
    /* Clocks of hosts may be apart by more than a slice anyway. */
    lull_session_allow_slices(session, true);
    lull_model_run(model, progress, user);
    lull_session_allow_slices(session, false);
    lull_model_free(model);
}

static void set_clocks(struct lull_session *session, const struct lull_sync *sync)
{
    /* Times that were joined once and exported stay: joining is not exact twice. */
    bool is_joined = lull_session_is_joined(session);
    for (uint32_t host = 0; host < lull_session_host_count(session) && !is_joined; host++) {
        lull_session_set_clock(session, host, lull_sync_transform(sync, host));
    }
    lull_session_unsubscribe_all(session);
}

struct lull_sync *lull_join_clocks(struct lull_session *session, void (*progress)(void *user),
                                   void *user)
{
    uint32_t n_hosts = lull_session_host_count(session);
    struct lull_sync *sync = lull_sync_new(n_hosts);
    g_autofree int64_t *start_ns = g_new(int64_t, n_hosts);
    g_autofree int64_t *end_ns = g_new(int64_t, n_hosts);
    for (uint32_t host = 0; host < n_hosts; host++) {
        start_ns[host] = INT64_MAX;
        end_ns[host] = INT64_MIN;
    }
    for (uint32_t i = 0; i < lull_session_trace_count(session); i++) {
        const struct lull_trace *trace = lull_session_trace(session, i);
        start_ns[trace->host] = MIN(start_ns[trace->host], trace->start_ns);
        end_ns[trace->host] = MAX(end_ns[trace->host], trace->end_ns);
    }
    if (n_hosts > 1) {
        read_packets(session, sync, progress, user);
        lull_contain(session, sync, progress, user);
    }
    lull_sync_finish(sync, start_ns, end_ns);
    if (n_hosts > 1) {
        set_clocks(session, sync);
    }
    return sync;
}
