/* SPDX-License-Identifier: MIT */
/* The critical path of one line between two times: backwards through the causes of each wait,
 * bounded by the start of the wait or not. Source: Giraldeau, Dagenais 2016. Iterative, linear in
 * the edges it covers. */
#ifndef LULL_GRAPH_CRITPATH_H
#define LULL_GRAPH_CRITPATH_H

#include <glib.h>
#include <stdbool.h>

#include "graph/graph.h"

/* A wait that the path went into, on the line that waited. */
struct lull_path_wait {
    uint32_t within; /* the wait in whose explanation this one lies, or LULL_NONE */
    uint32_t line;
    uint32_t detail;  /* of the edge */
    int64_t start_ns; /* from here on it is explained */
    bool is_whole;    /* it also started there; else before what it is to explain: it was idle */
    bool is_shared;   /* it did other things after that, before it waited for good */
    bool is_recent; /* it started after the start of the path, be it before what it is to explain */
};

/* A piece of the path. */
struct lull_hop {
    int64_t start_ns, end_ns;
    uint32_t line;
    uint32_t detail; /* of the edge or link it comes from */
    uint32_t link;   /* the link whose transit this is, or LULL_NONE for an edge */
    uint32_t
        same; /* at its start the line became what this one was, where the path comes from; or LULL_NONE */
    uint32_t wait; /* the innermost wait that it explains, or LULL_NONE: the line in question */
    uint8_t state; /* never NONE: what is not known is BLOCKED with cause UNKNOWN */
    uint8_t cause;
    int16_t cpu;
};

/* The path of `line` over start_ns <= t < end_ns as a GArray of struct lull_hop in time order: the
 * first starts at start_ns, each starts where the one before ends, the last ends at end_ns. No
 * empty hops. Times before the line's first and after its last point are unknown. Free with
 * g_array_unref(). */
GArray *lull_critpath_find(const struct lull_graph *graph, uint32_t line, int64_t start_ns,
                           int64_t end_ns, enum lull_path_kind kind);
/* The same; what hop.wait counts is appended to `waits`, of struct lull_path_wait. Without it
 * (NULL) hop.wait is always LULL_NONE. */
GArray *lull_critpath_find_waits(const struct lull_graph *graph, uint32_t line, int64_t start_ns,
                                 int64_t end_ns, enum lull_path_kind kind, GArray *waits);

#endif
