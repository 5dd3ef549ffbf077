/* SPDX-License-Identifier: MIT */
/* Pairs received packets with sent ones: first by the buffer address on one host, then by the bytes
 * or the numbers in the headers among the packets that wait in the same direction of the same flow.
 */
#include "clock/match.h"

#include <glib.h>

#include "clock/match_flows.h"
#include "clock/skbs.h"
#include "kernel/states.h"

enum {
    MAX_WAITING = 4096,    /* per queue */
    MAX_PAYLOAD = 1 << 24, /* more is not a packet */
    TCP = 6,
    ICMP4 = 1,
    ICMP6 = 58,
    FIN = 1,
    SYN = 2,
    RST = 4,
    ACK = 16,
};

#define FORGET_NS INT64_C(60000000000)
#define FORGET_WEAK_NS INT64_C(1000000000)
/* A virtual device hands a packet over at the next softirq. */
#define PASS_NS INT64_C(100000000)

struct lull_matcher {
    bool ordered;
    struct lull_match_flows flows;
    struct lull_skbs skbs;
    GArray *ready; /* struct lull_match, completed by the last packet and not handed out yet */
    guint n_taken; /* of ready */
    uint32_t passed_on;
};

/* A packet as it is compared. */
struct subject {
    const struct lull_net_packet *packet;
    struct lull_skb
        is; /* with its number of the first byte, or the first half of the key; its rest is the second half */
    uint32_t id;
    unsigned direction;
    bool is_bytes;
    bool is_sequenced; /* its flow is one direction of one connection of TCP */
    bool is_weak;      /* nothing but ports and size distinguishes it from the next one */
    int64_t first;     /* `number`, unwrapped */
    struct lull_match_flow_direction *flow;
    struct lull_match_flow_role *role; /* unordered only */
};

struct lull_matcher *lull_matcher_new(bool ordered)
{
    struct lull_matcher *matcher = g_new0(struct lull_matcher, 1);

    matcher->ordered = ordered;
    matcher->ready = g_array_new(FALSE, FALSE, sizeof(struct lull_match));
    return matcher;
}

void lull_matcher_free(struct lull_matcher *matcher)
{
    if (!matcher) {
        return;
    }
    lull_match_flows_clear(&matcher->flows);
    lull_skbs_clear(&matcher->skbs);
    g_array_unref(matcher->ready);
    g_free(matcher);
}

static int64_t earlier(int64_t time_ns, int64_t by_ns)
{
    return time_ns < INT64_MIN + by_ns ? INT64_MIN : time_ns - by_ns;
}

/* The buffer with the packet, as it is told from others. */
static inline struct lull_skb buffer_of(const struct lull_net_packet *packet, uint32_t id)
{
    struct lull_skb is = {.skb = packet->skb,
                          .time_ns = packet->time_ns,
                          .host = packet->host,
                          .id = id,
                          .flow = packet->flow,
                          .device = packet->device,
                          .length = packet->length,
                          .ip_id = packet->ip_id,
                          .is_loopback = packet->is_loopback,
                          .is_waiting = true};

    is.has_headers = packet->has_numbers || ((packet->ip_version == 4 || packet->ip_version == 6) &&
                                             packet->payload <= MAX_PAYLOAD);
    if (!is.has_headers) {
        return is;
    }
    if (packet->protocol == TCP && packet->payload && !packet->has_numbers) {
        is.bytes = packet->payload;
        is.number = packet->seq + !!(packet->tcp_flags & SYN);
        is.rest = LULL_PENDING_BYTES;
    } else if (packet->protocol == TCP) {
        is.number = packet->seq;
        is.rest = (uint64_t)packet->ack << 16 | packet->tcp_flags;
    } else {
        bool is_icmp = packet->protocol == ICMP4 || packet->protocol == ICMP6;

        is.number = packet->ip_version == 4 ? packet->ip_id : 0;
        is.rest = (is_icmp ? (uint64_t)packet->icmp_rest << 32 : 0) | packet->payload;
    }
    return is;
}

static struct subject describe(const struct lull_net_packet *packet, uint32_t id)
{
    struct subject s = {.packet = packet, .is = buffer_of(packet, id), .id = id};
    const bool is_tcp = packet->protocol == TCP;

    s.is_sequenced = is_tcp && s.is.has_headers && !packet->has_numbers;
    s.is_bytes = s.is.bytes > 0;
    s.is_weak = !is_tcp && s.is.number == 0 && s.is.rest >> 32 == 0;
    return s;
}

/* Sequence numbers wrap at 2^32; the nearest to the one before is meant. Ordered, that is the
 * latest of the direction; otherwise the latest of the host, because another host may be far ahead
 * by its clock. */
