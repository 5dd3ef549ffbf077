/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Packets within this machine: what the rules nettx and netrx measure. Those that are dropped, answered or
 * joined by the kernel end nowhere, and leave the map when there is no room. The kernel has no event for
 * reading a short datagram. */
#ifndef LULL_LIVE_PACKETS_BPF_H
#define LULL_LIVE_PACKETS_BPF_H

#include "spans.bpf.h"

static __always_inline void describe_interface(const struct net_device *device,
                                               struct happened *event)
{
    event->hop.kind = LULL_TRACK_HOP_INTERFACE;
    event->hop.a = event->number = device->ifindex;
    bpf_core_read(event->hop.comm, sizeof event->hop.comm, &device->name);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(packet_queued, const struct sk_buff *packet)
{
    if (is_asked_for(LULL_TRACK_NETTX, packet->dev->ifindex)) {
        open_span(&loose_spans, LULL_TRACK_NETTX, (uint64_t)packet, 0);
    }
    return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(packet_sent, const struct sk_buff *packet, const struct net_device *device)
{
    struct span span;
    struct happened sent = {.measure = LULL_TRACK_NETTX};
    if (close_span(&loose_spans, LULL_TRACK_NETTX, (uint64_t)packet, 0, &span)) {
        describe_interface(device, &sent);
        judge_span(NULL, &span, &sent);
    }
    return 0;
}

/* It is of no task yet: the name is that of the interface. */
SEC("tp_btf/netif_receive_skb")
int BPF_PROG(packet_received, const struct sk_buff *packet)
{
    const struct net_device *device = packet->dev;
    const struct span_key key = {.of = (uint64_t)packet, .measure = LULL_TRACK_NETRX};
    if (is_asked_for(LULL_TRACK_NETRX, device->ifindex)) {
        struct span span = {.since = bpf_ktime_get_ns()};
        bpf_core_read(span.comm, sizeof span.comm, &device->name);
        bpf_map_update_elem(&loose_spans, &key, &span, BPF_ANY);
    }
    return 0;
}

/* What was not received from an interface only has the memory of something that was. */
SEC("tp_btf/skb_copy_datagram_iovec")
int BPF_PROG(packet_read, const struct sk_buff *packet)
{
    struct span span;
    struct happened read = {.measure = LULL_TRACK_NETRX, .number = packet->skb_iif};
    if (read.number && close_span(&loose_spans, LULL_TRACK_NETRX, (uint64_t)packet, 0, &span)) {
        read.hop.kind = LULL_TRACK_HOP_INTERFACE;
        read.hop.a = read.number;
        __builtin_memcpy(read.hop.comm, span.comm, sizeof read.hop.comm);
        own_span(&span);
        judge_span(NULL, &span, &read);
    }
    return 0;
}

#endif
