/* SPDX-License-Identifier: MIT */
/* What the model of a machine reports: facts, each said once, in time order of the moment it became
 * known. Analyses and the execution graph subscribe to facts and never see events. Pointers are
 * borrowed for the call. */
#ifndef LULL_KERNEL_FACTS_H
#define LULL_KERNEL_FACTS_H

#include "kernel/net_packet.h"
#include "kernel/states.h"

/* Why a wait ended. */
struct lull_wakeup {
    int64_t time_ns;
    uint32_t task; /* cause TASK: the waker */
    /* cause NETWORK: numbers of the first and the last packet that its context received before; a
     * context receives several in a batch before any of them wakes someone. LULL_NONE: none */
    uint32_t first_packet, packet;
    uint32_t request; /* cause DISK: index of the block request that completed, or of which that
                          was not recorded (complete_ns is INT64_MIN), or LULL_NONE */
    uint32_t label;   /* name of the interrupt it happened in (lull_model_label), or LULL_NONE */
    /* It happened in a softirq of which is known who raised it: a task, or an interrupt, by its label;
     * else LULL_NONE. If the request was of a file, also who read or wrote that. */
    uint32_t raiser, raiser_label;
    int64_t raise_ns; /* when, if there is a raiser */
    uint8_t cause;    /* enum lull_cause */
    int32_t cpu;      /* where it happened; -1: not known */
    /* cause TASK: label of the system call that the waker was in, and lull_model_file() of that
     * call's descriptor; LULL_NONE: not known. */
    uint32_t call, file;
};

struct lull_futex;

/* A system call that has started, as far as that was recorded. */
struct lull_call_note {
    uint32_t name;                  /* label */
    uint32_t file;                  /* lull_model_file() of its descriptor, or LULL_NONE */
    uint32_t path;                  /* label: what that is called now, or LULL_NONE */
    int32_t fd;                     /* or -1 */
    int32_t ipc;                    /* number of a System V semaphore set or message queue, or -1 */
    const struct lull_futex *futex; /* or NULL */
    int64_t start_ns;
    bool is_sleep; /* poll() and the like, of no descriptors */
};

/* A task's state ended. The first fact of a task has state NONE: it appeared at end_ns. A fact with
 * state NONE later means that what it did until end_ns is not known (lost events). */
struct lull_state_fact {
    uint32_t task;
    int64_t start_ns, end_ns;
    enum lull_state state;  /* the one that ended: NONE, RUNNING, PREEMPTED, BLOCKED */
    enum lull_state next;   /* the one that starts; NONE: the task is dead or lost */
    enum lull_state before; /* PREEMPTED: RUNNING: it was preempted; BLOCKED, NONE: it was woken */
    int32_t cpu;            /* where it ran or waited to run; where it ran last if BLOCKED */
    int32_t next_cpu;       /* the same of the state that starts; -1: not known */
    uint32_t syscall;       /* label of the system call it was in when BLOCKED, or LULL_NONE */
    uint32_t chain; /* of calls by which it became BLOCKED (lull_model_frames()), or LULL_NONE */
    char letter;    /* BLOCKED: how, as ps shows it: S, D, I, T, t, P; 0: not reported */
    const struct lull_wakeup *wakeup; /* end of BLOCKED, or appearance by a fork; else NULL */
    /* From end_ns on it is what this thread of its process was until then, which has called exec() and is no more;
     * else LULL_NONE. */
    uint32_t continues;
    /* The same call, if somebody wants system calls and its start was recorded; else NULL. */
    const struct lull_call_note *call;
};

/* A priority that no event reported. */
#define LULL_NO_PRIO INT32_MIN

/* A CPU switched to another task. Also reported when something else says for the first time who is
 * on a CPU (an event's context): then `previous` is that task too, which has been there all the
 * time; and when a thread becomes the leader of its process, by exec(). A loss of events reports,
 * with is_unknown, who was on the CPU until then; the time may be before that of other facts already
 * reported.
 * The facts of a CPU have no hole: each speaks of the time from the one before it (the first: from
 * the start of the host's recording) to time_ns; unknown_ns of that, then `previous`. A recording
 * may start somewhat before its first event, with nothing recorded yet: who sums up starts with the
 * first event of the host. */