static void unwrap(struct subject *s, bool ordered)
{
    struct lull_match_flow_direction *flow = s->flow;

    if (!s->is_sequenced) {
        s->first = s->is.number;
        return;
    }
    if (!flow->is_sequenced) {
        flow->is_sequenced = true;
        flow->sequence = s->is.number;
    }
    int64_t before = ordered || !s->role->is_sequenced ? flow->sequence : s->role->sequence;

    s->first = before + (int32_t)(s->is.number - (uint32_t)before);
    if (s->packet->tcp_flags & RST) { /* may have any number */
        return;
    }
    if (ordered) {
        flow->sequence = s->first;
    } else {
        s->role->is_sequenced = true;
        s->role->sequence = s->first;
    }
}

/* Finds the packet's flow, and its place there. False if there is none. */
static bool locate(struct lull_matcher *matcher, struct subject *s, bool create)
{
    int64_t horizon = matcher->ordered ? earlier(s->packet->time_ns, FORGET_NS) : INT64_MIN;
    struct lull_match_flow *flow =
        lull_match_flows_get(&matcher->flows, s->packet, create, horizon, &s->direction);

    if (!flow) {
        return false;
    }
    flow->used_ns = s->packet->time_ns;
    s->flow = &flow->directions[s->direction];
    if (!matcher->ordered) {
        s->role = lull_match_flow_role_of(s->flow, s->packet->host, false);
        if (!s->role) {
            s->role = lull_match_flow_role_of(s->flow, s->packet->host, true);
            if (!s->role) {
                return false;
            }
            s->role->is_origin = s->packet->is_send;
        }
    }
    unwrap(s, matcher->ordered);
    return true;
}

static void wait_in(struct lull_matcher *matcher, struct lull_pending_queue *queue,
                    const struct subject *s, int64_t first, uint32_t taken)
{
    struct lull_pending entry = {
        .time_ns = s->packet->time_ns,
        .first = first,
        .rest = s->is.rest,
        .skb = s->packet->skb,
        .bytes = s->is.bytes,
        .taken = taken,
        .host = s->packet->host,
        .id = s->id,
    };

    if (queue->count >= MAX_WAITING && matcher->ordered) {
        lull_pending_expire(queue, earlier(entry.time_ns, FORGET_NS));
    }
    if (queue->count >= MAX_WAITING && matcher->ordered) {
        lull_pending_drop_older_half(queue);
    } else if (queue->count >= MAX_WAITING) {
        lull_pending_thin(queue);
    }
    lull_pending_insert(queue, &entry);
    matcher->flows.entries++;
}

static struct lull_match match_of(const struct subject *s, uint32_t id, uint32_t host,
                                  int64_t time_ns)
{
    struct lull_match match;

    if (s->packet->is_send) {
        match = (struct lull_match){s->id, id, s->packet->host, host, s->packet->time_ns, time_ns};
    } else {
        match = (struct lull_match){id, s->id, host, s->packet->host, time_ns, s->packet->time_ns};
    }
    return match;
}

/* --- not ordered: what may be used to join clocks --- */

/* A packet of one host may be the packet of another if their order on the way is certain: the
 * sender is where the flow starts, or the receiver is where it ends, which shows in the direction
 * back. */
static bool is_certain(const struct lull_matcher *matcher, const struct subject *s, uint32_t sender,
                       uint32_t receiver)
{
    if (matcher->ordered || s->packet->has_numbers) { /* TCP is at both ends, not on the way */
        return true;
    }
    struct lull_match_flow_role *from = lull_match_flow_role_of(s->flow, sender, false);

    if (from && from->is_origin) {
        return true;
    }
    /* directions[] are neighbours */
    struct lull_match_flow_direction *back = s->direction ? s->flow - 1 : s->flow + 1;
    struct lull_match_flow_role *to = lull_match_flow_role_of(back, receiver, false);

    return to && to->is_origin;
}

/* Whether the TCP packet is new to its host: neither sent (received) before nor, as far as can be
 * seen, a repetition of something before the trace started. Remembers it. */
