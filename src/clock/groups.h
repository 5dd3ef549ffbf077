/* SPDX-License-Identifier: MIT */
/* From pairs of hosts to one clock per group of connected hosts. Used by sync.c only. */
#ifndef LULL_CLOCK_GROUPS_H
#define LULL_CLOCK_GROUPS_H

#include "clock/corridor.h"

/* What is known of a pair of hosts. */
struct lull_sync_link {
    guint64 key; /* a << 32 | b */
    struct lull_sync_pair pair;
    struct lull_corridor all, tcp;  /* of all packets, of TCP only */
    struct lull_corridor *corridor; /* the one that counts */
    struct lull_hull *hull;
    bool has_estimate; /* in corridor->estimate */
};

/* The host's own time from its first to its last packet or event. Without any it is empty, and nothing
 * asks for it: the host is in no group. */
struct lull_sync_range {
    int64_t start_ns, end_ns;
};

/* Fills in hosts and transforms (n_hosts each, identity and unsynced before) from the links, which
 * are in order of (a, b); sets the quality of links that contradict better ones to FAIL. */
void lull_groups_join(const GPtrArray *links, uint32_t n_hosts,
                      const struct lull_sync_range *ranges, struct lull_host_clock *hosts,
                      struct lull_clock_transform *transforms);

#endif
