/* SPDX-License-Identifier: MIT */
/* Whom a wait was for, as sums name it: without what differs each time. Both sides are compiled from this header; in
 * the kernel the verifier must be able to follow it. */
#ifndef LULL_LIVE_LINKS_H
#define LULL_LIVE_LINKS_H

#include <stdbool.h>

#include "live/records.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

static __always_inline void lull_track_link_to(struct lull_track_link *link,
                                               const struct lull_track_hop *hop)
{
    link->kind = hop->kind;
    link->a = hop->a;
    if (hop->kind == LULL_TRACK_HOP_TASK) {
        /* Without what may follow the name: a link is part of a key. */
        for (uint32_t i = 0; i < LULL_TRACK_COMM && hop->comm[i]; i++) {
            link->comm[i] = hop->comm[i];
        }
    } else if (hop->kind == LULL_TRACK_HOP_DISK) {
        link->b = hop->b;
    } else if (hop->kind == LULL_TRACK_HOP_PACKET) { /* the lower port names the service */
        const bool is_to = hop->b < hop->a;
        link->a = is_to ? hop->b : hop->a;
        link->b = (hop->c ? LULL_TRACK_PACKET_IPV6 : 0) | (is_to ? LULL_TRACK_PACKET_TO : 0);
        if (hop->c) {
            __builtin_memcpy(link->address, hop->address, sizeof link->address);
        } else {
            *(uint32_t *)link->address = *(const uint32_t *)hop->address;
        }
    }
}

/* Those whom the wait was for, as far as it reaches back. */
static __always_inline void lull_track_link_chain(struct lull_track_chain *chain,
                                                  const struct lull_track_slot *slot)
{
    for (uint32_t i = 0; i < LULL_TRACK_HOPS; i++) {
        const struct lull_track_hop *hop = &slot->hop[i];
        if (hop->kind == LULL_TRACK_HOP_NONE) {
            chain->flags |= i ? LULL_TRACK_IS_CUT : 0;
            return;
        }
        lull_track_link_to(&chain->link[i], hop);
        if (hop->kind != LULL_TRACK_HOP_TASK || hop->start_ns <= slot->since) {
            return;
        }
    }
    chain->flags |= LULL_TRACK_IS_CUT;
}

#endif