struct lull_switch_fact {
    int64_t time_ns;
    uint32_t host;
    int32_t cpu;
    uint32_t task;   /* LULL_NONE: idle, or is_unknown */
    bool is_unknown; /* no switch: events were lost, what is on the CPU from here on is not known */
    uint32_t previous; /* who was on the CPU until now; LULL_NONE: idle */
    /* Since when `previous` (or idleness) is known to have been on the CPU: the last switch, or the
     * start of the CPU's recording if this is its first switch (the event says who left), or the
     * end of a loss. */
    int64_t since_ns;
    /* What was on the CPU between the switch before and since_ns is not known: events were lost. */
    int64_t unknown_ns;
    /* The kernel's, -1..139 (what LTTng records is 100 less); LULL_NO_PRIO: not reported. */
    int32_t prio, previous_prio;
    /* The first waking of `task` since it stopped running; INT64_MIN: none was seen (it was
     * preempted, or the waking was before the trace or lost), or this is no switch. */
    int64_t wakeup_ns;
    uint32_t waker;          /* task on the CPU where that happened; LULL_NONE: idle or not known */
    bool waker_is_interrupt; /* it happened in an interrupt: `waker` was only interrupted */
    bool previous_is_runnable; /* it did not want to leave the CPU */
};

/* A task was moved to another CPU's run queue. */
struct lull_migration_fact {
    int64_t time_ns;
    uint32_t host, task;
    int32_t cpu;              /* where the event happened */
    int32_t from_cpu, to_cpu; /* -1: not reported */
};

/* The priority of a task is known to be another than before (or is known for the first time). */
struct lull_prio_fact {
    int64_t time_ns;
    uint32_t host, task;
    int32_t prio;
};

enum lull_handler_kind {
    LULL_HANDLER_IRQ, /* handler of a hardware interrupt */
    LULL_HANDLER_SOFTIRQ,
    LULL_HANDLER_HRTIMER, /* one expired high-resolution timer */
    LULL_HANDLER_VECTOR,  /* local timer, reschedule, call function … */
};

/* A handler ended; unlike lull_interrupt_fact each one by itself, also nested and shared ones. */
struct lull_handler_fact {
    int64_t start_ns, end_ns;
    int64_t nested_ns; /* of that spent in handlers that interrupted this one */
    /* SOFTIRQ: when it was raised, the first time since it last started; INT64_MIN: not seen */
    int64_t raise_ns;
    uint32_t host;
    int32_t cpu;
    uint32_t task;   /* whom it interrupted, or LULL_NONE: idle or not known */
    uint32_t number; /* irq or softirq vector */
    uint32_t label;  /* "irq 28 virtio2-req.0", "softirq NET_RX", … */
    uint32_t name;   /* label: "virtio2-req.0", "NET_RX", "local timer"; LULL_NONE: not reported */
    uint8_t kind;    /* enum lull_handler_kind */
};

/* Pages were allocated (a failed attempt is not reported) or freed. */
struct lull_page_fact {
    int64_t time_ns;
    uint32_t host;
    int32_t cpu;
    uint32_t task;  /* on the CPU; LULL_NONE: idle or not known */
    uint8_t order;  /* 2^order pages; at most 63 */
    bool has_order; /* false: the event does not say, order is 0 */
    bool is_free;
    bool in_interrupt; /* `task` was only interrupted */
};

/* A task needs memory that is not there, or has written more than the disk has, or the kernel writes what it has to a file. */
struct lull_paging_fact {
    int64_t time_ns;
    uint32_t host, task;
    enum lull_paging_step {
        LULL_PAGING_FILE,          /* it uses a page of a file */
        LULL_PAGING_RECLAIM_START, /* the kernel frees memory for it, and it waits for that */
        LULL_PAGING_RECLAIM_END,
        LULL_PAGING_GROUP_RECLAIM_END, /* the same, of memory of its control group */
        LULL_PAGING_DIRTY,            /* it has to sleep, as too many dirty pages wait for a disk */
        LULL_PAGING_COMPACTION_START, /* the kernel moves memory, so that some is in one piece */
        LULL_PAGING_COMPACTION_END,
        LULL_PAGING_DUMP, /* it ends by a signal, with a core dump, and then exits */
    } step;
    uint32_t path;  /* label; FILE: of what the file is called; DIRTY: of the disk; or LULL_NONE */
    uint64_t inode; /* FILE: of the file; 0: not reported */
};

