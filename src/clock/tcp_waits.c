/* SPDX-License-Identifier: MIT */
/* For each direction of each connection, as each host sees it: what was sent last, what is not
 * acknowledged, whether the window is closed. */
#include "clock/tcp_waits_private.h"

#include <string.h>

#include "base/search.h"
#include "kernel/states.h"

enum { TCP = 6, FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };

/* What is cut into segments leaves one right after the other. */
#define BURST_NS INT64_C(50000)
/* What waits for an acknowledgement leaves in the interrupt that brings it. */
#define AT_ONCE_NS INT64_C(1000000)

struct lull_tcp_waits *lull_tcp_waits_new(const struct lull_flows *flows)
{
    struct lull_tcp_waits *waits = g_new0(struct lull_tcp_waits, 1);
    waits->flows = flows;
    return waits;
}

void lull_tcp_waits_free(struct lull_tcp_waits *waits)
{
    if (waits) {
        for (size_t i = 0; i < waits->halves.count; i++) {
            lull_tcp_pieces_clear(&waits->halves.items[i].pieces);
        }
        lull_vec_free(&waits->halves);
        lull_map_free(&waits->by_key);
        lull_vec_free(&waits->by_flow);
        lull_vec_free(&waits->notes);
        lull_map_free(&waits->by_number);
        lull_map_free(&waits->by_lost);
        lull_vec_free(&waits->arrivals);
        lull_map_free(&waits->by_original);
        lull_vec_free(&waits->resent);
        for (size_t i = 0; i < waits->windows.count; i++) {
            lull_vec_free(&waits->windows.items[i].list);
        }
        lull_vec_free(&waits->windows);
        lull_map_free(&waits->windows_of);
        lull_map_free(&waits->by_timer);
        lull_vec_free(&waits->timer_ns);
        g_free(waits);
    }
}

/* Sockets are known by addresses, of which the lowest bit is free. */
static uint64_t key_of(const struct lull_net_packet *packet, uint32_t flow, uint32_t host,
                       bool is_back)
{
    if (packet->flow == LULL_NONE) {
        const uint64_t low = packet->socket & ((UINT64_C(1) << 48) - 2);
        return UINT64_C(1) << 63 | (uint64_t)host << 48 | low | (packet->is_send != is_back);
    }
    return (uint64_t)host << 32 | flow;
}

static void forget_received(struct half *half)
{
    half->unacked_ns = half->data_ns = half->closed_ns = half->ack_ns = half->opened_ns =
        half->ack_late_ns = INT64_MIN;
    half->ack_sent = half->late_original = LULL_NONE;
    half->has_answered = half->has_first_window = false;
}

static __attribute__((noinline)) uint32_t find_half(struct lull_tcp_waits *waits, uint64_t key,
                                                    uint32_t flow, uint32_t host)
{
    uint32_t number = lull_map_find(&waits->by_key, key);
    if (number == LULL_MAP_NONE) {
        number = waits->halves.count;
        lull_vec_push(&waits->halves, (struct half){.trip_ns = INT64_MIN});
        forget_received(&waits->halves.items[number]);
        lull_map_insert(&waits->by_key, key, number);
    }
    while (flow != LULL_NONE && waits->by_flow.count <= flow) {
        lull_vec_push(&waits->by_flow, (struct last_half){LULL_NONE, LULL_NONE, LULL_NONE});
    }
    if (flow != LULL_NONE) {
        waits->by_flow.items[flow] = (struct last_half){host, number, LULL_NONE};
    }
    return number;
}

/* LULL_NONE: nothing is known yet of the way back. */
static uint32_t half_of(struct lull_tcp_waits *waits, const struct lull_net_packet *packet,
                        uint32_t host, bool is_back)
{
    const uint32_t flow = packet->flow != LULL_NONE && is_back
                              ? lull_flows_at(waits->flows, packet->flow)->reverse
                              : packet->flow;
    if (packet->flow != LULL_NONE && flow == LULL_NONE) {
        return LULL_NONE;
    }
    if (flow < waits->by_flow.count && waits->by_flow.items[flow].host == host) {
        return waits->by_flow.items[flow].number;
    }
    return find_half(waits, key_of(packet, flow, host, is_back), flow, host);
}

