/* SPDX-License-Identifier: MIT */
/* What waits.c sums up, for the tables of it. */
#ifndef LULL_ANALYSIS_WAITS_PRIVATE_H
#define LULL_ANALYSIS_WAITS_PRIVATE_H

#include "analysis/family.h"
#include "analysis/turns.h"
#include "analysis/waits.h"
#include "base/map.h"
#include "base/slots.h"
#include "base/vec.h"
#include "kernel/faults.h"

_Static_assert(sizeof(struct lull_wait_key) == 24, "a key has no padding: it is compared as bytes");

struct cause {
    uint64_t count;
    int64_t total_ns, longest_ns;
};

enum { LETTERS = 128 };

struct task_sum {
    uint32_t task;
    int64_t blocked_ns, uninterruptible_ns, runnable_ns, running_ns, longest_ns;
    int64_t moved_ns; /* since when it is ready to run, if it was moved meanwhile; else INT64_MIN */
    struct lull_kept kept; /* from the CPU, the last time that it was ready to run */
    uint64_t count;
    uint32_t recent[2]; /* its last waits, blocked and runnable: index in `waits` + 1; 0: none */
};

/* A wait in a call that has not ended yet. */
struct late_wait {
    struct lull_wait_key key;
    struct lull_wait_reason reason;
    int64_t waited_ns, end_ns;   /* of the wait */
    int64_t start_ns, length_ns; /* of its part in the window */
    int64_t until_ns;            /* the task waits again in the call; INT64_MAX: not yet */
    uint32_t task;               /* LULL_NONE: it is counted */
    uint32_t before;             /* the wait before in the same call, or LULL_MAP_NONE */
    bool is_by_timer;
};

struct waits {
    struct lull_analysis head;
    LULL_VEC(struct lull_wait_sum) waits;
    GHashTable *by_key;         /* struct lull_wait_key → index in `waits` + 1 */
    GHashTable *by_text;        /* text of an object → index in `objects` + 1 */
    GPtrArray *objects;         /* texts */
    struct lull_map by_path;    /* label, or that of a datagram socket's → index in `objects` */
    struct lull_map by_address; /* the same of futexes */
    LULL_VEC(struct task_sum) tasks;
    struct lull_slots by_task; /* → index in `tasks` + 1 */
    struct lull_faults faults;
    struct lull_turns *turns;
    LULL_VEC(struct late_wait) late;
    uint32_t free_late;      /* a place in `late` that is free, or LULL_NONE */
    struct lull_map late_of; /* task → its last */
    struct lull_slots calls; /* label → whether waits in such a call are `late` */
    struct cause causes[LULL_WAITS_CAUSES][LETTERS];
    struct lull_family family; /* whose waits count; without a pid: those of all */
    int64_t total_ns;          /* of all waits */
    uint64_t n_asleep;         /* tasks that were blocked all the time */
    GString *text;             /* of the cell made last */
};

/* waits_tables.c */
void waits_emit(struct lull_analysis *analysis, const struct lull_window *window,
                struct lull_sink *sink);
extern const struct lull_result_class lull_waits_causes, lull_waits_all, lull_waits_tasks;

#endif
