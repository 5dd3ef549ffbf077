/* SPDX-License-Identifier: MIT */
/* What `lull record` says of a recording that a session has opened: which command ran, how it
 * ended, what was recorded and why so. docs/RECORDING.md describes the file it comes from. */
#ifndef LULL_RECORDING_H
#define LULL_RECORDING_H

#include <lull/session.h>

G_BEGIN_DECLS

/** The CPU quota of a control group, and what the kernel counted of it within a recording. */
struct lull_cpu_quota {
    const char *cgroup;        /**< path within its hierarchy */
    int64_t hierarchy;         /**< its number; 0: of version 2 */
    int64_t quota_us;          /**< the tasks of the group may have that much CPU time … */
    int64_t period_us;         /**< … each period */
    int64_t periods;           /**< in which they ran */
    int64_t throttled_periods; /**< in which the quota was used up */
    int64_t throttled_ns;      /**< how long it kept tasks off the CPU, summed over CPUs */
    const int32_t *pids;       /**< processes that were seen in it */
    uint32_t n_pids;
    /** It was removed before the end: what was counted last is missing in the counts. */
    bool is_gone;
};

/** What tasks lack while they stall. */
enum lull_pressure { LULL_PRESSURE_CPU, LULL_PRESSURE_IO, LULL_PRESSURE_MEMORY, LULL_PRESSURES };

/** How long tasks stalled as the kernel counts it (PSI), by what they lacked: microseconds, or -1 if
 * the kernel does not say. It counts for each CPU, and takes the mean of those that had work. */
struct lull_stalls {
    int64_t some_us[LULL_PRESSURES]; /**< at least one task did */
    int64_t full_us[LULL_PRESSURES]; /**< all that had work did */
};

/** The tasks of a control group of version 2, and of groups within it, in a recording. */
struct lull_group_pressure {
    const char *cgroup; /**< path */
    struct lull_stalls stalls;
};

/** The tasks of the machine, from the start of a recording to a moment in it. */
struct lull_pressure_sample {
    int64_t time_ns; /**< on the host's own clock */
    struct lull_stalls stalls;
};

/** Why a daemon wrote a snapshot: a wait or a request that took too long. */
struct lull_recording_trigger {
    const char *id;           /**< unique */
    const char *rule;         /**< name of the daemon's rule */
    const char *comm;         /**< of the task; "" if it is not known */
    int64_t pid, tid;         /**< or -1 */
    int64_t start_ns, end_ns; /**< since the epoch */
    /** Functions of the stacks of the task in the kernel, of who woke it there, and of the task in its
     * program, the latest call first; each ends with NULL. NULL: the rule does not ask for it. */
    const char *const *kernel_stack, *const *waker_stack, *const *user_stack;
};

/** One recording: a directory with recording.json, whose traces are of one host. Texts that it does
 * not contain are "". */
struct lull_recording_info {
    const char *path;    /**< of the directory */
    uint32_t host;       /**< see lull_session_host() */
    const char *program; /**< version of Lull that recorded */
    const char *tracer;  /**< "ftrace", "perf", "lttng" */
    const char *reason;  /**< why this tracer, for people */
    const char *purpose; /**< "critpath", "io", "sched", "all" */
    const char *kernel, *machine;
    const char *ended_by;       /**< "command", "duration", "interrupt", … */
    bool is_filtered;           /**< only some tasks were recorded */
    bool is_snapshot;           /**< of a flight recorder: it begins where its buffers began */
    const char *const *command; /**< with its arguments, ends with NULL; NULL: none was run */
    int64_t pid;                /**< of the command, or -1 */
    int64_t exit_status;        /**< of the command, or -1 */
    int64_t signal;             /**< that ended the command, or -1 */
    int64_t start_ns, end_ns;   /**< on the host's own clock; start_ns > end_ns: not recorded */
    int64_t events;             /**< that the tracer recorded, or -1 */
    int64_t lost_events;        /**< that it had to drop, or -1 */
    const struct lull_cpu_quota *cpu_quotas; /**< of the machine; NULL: none, or not recorded */
    uint32_t n_cpu_quotas;
    const struct lull_recording_trigger *trigger; /**< NULL: a person requested it */
    const char
        *names_missing; /**< why paths and addresses that system calls are given by pointer are
                                  not recorded, for people; "": they are, or the tracer does it */
    int64_t lost_names; /**< of them, for which there was no room; 0: none */
    const struct lull_group_pressure *group_pressures; /**< of those that stalled; NULL: none */
    uint32_t n_group_pressures;
    const struct lull_pressure_sample *pressure_samples; /**< in order of time, the last at its end;
                                                              NULL: not recorded */
    uint32_t n_pressure_samples;
    int64_t steal_ns; /**< the hypervisor ran others for so long, summed over CPUs of the machine
                         that had something to do; 0: never, or not known */
};

/** Recordings are numbered from 0 in the order of their hosts; those of one host in the order in which their first trace was
 * added. */
uint32_t lull_session_recording_count(const struct lull_session *session);
const struct lull_recording_info *lull_session_recording(const struct lull_session *session,
                                                         uint32_t index);

/** The recording that answers if no task is named: the only one that ran a command, or that a slow
 * task triggered, on `host` (-1: on any). NULL and LULL_ERROR_USAGE if there is none, or more than one. */
const struct lull_recording_info *lull_session_command(const struct lull_session *session,
                                                       int32_t host, GError **error);

G_END_DECLS

#endif
