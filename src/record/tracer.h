/* SPDX-License-Identifier: MIT */
/* What every tracer that can record a machine offers to `lull record`. A tracer writes its own
 * files into the directory of the recording; command, directory and reports are not its business.
 * A new tracer is one file that implements this and a line in the table of tracers.c. */
#ifndef LULL_RECORD_TRACER_H
#define LULL_RECORD_TRACER_H

#include <errno.h>
#include <lull/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/purpose.h"

struct lull_tracer;
struct lull_keeper;
struct lull_invoker;

/* The request. Borrowed for the life of the tracer. */
struct lull_tracer_request {
    const struct lull_keeper *keeper;   /* makes the files; that of a snapshot is made later */
    const struct lull_invoker *invoker; /* for daemons that make files themselves */
    enum lull_purpose purpose;
    uint64_t buffer_bytes; /* of each CPU; 0: the tracer chooses */
    bool has_call_chains;  /* also where tasks stop running; for tracers that can record it */
    uint32_t stack_bytes; /* with call chains: so much of the program's stack, a multiple of 8 up to
                             LULL_MOST_STACK_BYTES; 0: what frame pointers lead to instead */
    const char
        *counters; /* likewise: which are read where tasks stop running (counters.h); or NULL */
    const char *kernel_functions; /* likewise: calls of functions of the kernel that one of these
                                     patterns matches, with commas between; NULL: none */
    bool is_snapshot;  /* only the last of the buffers is kept, and written by snapshot() */
    bool is_filtered;  /* only tasks in `pids`, what they start, and interrupts while CPUs idle */
    const pid_t *pids; /* those of set_up(); follow() adds the command */
    uint32_t n_pids;
    /* CLOCK_MONOTONIC plus this is the time since the Unix epoch. With is_snapshot it changes when the clock is set, or
     * the machine was suspended, unless the tracer says itself what it is (needs_state). */
    int64_t epoch_offset_ns;
};

/* A record of perf's has 64 KiB at most. */
#define LULL_MOST_STACK_BYTES 65528u

/* What a recording, or a snapshot of it, holds. */
struct lull_tracer_result {
    uint64_t events; /* 0 if has_events is false */
    uint64_t bytes;  /* of the files */
    uint64_t lost_events;
    bool has_events;
    int64_t start_ns; /* of a snapshot: no event is older; since the epoch */
    int64_t end_ns;   /* if the disk is full: until then all events are there; since the epoch */
};

/* Whether an errno says that the disk is full, for this user or for all. */
static inline bool lull_tracer_is_full(int why)
{
    return why == ENOSPC || why == EDQUOT;
}

struct lull_tracer_kind {
    const char *name;     /* of --tracer: "lttng", "ftrace", "perf" */
    const char *files;    /* what it leaves in the directory: "trace.dat", "perf.data", "kernel" */
    bool can_call_chains; /* has_call_chains */
    bool can_count;       /* counters */
    bool can_functions;   /* kernel_functions */
    bool needs_state;     /* it does not dump the state of the machine itself, see state.h */
    bool needs_root;      /* what set_up() needed root for, the others need it for as well */
    /* NULL if this machine, and who runs this, can use the tracer; else what is missing and how to
     * get it, one line, to be freed with g_free(). Changes nothing on the machine. */
    char *(*missing)(const struct lull_tracer_request *request);
    /* Prepares all that can be prepared without recording. The request lives as long. After this free() is needed. NULL and an
     * error: nothing is left over. */
    struct lull_tracer *(*set_up)(const struct lull_tracer_request *request, GError **error);
    /* Adds a task to those that is_filtered is about, with all that it starts from now on. */
    bool (*follow)(struct lull_tracer *tracer, pid_t pid, GError **error);
    /* Recording starts, and goes on by itself (threads of the tracer's own). */
    bool (*start)(struct lull_tracer *tracer, GError **error);
    /* Whether it still goes on; false and an error if not. Called now and then. */
    bool (*check)(struct lull_tracer *tracer, GError **error);
    /* The buffers keep what they hold, at once; thaw() or snapshot() ends that. For is_snapshot only, as
     * the next two are. */
    bool (*freeze)(struct lull_tracer *tracer, GError **error);
    /* Recording goes on. */
    bool (*thaw)(struct lull_tracer *tracer, GError **error);
    /* Writes what the frozen buffers hold into the recording that the keeper has made, and thaws them,
     * also if it fails. */
    bool (*snapshot)(struct lull_tracer *tracer, struct lull_tracer_result *result, GError **error);
    /* Ends recording and completes the files; for is_snapshot it writes none. */
    bool (*stop)(struct lull_tracer *tracer, struct lull_tracer_result *result, GError **error);
    /* Removes all that the tracer set up on the machine, whatever happened before. NULL: nothing.
     */
    void (*free)(struct lull_tracer *tracer);
    /* Removes what recorders that were killed have left; what belongs to one that lives stays.
     * Returns how many it removed. May be NULL. Must be safe to call while others record. */
    uint32_t (*clean_up)(void);
    /* The name by which a guard, another process, can remove what this tracer has set up after the
     * recorder was killed: tracer->kind->remove(name). NULL: its end removes everything by itself.
     */
    const char *(*name_of)(const struct lull_tracer *tracer);
    void (*remove)(const char *name);
};

/* Implementations put it first in a structure of their own. */
struct lull_tracer {
    const struct lull_tracer_kind *kind;
    /* Names of the events that are recorded, as the tracer calls them, for recording.json;
     * NULL-terminated. Set by set_up(), freed by free(). NULL: not known. */
    const char *const *events;
    const char
        *remark; /* what of the request is not recorded, a sentence without full stop; or NULL.
                           Likewise */
    /* The disk is full, so recording does not go on: set by check(), which then fails, or by
     * stop(), which then completes what was recorded until result->end_ns, and succeeds. */
    bool is_full;
};

/* In the order in which `auto` tries them; ends with NULL. Those that are not built in are not
 * there. */
extern const struct lull_tracer_kind *const lull_tracers[];

extern const struct lull_tracer_kind lull_tracer_lttng, lull_tracer_ftrace, lull_tracer_perf;

#endif
