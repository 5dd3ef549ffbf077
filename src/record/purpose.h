/* SPDX-License-Identifier: MIT */
/* What a recording is for, and the events that this needs: record.def is the table. */
#ifndef LULL_RECORD_PURPOSE_H
#define LULL_RECORD_PURPOSE_H

#include <stdbool.h>
#include <stdint.h>

enum lull_purpose {
    LULL_PURPOSE_CRITPATH, /* what is waited for */
    LULL_PURPOSE_WAIT, /* the same without system calls, which cost most: for recorders that always run */
    LULL_PURPOSE_IO,    /* and what system calls did with which files */
    LULL_PURPOSE_SCHED, /* scheduling alone */
    LULL_PURPOSE_VM,    /* what is waited for, and when guests ran */
    LULL_PURPOSE_ALL,
    LULL_PURPOSE_COUNT
};

/* A tracepoint, as tracefs and perf name it. */
struct lull_purpose_event {
    const char *system, *name;
    const char
        *lttng; /* what LTTng calls it; NULL: LTTng does not have it; "syscall" is all calls */
    uint32_t purposes; /* bits 1 << enum lull_purpose */
    bool is_needed;    /* a kernel without it cannot be recorded for these purposes */
};

/* All events that any purpose needs; those of one have its bit. */
extern const struct lull_purpose_event lull_purpose_events[];
extern const uint32_t lull_purpose_n_events;

/* "critpath", "wait", "io", "sched", "vm", "all"; and back, false if there is none of that name. */
const char *lull_purpose_name(enum lull_purpose purpose);
bool lull_purpose_of(const char *name, enum lull_purpose *purpose);

#endif
