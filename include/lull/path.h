/* SPDX-License-Identifier: MIT */
/* A critical path: the segments that determined when a piece of work finished. While a task was
 * blocked the path follows what it waited for, on its own host and on others, back to where the
 * wait started. The segments cover the time that was asked about without hole or overlap.
 *
 * Ownership: a path is the caller's, who frees it before the struct lull_waits that it came from
 * (waits.h). All that is reached from it is borrowed. Texts are bytes of the trace, which should be
 * UTF-8. Times are nanoseconds since the Unix epoch on the joined clock of the session. */
#ifndef LULL_PATH_H
#define LULL_PATH_H

#include <lull/error.h>
#include <stdbool.h>
#include <stdint.h>

G_BEGIN_DECLS

/** "No such thing", wherever the number of a task may be missing. */
#define LULL_NONE UINT32_MAX

/** What a task does. More may follow. */
enum lull_state {
    LULL_STATE_NONE,        /**< nothing is known: before the first event, after the end, a gap */
    LULL_STATE_RUNNING,     /**< on a CPU, in user or kernel mode */
    LULL_STATE_PREEMPTED,   /**< runnable, waiting for a CPU */
    LULL_STATE_INTERRUPTED, /**< on a CPU, but an interrupt handler runs there */
    LULL_STATE_BLOCKED,     /**< waiting; see the cause */
};

/** What ended a wait. More may follow. */
enum lull_cause {
    LULL_CAUSE_NONE,       /**< the state needs none: it is not BLOCKED */
    LULL_CAUSE_TASK,       /**< another task woke it */
    LULL_CAUSE_TIMER,      /**< a timer ran out */
    LULL_CAUSE_DISK,       /**< a block request completed */
    LULL_CAUSE_NETWORK,    /**< a packet arrived */
    LULL_CAUSE_USER_INPUT, /**< a keyboard, mouse or terminal */
    LULL_CAUSE_IPI,        /**< an interrupt from another CPU */
    LULL_CAUSE_IRQ,        /**< another hardware interrupt */
    LULL_CAUSE_UNKNOWN,    /**< the trace does not show it */
    LULL_CAUSE_THROTTLED,  /**< PREEMPTED: a quota kept the task off its CPU */
};

/** What a task that is RUNNING runs. More may follow. */
enum lull_mode {
    LULL_MODE_UNKNOWN,    /**< its system calls were not (all) recorded */
    LULL_MODE_USER,       /**< its own code */
    LULL_MODE_CALL,       /**< a system call */
    LULL_MODE_KERNEL,     /**< a thread or an interrupt of the kernel */
    LULL_MODE_RECLAIM,    /**< the kernel frees memory for it */
    LULL_MODE_DUMP,       /**< the kernel dumps its core, because a signal ends it */
    LULL_MODE_COMPACTION, /**< the kernel moves memory for it, to have some in one piece */
};

/** "user", "call", "kernel", "reclaim", "dump", "compaction"; NULL for UNKNOWN. */
const char *lull_mode_name(enum lull_mode mode);
/** "running", "preempted", "interrupted", "blocked"; NONE is "none". */
const char *lull_state_name(enum lull_state state);
/** "task", "timer", "disk", "network", "user-input", "ipi", "irq", "unknown"; NULL for NONE. */
const char *lull_cause_name(enum lull_cause cause);

/** One call of a call chain. */
struct lull_frame {
    const char *object;     /**< path of the file, "[kernel.kallsyms]"; NULL: not known */
    uint64_t offset;        /**< in the file; of the kernel: from its start; without object: the
                             address */
    const char *symbol;     /**< the function, as its file spells it; NULL: not known */
    uint64_t symbol_offset; /**< of the place from the start of the function */
};

/** What a wait was for, as far as the trace shows it. */
struct lull_reason {
    const char *kind; /**< "lock", "futex", "child", "signal", "sleep", "ready" (poll and the like),
                              "request" (of an io_uring), "pipe", "socket", "file", "event",
                              "fault", "memory" (its control group is above memory.high), "stop"
                              (by a signal or a debugger), "freeze" (with its control group), "hypervisor" (its virtual CPU, which did not run
                              the guest), "kernel lock" (whatever that call or page fault wanted it for); NULL: not known */
    const char *call; /**< the system call in which the task waited; or NULL */
    const char *object;  /**< what that call is about: a path, an address, "a pipe"; or NULL */
    int32_t fd;          /**< the descriptor it was given; or -1 */
    uint64_t address;    /**< of the futex; or 0 */
    const char *release; /**< the system call by which another task ended the wait; or NULL */
    bool timed_out;      /**< the call's own time-out ended it */
};

