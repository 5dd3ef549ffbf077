/* SPDX-License-Identifier: MIT */
/* What /proc says of a task: how long it ran and waited for a CPU, its state, and where it waits. */
#ifndef LULL_LIVE_POLL_PROC_H
#define LULL_LIVE_POLL_PROC_H

#include "base/pressure.h"
#include "live/records.h"

#include <stdbool.h>

/* Of a task since it was started (proc(5), /proc/PID/schedstat). */
struct lull_proc_times {
    uint64_t ran_ns, delayed_ns; /* on a CPU; runnable, but on none */
    uint64_t slices;             /* how often it came to a CPU */
};

/* Of /proc/PID/stat. */
struct lull_proc_state {
    char comm[LULL_TRACK_COMM];
    char letter; /* as in ps: R, S, D, I, … */
    bool
        is_kernel; /* a thread of the kernel's, or one that works for a process in the kernel alone */
    uint64_t start_ns; /* CLOCK_BOOTTIME, to a hundredth of a second */
};

/* Where a task waits. */
struct lull_proc_wait {
    int32_t call; /* the number of the system call; LULL_TRACK_NO_CALL: none, or it is not known */
    char function[64]; /* of the kernel; "": not known */
    bool is_hidden;    /* this process may not know the call */
};

/* False: there is no such task (any more), or the kernel does not say so. */
bool lull_proc_read_times(uint32_t pid, uint32_t tid, struct lull_proc_times *times);
bool lull_proc_read_state(uint32_t pid, uint32_t tid, struct lull_proc_state *state);
/* Microseconds since the machine was started in which some task waited for it. */
bool lull_proc_read_pressure(enum lull_pressure kind, uint64_t *some_us);
/* What the CPUs of the machine did since it was started. */
struct lull_proc_machine {
    uint64_t switches, busy_ns;
};
/* What is not known is 0. */
void lull_proc_read_machine(struct lull_proc_machine *machine);
void lull_proc_parse_machine(const char *text, struct lull_proc_machine *machine);
/* What cannot be read is not known. */
void lull_proc_read_wait(uint32_t pid, uint32_t tid, struct lull_proc_wait *wait);

/* Of a task, whatever its process. */
bool lull_proc_read_pid(uint32_t tid, uint32_t *pid);
bool lull_proc_read_uid(uint32_t tid, uint32_t *uid);
/* Whether its program has the calls of a 32-bit machine, whose numbers are others. */
bool lull_proc_is_compat(uint32_t tid);

/* The start of a file that the kernel makes up. False, with errno, and an empty text, if there is nothing to read. */
bool lull_proc_read_file(const char *path, char *out, size_t size);
/* Calls visit() for each task there is, but those of this process. False, with errno, if /proc cannot be
 * read. */
bool lull_proc_each_task(void (*visit)(void *user, uint32_t pid, uint32_t tid), void *user);

/* The same of the text of such a file. */
bool lull_proc_parse_times(const char *text, struct lull_proc_times *times);
bool lull_proc_parse_state(const char *text, struct lull_proc_state *state);
void lull_proc_parse_wait(const char *call, const char *function, struct lull_proc_wait *wait);

#endif
