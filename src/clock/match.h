/* SPDX-License-Identifier: MIT */
/* Pairs each received packet with the packet that was sent: the same bytes of the same connection.
 */
#ifndef LULL_CLOCK_MATCH_H
#define LULL_CLOCK_MATCH_H

#include "kernel/net_packet.h"

struct lull_matcher;

struct lull_match {
    uint32_t send, receive; /* ids given to lull_matcher_feed() */
    uint32_t send_host, receive_host;
    int64_t send_ns, receive_ns;
};

/* What belongs together: the same direction of the same flow (addresses, protocol, ports), and
 * - TCP with payload: a send whose bytes contain the receive's last byte (segmentation and receive
 *   offload cut differently);
 * - TCP without payload, or without addresses: the same sequence and acknowledgement numbers and
 *   flags;
 * - ICMP: the same IP id, identifier and sequence number;
 * - others: the same IP id and payload size;
 * - on one host: the same skb address (with the same headers, or without headers on loopback or
 *   from one virtual device to another). What comes in by a port of a bridge comes again by the bridge, in the same buffer:
 *   that is no other packet. On loopback nothing else counts, if the address is known.
 *
 * `ordered`: packets come in the order of a joined clock. A receive is matched with the oldest send
 * of its bytes (the first, if it was sent again) that is not received yet; without bytes, of sends that are alike, with the
 * newest that has been under way for at least half of the shortest transit so far: those before may be lost. A send is forgotten
 * after 60 s, or after 1 s if nothing but ports and size identify it. Not ordered: any order
 * between hosts, time order within a host. Matches serve to join clocks, so what could be taken for
 * another packet is left out: what was sent or received again, keys without an identity (IPv6 other
 * than TCP), and packets that several hosts forward, unless one of the two is an end of the flow. A
 * false match would do more harm than a missing one.
 *
 * Memory is bounded: at most 4096 packets wait per direction of a flow (ordered: the newest;
 * otherwise every second is dropped when it is full, so that what remains covers the whole time),
 * 2^20 in all, 65536 flows.
 *
 * What belongs together has the same numbers in `flow` of the packet (lull_flows_number()) on one host, and on all unless its
 * addresses are loopback; LULL_NONE for packets without addresses. */
struct lull_matcher *lull_matcher_new(bool ordered);
void lull_matcher_free(struct lull_matcher *matcher);
/* Feeds a packet under an id of the caller's; ids ascend. True if it completed a match, which is
 * stored in *match. */
bool lull_matcher_feed(struct lull_matcher *matcher, const struct lull_net_packet *packet,
                       uint32_t id, struct lull_match *match);
/* Further matches completed by the packet fed last: only if not ordered, when the parts of a large
 * send were received, by the receiver's clock, before it. */
bool lull_matcher_more(struct lull_matcher *matcher, struct lull_match *match);
/* Of the packet fed last, a send: the id of the receive that it passes on, as a kernel does that forwards between devices,
 * also by another address; LULL_NONE if none is known. */
uint32_t lull_matcher_passed_on(const struct lull_matcher *matcher);

#endif
