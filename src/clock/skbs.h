/* SPDX-License-Identifier: MIT */
/* The packets a host has sent and not received itself yet, by the address of their buffer: on
 * loopback and virtual devices the buffer that was sent is the one that is received. Used by the
 * matcher (match.h) only. */
#ifndef LULL_CLOCK_SKBS_H
#define LULL_CLOCK_SKBS_H

#include <stdbool.h>
#include <stdint.h>

struct lull_skb {
    uint64_t skb; /* 0: free slot */
    uint32_t host, id;
    int64_t time_ns;
    /* what the headers say, to be compared; zero without headers */
    uint64_t rest;
    uint32_t flow, number, bytes;
    uint32_t device, length;
    uint16_t ip_id;
    bool has_headers, is_loopback;
    bool is_waiting; /* sent and not received; received and not passed on */
};

/* What receives have less than sends: their Ethernet header is taken off by then. */
#define LULL_SKB_ETHERNET_HEADER UINT64_C(14)

struct lull_skbs {
    struct lull_skb *slots; /* open addressing, a power of two */
    uint32_t n_slots, used;
    struct lull_skb *received; /* one slot a hash, overwritten: what is passed on is so at once */
};

void lull_skbs_clear(struct lull_skbs *skbs);
/* The slot of this buffer, or NULL. Valid until the next put. */
struct lull_skb *lull_skbs_find(const struct lull_skbs *skbs, uint32_t host, uint64_t skb);
/* Stores a sent packet, replacing an earlier one in the same buffer. May forget what is older than
 * horizon_ns, and the oldest if there are too many. */
void lull_skbs_put(struct lull_skbs *skbs, const struct lull_skb *entry, int64_t horizon_ns);

/* A packet was received. True if it had come already, by another device: a bridge takes over what came by its port. */
bool lull_skbs_has_come(struct lull_skbs *skbs, const struct lull_skb *came);
/* The id of the received packet that this one, which is sent, is: forwarded by its host, by the same address or another. LULL_NONE:
 * it is not, or that cannot be told. */
uint32_t lull_skbs_passed_on(struct lull_skbs *skbs, const struct lull_skb *sent);

#endif