/* The halves of a connection on a host: that of the packet's direction, and the other, which may be LULL_NONE. */
struct ends {
    uint32_t along, back;
};

static __attribute__((noinline)) struct ends find_ends(struct lull_tcp_waits *waits,
                                                       const struct lull_net_packet *packet)
{
    const uint32_t back = half_of(waits, packet, packet->host, true);
    const uint32_t along = half_of(waits, packet, packet->host, false);
    if (packet->flow != LULL_NONE) {
        waits->by_flow.items[packet->flow].back = back;
    }
    return (struct ends){along, back};
}

static inline struct ends ends_of(struct lull_tcp_waits *waits,
                                  const struct lull_net_packet *packet)
{
    /* Most connections are between programs of one host, or seen on one only. */
    if (packet->flow < waits->by_flow.count) {
        const struct last_half *last = &waits->by_flow.items[packet->flow];
        if (last->host == packet->host && last->back != LULL_NONE) {
            return (struct ends){last->number, last->back};
        }
    }
    return find_ends(waits, packet);
}

void tcp_note(struct lull_tcp_waits *waits, uint32_t number, enum lull_tcp_wait_kind kind,
              int64_t first_ns, int64_t last_ns, uint32_t times)
{
    if (lull_map_find(&waits->by_number, number) == LULL_MAP_NONE) {
        lull_map_insert(&waits->by_number, number, waits->notes.count);
        lull_vec_push(&waits->notes, (struct lull_tcp_wait_note){.first_ns = first_ns,
                                                                 .last_ns = last_ns,
                                                                 .times = times,
                                                                 .kind = (uint8_t)kind,
                                                                 .lost = LULL_NONE,
                                                                 .delayed = LULL_NONE});
    }
}

void tcp_note_timer(struct lull_tcp_waits *waits, uint32_t number, enum lull_tcp_wait_kind kind,
                    uint32_t delayed, int64_t first_ns, int64_t last_ns)
{
    tcp_note(waits, number, kind, first_ns, last_ns, 0);
    waits->notes.items[lull_map_find(&waits->by_number, number)].delayed = delayed;
}

static bool is_data(const struct lull_net_packet *packet)
{
    return packet->has_numbers ? packet->tcp_flags & PSH : packet->payload > 0;
}

static bool is_after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

/* How many numbers the packet takes in its sequence; of bytes that are not counted, one. */
static uint32_t length_of(const struct lull_net_packet *packet)
{
    return packet->has_numbers ? !!(packet->tcp_flags & (PSH | FIN))
                               : packet->payload + !!(packet->tcp_flags & FIN);
}

static struct half *half_at(struct lull_tcp_waits *waits, uint32_t number)
{
    return number == LULL_NONE ? NULL : &waits->halves.items[number];
}

/* ---- sent ---- */

/* The packet has what was sent first in the one with the number `lost`. */
static void note_sent_again(struct lull_tcp_waits *waits, uint32_t number, uint32_t lost,
                            enum lull_tcp_wait_kind kind, const struct again *again)
{
    tcp_note(waits, number, kind, again->first_ns, again->last_ns, again->times);
    const uint32_t found = lull_map_find(&waits->by_number, number);
    lull_map_insert(&waits->by_lost, lost, found);
    waits->notes.items[found].lost = lost;
}

static void data_sent(struct lull_tcp_waits *waits, struct half *half,
                      const struct lull_packet_fact *fact)
{
    const struct lull_net_packet *packet = fact->packet;
    struct lull_tcp_piece piece;
    /* However soon a timer starts, it was not what has sent the packet before. */
    int64_t since_ns = packet->time_ns - LULL_TCP_AGAIN_NS + 1;
    if (fact->in_interrupt && fact->context_cause == LULL_CAUSE_TIMER) {
        since_ns = MAX(since_ns, fact->context_start_ns);
    }
    if (packet->has_numbers) {
        lull_tcp_pieces_reach(&half->pieces, packet->seq);
    }
    if (lull_tcp_pieces_send(&half->pieces, packet->seq, length_of(packet), packet->time_ns,
                             since_ns, fact->number, &piece) &&
        piece.times) {
        half->data = (struct again){piece.times, piece.first_ns, piece.last_ns};
        note_sent_again(waits, fact->number, piece.number, LULL_TCP_SENT_AGAIN, &half->data);
    }
}

