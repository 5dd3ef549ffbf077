/* SPDX-License-Identifier: MIT */
/* The execution graph: one line of points per task; the edge between two neighbours on a line
 * carries a state; a link leads from a moment of one line into a point of another and is its cause
 * (who woke it, who forked it, whose packet it received). Knows nothing of kernels: only lines,
 * times, states. Source: F. Giraldeau, M. Dagenais: Wait Analysis of Distributed Systems Using
 * Kernel Tracing, 2016. */
#ifndef LULL_GRAPH_H
#define LULL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/states.h"

/* A point; `state`, `cause`, `cpu` and `detail` describe the edge that ends here, from the point
 * before. */
struct lull_graph_point {
    int64_t time_ns;
    uint32_t link;     /* incoming link, or LULL_NONE */
    uint32_t detail;   /* opaque to the graph, LULL_NONE if nothing */
    uint8_t state;     /* enum lull_state; NONE for the first point of a line and after a gap */
    uint8_t cause;     /* enum lull_cause */
    int16_t cpu;       /* CPU the edge is about, or -1 */
    bool is_alone : 1; /* lull_graph_append_alone() */
    bool is_long : 1;  /* lull_graph_edge_since() */
};

struct lull_graph_link {
    int64_t from_ns;
    uint32_t from_line;
    uint32_t detail;     /* opaque, about the transit from from_ns to the target point */
    uint32_t asked;      /* for lull_graph_asked_of(); 0: nothing */
    uint8_t cause;       /* TASK or NETWORK: what the transit is, if it takes time */
    bool is_bounded : 1; /* lull_graph_link_bounded() */
    bool is_long : 1;    /* lull_graph_wait_since() */
    bool is_idle : 1;    /* lull_graph_link_idle() */
    bool is_same : 1;    /* lull_graph_link_same() */
    bool is_through : 1; /* lull_graph_link_through() */
    bool is_input : 1;   /* lull_graph_link_input() */
};

struct lull_graph;

struct lull_graph *lull_graph_new(void);
void lull_graph_free(struct lull_graph *graph);

/* Lines are numbered 0, 1, 2, … by the caller (task indices) and come into being when first used.
 * Times on one line never decrease; an earlier time is taken as the line's last time. */

/* Puts a point on the line without an edge to the one before (a gap). No effect if the line's last
 * point is at that time. */
void lull_graph_add(struct lull_graph *graph, uint32_t line, int64_t time_ns);
/* Puts a point with an edge from the one before; like add if the line is empty. If the last point
 * is at that time, nothing is added and the edge is lost. Returns the index of the line's last
 * point. */
uint32_t lull_graph_append(struct lull_graph *graph, uint32_t line, int64_t time_ns,
                           enum lull_state state, enum lull_cause cause, int cpu, uint32_t detail);
/* The same with an edge of which the start is not known: whoever waits for what the line does after it has waited for
 * the edge all the time, and for nothing that the line did before. */
uint32_t lull_graph_append_alone(struct lull_graph *graph, uint32_t line, int64_t time_ns,
                                 enum lull_state state, enum lull_cause cause, uint32_t detail);
/* Links (from_line, from_ns) to the point of to_line at to_ns, which must exist (else no effect).
 * An earlier link into the same point is replaced. from_line need not have a point at from_ns. */
void lull_graph_link(struct lull_graph *graph, uint32_t from_line, int64_t from_ns,
                     uint32_t to_line, int64_t to_ns, enum lull_cause cause, uint32_t detail);
/* The same with a wait of which the source has nothing to do with what the line did before: also an
 * unbounded path comes back to the line. */
void lull_graph_link_bounded(struct lull_graph *graph, uint32_t from_line, int64_t from_ns,
                             uint32_t to_line, int64_t to_ns, enum lull_cause cause,
                             uint32_t detail);
/* From time_ns on, of which there must be a point, the line is what the other was until then: what it was itself before
 * does not lead there. */