/** What TCP itself waited for, as the headers of packets show it. */
struct lull_tcp_wait {
    const char
        *kind; /**< "sent-again": the packet had been lost; "syn-again": the first packet of its
                              connection had; "delayed-ack": an acknowledgement that a timer sent;
                              "zero-window": the receiver had no room; NULL: none of these */
    int64_t first_ns; /**< when it was sent first; DELAYED-ACK: when what it acknowledges came;
                              ZERO-WINDOW: since when there was no room */
    int64_t last_ns;  /**< when it was sent again; when it was sent; when there was room */
    uint32_t times;   /**< sent again; or 0 */
    bool is_nagle;    /**< delayed-ack: the other end held data back until it came */
};

/** A piece of a path: a task in one state, for one reason. The members from `detail` on are the
 * evidence for that reason. */
struct lull_segment {
    uint32_t host;    /**< for lull_session_host() */
    uint32_t task;    /**< for lull_waits_task(): a tid may have been used again */
    int32_t tid;      /**< 0: idle task; negative: interrupt context of CPU -1-tid */
    int32_t pid;      /**< -1: not known */
    const char *comm; /**< name of the task at the end of the segment */
    int64_t start_ns, end_ns;
    enum lull_state state;
    enum lull_cause cause;
    int32_t cpu; /**< -1: none */

    const char *detail;    /**< all of the evidence in one line for people; or NULL */
    const char *object;    /**< what it waited for: the block device, the sender of the packet as
                                "address:port", the interrupt; or NULL */
    const char *operation; /**< DISK: "read", "write", "flush", "discard", "command", "request" (not
                                known which), "dirty" (no request of its own: too many dirty pages
                                waited for that disk); or NULL */
    const char *call;      /**< the system call in which it was blocked; or NULL */
    uint32_t other_task; /**< TASK: who woke it; DISK: who submitted the request; NETWORK: who sent
                                the packet; PREEMPTED: who had the CPU longest; or LULL_NONE */
    int32_t other_tid;   /**< its tid, as above; -1 without other_task */
    const char *other_comm; /**< its name then; NULL without other_task */
    uint64_t size_bytes;    /**< DISK: of the request; NETWORK: payload of the packet; else 0 */
    int64_t queue_ns;       /**< DISK: how long the request was in the queue; NETWORK: the packet in
                                 that of a device, if for a millisecond or more; -1: not known */
    int64_t device_ns;      /**< DISK: how long it was in the device; -1: not known */
    bool is_open;           /**< it was still blocked when the trace ended */
    /** Private: see lull_segment_frame(). */
    const struct lull_frame *frames;
    uint32_t n_frames;         /**< calls by which it was blocked; 0: they were not recorded */
    struct lull_reason reason; /**< BLOCKED: what the task waited for */
    uint32_t wait;             /**< for lull_path_wait(): the wait that it explains, or LULL_NONE */
    const char *program;       /**< its name without what only tells siblings apart: "kworker" */
    const char *subject; /**< of the evidence what is the same each time the same thing happens:
                              "vda write, in fsync"; or NULL */
    struct lull_tcp_wait tcp; /**< BLOCKED on NETWORK or TIMER */
    /** RUNNING: what took most of it, "in write", "in user mode", and for how long; or NULL. */
    const char *mostly;
    int64_t mostly_ns;
};

/** A wait that a path goes into: what other tasks did meanwhile explains it. Its segments follow each
 * other; those of waits within it too are among them. */
struct lull_wait {
    uint32_t
        within; /**< the wait in whose explanation this one lies, or LULL_NONE; less than its own
                          number */
    uint32_t host, task;
    int32_t tid;
    const char *comm; /**< of who waited */
    int64_t start_ns, end_ns;
    struct lull_reason reason;
    uint32_t other_task; /**< who ended it, or who sent the packet that did; or LULL_NONE */
    int32_t other_tid;
    const char *other_comm;
    const char *detail; /**< all of it in one line for people: "in flock of /var/lock/x, released by
                             make/12"; or NULL */
    /** Who waited did other things meanwhile, for others: it waited for one of several descriptors,
     * and has waited since start_ns for what it got in the end. See LULL_PATH_REQUEST. */
    bool is_shared;
};

/** The calls by which the task of a segment was blocked: 0 is the innermost, n_frames - 1 the
 * outermost. */
const struct lull_frame *lull_segment_frame(const struct lull_segment *segment, uint32_t index);

