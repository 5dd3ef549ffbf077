/* SPDX-License-Identifier: MIT */
/* What a path of the public API (lull/path.h) is made of: segments with names and evidence, shares,
 * what is known of clocks and losses. */
#ifndef LULL_GRAPH_PATH_H
#define LULL_GRAPH_PATH_H

#include <glib.h>
#include <stdbool.h>

#include "clock/sync.h"
#include "kernel/stacks.h"
#include "kernel/states.h"

/* A part of a segment: what ran, or who had the CPU instead. */
struct lull_path_run {
    uint32_t segment;
    enum lull_mode mode; /* RUNNING */
    const char *detail;  /* "in write", "in user mode", "by cc1"; or NULL */
    uint32_t count;      /* of stretches */
    int64_t ns, longest_ns;
};

/* What somebody has to do with an open wait. */
struct lull_open_role {
    const char *name;           /* "holder", "child", "other end" */
    const char *before, *after; /* the task in a sentence: ", which " sh/4712 " holds" */
};

/* Events that a path lacks. */
enum lull_path_cut { LULL_CUT_BEFORE = 1, LULL_CUT_AFTER = 2 };

struct lull_open_wait {
    uint32_t host, task;
    int32_t tid;
    const char *comm;
    int64_t start_ns, end_ns;
    bool is_older; /* it started before start_ns, when nobody looked */
    /* "in futex 0x7f12a0", "in flock of /run/lock"; NULL: in no call that is known. Its parts, or NULL. */
    const char *what, *call, *object;
    /* The call right before failed, as it would never have ended (EDEADLK); or NULL. */
    const char *refused;
    int32_t holder_tid; /* who held it, or could end the wait; -1: not known, or none */
    const char *holder_comm;
    const struct lull_open_role *role; /* of the holder; NULL: there is none */
};

/* A process of the path that the kernel killed. */
struct lull_path_kill {
    uint32_t host;
    int32_t tid;
    const char *comm;
    int64_t time_ns;
    const char *kind;       /* "oom", "kernel" */
    const char *what;       /* lull_kill_append() */
    const char *limit;      /* "cgroup", "machine"; NULL: not known */
    int64_t resident_bytes; /* -1: not known */
    int32_t asker_tid;      /* -1: not known */
    const char *asker_comm;
};

/* A task of the path that waited for its CPU while another was idle. */
struct lull_path_idle {
    uint32_t host, task;
    int32_t tid;
    const char *comm;
    int32_t cpu;       /* for which it waited; -1: for several */
    int64_t waited_ns; /* on the path, but for short waits */
    int64_t idle_ns;   /* within that: some other CPU of its host was known to be idle */
};

struct lull_path {
    const char *const *host_names; /* by host index */
    uint32_t n_hosts;

    /* the question */
    uint32_t host, task;
    int32_t tid;
    const char *comm;
    int64_t start_ns, end_ns;
    int64_t asked_start_ns, asked_end_ns; /* the task was not alive in what is missing of that */
    bool is_start_cut, is_end_cut;        /* the recording of its host starts later, ends earlier */
    const char *const *command; /* of the recording, that it was; ends with NULL; or NULL */
    const char *command_line;   /* as the kernel was given it last, quoted; or NULL */
    const char *started_by;     /* its ancestors, oldest first: "cron/1 → sh/2"; or NULL */

    struct lull_segment *segments;
    uint32_t n_segments;
    struct lull_wait *waits;
    uint32_t n_waits;
    struct lull_state_share *by_state; /* longest first, ties by state, cause */
    uint32_t n_by_state;
    struct lull_task_share *by_task; /* longest first, ties by host, tid */
    uint32_t n_by_task;
    struct lull_cause_share *by_cause; /* longest first, ties by first */
    uint32_t n_by_cause;
    struct lull_path_run
        *runs; /* of those that are RUNNING or PREEMPTED, if that was looked for; by
                                   segment */
    uint32_t n_runs;
    struct lull_mode_share *by_mode; /* longest first, ties by mode */
    uint32_t n_by_mode;
    struct lull_host_share *by_host; /* longest first, ties by host */
    uint32_t n_by_host;
    struct lull_container_share *by_container; /* longest first, ties by first task */
    uint32_t n_by_container;
    struct lull_host_clock *sync; /* one per host */
    /* Those that kept tasks of a control group off the CPU to which a task of the path belonged. */
    const struct lull_cpu_quota **quotas;
    uint32_t n_quotas;
    /* It ends with a wait that had not ended with the trace: that one, then that of who held what it was for, and so on. */
    struct lull_open_wait *open_waits;
    uint32_t n_open_waits;
    bool is_deadlock;             /* the last of them is for what the task of one of them held */
    struct lull_path_kill *kills; /* in time order */
    uint32_t n_kills;
    struct lull_path_idle *idle; /* longest first; those that take a hundredth of it or more */
    uint32_t n_idle;
    uint64_t lost_events, lost_packets; /* in the hosts of the path within its time */
    int64_t unrecorded_ns; /* for which nothing was recorded on one of these, the most of any */
    bool hides_idle;       /* one of these hosts does, see lull_model_hides_idle() */
    unsigned cut; /* enum lull_path_cut: what is not known for want of events outside those read */
    GStringChunk *strings; /* owner of all text above */
};

/* lull_path_free() frees its arrays (each from g_malloc(), or NULL; also that of host_names) and its
 * strings. */
/* Computes by_container from by_task, whose containers are known by then. */
void lull_path_sum_containers(struct lull_path *path);
/* Computes by_state, by_task, by_cause, by_host from the segments, replacing what was there. A task that
 * changed its name goes by the last one. */
void lull_path_summarise(struct lull_path *path);
/* path_causes.c: the part of it that is by_cause and by_mode. */
void lull_path_sum_causes(struct lull_path *path);

/* Sums by program, state, cause and detail. Texts are borrowed. */
struct lull_cause_sums;
struct lull_cause_sums *lull_cause_sums_new(void);
/* Adds durations and counts to what has the same key. */
void lull_cause_sums_add(struct lull_cause_sums *sums, const struct lull_cause_share *share);
/* Frees the sums; what they hold, longest first, is the caller's: free it with g_free(). */
struct lull_cause_share *lull_cause_sums_take(struct lull_cause_sums *sums, uint32_t *count);

#endif