/* A lock of the kernel, for which a task can sleep. */
enum lull_kernel_lock {
    LULL_KERNEL_LOCK_NONE,
    LULL_KERNEL_MUTEX,
    LULL_KERNEL_RWSEM_READ,
    LULL_KERNEL_RWSEM_WRITE,
    LULL_KERNEL_PERCPU_RWSEM_READ,
    LULL_KERNEL_PERCPU_RWSEM_WRITE,
    LULL_KERNEL_SEMAPHORE,
    LULL_KERNEL_RT_MUTEX, /* with PREEMPT_RT also what is a spin lock elsewhere */
    LULL_KERNEL_LOCKS
};

/* A task wants a lock of the kernel that another task has, or wants it no longer. */
struct lull_contention_fact {
    int64_t time_ns;
    uint32_t host, task;
    enum lull_kernel_lock lock; /* NONE: it has the lock now, or has given up */
    uint64_t address;           /* of the lock */
};

/* A process was moved to another control group. */
struct lull_cgroup_fact {
    int64_t time_ns;
    uint32_t host, task; /* a task of the process */
    int64_t hierarchy;   /* 0: of version 2 */
    uint32_t path;       /* label; within its hierarchy */
};

/* A timer of the kernel (hrtimer) expired. */
struct lull_timer_fact {
    int64_t time_ns;
    uint32_t host;
    uint64_t timer, function; /* addresses */
};

/* A packet was handed to a device (net_dev_xmit) or received from one (netif_receive_skb). Counts
 * of what passed; who sent what to whom is in lull_packet_fact. */
struct lull_netif_fact {
    int64_t time_ns;
    uint32_t host;
    int32_t cpu;
    uint32_t task;   /* on the CPU; LULL_NONE: idle or not known */
    uint32_t device; /* label: "eth0"; LULL_NONE: not reported */
    uint32_t length; /* bytes of the skb */
    bool is_send;
    bool in_interrupt;
};

/* A device took a packet, which had been in its queue before (net_dev_xmit). */
struct lull_taken_fact {
    int64_t time_ns;
    uint32_t host;
    int32_t cpu;
    uint32_t device;          /* label; LULL_NONE: not reported */
    uint32_t device_hash;     /* likewise, 0: as in struct lull_net_packet */
    uint64_t skb;             /* address of its buffer, as in struct lull_net_packet */
    int64_t context_start_ns; /* of the innermost handler; INT64_MIN: in none */
};

enum lull_power_kind { LULL_POWER_IDLE, LULL_POWER_FREQUENCY };

/* A CPU went to an idle state, left it, or changed its frequency. */
struct lull_power_fact {
    int64_t time_ns;
    uint32_t host;
    int32_t cpu;
    uint8_t kind;  /* enum lull_power_kind */
    int64_t value; /* IDLE: number of the state, -1: not idle; FREQUENCY: kHz */
};

/* Events of a host (of one CPU, or of all if cpu < 0) were lost in this time, or, if it has neither
 * lost events nor lost packets, nothing was recorded: reported before the first event after it. */
struct lull_lost_fact {
    int64_t start_ns, end_ns;
    uint32_t host;
    int32_t cpu;
    uint64_t events, packets; /* as in struct lull_loss */
};

/* Nothing was recorded then. */
static inline bool lull_lost_is_gap(const struct lull_lost_fact *fact)
{
    return fact->events == 0 && fact->packets == 0;
}

/* The outermost interrupt handler on a CPU ended; handlers nested in it are within. */
struct lull_interrupt_fact {
    int64_t start_ns, end_ns;
    uint32_t host;
    int32_t cpu;
    uint32_t task;  /* whom it interrupted, or LULL_NONE: idle or not known */
    uint32_t label; /* "irq 28 virtio2-req.0", "softirq NET_RX", … */
};

/* A packet left or arrived. */
struct lull_packet_fact {
    const struct lull_net_packet *packet;
    uint32_t number;          /* 0, 1, 2, … over all hosts */
    bool in_interrupt;        /* seen in interrupt context, which started at: */
    int64_t context_start_ns; /* the innermost handler */
    uint8_t context_cause;    /* what that handler represents: TIMER, NETWORK, IRQ, … */
    bool is_whole; /* of a segment: its bytes are counted from the start of the connection */
};

