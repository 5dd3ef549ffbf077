/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Headers of packets, which tracers of the kernel's own do not record: who has the recordings of two machines can say
 * then which packet of one is which of the other. Those within the machine too: who reads a trace that has headers asks
 * nothing else (machine_sockets.c). Just before the tracer sees the packet. */
#ifndef LULL_RECORD_NAMES_PACKETS_BPF_H
#define LULL_RECORD_NAMES_PACKETS_BPF_H

#include <bpf/bpf_endian.h>

#define PACKETS_BYTES (4 << 20)

enum { TCP = 6, UDP = 17 };
enum { V4_BYTES = 20, V6_BYTES = 40, TCP_BYTES = 20, UDP_BYTES = 8 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sk_buff {
    unsigned int len, data_len;
    uint16_t network_header;
    unsigned char *head, *data;
};
#pragma clang attribute pop

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, PACKETS_BYTES);
} packets SEC(".maps");

/* What is to be read, and how much of it is where it can be read. */
struct headers {
    const unsigned char *at;
    uint32_t bytes; /* in one piece from there on */
    uint32_t whole; /* of the packet from there on */
};

static __always_inline uint16_t read16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static __always_inline uint32_t read32(const uint8_t *bytes)
{
    return (uint32_t)read16(bytes) << 16 | read16(bytes + 2);
}

/* `rest`: of the packet behind the header of IP. */
static __always_inline bool take_transport(struct lull_names_packet *packet,
                                           const struct headers *from, uint32_t header,
                                           uint32_t rest)
{
    uint8_t bytes[TCP_BYTES] = {0};
    const bool is_tcp = packet->protocol == TCP;
    const uint32_t wanted = is_tcp ? TCP_BYTES : UDP_BYTES;
    if ((!is_tcp && packet->protocol != UDP) || from->bytes < header + wanted ||
        (is_tcp ? bpf_probe_read_kernel(bytes, TCP_BYTES, from->at + header)
                : bpf_probe_read_kernel(bytes, UDP_BYTES, from->at + header))) {
        return false;
    }
    packet->ports[0] = read16(bytes);
    packet->ports[1] = read16(bytes + 2);
    if (is_tcp) {
        const uint32_t own = (bytes[12] >> 4) * 4u;
        packet->seq = read32(bytes + 4);
        packet->ack = read32(bytes + 8);
        packet->flags = read16(bytes + 12) & 0x1ff;
        packet->window = read16(bytes + 14);
        packet->payload = rest > own ? rest - own : 0;
    } else {
        packet->payload = rest > UDP_BYTES ? rest - UDP_BYTES : 0;
    }
    return true;
}

/* What is too large for the field will be cut by the network card, and has a zero there. */
static __always_inline bool take_v4(struct lull_names_packet *packet, const struct headers *from)
{
    uint8_t bytes[V4_BYTES];
    if (from->bytes < V4_BYTES || bpf_probe_read_kernel(bytes, V4_BYTES, from->at)) {
        return false;
    }
    const uint32_t header = (bytes[0] & 15) * 4u, size = read16(bytes + 2);
    const uint32_t whole = size ? size : from->whole;
    if (header < V4_BYTES || read16(bytes + 6) & 0x1fff) { /* not the first fragment */
        return false;
    }
    packet->protocol = bytes[9];
    packet->id = read16(bytes + 4);
    __builtin_memcpy(packet->source, bytes + 12, 4);
    __builtin_memcpy(packet->destination, bytes + 16, 4);
    return take_transport(packet, from, header, whole > header ? whole - header : 0);
}

static __always_inline bool take_v6(struct lull_names_packet *packet, const struct headers *from)
{
    uint8_t bytes[V6_BYTES];
    if (from->bytes < V6_BYTES || bpf_probe_read_kernel(bytes, V6_BYTES, from->at)) {
        return false;
    }
    const uint32_t size = read16(bytes + 4);
    packet->protocol = bytes[6];
    __builtin_memcpy(packet->source, bytes + 8, 16);
    __builtin_memcpy(packet->destination, bytes + 24, 16);
    return take_transport(packet, from, V6_BYTES,
                          size                     ? size
                          : from->whole > V6_BYTES ? from->whole - V6_BYTES
                                                   : 0);
}

static __always_inline void take_packet(const struct sk_buff *skb, struct headers *from,
                                        bool is_sent)
{
    struct lull_names_packet packet = {
        .time_ns = bpf_ktime_get_ns(), .skb = (uint64_t)skb, .is_sent = is_sent};
    uint8_t first;
    if (bpf_probe_read_kernel(&first, 1, from->at)) {
        return;
    }
    packet.version = first >> 4;
    if (packet.version == 4 ? !take_v4(&packet, from)
                            : packet.version != 6 || !take_v6(&packet, from)) {
        return;
    }
    if (bpf_ringbuf_output(&packets, &packet, sizeof packet, BPF_RB_NO_WAKEUP)) {
        __sync_fetch_and_add(&counts.lost, 1);
    }
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(packet_queued, const struct sk_buff *skb)
{
    const uint32_t linear = skb->len - skb->data_len;
    const uint32_t before = (uint32_t)(skb->head + skb->network_header - skb->data);
    struct headers from = {.at = skb->head + skb->network_header,
                           .bytes = linear > before ? linear - before : 0,
                           .whole = skb->len > before ? skb->len - before : 0};
    take_packet(skb, &from, true);
    return 0;
}

/* The kernel finds the header of the network behind that of the link after this. */
SEC("tp_btf/netif_receive_skb")
int BPF_PROG(packet_came, const struct sk_buff *skb)
{
    struct headers from = {.at = skb->data, .bytes = skb->len - skb->data_len, .whole = skb->len};
    take_packet(skb, &from, false);
    return 0;
}

#endif
