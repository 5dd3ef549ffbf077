/* SPDX-License-Identifier: MIT */
/* A critical path as it is shown: segments with names and evidence, shares, what is known of clocks
 * and losses. */
#ifndef LULL_GRAPH_PATH_H
#define LULL_GRAPH_PATH_H

#include <glib.h>
#include <stdbool.h>

#include "clock/sync.h"
#include "kernel/stacks.h"
#include "kernel/states.h"

struct lull_segment {
    uint32_t host;
    uint32_t task; /* identity of the task in this session (a tid may be reused) */
    int32_t tid;   /* 0: idle task; negative: kernel context (softirq) of CPU -1-tid */
    int32_t pid;   /* -1: unknown */
    const char *comm;
    int64_t start_ns, end_ns;
    enum lull_state state;
    enum lull_cause cause;
    int32_t cpu;        /* -1: none */
    const char *detail; /* one line of evidence, or NULL */
    /* The calls by which it was blocked, innermost first, borrowed from the model; n_frames 0: not
     * recorded. */
    const struct lull_frame *frames;
    uint32_t n_frames;
};

struct lull_state_share {
    enum lull_state state;
    enum lull_cause cause;
    int64_t duration_ns;
};

struct lull_task_share {
    uint32_t host, task;
    int32_t tid;
    const char *comm;
    int64_t duration_ns;
};

struct lull_host_share {
    uint32_t host;
    int64_t duration_ns;
};

struct lull_path {
    const char *const *host_names; /* by host index */
    uint32_t n_hosts;

    /* the question */
    uint32_t host;
    int32_t tid;
    const char *comm;
    int64_t start_ns, end_ns;

    struct lull_segment *segments;
    uint32_t n_segments;
    struct lull_state_share *by_state; /* longest first, ties by state, cause */
    uint32_t n_by_state;
    struct lull_task_share *by_task; /* longest first, ties by host, tid */
    uint32_t n_by_task;
    struct lull_host_share *by_host; /* longest first, ties by host */
    uint32_t n_by_host;
    struct lull_host_clock *sync;       /* one per host */
    uint64_t lost_events, lost_packets; /* in the hosts of the path within its time */
    GStringChunk *strings;              /* owner of all text above */
};

/* Frees the path, its arrays (each from g_malloc(), or NULL; also that of host_names) and its
 * strings. */
void lull_path_free(struct lull_path *path);
/* Computes by_state, by_task, by_host from the segments, in place of what was there. A task that
 * changed its name goes by the last one. */
void lull_path_summarise(struct lull_path *path);

#endif