struct lull_block_request {
    uint32_t host;
    uint32_t dev; /* kernel's dev_t: major << 20 | minor */
    /* The device it was made for, of which `dev` is where it ended up: a partition, LVM, …; else
     * the same as dev. Needs LULL_GROUP_REMAP. */
    uint32_t mapped_dev;
    bool is_requeued; /* the device did not take it, and it was not inserted again since */
    uint64_t sector;
    uint32_t sectors;
    uint32_t left;       /* sectors not completed yet */
    uint32_t rwbs;       /* LULL_RWBS_… */
    uint32_t submitter;  /* task that inserted or issued it, or LULL_NONE */
    uint32_t label;      /* interrupt it completed in, or LULL_NONE */
    int64_t insert_ns;   /* INT64_MIN: not seen */
    int64_t issue_ns;    /* INT64_MIN: not seen */
    int64_t complete_ns; /* INT64_MIN: not yet */
};

/* Whether its device is a file (loop(4)): a kernel thread reads or writes that. */
static inline bool lull_block_is_of_file(const struct lull_block_request *request)
{
    enum { LOOP_MAJOR = 7 };
    return request->dev >> 20 == LOOP_MAJOR;
}

/* A request was inserted into a queue, issued to the device (once more if the device did not take
 * it), or is complete, that is, all its sectors are. Flushes have no sectors. A completion of which
 * nothing was seen before is reported too, with issue_ns INT64_MIN. */
struct lull_block_fact {
    int64_t time_ns;
    uint32_t request; /* lull_model_request() */
    uint32_t task;    /* on the CPU, LULL_NONE: idle or interrupt */
    int32_t cpu;
    enum lull_block_step { LULL_BLOCK_INSERT, LULL_BLOCK_ISSUE, LULL_BLOCK_COMPLETE } step;
};

enum lull_file_type {
    LULL_FILE_UNKNOWN,
    LULL_FILE_DISK,   /* opened by a path: regular file, directory, device */
    LULL_FILE_NET,    /* socket of an internet family */
    LULL_FILE_SOCKET, /* any other socket (unix, netlink), or one whose family was not reported */
    LULL_FILE_PIPE,
    LULL_FILE_OTHER, /* epoll, eventfd, timerfd, signalfd, inotify, memfd, io_uring, … */
};

/* A descriptor from open to close, in the table of one process. What dup() or fork() made is
 * another. */
struct lull_file {
    uint32_t host;
    uint32_t owner; /* task: the leader of the process whose table it is in (or a task of it) */
    int32_t fd;
    uint32_t path; /* label: "/etc/passwd", "10.9.0.2:80", "pipe", "eventfd"; LULL_NONE: unknown */
    uint8_t type;  /* enum lull_file_type */
    bool is_cloexec;
    bool is_datagram; /* NET: its socket is one of datagrams, UDP */
    bool is_accepted; /* NET: its peer is a client, with a port that says nothing */
    /* The next that dup() or fork() made of it, or of which it was made, round to itself: what is said of their socket holds
     * for all. */
    uint32_t copies;
    int64_t open_ns;  /* when it came to be; INT64_MIN: was there before it was first seen */
    int64_t close_ns; /* INT64_MAX: open as far as is known */
};

enum lull_io_kind {
    LULL_IO_OTHER, /* uses a descriptor, moves nothing: fcntl, fstat, ioctl, epoll_ctl, … */
    LULL_IO_OPEN,  /* makes a descriptor: open*, creat, socket, accept*, pipe*, epoll_create, … */
    LULL_IO_DUP,   /* dup*, fcntl(F_DUPFD…) */
    LULL_IO_CLOSE,
    LULL_IO_READ,  /* read*, pread*, recv* */
    LULL_IO_WRITE, /* write*, pwrite*, send* */
    LULL_IO_COPY,  /* splice, sendfile, copy_file_range, tee, vmsplice: reads `file`, writes `to` */
    LULL_IO_SYNC,  /* fsync, fdatasync, sync_file_range, sync, syncfs, msync */
    LULL_IO_CONNECT, /* connect() that did not wait: the connection is asked for, EINPROGRESS */
};

/* What a system call did with descriptors. */
struct lull_io {
    uint8_t kind;  /* enum lull_io_kind */
    int32_t fd;    /* the one it was given, or that it made; -1: none, or many (close_range) */
    int32_t to_fd; /* COPY: the one written; OPEN of a pair: the second; DUP: the new; -1: none */
    /* lull_model_file() of fd as it was when the call started (OPEN: what it made); LULL_NONE: none
     * or not reported, or the call says that the descriptor is bad */
    uint32_t file;
    uint32_t to_file;
    int64_t requested_bytes; /* -1: not reported */
    int64_t bytes; /* moved; 0 if it failed; -1: not reported or not a kind that moves bytes */
};

