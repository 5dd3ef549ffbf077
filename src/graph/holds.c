/* SPDX-License-Identifier: MIT */
#include "graph/holds.h"

enum { LONG_NS = 1000000 }; /* what is shorter the processor may have taken */

static uint64_t key_of(uint32_t host, uint64_t skb)
{
    enum { HOST_SHIFT = 48 }; /* addresses of the kernel have the same bits there */
    return skb ^ (uint64_t)host << HOST_SHIFT;
}

static struct lull_buffer_note *note_of(struct lull_holds *holds, uint32_t host, uint64_t skb)
{
    uint32_t number = lull_map_find(&holds->buffers, key_of(host, skb));
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)holds->last.count;
        lull_map_insert(&holds->buffers, key_of(host, skb), number);
        lull_vec_push(&holds->last,
                      (struct lull_buffer_note){.packet = LULL_NONE, .piece.time_ns = INT64_MIN});
    }
    return &holds->last.items[number];
}

static void add(struct lull_holds *holds, uint32_t packet, int64_t queued_ns,
                const struct lull_taking *taking)
{
    if (taking->time_ns - LONG_NS >= queued_ns && taking->start_ns > queued_ns) {
        lull_map_insert(&holds->of_packet, packet, (uint32_t)holds->list.count);
        lull_vec_push(&holds->list, (struct lull_hold){queued_ns, taking->time_ns, taking->device});
    }
}

void lull_holds_queued(struct lull_holds *holds, const struct lull_net_packet *packet,
                       uint32_t number)
{
    if (!packet->skb) {
        return;
    }
    struct lull_buffer_note *note = note_of(holds, packet->host, packet->skb);
    note->packet = number;
    note->queued_ns = packet->time_ns;
    note->cpu = packet->cpu;
    note->device_hash = packet->device;
    if (packet->time_ns - LONG_NS >= note->piece.time_ns) { /* else the piece is forwarded */
        note->piece.time_ns = INT64_MIN;
    }
}

void lull_holds_taken(struct lull_holds *holds, const struct lull_taken_fact *fact,
                      int64_t start_ns)
{
    struct lull_buffer_note *note = note_of(holds, fact->host, fact->skb);
    struct lull_taking taking = {fact->time_ns, start_ns, fact->device};
    if (note->packet == LULL_NONE) {
        note->piece = taking;
        return;
    }
    if (fact->device_hash && note->device_hash && fact->device_hash != note->device_hash) {
        return; /* a bond, a bridge, a VLAN: it has put the packet into another's queue */
    }
    if (fact->cpu != note->cpu) {
        taking.start_ns = INT64_MAX; /* not who put it there */
    }
    add(holds, note->packet, note->queued_ns, &taking);
    note->packet = LULL_NONE;
}

void lull_holds_arrived(struct lull_holds *holds, const struct lull_net_packet *packet,
                        uint32_t number)
{
    const uint32_t found = packet->skb
                               ? lull_map_find(&holds->buffers, key_of(packet->host, packet->skb))
                               : LULL_MAP_NONE;
    if (found == LULL_MAP_NONE) {
        return;
    }
    /* A device that is not real hands a packet on at once. */
    const struct lull_taking *piece = &holds->last.items[found].piece;
    if (piece->time_ns <= packet->time_ns && packet->time_ns - LONG_NS < piece->time_ns) {
        holds->arrivals[number % LULL_ARRIVALS] = (struct lull_arrival){number, *piece};
    }
}

void lull_holds_matched(struct lull_holds *holds, uint32_t number, int64_t queued_ns)
{
    const struct lull_arrival *arrival = &holds->arrivals[number % LULL_ARRIVALS];
    if (arrival->packet == number && arrival->taking.time_ns) {
        add(holds, number, queued_ns, &arrival->taking);
    }
}

const struct lull_hold *lull_holds_find(const struct lull_holds *holds, uint32_t number)
{
    const uint32_t found = lull_map_find(&holds->of_packet, number);
    return found == LULL_MAP_NONE ? NULL : &holds->list.items[found];
}

void lull_holds_free(struct lull_holds *holds)
{
    lull_map_free(&holds->buffers);
    lull_map_free(&holds->of_packet);
    lull_vec_free(&holds->last);
    lull_vec_free(&holds->list);
}
