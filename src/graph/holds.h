/* SPDX-License-Identifier: MIT */
/* Packets that were held back on their way: between the event that says that one is in the queue of a device (net_dev_queue) and
 * that which says that the device has taken it (net_dev_xmit), while the CPU did something else. Traffic control does so, to keep a
 * limit of bytes a second, and a device that has no room. What is cut into pieces in a queue leaves it in other buffers: then each piece says so that arrives on the same
 * host, by a device that is not real (lo, veth). */
#ifndef LULL_GRAPH_HOLDS_H
#define LULL_GRAPH_HOLDS_H

#include "base/map.h"
#include "base/vec.h"
#include "kernel/facts.h"

struct lull_hold {
    int64_t queued_ns, taken_ns;
    uint32_t device; /* label; LULL_NONE: not reported */
};

/* A device took what is in a buffer. */
struct lull_taking {
    int64_t time_ns;  /* INT64_MIN: none did */
    int64_t start_ns; /* since when its CPU did nothing else */
    uint32_t device;  /* label; LULL_NONE: not reported */
};

/* What was done last with a buffer. */
struct lull_buffer_note {
    int64_t queued_ns;
    int32_t cpu;              /* that put it into the queue */
    uint32_t packet;          /* that is in a queue; LULL_NONE: none */
    uint32_t device_hash;     /* in whose; 0: not reported */
    struct lull_taking piece; /* what was in no queue */
};

enum { LULL_ARRIVALS = 256 };

/* All zero: no packet was seen. */
struct lull_holds {
    struct lull_map buffers; /* host and address → index in `last` */
    LULL_VEC(struct lull_buffer_note) last;
    LULL_VEC(struct lull_hold) list;
    struct lull_map of_packet; /* number → index in `list` */
    struct lull_arrival {
        uint32_t packet;
        struct lull_taking taking;
    } arrivals[LULL_ARRIVALS]; /* the last pieces, by number */
};

/* Packet `number` was put into a queue. */
void lull_holds_queued(struct lull_holds *holds, const struct lull_net_packet *packet,
                       uint32_t number);
/* start_ns: since when the CPU does what it does, be it a handler or a task. Whoever puts a packet into a queue, takes it out at once,
 * and then is long with the device, as a virtual machine is whose hypervisor does the rest, held nothing back. */
void lull_holds_taken(struct lull_holds *holds, const struct lull_taken_fact *fact,
                      int64_t start_ns);
/* Packet `number` has arrived. */
void lull_holds_arrived(struct lull_holds *holds, const struct lull_net_packet *packet,
                        uint32_t number);
/* It was sent on the same host, in one that was queued at queued_ns. */
void lull_holds_matched(struct lull_holds *holds, uint32_t number, int64_t queued_ns);
/* NULL: a packet that was sent, or a piece that arrived, was not held back, or not for long. */
const struct lull_hold *lull_holds_find(const struct lull_holds *holds, uint32_t number);
void lull_holds_free(struct lull_holds *holds);

#endif
