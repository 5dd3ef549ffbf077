/* SPDX-License-Identifier: MIT */
/* Joining the clocks of hosts from the packets they exchanged: matching of packets (match.h), the
 * exact set of straight lines that they allow per pair of hosts (corridor.h), and one consistent
 * transform per host. Two clocks are taken to run within 1000 ppm of each other; within 50000 ppm
 * if the packets say so. Sources: A. Duda et al. 1987; B. Poirier, R. Roy, M. Dagenais 2010; M.
 * Jabbarifar, M. Dagenais 2013. */
#ifndef LULL_CLOCK_SYNC_H
#define LULL_CLOCK_SYNC_H

#include <lull/session.h>

#include "kernel/net_packet.h"
#include "kernel/states.h"

enum lull_sync_quality {
    LULL_SYNC_ABSENT,      /* no packet matched */
    LULL_SYNC_INCOMPLETE,  /* packets in one direction only */
    LULL_SYNC_APPROXIMATE, /* offset bounded on both sides, drift by the packets on one side at most
                            */
    LULL_SYNC_ACCURATE,    /* offset and drift bounded on both sides */
    LULL_SYNC_FAIL, /* the packets contradict a linear relation of the clocks, or those of better
                       pairs: a clock was set during the trace, or packets were lost to the tracer
                     */
};

const char *lull_sync_quality_name(enum lull_sync_quality quality);

/* One unordered pair of hosts, a < b. clock_b(t) = clock_a(t) + offset + drift. */
struct lull_sync_pair {
    uint32_t a, b;
    uint64_t matched; /* packets matched, both directions */
    uint64_t matched_ab, matched_ba;
    uint32_t hull_points; /* on both hulls: what really bounds the estimate */
    enum lull_sync_quality quality;
    int64_t offset_ns; /* b - a at the middle of the exchange; 0 if ABSENT or INCOMPLETE; if FAIL,
                          the last estimate before the contradiction, or 0 */
    double drift_ppm;  /* of b against a */
    int64_t bound_ns;  /* the largest possible error over the exchange; -1 unless APPROXIMATE or
                          ACCURATE */
    /* One of them, or LULL_NONE: it runs in a virtual machine on the other (contain.h). So many of its
     * events lie where a virtual CPU of it ran, and elsewhere; what bounds the clocks then counts as
     * matched, too. */
    uint32_t guest;
    uint64_t contained, not_contained;
};

/* A CPU of a guest, and the thread of its host that runs it. */
struct lull_guest_cpu {
    uint32_t guest, host;
    int32_t cpu, tid;
};

/* Why no host is known to be the guest of a process. */
enum lull_unmatched {
    LULL_UNMATCHED_FEW,     /* of none are there enough events at times at which it ran */
    LULL_UNMATCHED_OUTSIDE, /* too many events of the nearest lie where it did not run */
    LULL_UNMATCHED_UNSURE,  /* the nearest fits nearly as well with another offset of its clock */
    LULL_UNMATCHED_SEVERAL, /* the nearest fits, but so do others, or it fits others */
};

/* A process that runs a virtual machine whose recording is not known, though there are hosts that
 * could be it. */
struct lull_sync_unmatched {
    uint32_t host;
    int32_t pid;      /* of its first virtual CPU's thread if that is all that is known */
    uint32_t nearest; /* host that comes nearest to being it; LULL_NONE if FEW */
    enum lull_unmatched why;
    uint64_t contained, not_contained; /* events of the nearest, as in struct lull_sync_pair */
    double other;                      /* UNSURE: share of them inside with the other offset */
};

struct lull_sync;

/* Collects packets, joins clocks. n_hosts as in the session. */
struct lull_sync *lull_sync_new(uint32_t n_hosts);
void lull_sync_free(struct lull_sync *sync);
/* Feeds one packet, in the hosts' own times (identity transforms), in any order between hosts. */
void lull_sync_add(struct lull_sync *sync, const struct lull_net_packet *packet);
/* Feeds what happened on one host before something on another, in their own times. */
void lull_sync_add_message(struct lull_sync *sync, uint32_t from, int64_t sent_ns, uint32_t to,
                           int64_t received_ns);
/* Says that one is the other's guest, by how many of its events that lie inside, and do not. */
void lull_sync_add_contained(struct lull_sync *sync, uint32_t host, uint32_t guest, uint64_t inside,
                             uint64_t outside);
void lull_sync_add_guest_cpu(struct lull_sync *sync, const struct lull_guest_cpu *cpu);
const struct lull_guest_cpu *lull_sync_guest_cpus(const struct lull_sync *sync, uint32_t *count);
void lull_sync_add_unmatched(struct lull_sync *sync, const struct lull_sync_unmatched *unmatched);
/* By host and process. */
const struct lull_sync_unmatched *lull_sync_unmatched(const struct lull_sync *sync,
                                                      uint32_t *count);
/* Computes pairs and transforms. start_ns, end_ns: by host, the range of its traces in its own time
 * (for bounds). */
void lull_sync_finish(struct lull_sync *sync, const int64_t *start_ns, const int64_t *end_ns);

/* All pairs with at least one match, ordered by (a, b). */
const struct lull_sync_pair *lull_sync_pairs(const struct lull_sync *sync, uint32_t *count);
/* One per host.
 * The hosts that are connected by pairs with bounds (or, failing that, by a FAIL pair with an
 * estimate) form groups, each with one clock: that of the host with most matched packets. The
 * largest group (by hosts, then by matched packets, then by the lowest host) is the session's: its
 * hosts are is_joined, its clock the reference. Hosts of other groups are joined among themselves
 * but not is_joined, because nothing says how their clock relates to the reference's; bound_ns is
 * -1. drift_ppm and offset_ns: of the joined clock against the host's own. bound_ns adds up the
 * bounds on the way to the reference over the host's whole trace; -1 if a FAIL pair is on it. No
 * matched packet of any pair inside a group that is not FAIL is received before it is sent on the
 * joined clock, be the pair used for joining or not. */
const struct lull_host_clock *lull_sync_hosts(const struct lull_sync *sync);
uint32_t lull_sync_host_count(const struct lull_sync *sync);
/* Whether the clocks of two hosts are joined to each other, be it in the session's group or in
 * another; true for a == b. */
bool lull_sync_are_joined(const struct lull_sync *sync, uint32_t a, uint32_t b);
/* From own time to joined time. The identity for hosts without a group and for the host a group's
 * clock is of. */
const struct lull_clock_transform *lull_sync_transform(const struct lull_sync *sync, uint32_t host);

#endif