/** How a wait is explained. */
enum lull_path_kind {
    /** Each wait is explained by itself, back to its start; then the path goes on with who waited.
     * So the segments sum up: shorten one, and the whole is shorter. */
    LULL_PATH_BOUNDED,
    /** The last cause is followed all the way back, and the path never returns to who waited: what
     * determined the end, as of a batch job that was started once. */
    LULL_PATH_UNBOUNDED,
    /** As LULL_PATH_BOUNDED, for one of the requests that a task has under way at the same time: where
     * it waits for one of several descriptors, it has waited for the one that became ready since its
     * first wait after it last used that; what it did for others meanwhile is no part of the path. So are the waits of
     * tasks that others wait for, whatever the kind. */
    LULL_PATH_REQUEST,
};

struct lull_path;

/** Frees a path, or NULL. */
void lull_path_free(struct lull_path *path);

/** The time it covers: the first segment starts at *start_ns, the last ends at *end_ns. */
void lull_path_range(const struct lull_path *path, int64_t *start_ns, int64_t *end_ns);
/** The task that was asked about, for lull_waits_task(). */
uint32_t lull_path_task(const struct lull_path *path);
/** Events and whole packets that were lost meanwhile on the hosts of the path: it may be wrong if
 * there are any. */
void lull_path_losses(const struct lull_path *path, uint64_t *events, uint64_t *packets);

/** Segments in order of time; each starts where the one before ends, none is empty. */
uint32_t lull_path_segment_count(const struct lull_path *path);
const struct lull_segment *lull_path_segment(const struct lull_path *path, uint32_t index);

/** The waits that it goes into, in order of their ends, latest first; each before those within. */
uint32_t lull_path_wait_count(const struct lull_path *path);
const struct lull_wait *lull_path_wait(const struct lull_path *path, uint32_t index);

/** How long a path is in one state, for one cause. */
struct lull_state_share {
    enum lull_state state;
    enum lull_cause cause;
    int64_t duration_ns;
};

/** How long it is with one task. */
struct lull_task_share {
    uint32_t host, task;
    int32_t tid;
    const char *comm; /**< the last name it has on the path */
    int64_t duration_ns;
    const char *started_by; /**< its ancestors, oldest first: "cron/1 → sh/2"; or NULL */
    const char *container; /**< in which it was last: "web", "docker:0123456789ab", "nginx.service",
                                 "host"; NULL: not known */
    const char *command_line; /**< how its process was called last, quoted where a shell needs it;
                                 NULL: not recorded */
};

/** How long it is in one state for one reason in the tasks of one program on one host, while others
 * waited for them in one way. */
struct lull_cause_share {
    uint32_t host;
    const char *program; /**< as in struct lull_segment */
    enum lull_state state;
    enum lull_cause cause;
    const char *detail; /**< the segments' subject; RUNNING: as lull_segment.mostly; or NULL */
    int64_t duration_ns, longest_ns;
    uint32_t count;      /**< segments; RUNNING: stretches of it in that mode; PREEMPTED: times that
                              it was by that program */
    uint32_t first;      /**< number of the first of them */
    enum lull_mode mode; /**< RUNNING: what it runs */
    /** The innermost wait that it explains: who waited, the kind of reason, the system call, and on
     * what if it was the same each time; or NULL. */
    const char *waiter, *waiter_kind, *waiter_call, *waiter_object;
    /** BLOCKED on DISK: the file that its call in `detail` was about for most of that time, and for how long; or NULL, and 0. */
    const char *object;
    int64_t object_ns;
};

/** How long the tasks of a path run what. */
struct lull_mode_share {
    enum lull_mode mode;
    int64_t duration_ns;
};

/** How long it is on one host. */
struct lull_host_share {
    uint32_t host;
    int64_t duration_ns;
};

/** How long it is with the tasks of one container. */
struct lull_container_share {
    uint32_t host;
    const char *name; /**< as in struct lull_task_share; NULL: not known */
    int64_t duration_ns;
};

/** Sums of the segments, longest first; each kind of them sums to the length of the path. */
uint32_t lull_path_state_count(const struct lull_path *path);
const struct lull_state_share *lull_path_state(const struct lull_path *path, uint32_t index);
uint32_t lull_path_task_count(const struct lull_path *path);
const struct lull_task_share *lull_path_task_share(const struct lull_path *path, uint32_t index);
/** Sums to the time that is RUNNING. */
uint32_t lull_path_mode_count(const struct lull_path *path);
const struct lull_mode_share *lull_path_mode(const struct lull_path *path, uint32_t index);
uint32_t lull_path_cause_count(const struct lull_path *path);
const struct lull_cause_share *lull_path_cause(const struct lull_path *path, uint32_t index);
uint32_t lull_path_host_count(const struct lull_path *path);
const struct lull_host_share *lull_path_host(const struct lull_path *path, uint32_t index);
/** None if no task's container is known. */
uint32_t lull_path_container_count(const struct lull_path *path);
const struct lull_container_share *lull_path_container(const struct lull_path *path,
                                                       uint32_t index);

G_END_DECLS

#endif