static bool is_new(const struct subject *s)
{
    struct lull_match_flow_role *role = s->role;
    bool is_send = s->packet->is_send;
    bool *has = is_send ? &role->has_sent : &role->has_received;
    int64_t *to = is_send ? &role->sent_to : &role->received_to;
    uint32_t *ack = is_send ? &role->sent_ack : &role->received_ack;
    uint16_t flags = s->packet->tcp_flags;
    int64_t start = s->first, end = start + s->is.bytes + !!(flags & FIN);
    bool result;

    if (flags & RST) {
        return false;
    }
    if (flags & SYN && !s->is_bytes) {
        result = !*has || *to != start + 1;
        *to = start + 1;
        *ack = s->packet->ack;
        *has = true;
        return result;
    }
    if (s->is_bytes) {
        /* Receives may come in other pieces than before, but their last byte must be new. */
        result = !*has || (is_send ? start >= *to : start + s->is.bytes > *to);
    } else if (flags & FIN) {
        result = *has && end > *to;
    } else {
        result = *has && (int32_t)(s->packet->ack - *ack) > 0;
    }
    if (!*has || end > *to) {
        *to = end;
    }
    if (!*has || (int32_t)(s->packet->ack - *ack) > 0) {
        *ack = s->packet->ack;
    }
    *has = true;
    return result;
}

/* The host received its own packet, to send it on: then that is the one that leaves. */
static void forget_sent(const struct subject *s)
{
    if (!s->role || !s->is_sequenced) {
        return;
    }
    s->role->sent_to = MIN(s->role->sent_to, s->first);
    if (!s->is_bytes && (int32_t)(s->role->sent_ack - s->packet->ack) >= 0) {
        s->role->sent_ack = s->packet->ack - 1;
    }
}

/* --- what waits --- */

/* A receive ends the wait of all sends of that host whose bytes it brought. */
static void take(struct lull_pending_queue *sends, uint32_t index, const struct subject *receive,
                 int64_t first, int64_t last)
{
    struct lull_pending *send = lull_pending_at(sends, index);
    uint32_t host = send->host;

    if (!receive->is_bytes) {
        lull_pending_remove(sends, index);
        return;
    }
    send->taken = (uint32_t)(last - send->first + 1);
    if (send->taken == send->bytes) {
        lull_pending_remove(sends, index);
    }
    for (uint32_t i = lull_pending_find(sends, first, 0); i < sends->count;) {
        const struct lull_pending *other = lull_pending_at(sends, i);

        if (other->first > last) {
            break;
        }
        if (other->rest == LULL_PENDING_BYTES && other->host == host &&
            other->first + other->bytes - 1 <= last) {
            lull_pending_remove(sends, i);
        } else {
            i++;
        }
    }
}

static int64_t horizon_of(const struct lull_matcher *matcher, const struct subject *s)
{
    return matcher->ordered ? earlier(s->packet->time_ns, s->is_weak ? FORGET_WEAK_NS : FORGET_NS)
                            : INT64_MIN;
}

/* Ordered: of sends that are alike, as acknowledgements are that repeat another, those before may be lost: the last one that
 * has been under way for about as long as it takes. */
static uint32_t find_like(const struct lull_matcher *matcher, const struct subject *s)
{
    const struct lull_pending_queue *sends = &s->flow->sends;
    const int64_t horizon = horizon_of(matcher, s);
    uint32_t found = LULL_NONE;
    int64_t age = 0;
    bool is_only = true;

    for (uint32_t i = lull_pending_find(sends, s->first, s->is.rest + 1); i-- > 0;) {
        const struct lull_pending *send = lull_pending_at(sends, i);

        if (send->first != s->first || send->rest != s->is.rest || send->time_ns < horizon) {
            break;
        }
        is_only = found == LULL_NONE;
        if (!is_only && age >= s->flow->transit_ns / 2) {
            break;
        }
        found = i;
        age = s->packet->time_ns - send->time_ns;
    }
    if (found != LULL_NONE && is_only && (s->flow->transit_ns == 0 || age < s->flow->transit_ns)) {
        s->flow->transit_ns = age;
    }
    return found;
}

/* The oldest waiting send that `s`, a receive, may be the other end of; on its own host only if
 * `local`. */
static uint32_t find_send(const struct lull_matcher *matcher, const struct subject *s, bool local)
{
    const struct lull_pending_queue *sends = &s->flow->sends;
    int64_t last = s->first + (s->is_bytes ? s->is.bytes - 1 : 0);
    int64_t horizon = horizon_of(matcher, s);
    uint32_t found = LULL_NONE, found_id = 0;
    uint32_t i = s->is_bytes ? lull_pending_find(sends, last + 1, 0)
                             : lull_pending_find(sends, s->first, s->is.rest + 1);

    if (matcher->ordered && !s->is_bytes) {
        return find_like(matcher, s);
    }
    while (i-- > 0) {
        const struct lull_pending *send = lull_pending_at(sends, i);
        bool fits;

        if (s->is_bytes) {
            if (last - send->first >= sends->longest) {
                break;
            }
            fits = send->rest == LULL_PENDING_BYTES && last - send->first < send->bytes &&
                   last - send->first >= send->taken;
        } else {
            if (send->first != s->first || send->rest != s->is.rest) {
                break;
            }
            fits = !send->is_ambiguous;
        }
        if (!fits || send->time_ns < horizon || (found != LULL_NONE && send->id > found_id)) {
            continue;
        }
        if (matcher->ordered || (local ? send->host == s->packet->host
                                       : send->host != s->packet->host &&
                                             is_certain(matcher, s, send->host, s->packet->host))) {
            found = i;
            found_id = send->id;
        }
    }
    return found;
}