static void syn_sent(struct lull_tcp_waits *waits, struct half *half,
                     const struct lull_packet_fact *fact)
{
    const struct lull_net_packet *packet = fact->packet;
    struct again *syn = &half->syn;
    if (!half->has_syn || half->syn_seq != packet->seq) {
        lull_tcp_pieces_clear(&half->pieces);
        *half = (struct half){.has_syn = true,
                              .syn_seq = packet->seq,
                              .syn_number = fact->number,
                              .syn_ns = packet->time_ns,
                              .trip_ns = INT64_MIN};
        forget_received(half);
        return;
    }
    if (packet->time_ns - (syn->times ? syn->last_ns : half->syn_ns) >= LULL_TCP_AGAIN_NS) {
        *syn = (struct again){syn->times + 1, half->syn_ns, packet->time_ns};
    }
    if (syn->times) {
        note_sent_again(waits, fact->number, half->syn_number, LULL_TCP_SYN_AGAIN, syn);
    }
}

/* Of two packets that leave one right after the other, the larger one fills a segment at least: else the second would
 * have been held back. */
static void note_size(struct half *half, const struct lull_net_packet *packet)
{
    const uint32_t larger = MAX(half->last_payload, packet->payload);
    if (packet->seq == half->last_end && packet->time_ns - half->last_ns < BURST_NS &&
        half->last_payload && (!half->full || larger < half->full)) {
        half->full = larger;
    }
    half->last_payload = packet->payload;
    half->last_end = packet->seq + packet->payload;
    half->last_ns = packet->time_ns;
}

/* It has left, so there was room. */
static void note_used(struct half *half, uint32_t end)
{
    if (half->has_room && is_after(end, half->room_end)) {
        half->room_end = end;
    }
}

/* Nagle's algorithm holds back what does not fill a segment; the rest waits for room. Where it is not known what fills
 * one, for no trace has the options of SYNs, there must have been room all the time. */
static bool may_be_nagle(const struct half *half, const struct lull_net_packet *packet)
{
    if (half->full || packet->has_numbers) {
        return is_data(packet) && (!half->full || packet->payload < half->full);
    }
    return is_data(packet) && half->had_room &&
           !is_after(packet->seq + packet->payload, half->held_room_end);
}

static bool is_delayed(const struct lull_tcp_waits *waits, uint32_t number)
{
    const struct lull_tcp_wait_note *found = lull_tcp_waits_find(waits, number);
    return found && found->kind == LULL_TCP_DELAYED_ACK;
}

/* A packet without data that a timer sends: an acknowledgement, or what asks whether the window is still closed. That one has
 * a number that is acknowledged already. */
static void timer_sent(struct lull_tcp_waits *waits, const struct lull_packet_fact *fact,
                       const struct half *half, const struct half *peer)
{
    const struct lull_net_packet *packet = fact->packet;
    if (peer->closed_ns != INT64_MIN && half->pieces.has_acked &&
        packet->seq + 1 == half->pieces.acked) {
        tcp_note_timer(waits, fact->number, LULL_TCP_ZERO_WINDOW, peer->closed, peer->closed_ns,
                       packet->time_ns);
    } else if (peer->unacked_ns != INT64_MIN && packet->time_ns - peer->unacked_ns >= DELAYED_NS) {
        tcp_note_timer(waits, fact->number, LULL_TCP_DELAYED_ACK, peer->unacked, peer->unacked_ns,
                       packet->time_ns);
    }
}