void lull_graph_link_same(struct lull_graph *graph, uint32_t from_line, uint32_t to_line,
                          int64_t time_ns);

/* The line has waited since since_ns for what the link into the point at time_ns comes from, though it stopped
 * waiting in between to no effect. No effect if there is no such point, or no link into it, or if the edge that ends there
 * starts no later. */
void lull_graph_wait_since(struct lull_graph *graph, uint32_t line, int64_t time_ns,
                           int64_t since_ns);
/* The same of an edge that ends there without a link. No effect if it has no detail; no other edge may have the same. */
void lull_graph_edge_since(struct lull_graph *graph, uint32_t line, int64_t time_ns,
                           int64_t since_ns);
/* The line had nothing to do before the point at time_ns, which a link leads into: whoever waits for what it does from
 * there on waits for nothing that it did before. No effect if there is no such point, or no link into it. */
void lull_graph_link_idle(struct lull_graph *graph, uint32_t line, int64_t time_ns);
/* What the link into the point at time_ns brings came to its source at via_ns, by the link into the point there, and went
 * on: whatever else came to that line meanwhile has nothing to do with it. No effect if one of the points or links does
 * not exist, or if the link that came first was made last. */
void lull_graph_link_through(struct lull_graph *graph, uint32_t line, int64_t time_ns,
                             uint32_t via_line, int64_t via_ns);
/* By which link it came there, and when. */
struct lull_graph_through {
    int64_t time_ns;
    uint32_t link; /* less than that of the link that goes on */
};
/* NULL: it did not come through anything. Valid until the graph changes. */
const struct lull_graph_through *lull_graph_through_of(const struct lull_graph *graph,
                                                       uint32_t link);
/* Where something was asked for: after that, who waited for it did other things, for others. */
struct lull_graph_asked {
    int64_t time_ns;
    int64_t came_ns; /* of an input: when it came; else INT64_MIN: when it was waited for */
    uint32_t line;
};
/* The line waited there for one of several things, of which the one that the link into the point at time_ns brings had been asked for
 * before. No effect if there is no such point, or no link into it, or if the edge that ends there starts no later. */
void lull_graph_wait_asked(struct lull_graph *graph, uint32_t line, int64_t time_ns,
                           struct lull_graph_asked asked);
/* The same of what came to the line at asked.came_ns while it did not wait, but did things for others, and that it took at time_ns: for
 * others until it came. No effect if there is no such point, or a link into it, or a wait that ends there, or if the times are not
 * in that order. */
void lull_graph_link_input(struct lull_graph *graph, uint32_t from_line, int64_t from_ns,
                           uint32_t to_line, int64_t time_ns, struct lull_graph_asked asked,
                           uint32_t detail);
/* Where what the link brings was asked for; NULL: the line waited for nothing else. Valid until the graph changes. */
const struct lull_graph_asked *lull_graph_asked_of(const struct lull_graph *graph, uint32_t link);
/* When the wait started that ends at that point, which is not the first: at since_ns, or at the point before. */
int64_t lull_graph_wait_start(const struct lull_graph *graph, uint32_t line, uint32_t point);

uint32_t lull_graph_line_count(const struct lull_graph *graph);
/* The points of a line in time order; *count may be 0. Valid until the graph changes. */
const struct lull_graph_point *lull_graph_points(const struct lull_graph *graph, uint32_t line,
                                                 uint32_t *count);
const struct lull_graph_link *lull_graph_link_at(const struct lull_graph *graph, uint32_t index);

/* A piece of a line without a gap. */
struct lull_graph_piece {
    uint32_t first; /* index of its first point */
    uint32_t entry; /* index of its first point that has a link although the task did not wait
                       before it (a fork, a packet received meanwhile), or LULL_NONE */
};

/* The piece that holds a point that exists. Logarithmic in the number of pieces. */
struct lull_graph_piece lull_graph_piece_of(const struct lull_graph *graph, uint32_t line,
                                            uint32_t point);

#endif
