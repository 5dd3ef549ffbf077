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
    uint64_t flow, rest;
    uint32_t number, bytes;
    uint32_t device, length;
    uint8_t direction;
    bool has_headers, is_loopback;
    bool is_waiting; /* sent and not received */
};

struct lull_skbs {
    struct lull_skb *slots; /* open addressing, a power of two */
    uint32_t n_slots, used;
};

void lull_skbs_clear(struct lull_skbs *skbs);
/* The slot of this buffer, or NULL. Valid until the next put. */
struct lull_skb *lull_skbs_find(const struct lull_skbs *skbs, uint32_t host, uint64_t skb);
/* Stores a sent packet, replacing an earlier one in the same buffer. May forget what is older than
 * horizon_ns, and the oldest if there are too many. */
void lull_skbs_put(struct lull_skbs *skbs, const struct lull_skb *entry, int64_t horizon_ns);

#endif
