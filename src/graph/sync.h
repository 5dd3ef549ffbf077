/* Joining the clocks of hosts from the packets they exchanged: matching of packets (match.h), a
 * pair of convex hulls per pair of hosts (hull.h), and one consistent transform per host. Integers
 * only: 128 bits, exact rationals where needed. Sources: A. Duda et al. 1987; B. Poirier, R. Roy,
 * M. Dagenais 2010; M. Jabbarifar, M. Dagenais 2013. */
#ifndef LULL_GRAPH_SYNC_H
#define LULL_GRAPH_SYNC_H

#include <lull/session.h>

#include "graph/path.h"
#include "kernel/packet.h"

enum lull_sync_quality {
    LULL_SYNC_ABSENT,      /* no packet matched */
    LULL_SYNC_INCOMPLETE,  /* packets in one direction only */
    LULL_SYNC_APPROXIMATE, /* bounded on both sides, drift on one */
    LULL_SYNC_ACCURATE,    /* offset and drift bounded on both sides */
    LULL_SYNC_FAIL,        /* the packets contradict a linear relation of the clocks */
};

const char *lull_sync_quality_name(enum lull_sync_quality quality);

/* One unordered pair of hosts, a < b. clock_b(t) = clock_a(t) + offset + drift. */
struct lull_sync_pair {
    uint32_t a, b;
    uint64_t matched; /* packets matched, both directions */
    uint64_t matched_ab, matched_ba;
    uint32_t hull_points; /* on both hulls: what really bounds the estimate */
    enum lull_sync_quality quality;
    int64_t offset_ns; /* b - a at the middle of the exchange; 0 unless APPROXIMATE or ACCURATE */
    double drift_ppm;  /* of b against a */
    int64_t bound_ns;  /* half the width of what is possible, the largest over the exchange */
};

struct lull_sync;

/* Collects packets, joins clocks. n_hosts as in the session. */
struct lull_sync *lull_sync_new(uint32_t n_hosts);
void lull_sync_free(struct lull_sync *sync);
/* Feeds one packet, in the hosts' own times (identity transforms), in any order between hosts. */
void lull_sync_add(struct lull_sync *sync, const struct lull_packet *packet);
/* Computes pairs and transforms. begin/end_ns: by host, the range of its traces in its own time
 * (for bounds). */
void lull_sync_finish(struct lull_sync *sync, const int64_t *begin_ns, const int64_t *end_ns);

/* All pairs with at least one match, ordered by (a, b). */
const struct lull_sync_pair *lull_sync_pairs(const struct lull_sync *sync, uint32_t *count);
/* One per host. */
const struct lull_host_sync *lull_sync_hosts(const struct lull_sync *sync);
/* From own time to joined time. The identity for unsynced hosts and the reference. */
const struct lull_clock_transform *lull_sync_transform(const struct lull_sync *sync, uint32_t host);

#endif
