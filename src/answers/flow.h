/* SPDX-License-Identifier: MIT */
/* A critical path as the JSON that pages draw it from. Texts and whole numbers alone, for a page that
 * holds it can be opened by anyone. */
#ifndef LULL_ANSWERS_FLOW_H
#define LULL_ANSWERS_FLOW_H

#include <glib.h>
#include <lull/path.h>

struct lull_flow_options {
    int64_t origin_ns;    /* times are since then */
    const uint32_t *rows; /* by task: what the page calls it, or LULL_NONE; NULL: nothing */
    uint32_t most;        /* segments; 0: all */
};

/* {"origin": "ns since 1970", "host", "name", "tid", "start", "end", "lost": events, "cut": bool,
 *  "tasks": [[host, name, tid, row or -1], …],
 *  "segments": [[number of the task, start, end, state, cause or "", detail or ""], …]} */
void lull_flow_append(GString *out, const struct lull_path *path,
                      const struct lull_flow_options *options);

#endif