/* Marks a waiting packet with the same key: of any host, or of the same host if `same_host`. */
static bool mark_repeated(struct lull_pending_queue *queue, const struct subject *s, int64_t first,
                          bool same_host)
{
    bool result = false;

    for (uint32_t i = lull_pending_find(queue, first, s->is.rest); i < queue->count; i++) {
        struct lull_pending *other = lull_pending_at(queue, i);

        if (other->first != first || other->rest != s->is.rest) {
            break;
        }
        if (same_host && other->host != s->packet->host) {
            continue;
        }
        other->is_ambiguous = result = true;
    }
    return result;
}

static bool is_same_packet_again(const struct subject *s)
{
    const struct lull_pending_queue *sends = &s->flow->sends;

    for (uint32_t i = lull_pending_find(sends, s->first, s->is.rest); i < sends->count; i++) {
        const struct lull_pending *other = lull_pending_at(sends, i);

        if (other->first != s->first || other->rest != s->is.rest) {
            return false;
        }
        if (s->packet->skb && other->skb == s->packet->skb && other->host == s->packet->host &&
            other->bytes == s->is.bytes) {
            return true;
        }
    }
    return false;
}

/* --- feeding --- */

/* Not ordered: receives of other hosts that came before this send. */
static void meet_receives(struct lull_matcher *matcher, const struct subject *s)
{
    struct lull_pending_queue *receives = &s->flow->receives;
    int64_t end = s->is_bytes ? s->first + s->is.bytes : s->first + 1;
    uint32_t taken = 0;
    bool is_done = false;

    for (uint32_t i = lull_pending_find(receives, s->first, s->is_bytes ? 0 : s->is.rest);
         i < receives->count && !is_done;) {
        const struct lull_pending receive = *lull_pending_at(receives, i);
        uint32_t to = s->is_bytes ? (uint32_t)(receive.first - s->first + 1) : 0;

        if (receive.first >= end || (!s->is_bytes && receive.rest != s->is.rest)) {
            break;
        }
        if (receive.rest != s->is.rest || receive.host == s->packet->host ||
            (s->is_bytes && to <= taken) ||
            !is_certain(matcher, s, s->packet->host, receive.host)) {
            i++;
            continue;
        }
        if (receive.is_ambiguous) {
            return;
        }
        struct lull_match match = match_of(s, receive.id, receive.host, receive.time_ns);

        g_array_append_val(matcher->ready, match);
        lull_pending_remove(receives, i);
        taken = to;
        is_done = !s->is_bytes;
    }
    if (!is_done && (!s->is_bytes || taken < s->is.bytes)) {
        wait_in(matcher, &s->flow->sends, s, s->first, taken);
    }
}

static void put_buffer(struct lull_matcher *matcher, const struct lull_skb *sent)
{
    lull_skbs_put(&matcher->skbs, sent,
                  matcher->ordered ? earlier(sent->time_ns, FORGET_NS) : INT64_MIN);
}

static void feed_send(struct lull_matcher *matcher, struct subject *s)
{
    matcher->passed_on = lull_skbs_passed_on(&matcher->skbs, &s->is);
    put_buffer(matcher, &s->is);
    if (!s->is.has_headers || !locate(matcher, s, true)) {
        return;
    }
    if (matcher->ordered) {
        if (!is_same_packet_again(s)) {
            wait_in(matcher, &s->flow->sends, s, s->first, 0);
        }
        return;
    }
    if (s->is_sequenced ? !is_new(s)
                        : s->is_weak || mark_repeated(&s->flow->sends, s, s->first, false)) {
        return;
    }
    meet_receives(matcher, s);
}

/* Whether a buffer without headers is the packet that was sent: on loopback, or from one virtual
 * device to another (a veth pair, a bridge, a tunnel) at once and less no more than the Ethernet
 * header. A buffer that left through a network card is freed, and may soon hold what that card
 * receives. */