/* What is known of a futex call. */
struct lull_futex {
    uint64_t address;  /* uaddr */
    int32_t operation; /* without flags: FUTEX_WAIT 0, FUTEX_WAKE 1, …, as in linux/futex.h */
    bool is_private;
    uint32_t value;
};

/* What poll() or select() waited for, or what became ready, also of epoll_wait(); of io_getevents() the files of requests that ended. */
enum { LULL_POLLED_NAMED = 3 };
struct lull_polled {
    uint32_t n; /* 0: not known, or more than can be named */
    int32_t fds[LULL_POLLED_NAMED];
    uint32_t files[LULL_POLLED_NAMED]; /* lull_model_file(); LULL_NONE: not looked for yet */
};

/* A system call ended, or lasts still when reading ends or its task does. */
struct lull_syscall_fact {
    uint32_t task;
    uint32_t name; /* label: "openat"; without prefix, compat calls likewise; "syscall 451" if only
                      its number is known */
    int32_t cpu;   /* of its end */
    int64_t start_ns; /* INT64_MIN: its start was not seen (before the trace, or lost) */
    int64_t end_ns;   /* is_open: the last moment it is known to last */
    int64_t ret;      /* valid if has_ret */
    int32_t error;    /* the errno that it means, positive; 0: none */
    bool has_ret;
    bool is_open; /* has not ended as far as the trace shows */
    uint32_t
        path; /* label of the path that it was given, or of what `polled` is, if its task has blocked in it; or LULL_NONE */
    /* The task took it from `thread` at taken_ns: an exec(), as lull_state_fact.continues says. */
    bool is_taken;
    uint32_t thread;
    int64_t taken_ns;
    const struct lull_io *io;       /* or NULL */
    const struct lull_futex *futex; /* or NULL */
    const struct lull_call_note
        *cut; /* the call that it went on with, as restart_syscall() does; or NULL */
    const struct lull_polled
        *polled; /* or NULL; set if its task has blocked in it and `path` names them */
};

enum lull_rwbs {
    LULL_RWBS_WRITE = 1 << 0,
    LULL_RWBS_DISCARD = 1 << 1,
    LULL_RWBS_READ = 1 << 2,
    LULL_RWBS_READ_AHEAD = 1 << 3,
    LULL_RWBS_SYNC = 1 << 5,
    LULL_RWBS_META = 1 << 6,
    LULL_RWBS_FLUSH = 1 << 8,
    LULL_RWBS_FUA = 1 << 9,
    LULL_RWBS_PREFLUSH = 1 << 10,
};

enum lull_tcp_fact_kind {
    LULL_TCP_FACT_DATA,   /* was sent again */
    LULL_TCP_FACT_SYN,    /* was sent again, or is answered after that */
    LULL_TCP_FACT_WINDOW, /* its sender had no room for more, and now has */
};

/* What TCP does by itself, on a host whose packets have no headers. */
struct lull_tcp_fact {
    uint32_t number; /* of the packet, or LULL_NONE */
    uint32_t flow;   /* of DATA's connection; LULL_NONE: not known */
    uint32_t task;   /* that sent it first; LULL_NONE: not known */
    int64_t
        first_ns; /* when it was sent first, as far as calls show; since when there was no room */
    int64_t last_ns; /* when it was sent again; when there was room */
    uint32_t times;  /* sent again so far; WINDOW: 0 */
    uint8_t kind;    /* enum lull_tcp_fact_kind */
};

/* What numbers an exit's reason: as KVM counts them, arm64 being none of KVM's. */
enum lull_vcpu_isa { LULL_ISA_UNKNOWN, LULL_ISA_VMX, LULL_ISA_SVM, LULL_ISA_ARM };

enum lull_vcpu_step {
    LULL_VCPU_ENTER,  /* a thread enters a guest as one of its virtual CPUs */
    LULL_VCPU_LEAVE,  /* it leaves it */
    LULL_VCPU_INJECT, /* it injects an interrupt that the guest gets when it is entered next */
    LULL_VCPU_RUN,    /* a call to run a guest starts (needs LULL_GROUP_IOCTL, as the next) */
    LULL_VCPU_RETURN, /* a call ends that may have been such; of any task */
    LULL_VCPU_RAISE,  /* any task gives an interrupt to a virtual CPU */
    LULL_VCPU_CALL,   /* any task starts a call that may do so: KVM's own, or eight bytes for a
                         descriptor, as an eventfd gets (needs LULL_GROUP_IO) */
};

