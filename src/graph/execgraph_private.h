/* What the building of the execution graph leaves for the telling of paths. */
#ifndef LULL_GRAPH_EXECGRAPH_PRIVATE_H
#define LULL_GRAPH_EXECGRAPH_PRIVATE_H

#include "base/vec.h"
#include "graph/execgraph.h"
#include "graph/match.h"

/* What is known about a wait or a transit; the `detail` of points and links. */
struct evidence {
    uint32_t label;   /* interrupt, or LULL_NONE */
    uint32_t syscall; /* label of the system call the waiting task was in, or LULL_NONE */
    uint32_t index;   /* block request (cause DISK) or packet (cause NETWORK), or LULL_NONE */
    uint32_t waker;   /* task (cause TASK), or LULL_NONE */
    bool is_open;     /* the wait lasted until the end of the trace */
};

struct packet_note {
    int64_t time_ns;
    uint32_t line; /* task or kernel context that sent it */
    uint32_t peer; /* received packet: number of the matched sent one, or LULL_NONE */
    uint32_t flow;
    uint32_t payload;
    bool is_received;
};

struct switch_note {
    int64_t time_ns;
    uint32_t task; /* LULL_NONE: idle */
};

struct interrupt_note {
    int64_t begin_ns, end_ns;
    uint32_t label;
};

/* What happened on one CPU, in time order. */
struct cpu_notes {
    LULL_VEC(struct switch_note) switches;
    LULL_VEC(struct interrupt_note) interrupts; /* of tasks, not of the idle loop */
};

struct host_notes {
    LULL_VEC(struct cpu_notes) cpus;
};

struct lull_execgraph {
    struct lull_model *model;
    const struct lull_sync *sync; /* or NULL */
    struct lull_graph *graph;
    struct lull_matcher *matcher;
    LULL_VEC(struct evidence) evidence;
    LULL_VEC(struct packet_note) packets;
    LULL_VEC(struct host_notes) hosts;
    LULL_VEC(uint32_t) senders; /* by flow: the task that sent on it last, or LULL_NONE */
};

/* evidence.c: one line of text about a hop, or NULL. Kept in `strings`. */
struct lull_hop;
const char *lull_evidence_wait(const struct lull_execgraph *eg, const struct lull_hop *hop,
                               GStringChunk *strings);
const char *lull_evidence_preempted(const struct lull_execgraph *eg, uint32_t host,
                                    const struct lull_hop *hop, GStringChunk *strings);

#endif
