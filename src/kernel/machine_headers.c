/* SPDX-License-Identifier: MIT */
/* Headers of packets, where the recorder has read them beside a tracer that records none. It reads just before the
 * tracer sees the packet; so they belong to the next packet with that buffer. */
#include "kernel/machine.h"

#include <string.h>

enum { SLOTS = 1024 };
enum { TCP = 6, TCP_FLAGS = 0x1ff };
/* An interrupt may come between the two. */
#define AT_ONCE_NS INT64_C(10000000)

struct headers {
    struct lull_net_packet of[SLOTS]; /* skb is 0: none */
};

void headers_free(struct headers *headers)
{
    g_free(headers);
}

static struct lull_net_packet *slot_of(struct headers *headers, uint64_t skb, bool is_send)
{
    const uint64_t hash = (skb ^ is_send) * UINT64_C(0x9e3779b97f4a7c15);
    return &headers->of[hash >> 54];
}

static void take_address(uint8_t address[static 16], int64_t high, int64_t low)
{
    for (unsigned i = 0; i < 8; i++) {
        address[i] = (uint8_t)((uint64_t)high >> (56 - 8 * i));
        address[8 + i] = (uint8_t)((uint64_t)low >> (56 - 8 * i));
    }
}

void headers_read(struct machine *machine, int64_t t, const struct lull_ev_packet_headers *ev)
{
    const bool is_sound = (ev->version == 4 || ev->version == 6) && ev->protocol >= 0 &&
                          ev->protocol <= UINT8_MAX && ev->skb != 0;
    if (!is_sound) {
        return;
    }
    if (!machine->headers) {
        machine->headers = g_new0(struct headers, 1);
    }
    const bool is_send = ev->is_sent != 0;
    struct lull_net_packet *packet = slot_of(machine->headers, (uint64_t)ev->skb, is_send);
    *packet = (struct lull_net_packet){.time_ns = t,
                                       .skb = (uint64_t)ev->skb,
                                       .is_send = is_send,
                                       .ip_version = (uint8_t)ev->version,
                                       .protocol = (uint8_t)ev->protocol,
                                       .source_port = (uint16_t)ev->source_port,
                                       .destination_port = (uint16_t)ev->destination_port,
                                       .seq = (uint32_t)ev->seq,
                                       .ack = (uint32_t)ev->ack,
                                       .tcp_flags = (uint16_t)(ev->flags & TCP_FLAGS),
                                       .window = (uint32_t)ev->window,
                                       .has_window = ev->protocol == TCP,
                                       .ip_id = (uint16_t)ev->ip_id,
                                       .payload = (uint32_t)ev->payload};
    take_address(packet->source, ev->source_high, ev->source_low);
    take_address(packet->destination, ev->destination_high, ev->destination_low);
    if (ev->version == 4) { /* the rest would make it another address */
        memset(packet->source + 4, 0, 12);
        memset(packet->destination + 4, 0, 12);
    }
}

void headers_add(struct machine *machine, struct lull_net_packet *packet)
{
    struct lull_net_packet *read =
        machine->headers ? slot_of(machine->headers, packet->skb, packet->is_send) : NULL;
    if (!read || read->skb != packet->skb || packet->skb == 0 || read->is_send != packet->is_send ||
        packet->time_ns - read->time_ns > AT_ONCE_NS || packet->time_ns < read->time_ns) {
        return;
    }
    struct lull_net_packet whole = *read;
    whole.time_ns = packet->time_ns;
    whole.host = packet->host;
    whole.task = packet->task;
    whole.cpu = packet->cpu;
    whole.is_loopback = packet->is_loopback;
    whole.device = packet->device;
    whole.length = packet->length;
    *packet = whole;
    read->skb = 0;
}