/* What a virtual CPU's thread does. */
struct lull_vcpu_fact {
    int64_t time_ns;
    uint32_t host;
    uint32_t task; /* the thread */
    int32_t cpu;   /* on which it is */
    enum lull_vcpu_step step;
    /* Of the virtual CPU, of the vector (INJECT, RAISE), or the descriptor (CALL); -1: not known, or
     * none. */
    int64_t number;
    int64_t apic;    /* RAISE: the number of the virtual CPU it is given to; -1: not known */
    uint32_t reason; /* LEAVE */
    uint8_t isa;     /* LEAVE: enum lull_vcpu_isa */
    bool
        has_details; /* LEAVE: the reason, or what belongs to it, is not 0: some tracers record 0s */
};

/* Whose functions they are, from the outermost to the innermost. */
enum lull_function_layer {
    LULL_FUNCTION_NATIVE, /* of a program or library */
    LULL_FUNCTION_PYTHON,
    LULL_FUNCTION_RECORDING, /* what records the calls is at work, in the middle of the program */
    LULL_FUNCTION_SYSCALL,   /* the kernel as user space calls it; not in facts of functions */
    LULL_FUNCTION_KERNEL,
    LULL_FUNCTION_INTERRUPT, /* a handler that ran in place of the task; not in facts of functions */
    LULL_FUNCTION_LAYERS
};

enum lull_function_step {
    LULL_FUNCTION_ENTER,
    LULL_FUNCTION_LEAVE,
    LULL_FUNCTION_PASS,  /* was called; when it ended is not recorded */
    LULL_FUNCTION_FORK,  /* `task` starts as a copy of `parent` */
    LULL_FUNCTION_EXEC,  /* `task` runs another program from now on */
    LULL_FUNCTION_UNMAP, /* what the addresses of process `pid` mean is about to change */
    LULL_FUNCTION_LOST,  /* events of programs on `cpu` were lost until now */
};

/* A task calls a function, or returns from one; and what changes whose functions those are. */
struct lull_function_fact {
    int64_t time_ns;
    int64_t lasted_ns; /* LEAVE: since it was entered; -1: not reported */
    uint64_t address;  /* 0: not reported */
    uint32_t host;
    uint32_t task;   /* LULL_NONE: UNMAP and LOST */
    uint32_t parent; /* FORK */
    uint32_t name;   /* PYTHON: label, or LULL_NONE */
    int32_t pid;     /* as the task knows it, in whose memory the address is; -1: not known */
    int32_t cpu;     /* -1: not known */
    int32_t depth;   /* KERNEL: how many functions of the kernel called it; -1: not reported */
    /* KERNEL, LEAVE: how many calls of the task ftrace left out so far, as too deep; -1: not reported */
    int64_t left_out;
    uint8_t step;     /* enum lull_function_step */
    uint8_t layer;    /* enum lull_function_layer */
    bool is_nameless; /* NATIVE, LEAVE: it was not recorded which function ends */
};

enum lull_heap_step {
    LULL_HEAP_ALLOC,   /* address 0: it failed */
    LULL_HEAP_REALLOC, /* address 0: it failed, and `old` stays */
    LULL_HEAP_FREE
};

/* A program allocated or freed memory. */
struct lull_heap_fact {
    int64_t time_ns;
    uint64_t address; /* of the new block; 0: none */
    uint64_t old;     /* of the block that this freed, or moved; 0: none */
    uint64_t bytes;   /* that were requested */
    uint64_t caller;  /* where the call returns to; 0: not reported */
    uint32_t host;
    uint32_t task; /* LULL_NONE: the event does not say which */
    int32_t pid;   /* as the task knows it; -1: not known */
    int32_t cpu;   /* -1: not known */
    uint8_t step;  /* enum lull_heap_step */
};

/* What a CPU was found to do, by a timer or a counter. */
struct lull_sample_fact {
    int64_t time_ns;
    uint32_t task;
    uint32_t chain; /* lull_model_frames(), or LULL_NONE: no address is known */
    uint32_t event; /* label: "cpu-clock", "cycles" */
    int64_t weight; /* ns or what the counter counts, since the sample before; 1: not recorded */
};