/* An acknowledgement that a timer sends, or what waited for one. */
static void after_received(struct lull_tcp_waits *waits, const struct lull_packet_fact *fact,
                           struct half *half, struct half *peer)
{
    const struct lull_net_packet *packet = fact->packet;
    const int64_t t = packet->time_ns;
    if (!is_data(packet) && !(packet->tcp_flags & (FIN | RST)) && fact->in_interrupt &&
        fact->context_cause == LULL_CAUSE_TIMER) {
        timer_sent(waits, fact, half, peer);
    }
    const bool is_held = fact->in_interrupt && may_be_nagle(half, packet);
    if (is_held && is_delayed(waits, peer->ack_sent) && t - peer->ack_ns < AT_ONCE_NS) {
        waits->notes.items[lull_map_find(&waits->by_number, peer->ack_sent)].is_nagle = true;
    }
    if (is_held && peer->ack_late_ns != INT64_MIN && half->trip_ns != INT64_MIN &&
        t - peer->ack_ns < AT_ONCE_NS &&
        peer->ack_ns - peer->ack_late_ns >= DELAYED_NS + half->trip_ns) {
        /* As if both ways took the same time. */
        half->held = (struct again){1, peer->ack_late_ns + half->trip_ns / 2,
                                    peer->ack_ns - half->trip_ns / 2};
    }
    peer->ack_late_ns = INT64_MIN;
    peer->ack_sent = LULL_NONE;
    if (packet->tcp_flags & ACK) {
        /* Several may come before the first of them is acknowledged. */
        peer->unacked_ns = peer->unacked_ns != INT64_MIN && is_after(peer->data_end, packet->ack)
                               ? peer->data_ns
                               : INT64_MIN;
        peer->unacked = peer->came;
        peer->answered = packet->ack;
        peer->has_answered = true;
    }
}

/* Bytes came. What brings the first that is not acknowledged may do so for the second time: there was no room. */
static void data_received(struct half *half, const struct lull_packet_fact *fact)
{
    const struct lull_net_packet *packet = fact->packet;
    const uint32_t end = packet->seq + length_of(packet);
    const bool is_next = half->has_answered && !is_after(packet->seq, half->answered) &&
                         is_after(end, half->answered);
    if (half->unacked_ns == INT64_MIN || is_next) {
        half->unacked_ns = packet->time_ns;
        half->unacked = fact->number;
        half->data_end = end;
    } else if (is_after(end, half->data_end)) {
        half->data_end = end;
    }
    half->data_ns = packet->time_ns;
    half->came = fact->number;
}

static void sent(struct lull_tcp_waits *waits, const struct lull_packet_fact *fact)
{
    const struct lull_net_packet *packet = fact->packet;
    const struct ends ends = ends_of(waits, packet);
    struct half *half = half_at(waits, ends.along), *peer = half_at(waits, ends.back);
    if (packet->tcp_flags & SYN) {
        syn_sent(waits, half, fact);
        return;
    }
    if (length_of(packet) && !(packet->tcp_flags & RST)) {
        data_sent(waits, half, fact);
    }
    if (peer) {
        after_received(waits, fact, half, peer);
    }
    if (packet->payload) {
        note_size(half, packet);
        note_used(half, packet->seq + packet->payload);
    }
}

/* ---- received ---- */

/* A copy came of what was sent again at that note. Once as many have come as were sent, none was lost: it was the first that
 * ended the wait, and sending it again had no part in it. */
static void count_arrival(struct lull_tcp_waits *waits, const struct lull_packet_fact *fact,
                          uint32_t sent, uint32_t original, const struct lull_tcp_wait_note *last)
{
    const uint64_t key = (uint64_t)original << 32 | fact->packet->seq;
    const uint32_t at = lull_map_find(&waits->by_original, key);
    if (at == LULL_MAP_NONE) {
        lull_map_insert(&waits->by_original, key, waits->arrivals.count);
        lull_vec_push(&waits->arrivals,
                      (struct arrivals){.first = fact->number, .last_sent = sent});
        return;
    }
    struct arrivals *arrivals = &waits->arrivals.items[at];
    if (arrivals->last_sent == sent) { /* on another device */
        return;
    }
    arrivals->last_sent = sent;
    if (++arrivals->more == last->times) {
        const struct lull_tcp_wait_note *note = lull_tcp_waits_find(waits, arrivals->first);
        if (note && note->kind == last->kind) {
            lull_map_remove(&waits->by_number, arrivals->first);
        }
    }
}

