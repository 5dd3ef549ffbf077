/* The critical path of one line between two times: backwards through the causes of each wait,
 * bounded by the begin of the wait. Source: Giraldeau, Dagenais 2016 (bounded variant). Iterative,
 * linear in the edges it covers. */
#ifndef LULL_GRAPH_CRITPATH_H
#define LULL_GRAPH_CRITPATH_H

#include <glib.h>

#include "graph/graph.h"

/* A piece of the path. */
struct lull_hop {
    int64_t begin_ns, end_ns;
    uint32_t line;
    uint32_t detail; /* of the edge or link it comes from */
    uint32_t link;   /* the link whose transit this is, or LULL_NONE for an edge */
    uint8_t state;   /* never NONE: what is not known is BLOCKED with cause UNKNOWN */
    uint8_t cause;
    int16_t cpu;
};

/* The path of `line` over begin_ns <= t < end_ns as a GArray of struct lull_hop in time order: the
 * first begins at begin_ns, each begins where the one before ends, the last ends at end_ns. No
 * empty hops. Times before the line's first and after its last point are unknown. Free with
 * g_array_unref(). */
GArray *lull_critpath_find(const struct lull_graph *graph, uint32_t line, int64_t begin_ns,
                           int64_t end_ns);

#endif
