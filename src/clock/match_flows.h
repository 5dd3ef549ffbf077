/* SPDX-License-Identifier: MIT */
/* The flows a matcher follows: a hash table from addresses, protocol and ports to the packets that
 * wait in both directions, and what is known of the hosts that saw them. Used by the matcher
 * (match.h) only. */
#ifndef LULL_CLOCK_MATCH_FLOWS_H
#define LULL_CLOCK_MATCH_FLOWS_H

#include "base/vec.h"
#include "clock/pending.h"
#include "kernel/net_packet.h"

/* A host in one direction of a flow. */
struct lull_match_flow_role {
    uint32_t host;
    bool is_origin; /* the first it saw was a packet it sent itself */
    bool is_sequenced, has_sent, has_received;
    uint32_t sent_ack, received_ack; /* highest acknowledgement number sent and received */
    int64_t sequence;                /* latest sequence number, unwrapped */
    int64_t sent_to, received_to;    /* after the last byte sent and received */
};

/* More hosts than this do not take part in one flow; those beyond are not matched. */
enum { LULL_FLOW_ROLES = 4 };

struct lull_match_flow_direction {
    struct lull_pending_queue sends, receives;
    struct lull_match_flow_role *roles; /* LULL_FLOW_ROLES, or NULL if not needed yet */
    uint32_t n_roles;
    bool is_sequenced;
    int64_t transit_ns; /* ordered: the shortest of a packet that was like no other; 0: not known */
    int64_t sequence;   /* ordered: the latest sequence number, unwrapped; otherwise the first */
};

struct lull_match_flow_key {
    uint64_t words[4]; /* both addresses, the smaller end first */
    uint32_t ports;
    uint8_t ip_version, protocol;
};

struct lull_match_flow {
    struct lull_match_flow_key key;
    uint64_t hash;
    uint64_t used; /* number of the packet that used it last */
    int64_t used_ns;
    struct lull_match_flow_direction directions[2];
};

/* Where the packets of a directed connection belong. */
struct lull_match_flow_place {
    struct lull_match_flow *flow; /* NULL: not known */
    unsigned direction;
};

struct lull_match_flows {
    struct lull_match_flow **slots; /* open addressing, a power of two */
    uint32_t n_slots, count;
    uint64_t clock;   /* packets so far */
    uint64_t entries; /* about how many packets were put into the queues since the last sweep */
    LULL_VEC(struct lull_match_flow_place) places; /* by number of the directed connection */
};

void lull_match_flows_clear(struct lull_match_flows *flows);
/* The flow of the packet, and which direction of it, 0 or 1; or NULL if it is not there and `create` is false. Creating may
 * forget flows that were not used for long, or before `horizon_ns`; pointers to other flows become invalid. */
struct lull_match_flow *lull_match_flows_get(struct lull_match_flows *flows,
                                             const struct lull_net_packet *packet, bool create,
                                             int64_t horizon_ns, unsigned *direction);
/* The role of the host, made if there is room and `create`; NULL otherwise. */
struct lull_match_flow_role *lull_match_flow_role_of(struct lull_match_flow_direction *direction,
                                                     uint32_t host, bool create);

/* Mixes `value` into `hash`. */
static inline uint64_t lull_match_flow_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

#endif