/* What is known of the packet as it was sent. */
static void note_as_sent(struct lull_tcp_waits *waits, struct half *half,
                         const struct lull_packet_fact *fact, uint32_t sent)
{
    const uint32_t number = fact->number;
    uint32_t found = lull_map_find(&waits->by_number, sent), original = sent;
    if (found == LULL_MAP_NONE || waits->notes.items[found].kind > LULL_TCP_SYN_AGAIN) {
        found = lull_map_find(&waits->by_lost, sent);
    } else if (waits->notes.items[found].lost != LULL_NONE) {
        original = waits->notes.items[found].lost;
    }
    if (found != LULL_MAP_NONE) {
        const struct lull_tcp_wait_note again = waits->notes.items[found];
        tcp_note(waits, number, again.kind, again.first_ns, again.last_ns, again.times);
        const uint32_t last = lull_map_find(&waits->by_lost, original);
        if (last != LULL_MAP_NONE) {
            count_arrival(waits, fact, sent, original, &waits->notes.items[last]);
            half->late_seq = fact->packet->seq;
            half->late_length = length_of(fact->packet);
            half->late_original = original;
            half->late_skb = fact->packet->skb;
        }
    }
}

/* A copy that is like one that came, but in a buffer of its own: what was sent again from the same buffer is not matched. */
static void note_copy(struct lull_tcp_waits *waits, struct half *half,
                      const struct lull_packet_fact *fact)
{
    const struct lull_net_packet *packet = fact->packet;
    if (half->late_original != LULL_NONE && packet->skb && packet->skb != half->late_skb &&
        packet->seq == half->late_seq && length_of(packet) == half->late_length) {
        half->late_skb = packet->skb;
        count_arrival(waits, fact, fact->number, half->late_original,
                      &waits->notes.items[lull_map_find(&waits->by_lost, half->late_original)]);
    }
}

/* Whether the packet accepts or refuses the SYN that was sent again. If its sender had done so before that, the first SYN was
 * only slow. */
static bool answers_syn_again(const struct lull_net_packet *packet, const struct half *own,
                              const struct half *sender)
{
    if (packet->tcp_flags & RST) {
        return !own->pieces.has_end;
    }
    const bool is_slow = sender && sender->has_syn && sender->syn.times == 0 &&
                         own->syn.times == 1 && sender->syn_ns < own->syn.last_ns;
    return packet->tcp_flags & SYN && packet->tcp_flags & ACK && !is_slow;
}

/* What its sender, or this host of what it answers, had to send again. */
static void note_again(struct lull_tcp_waits *waits, struct half *half,
                       const struct lull_packet_fact *fact, uint32_t sent_number,
                       const struct half *sender, const struct half *own, int64_t before_ns)
{
    const struct lull_net_packet *packet = fact->packet;
    const bool is_syn = packet->tcp_flags & SYN;
    struct lull_tcp_piece piece;
    if (sent_number != LULL_NONE && (is_syn || length_of(packet))) {
        if (!is_syn && sender &&
            lull_tcp_pieces_again(&sender->pieces, packet->seq, length_of(packet), &piece)) {
            tcp_note(waits, fact->number, LULL_TCP_SENT_AGAIN, piece.first_ns, piece.last_ns,
                     piece.times);
        }
        note_as_sent(waits, half, fact, sent_number);
    } else if (length_of(packet)) {
        note_copy(waits, half, fact);
    }
    if (own && own->syn.times && answers_syn_again(packet, own, sender)) {
        tcp_note(waits, fact->number, LULL_TCP_SYN_AGAIN, own->syn.first_ns, own->syn.last_ns,
                 own->syn.times);
    } else if (is_data(packet) && sent_number == LULL_NONE && own && own->data.times &&
               own->data.last_ns > before_ns) {
        tcp_note(waits, fact->number, LULL_TCP_SENT_AGAIN, own->data.first_ns, own->data.last_ns,
                 own->data.times);
    } else if (is_data(packet) && sent_number == LULL_NONE && own && own->held.times &&
               own->held.last_ns > before_ns) {
        tcp_note(waits, fact->number, LULL_TCP_DELAYED_ACK, own->held.first_ns, own->held.last_ns,
                 0);
        struct lull_tcp_wait_note *made =
            &waits->notes.items[lull_map_find(&waits->by_number, fact->number)];
        made->is_nagle = made->is_before = true;
    }
}

