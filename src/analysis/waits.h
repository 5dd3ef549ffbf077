/* SPDX-License-Identifier: MIT */
/* The sums of `lull waits`, for analyses that choose among them. */
#ifndef LULL_ANALYSIS_WAITS_H
#define LULL_ANALYSIS_WAITS_H

#include "analysis/analysis.h"

/* Causes besides those of waits that ended while a task was blocked: it still waits; too many dirty pages wait for a disk; another task
 * had a lock of the kernel; it has no CPU, as another took it, or since it was woken. */
enum {
    LULL_WAITS_NOT_ENDED = LULL_CAUSE_UNKNOWN + 1,
    LULL_WAITS_DIRTY,
    LULL_WAITS_LOCK,
    LULL_WAITS_PREEMPTED,
    LULL_WAITS_WOKEN,
    LULL_WAITS_CAUSES
};

/* Waits that are the same thing. */
struct lull_wait_key {
    uint32_t task;
    uint32_t call;   /* label, or LULL_NONE */
    uint32_t object; /* for lull_waits_object(), or LULL_NONE */
    uint32_t
        by; /* task that ended it, or had the CPU longest meanwhile; LULL_NONE: none, or not known */
    uint32_t chain;      /* or LULL_NONE */
    uint8_t cause;       /* enum lull_cause, or more; see lull_waits_cause() */
    char letter;         /* 'R', or of struct lull_state_fact; '?' */
    uint16_t is_request; /* 1: the object is a request of an io_uring; 0: not */
};

struct lull_wait_sum {
    struct lull_wait_key key;
    uint64_t count;
    int64_t total_ns, longest_ns, longest_at_ns;
    int64_t idle_ns; /* for a CPU: so long another one was idle, of waits that are not short */
    uint64_t futex;  /* address, of waits in futex(); 0: none, or not known */
    bool is_lock;    /* some of these were for a lock, see lull_wait_is_for_lock() */
};

/* Of an instance of lull_analysis_waits, in no order. */
const struct lull_wait_sum *lull_waits_sums(const struct lull_analysis *waits, size_t *count);
const char *lull_waits_object(const struct lull_analysis *waits, uint32_t object);
/* Appends a chain of calls: "clock_nanosleep+0x47 < libc.so.6+0x10e9a7 < main+0x11c3". */
void lull_waits_append_stack(GString *text, const struct lull_model *model, uint32_t chain);
/* "disk", "preempted", … */
const char *lull_waits_cause(uint8_t cause);

#endif
