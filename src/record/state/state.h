/* SPDX-License-Identifier: MIT */
/* The state of the machine when a recording starts, taken from /proc and /sys: tasks and what they
 * do, their open files, disks, network interfaces. Written as a trace of LTTng's statedump events
 * (CTF 1.8, which all readers know), so that the model needs to know of nothing new. */
#ifndef LULL_RECORD_STATE_H
#define LULL_RECORD_STATE_H

#include <lull/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/state/trace.h"

/* Writes the trace to these files. To be called after recording has started,
 * so that no task can be missed: what the trace shows later wins. Times are CLOCK_MONOTONIC, which
 * `epoch_offset_ns` brings to the Unix epoch. Processes that end meanwhile, or that may not be
 * looked at, are left out in part or whole. False and an error if it cannot be written. */
bool lull_state_write(const struct lull_state_files *files, int64_t epoch_offset_ns,
                      GError **error);

/* The same, but the trace stays open for lull_state_end(). with_calls: also in which system calls tasks sleep, where their ends will be
 * recorded. NULL and an error. */
struct lull_state_trace *lull_state_start(const struct lull_state_files *files,
                                          int64_t epoch_offset_ns, bool with_calls, GError **error);
/* Ends the trace. Before that, if recording still goes on (`with_files`), it adds the tasks and
 * files that there are now, and what tasks poll: few tracers record the paths of files that were opened meanwhile. The
 * names of containers it always adds. What there is no room for is left out. */
bool lull_state_end(struct lull_state_trace *trace, bool with_files, GError **error);

/* As lull_state_start() with calls, for the end of a recording: all is said to be so at `time_ns` (since the epoch), after
 * which the tracer has recorded next to nothing. Taken while it records, a state would push older
 * events out of its buffers; later times would make the recording longer than it is. */
struct lull_state_trace *lull_state_start_at(const struct lull_state_files *files,
                                             int64_t epoch_offset_ns, int64_t time_ns,
                                             GError **error);

/* The control group that a process is in, from the text of its /proc/PID/cgroup, which is cut; NULL:
 * none. Of version 2, unless that is the root: where version 1 manages all, the longest of its paths.
 * One with the id of a container counts before others: docker as a snap leaves its containers in its
 * own service, as far as version 2 is concerned. */
const char *lull_state_group(char *text);

/* What is kept of a command: its arguments, each with a NUL at its end but perhaps the last, as they
 * could be typed. Free with g_free(). */
char *lull_state_command_line(const char *arguments, size_t length, bool is_cut);

/* The system call that a task sleeps in. */
struct lull_state_call {
    int number;
    uint64_t args[6];
};

/* From the text of its /proc/PID/task/TID/syscall (proc_pid_syscall(5)), "0 0x3 0x7f14faf119a0 0x1 … 0x7ffd75982040 0x7f14fb1162ec":
 * number, arguments, where its stack is. False if it does not sleep in one, or if it is a program of 32 bits, whose stack is below
 * 4 GiB: its numbers mean other calls. */
bool lull_state_parse_call(const char *text, struct lull_state_call *call);

#endif