enum lull_counted_by {
    LULL_COUNTED_TASK,
    LULL_COUNTED_IDLE,
    LULL_COUNTED_INTERRUPT, /* of a CPU, if its start was read */
    LULL_COUNTED_UNKNOWN
};

/* Why it is not known what a counter counted, or by whom. */
enum lull_count_why {
    LULL_COUNT_KNOWN,
    LULL_COUNT_OWNER,   /* who was on the CPU is not known, not all of the time */
    LULL_COUNT_LOST,    /* reads were lost */
    LULL_COUNT_RESET,   /* it is less than before: it was opened anew. Nothing is counted of that */
    LULL_COUNT_STOPPED, /* it did not count: others took turns with it */
};

/* What a counter rose between two reads, or the part of it that is one task's. Reported at the
 * second read. */
struct lull_count_fact {
    int64_t start_ns, end_ns;
    uint32_t host;
    int32_t cpu;      /* -1: it is a thread's counter */
    uint32_t counter; /* lull_model_counter() */
    uint32_t task;    /* TASK: who was on the CPU, or whose counter it is */
    uint8_t by;       /* enum lull_counted_by */
    uint8_t why;      /* UNKNOWN: enum lull_count_why */
    bool is_shared;   /* several were on the CPU between the reads: this is a part by time */
    bool is_estimate; /* it did not count all of the time: `value` is as if it had */
    uint64_t value;
    uint64_t counted; /* what it counted; of all facts of a counter these sum to what it rose */
};

/* A subscriber; callbacks it does not want are NULL. */
/* An event says at which address its program, or the kernel, was; or, with a length, something was put into
 * the memory of a process there. */
struct lull_place_fact {
    int64_t time_ns;
    uint64_t address, length;
    uint32_t host;
    int32_t pid;    /* -1: not known */
    bool is_return; /* the call is before the address */
};

struct lull_facts {
    void (*state)(void *user, const struct lull_state_fact *fact);
    void (*switched)(void *user, const struct lull_switch_fact *fact);
    void (*interrupt)(void *user, const struct lull_interrupt_fact *fact);
    void (*packet)(void *user, const struct lull_packet_fact *fact);
    /* Bytes passed on a TCP connection of a host whose packets have no headers. The packet has what
     * sockets know: no acknowledgement, and numbers that count from 0. `number` is of the packet
     * that brought them, or LULL_NONE. Sends may be reported after their time. A connection of a
     * client starts with a SYN. */
    void (*segment)(void *user, const struct lull_packet_fact *fact);
    void (*tcp)(void *user, const struct lull_tcp_fact *fact);
    void (*migration)(void *user, const struct lull_migration_fact *fact);
    void (*prio)(void *user, const struct lull_prio_fact *fact);
    void (*handler)(void *user, const struct lull_handler_fact *fact);
    /* A handler started: end_ns is start_ns. */
    void (*handler_start)(void *user, const struct lull_handler_fact *fact);
    void (*page)(void *user, const struct lull_page_fact *fact);
    void (*paging)(void *user, const struct lull_paging_fact *fact);
    void (*contention)(void *user, const struct lull_contention_fact *fact);
    void (*cgroup)(void *user, const struct lull_cgroup_fact *fact);
    void (*timer)(void *user, const struct lull_timer_fact *fact);
    void (*netif)(void *user, const struct lull_netif_fact *fact);
    void (*taken)(void *user, const struct lull_taken_fact *fact);
    void (*power)(void *user, const struct lull_power_fact *fact);
    void (*vcpu)(void *user, const struct lull_vcpu_fact *fact);
    void (*block)(void *user, const struct lull_block_fact *fact);
    void (*syscall)(void *user, const struct lull_syscall_fact *fact);
    void (*lost)(void *user, const struct lull_lost_fact *fact);
    /* A system call started: is_open, end_ns is start_ns, without arguments. */
    void (*syscall_start)(void *user, const struct lull_syscall_fact *fact);
    void (*function)(void *user, const struct lull_function_fact *fact);
    void (*sample)(void *user, const struct lull_sample_fact *fact);
    void (*heap)(void *user, const struct lull_heap_fact *fact);
    void (*count)(void *user, const struct lull_count_fact *fact);
    void (*place)(void *user, const struct lull_place_fact *fact);
};

#endif
