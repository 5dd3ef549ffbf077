/* SPDX-License-Identifier: MIT */
/* Typed events for tests of the model and what stands on it, without a trace: each function feeds
 * one event. */
#ifndef LULL_TESTS_FEED_H
#define LULL_TESTS_FEED_H

#include <string.h>

#include "kernel/model.h"
#include "kernel/vocabulary.h"

#define FEED(event, host, cpu, t, ...)                                                             \
    do {                                                                                           \
        struct lull_ev_##event ev_ = {__VA_ARGS__};                                                \
        lull_model_feed(model, LULL_EVENT_##event, &ev_, host, cpu, t);                            \
    } while (0)

#define ALL UINT64_MAX
/* Fields of contexts are left out, as in a trace without contexts. */
#define WITHOUT(event, field) (~(UINT64_C(1) << LULL_FIELD_##event##_##field))

static inline struct lull_text feed_text(const char *text)
{
    return (struct lull_text){text, (uint32_t)strlen(text)};
}

static inline void feed_switch(struct lull_model *model, uint32_t host, int32_t cpu, int64_t t,
                               int prev, int next, int prev_state)
{
    char prev_comm[16], next_comm[16];
    g_snprintf(prev_comm, sizeof prev_comm, "t%d", prev);
    g_snprintf(next_comm, sizeof next_comm, "t%d", next);
    FEED(sched_switch, host, cpu, t,
         .have = WITHOUT(sched_switch, context_pid) & WITHOUT(sched_switch, prev_prio) &
                 WITHOUT(sched_switch, next_prio),
         .prev_tid = prev, .next_tid = next, .prev_state = prev_state,
         .prev_comm = feed_text(prev_comm), .next_comm = feed_text(next_comm));
}

static inline void feed_wake(struct lull_model *model, unsigned id, uint32_t host, int32_t cpu,
                             int64_t t, int tid, int target_cpu)
{
    struct lull_ev_sched_waking ev = {.have = WITHOUT(sched_waking, context_tid) &
                                              WITHOUT(sched_waking, prio),
                                      .tid = tid,
                                      .target_cpu = target_cpu};
    lull_model_feed(model, id, &ev, host, cpu, t);
}

static inline void feed_softirq(struct lull_model *model, uint32_t host, int32_t cpu, int64_t t,
                                int vec, bool is_entry)
{
    if (is_entry) {
        FEED(softirq_entry, host, cpu, t, .have = WITHOUT(softirq_entry, context_tid), .vec = vec);
    } else {
        FEED(softirq_exit, host, cpu, t, .have = WITHOUT(softirq_exit, context_tid), .vec = vec);
    }
}

static inline void feed_irq(struct lull_model *model, uint32_t host, int32_t cpu, int64_t t,
                            int irq, const char *name, bool is_entry)
{
    if (is_entry) {
        FEED(irq_handler_entry, host, cpu, t, .have = WITHOUT(irq_handler_entry, context_tid),
             .irq = irq, .name = feed_text(name));
    } else {
        FEED(irq_handler_exit, host, cpu, t, .have = WITHOUT(irq_handler_exit, context_tid),
             .irq = irq);
    }
}

struct feed_segment {
    uint8_t from, to; /* last byte of the addresses 10.0.0.x */
    uint16_t from_port, to_port;
    uint32_t seq, ack;
    uint16_t flags; /* 0: ACK */
    uint32_t payload;
    const char *device; /* NULL: eth0 */
};

static inline void feed_tcp(struct lull_model *model, uint32_t host, int32_t cpu, int64_t t,
                            bool is_send, const struct feed_segment *segment)
{
    const char source[4] = {10, 0, 0, (char)segment->from};
    const char destination[4] = {10, 0, 0, (char)segment->to};
    struct lull_ev_packet_sent ev = {.ip4_len = 40 + segment->payload,
                                     .ip4_ihl = 5,
                                     .ip4_protocol = 6,
                                     .ip4_source = {source, 4},
                                     .ip4_destination = {destination, 4},
                                     .ipv4_tcp_source_port = segment->from_port,
                                     .ipv4_tcp_dest_port = segment->to_port,
                                     .ipv4_tcp_seq = segment->seq,
                                     .ipv4_tcp_ack_seq = segment->ack,
                                     .ipv4_tcp_data_offset = 5,
                                     .ipv4_tcp_flags = segment->flags ? segment->flags : 16,
                                     .device =
                                         feed_text(segment->device ? segment->device : "eth0"),
                                     .skb = 0x1000 + host * 0x100 + segment->seq * 16 + is_send};
#define HAVE(field) | UINT64_C(1) << LULL_FIELD_packet_sent_##field
    ev.have = 0 HAVE(ip4_len) HAVE(ip4_ihl) HAVE(ip4_protocol) HAVE(ip4_source)
        HAVE(ip4_destination) HAVE(ipv4_tcp_source_port) HAVE(ipv4_tcp_dest_port) HAVE(ipv4_tcp_seq)
            HAVE(ipv4_tcp_ack_seq) HAVE(ipv4_tcp_data_offset) HAVE(ipv4_tcp_flags) HAVE(device)
                HAVE(skb);
#undef HAVE
    lull_model_feed(model, is_send ? LULL_EVENT_packet_sent : LULL_EVENT_packet_received, &ev, host,
                    cpu, t);
}

/* A TCP segment of one byte whose sequence number is `id`, between fixed addresses. */
static inline void feed_packet(struct lull_model *model, uint32_t host, int32_t cpu, int64_t t,
                               bool is_send, uint32_t id)
{
    feed_tcp(model, host, cpu, t, is_send,
             &(struct feed_segment){1, 2, 1000, 1000, id, 0, 0, 1, NULL});
}

#endif