static bool has_passed(const struct lull_skb *sent, const struct lull_net_packet *packet)
{
    if (sent->is_loopback || packet->is_loopback) {
        return sent->is_loopback && packet->is_loopback;
    }
    return sent->device != 0 && packet->device != 0 && sent->device != packet->device &&
           packet->time_ns >= sent->time_ns && packet->time_ns - sent->time_ns <= PASS_NS &&
           (sent->length == packet->length ||
            sent->length == packet->length + LULL_SKB_ETHERNET_HEADER);
}

/* The send of the same buffer on the same host. */
static bool meet_skb(struct lull_matcher *matcher, const struct lull_skb *is,
                     const struct lull_net_packet *packet, struct lull_match *match)
{
    struct lull_skb *sent = lull_skbs_find(&matcher->skbs, is->host, is->skb);

    if (!sent || !sent->is_waiting || sent->has_headers != is->has_headers) {
        return false;
    }
    if (is->has_headers ? sent->flow != is->flow || sent->rest != is->rest ||
                              sent->number != is->number || sent->bytes != is->bytes
                        : !has_passed(sent, packet)) {
        return false;
    }
    sent->is_waiting = false;
    *match =
        (struct lull_match){sent->id, is->id, sent->host, is->host, sent->time_ns, is->time_ns};
    return true;
}

/* The receive has met its send in the same buffer. */
static void end_wait(struct lull_matcher *matcher, struct subject *s, uint32_t sent)
{
    if (!s->is.has_headers || !locate(matcher, s, false)) {
        return;
    }
    struct lull_pending_queue *sends = &s->flow->sends;

    for (uint32_t i = lull_pending_find(sends, s->first, s->is.rest); i < sends->count; i++) {
        const struct lull_pending *send = lull_pending_at(sends, i);

        if (send->first != s->first || send->rest != s->is.rest) {
            break;
        }
        if (send->id == sent) {
            lull_pending_remove(sends, i);
            break;
        }
    }
    forget_sent(s);
}

static bool feed_receive(struct lull_matcher *matcher, struct subject *s, struct lull_match *match)
{
    const bool is_again = lull_skbs_has_come(&matcher->skbs, &s->is);

    if (meet_skb(matcher, &s->is, s->packet, match)) {
        end_wait(matcher, s, match->send);
        return true;
    }
    if (is_again) {
        return false;
    }
    if (!s->is.has_headers || !locate(matcher, s, !matcher->ordered)) {
        return false;
    }
    int64_t last = s->first + (s->is_bytes ? s->is.bytes - 1 : 0);
    uint32_t found = find_send(matcher, s, true);

    if (!matcher->ordered && found != LULL_NONE) {
        forget_sent(s);
    } else if (!matcher->ordered) {
        if (s->is_sequenced ? !is_new(s) : s->is_weak) {
            return false;
        }
        found = find_send(matcher, s, false);
        if (found == LULL_NONE &&
            (s->is_bytes || !mark_repeated(&s->flow->receives, s, last, true))) {
            wait_in(matcher, &s->flow->receives, s, last, 0);
        }
    }
    if (found == LULL_NONE) {
        return false;
    }
    const struct lull_pending *send = lull_pending_at(&s->flow->sends, found);

    *match = match_of(s, send->id, send->host, send->time_ns);
    take(&s->flow->sends, found, s, s->first, last);
    return true;
}

/* It is received in the buffer that it was sent in, or not at all. */
static bool feed_loopback(struct lull_matcher *matcher, const struct lull_net_packet *packet,
                          uint32_t id, struct lull_match *match)
{
    const struct lull_skb is = buffer_of(packet, id);

    if (!packet->is_send) {
        return meet_skb(matcher, &is, packet, match);
    }
    put_buffer(matcher, &is);
    return false;
}

bool lull_matcher_feed(struct lull_matcher *matcher, const struct lull_net_packet *packet,
                       uint32_t id, struct lull_match *match)
{
    if (matcher->ready->len) {
        g_array_set_size(matcher->ready, 0);
        matcher->n_taken = 0;
    }
    matcher->passed_on = LULL_NONE;
    if (matcher->ordered && packet->is_loopback && packet->skb) {
        return feed_loopback(matcher, packet, id, match);
    }
    struct subject s = describe(packet, id);
    if (!packet->is_send) {
        return feed_receive(matcher, &s, match);
    }
    feed_send(matcher, &s);
    return lull_matcher_more(matcher, match);
}

bool lull_matcher_more(struct lull_matcher *matcher, struct lull_match *match)
{
    if (matcher->n_taken == matcher->ready->len) {
        return false;
    }
    *match = g_array_index(matcher->ready, struct lull_match, matcher->n_taken++);
    return true;
}

uint32_t lull_matcher_passed_on(const struct lull_matcher *matcher)
{
    return matcher->passed_on;
}