static void note_opened(struct lull_tcp_waits *waits, const struct lull_packet_fact *fact,
                        int64_t closed_ns)
{
    const struct lull_net_packet *packet = fact->packet;
    tcp_note(waits, fact->number, LULL_TCP_ZERO_WINDOW, closed_ns, packet->time_ns, 0);
    if (packet->flow == LULL_NONE) {
        return;
    }
    uint32_t at = lull_map_find(&waits->windows_of, packet->flow);
    if (at == LULL_MAP_NONE) {
        at = (uint32_t)waits->windows.count;
        memset(lull_vec_add(&waits->windows), 0, sizeof *waits->windows.items);
        lull_map_insert(&waits->windows_of, packet->flow, at);
    }
    const struct window window = {.note = {.first_ns = closed_ns,
                                           .last_ns = packet->time_ns,
                                           .kind = LULL_TCP_ZERO_WINDOW,
                                           .delayed = LULL_NONE,
                                           .lost = LULL_NONE},
                                  .host = packet->host};
    lull_vec_push(&waits->windows.items[at].list, window);
}

static void window_received(struct lull_tcp_waits *waits, const struct lull_packet_fact *fact,
                            struct half *half)
{
    const struct lull_net_packet *packet = fact->packet;
    const int64_t t = packet->time_ns;
    if (packet->window == 0 && half->closed_ns == INT64_MIN) {
        half->closed_ns = t;
        half->closed = fact->number;
    } else if (packet->window != 0 && half->closed_ns != INT64_MIN) {
        note_opened(waits, fact, half->closed_ns);
        half->opened_ns = t;
        half->opened_since_ns = half->closed_ns;
        half->opened_seq = packet->seq;
        half->opened_ack = packet->ack;
        half->closed_ns = INT64_MIN;
    } else if (half->opened_ns != INT64_MIN && t - half->opened_ns < LULL_TCP_AGAIN_NS &&
               packet->seq == half->opened_seq && packet->ack == half->opened_ack) {
        tcp_note(waits, fact->number, LULL_TCP_ZERO_WINDOW, half->opened_since_ns, half->opened_ns,
                 0);
    }
}

/* What the other end says of its room, in `half`, for what is sent to it, `own`. Windows are shifted by a number that only the SYNs'
 * options tell, but theirs are not (RFC 7323, 2.2), and where a window ends is never taken back (RFC 9293, 3.8.6;
 * tcp_select_window() of Linux): so they are shifted by so much at least that it is not. One of 0 may be for want of memory. */
static void room_received(struct half *half, struct half *own, const struct lull_net_packet *packet)
{
    enum { MOST_SHIFT = 14 };
    if (packet->tcp_flags & SYN) {
        half->first_window = packet->window;
        half->has_first_window = true;
    }
    if (!own || !(packet->tcp_flags & ACK) || packet->ack != own->pieces.acked) {
        return;
    }
    if (!own->has_room) {
        const uint32_t window = half->has_first_window ? half->first_window : packet->window;
        own->room_end = packet->ack + window;
        own->has_room = true;
    }
    if (packet->window == 0 || packet->tcp_flags & SYN) {
        return;
    }
    const uint32_t window = packet->window & UINT16_MAX, room = own->room_end - packet->ack;
    while (own->shift < MOST_SHIFT && is_after(own->room_end, packet->ack) &&
           (window + 1) << own->shift <= room) {
        own->shift++;
    }
    note_used(own, packet->ack + (window << own->shift));
}

/* When the last byte was sent, if the acknowledgement is the first of all that was; or INT64_MIN. */
static int64_t all_sent(const struct lull_tcp_pieces *pieces, uint32_t ack)
{
    return pieces->has_end && pieces->end == ack && (!pieces->has_acked || pieces->acked != ack)
               ? pieces->all.items[pieces->all.count - 1].last_ns
               : INT64_MIN;
}

