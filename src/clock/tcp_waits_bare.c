/* SPDX-License-Identifier: MIT */
/* Where packets have no headers: what TCP does by itself, for each direction of a connection. */
#include "clock/tcp_waits_private.h"

static struct resent *resent_of(struct lull_tcp_waits *waits, uint32_t flow)
{
    while (waits->resent.count <= flow) {
        lull_vec_push(&waits->resent, (struct resent){.is_under_way = false});
    }
    return &waits->resent.items[flow];
}

void lull_tcp_waits_learn(struct lull_tcp_waits *waits, const struct lull_tcp_fact *fact)
{
    static const enum lull_tcp_wait_kind kinds[] = {[LULL_TCP_FACT_DATA] = LULL_TCP_SENT_AGAIN,
                                                    [LULL_TCP_FACT_SYN] = LULL_TCP_SYN_AGAIN,
                                                    [LULL_TCP_FACT_WINDOW] = LULL_TCP_ZERO_WINDOW};
    if (fact->number != LULL_NONE) {
        tcp_note(waits, fact->number, kinds[fact->kind], fact->first_ns, fact->last_ns,
                 fact->times);
    }
    if (fact->flow != LULL_NONE) {
        struct resent *resent = resent_of(waits, fact->flow);
        resent->data = (struct again){
            .times = fact->times, .first_ns = fact->first_ns, .last_ns = fact->last_ns};
        resent->is_under_way = true;
    }
}

static void note_resent(struct lull_tcp_waits *waits, uint32_t number, const struct again *again)
{
    if (number != LULL_NONE) {
        tcp_note(waits, number, LULL_TCP_SENT_AGAIN, again->first_ns, again->last_ns, again->times);
    }
}

/* An acknowledgement without data, of what arrived last in the other direction. */
static void acknowledged(struct lull_tcp_waits *waits, uint32_t sent, uint32_t reverse)
{
    const uint32_t found =
        sent != LULL_NONE ? lull_map_find(&waits->by_timer, sent) : LULL_MAP_NONE;
    if (found == LULL_MAP_NONE || reverse == LULL_NONE) {
        return;
    }
    const struct resent *data = resent_of(waits, reverse);
    const int64_t sent_ns = waits->timer_ns.items[found];
    if (data->has_arrived && sent_ns - data->arrived_ns >= DELAYED_NS) {
        tcp_note_timer(waits, sent, LULL_TCP_DELAYED_ACK, data->arrived, data->arrived_ns, sent_ns);
    }
}

void lull_tcp_waits_arrived(struct lull_tcp_waits *waits, const struct lull_packet_fact *fact,
                            uint32_t sent)
{
    const struct lull_net_packet *packet = fact->packet;
    if (packet->is_send || packet->flow == LULL_NONE) {
        return;
    }
    if (packet->payload == 0) {
        acknowledged(waits, sent, lull_flows_at(waits->flows, packet->flow)->reverse);
        return;
    }
    const uint32_t reverse = lull_flows_at(waits->flows, packet->flow)->reverse;
    if (reverse != LULL_NONE) {
        resent_of(waits, MAX(reverse, packet->flow)); /* both stay where they are */
    }
    struct resent *own = resent_of(waits, packet->flow);
    const struct resent *back = reverse != LULL_NONE ? &waits->resent.items[reverse] : NULL;
    if (own->is_under_way && packet->time_ns >= own->data.last_ns) {
        note_resent(waits, fact->number, &own->data);
        own->is_under_way = false;
    } else if (sent == LULL_NONE && back && back->data.times &&
               (!own->has_arrived || back->data.last_ns > own->arrived_ns)) {
        note_resent(waits, fact->number, &back->data);
    }
    own->has_arrived = true;
    own->arrived_ns = packet->time_ns;
    own->arrived = fact->number;
}