static void received(struct lull_tcp_waits *waits, const struct lull_packet_fact *fact,
                     uint32_t sent_number, uint32_t sent_host)
{
    const struct lull_net_packet *packet = fact->packet;
    const bool is_matched = sent_number != LULL_NONE;
    /* The sender's, if it is on another host, may be new. */
    const uint32_t other = is_matched && !packet->has_numbers && sent_host != packet->host
                               ? half_of(waits, packet, sent_host, false)
                               : LULL_NONE;
    const struct ends ends = ends_of(waits, packet);
    struct half *half = half_at(waits, ends.along), *back = half_at(waits, ends.back);
    const struct half *sender = is_matched && !packet->has_numbers && sent_host == packet->host
                                    ? half
                                    : half_at(waits, other);
    const int64_t before_ns = half->data_ns;
    if (packet->tcp_flags & SYN) {
        forget_received(half); /* of a connection between the same ports before */
    } else if (is_data(packet)) {
        data_received(half, fact);
    } else if (!(packet->tcp_flags & (FIN | RST)) &&
               (!is_delayed(waits, half->ack_sent) ||
                packet->time_ns - half->ack_ns >= LULL_TCP_AGAIN_NS)) {
        half->ack_ns = packet->time_ns;
        half->ack_sent = sent_number;
        if (back) {
            back->had_room = back->has_room;
            back->held_room_end = back->room_end;
        }
        half->ack_late_ns = !is_matched && back ? all_sent(&back->pieces, packet->ack) : INT64_MIN;
    }
    if (back && packet->tcp_flags & SYN && packet->tcp_flags & ACK && !back->syn.times) {
        back->trip_ns = packet->time_ns - back->syn_ns;
    }
    if (back && packet->tcp_flags & ACK) {
        lull_tcp_pieces_ack(&back->pieces, packet->ack);
    }
    note_again(waits, half, fact, sent_number, sender, back, before_ns);
    if (packet->has_window && !(packet->tcp_flags & RST)) {
        room_received(half, back, packet);
        if (!(packet->tcp_flags & SYN)) {
            window_received(waits, fact, half);
        }
    }
}

void lull_tcp_waits_feed(struct lull_tcp_waits *waits, const struct lull_packet_fact *fact,
                         uint32_t sent_number, uint32_t sent_host)
{
    const struct lull_net_packet *packet = fact->packet;
    if (packet->ip_version == 0 && packet->is_send && fact->in_interrupt &&
        fact->context_cause == LULL_CAUSE_TIMER) {
        lull_map_insert(&waits->by_timer, fact->number, waits->timer_ns.count);
        lull_vec_push(&waits->timer_ns, packet->time_ns);
    }
    if (packet->protocol != TCP || (packet->flow == LULL_NONE && !packet->socket)) {
        return;
    }
    if (packet->is_send) {
        sent(waits, fact);
    } else {
        received(waits, fact, sent_number, sent_host);
    }
}

const struct lull_tcp_wait_note *lull_tcp_waits_find(const struct lull_tcp_waits *waits,
                                                     uint32_t number)
{
    const uint32_t found = lull_map_find(&waits->by_number, number);
    return found == LULL_MAP_NONE ? NULL : &waits->notes.items[found];
}

const struct lull_tcp_wait_note *lull_tcp_waits_window(const struct lull_tcp_waits *waits,
                                                       uint32_t flow, uint32_t host,
                                                       int64_t start_ns, int64_t end_ns)
{
    const uint32_t at = lull_map_find(&waits->windows_of, flow);
    if (at == LULL_MAP_NONE) {
        return NULL;
    }
    const struct window *list = waits->windows.items[at].list.items;
    const uint32_t count = (uint32_t)waits->windows.items[at].list.count;
    uint32_t i = LULL_LOWER_BOUND(k, count, list[k].note.last_ns <= end_ns);
    while (i > 0 && list[i - 1].note.last_ns > start_ns) {
        if (list[--i].host == host) {
            return &list[i].note;
        }
    }
    return NULL;
}
