/* SPDX-License-Identifier: MIT */
/* What the programs in the kernel and this program share: what is asked, the slot of each task, and the
 * record of an alarm. Both sides are compiled from this header; no padding is implied. */
#ifndef LULL_LIVE_RECORDS_H
#define LULL_LIVE_RECORDS_H

#include <stdint.h>

enum {
    LULL_TRACK_RULES = 8,
    LULL_TRACK_TESTS = 4,   /* of one rule, that the kernel makes */
    LULL_TRACK_CALLS = 8,   /* system calls of one rule */
    LULL_TRACK_HOPS = 4,    /* of a chain */
    LULL_TRACK_FRAMES = 32, /* of a stack */
    LULL_TRACK_COMM = 16,
    LULL_TRACK_NESTED = 4, /* interrupts in interrupts */
    LULL_TRACK_MOST_SLOTS = 65536,
    LULL_TRACK_EARLY = 4096,        /* tasks woken early at a time, by tid */
    LULL_TRACK_MOST_CHAINS = 10240, /* of one interval */
    LULL_TRACK_BUCKETS = 26,        /* below 1 us, then up to 2, 4, 8 … us, and 16.8 s or more */
    LULL_TRACK_NO_CALL = -1,
    LULL_TRACK_MOST_CALL = 1024, /* numbers of this machine's system calls are smaller */
    LULL_TRACK_NAME =
        31, /* bytes of the name of a mark, and of its cookie; what is longer is not seen */
    LULL_TRACK_COOKIE = 255,
    LULL_TRACK_NAME_ROOM = 40, /* with a byte more, to see that it is longer, and a NUL */
    LULL_TRACK_COOKIE_ROOM = 264,
};

/* What a rule measures. */
enum lull_track_measure {
    LULL_TRACK_WAKEUP,   /* waking to running */
    LULL_TRACK_PREEMPT,  /* losing the CPU while runnable to running */
    LULL_TRACK_OFFCPU,   /* going to sleep to running */
    LULL_TRACK_FORK,     /* being started to running for the first time */
    LULL_TRACK_RESPONSE, /* the interrupt that wakes, itself, by a softirq or a thread, to running */
    LULL_TRACK_SYSCALL,  /* start to end of a system call, whether it waited or not */
    /* From here on no waits. */
    LULL_TRACK_BLOCK,   /* a request given to the disk to its completion */
    LULL_TRACK_IRQ,     /* start to end of the handler of an interrupt */
    LULL_TRACK_SOFTIRQ, /* the same of a softirq */
    LULL_TRACK_RAISE,   /* a softirq raised to its start */
    /* Of a socket. */
    LULL_TRACK_CONNECT, /* a connection wanted to had, or given up */
    LULL_TRACK_TTFB,    /* a connection accepted to what is sent first */
    LULL_TRACK_SERVE,   /* a request received to the start of the answer */
    LULL_TRACK_ASK,     /* a request sent to the start of the answer */
    LULL_TRACK_QUEUE,   /* a request in the scheduler of the disk */
    LULL_TRACK_TIMER,   /* the time of a timer to its expiry */
    LULL_TRACK_WORK,    /* work queued to its start */
    LULL_TRACK_NETTX,   /* a packet queued to the driver getting it */
    LULL_TRACK_NETRX,   /* a packet received to its data being read */
    LULL_TRACK_LOCK,    /* waiting for a lock of the kernel's */
    LULL_TRACK_RECLAIM, /* having to free memory */
    LULL_TRACK_EXEC,    /* replacing the program */
    LULL_TRACK_MARK,    /* what a program says begins, to what it says is the end of that */
    LULL_TRACK_MEASURES
};

/* Bits of task_struct.__state that have kept their values since there is BTF. */
enum {
    LULL_TRACK_STATE_S = 0x1,
    LULL_TRACK_STATE_D = 0x2,
    LULL_TRACK_STATE_T = 0x4,
    LULL_TRACK_STATE_TRACED = 0x8,
    LULL_TRACK_STATE_IDLE = 0x400, /* of the kernel's: it has nothing to do */
};

enum lull_track_calls {
    LULL_TRACK_ANY_CALL,
    LULL_TRACK_LISTED_CALLS,
    LULL_TRACK_OUTSIDE_CALLS, /* a page fault: no call, and no task of the kernel's */
};

/* Waits in some system calls, or outside of all, are also counted by themselves. */
enum lull_track_called {
    LULL_TRACK_IN_FUTEX,
    LULL_TRACK_IN_POLL,
    LULL_TRACK_IN_FAULT, /* OUTSIDE_CALLS */
    LULL_TRACK_CALLED
};

/* Of control groups: version 2, and those of version 1 that manage CPU time and memory. */
enum lull_track_hierarchy {
    LULL_TRACK_UNIFIED,
    LULL_TRACK_OF_CPU,
    LULL_TRACK_OF_MEMORY,
    LULL_TRACK_HIERARCHIES
};

/* Whose stacks a record has; bits. */
enum {
    LULL_TRACK_KERNEL_STACK = 1 << 0, /* the task's, in the kernel */
    LULL_TRACK_WAKER_STACK = 1 << 1,
    LULL_TRACK_USER_STACK = 1 << 2, /* the task's, in its program */
};

enum lull_track_test_field {
    LULL_TRACK_TEST_PID,
    LULL_TRACK_TEST_TID,
    LULL_TRACK_TEST_UID,
    LULL_TRACK_TEST_CPU,
    LULL_TRACK_TEST_COMM,
};

struct lull_track_test {
    uint32_t field, number;
    char comm[LULL_TRACK_COMM]; /* the rest is NUL */
};

struct lull_track_kernel_rule {
    uint64_t threshold_ns;    /* longer waits are reported */
    uint32_t measure, states; /* states 0: any */
    uint32_t has_number,
        number; /* only that disk (as in lull_track_hop), interrupt, vector or port, or LULL_TRACK_NAME_HASH */
    uint32_t calls, n_calls;
    int32_t call[LULL_TRACK_CALLS];
    uint32_t n_tests, limit; /* alarms in a window of 2^30 ns */
    struct lull_track_test test[LULL_TRACK_TESTS];
};

struct lull_track_config {
    uint32_t n_rules, slot_mask;
    uint32_t self;           /* the process that is never reported */
    uint32_t command;        /* only this task and its descendants; 0: all */
    uint32_t has_prev_state; /* sched_switch has it as an argument */
    uint32_t measures;       /* bits of all rules */
    uint32_t has_sums;       /* waits are summed by whom they were for, and counted by length */
    uint32_t has_tasks;      /* so is what each task does, for lull top */
    uint32_t has_totals;     /* histograms have `ns`, and there are those of rules besides alarms */
    uint32_t has_histograms; /* what rules are about is counted by its length, and never reported */
    uint32_t stacks;
    uint32_t has_served; /* the latest waits of tasks that serve requests are kept, in `past` */
    uint64_t least_ns;   /* the smallest threshold */
    struct lull_track_kernel_rule rule[LULL_TRACK_RULES];
    uint8_t called[LULL_TRACK_MOST_CALL]; /* with has_totals: 1 + enum lull_track_called, or 0 */
};

/* Of a mark's name, byte after byte (FNV-1a). */
#define LULL_TRACK_NAME_SEED 0x811c9dc5u
#define LULL_TRACK_NAME_HASH(hash, byte) (((hash) ^ (uint8_t)(byte)) * 0x01000193u)

enum lull_track_hop_kind {
    LULL_TRACK_HOP_NONE, /* the chain has ended */
    LULL_TRACK_HOP_TASK,
    LULL_TRACK_HOP_TIMER,
    LULL_TRACK_HOP_IRQ,       /* number a */
    LULL_TRACK_HOP_SOFTIRQ,   /* vector a */
    LULL_TRACK_HOP_INTERRUPT, /* without a name */
    LULL_TRACK_HOP_DISK,
    LULL_TRACK_HOP_PACKET,
    LULL_TRACK_HOP_CONNECTION,
    LULL_TRACK_HOP_EXPIRY,    /* of a timer, with its function */
    LULL_TRACK_HOP_WORK,      /* with its function */
    LULL_TRACK_HOP_INTERFACE, /* number a, with its name */
    LULL_TRACK_HOP_MARK,      /* of the rule's name, with the record's cookie */
    LULL_TRACK_HOP_KINDS
};

/* Who ended a wait. It had been at work on that since start_ns, when it was itself woken. */
struct lull_track_hop {
    uint64_t start_ns; /* 0: since before anything was seen of it */
    uint32_t a,
        b; /* TASK: pid and tid; DISK: device and whether it wrote; PACKET: ports, from and to;
              CONNECTION: ports, of the other end and of this one */
    uint32_t kind;
    uint32_t c; /* PACKET: whether it is IPv6; CONNECTION: bits of below */
    union {
        char comm[LULL_TRACK_COMM]; /* TASK; INTERFACE: its name */
        uint8_t address[16];        /* PACKET: from where; CONNECTION: the other end */
        uint64_t sector;            /* DISK */
        uint64_t function;          /* EXPIRY, WORK: its address */
    };
};

enum {
    LULL_TRACK_CONNECTION_IPV6 = 1 << 0,
    LULL_TRACK_CONNECTION_OUT = 1 << 1, /* this end wanted it */
    LULL_TRACK_CONNECTION_FAILED = 1 << 2,
    LULL_TRACK_CONNECTION_HANDED = 1 << 3, /* another task than the one that read it has answered */
};

/* In lull_track_slot.flags and lull_track_record.flags. */
enum {
    LULL_TRACK_IS_NEW = 1 << 0,      /* it waits for its first run */
    LULL_TRACK_IS_FOLLOWED = 1 << 1, /* the command or a descendant */
    LULL_TRACK_IS_KERNEL = 1 << 2,
    LULL_TRACK_IS_COMPAT = 1 << 3, /* calls have the numbers of another architecture */
    LULL_TRACK_FLAGS = (1 << 4) - 1,
    /* Of a slot: another runs where it ran, but it was not seen to leave. */
    LULL_TRACK_IS_LOST = 1 << 5,
    /* Of a slot: it has read a request, with has_served. */
    LULL_TRACK_SERVES = 1 << 7,
    /* Of a slot: when it was woken early it had not started to leave. As a rule it never does then, and
     * what it sleeps for later is another wait. */
    LULL_TRACK_WAS_QUEUED = 1 << 6,
    /* Of a slot: it waited already when it was first seen, so that the wait is longer than is known. */
    LULL_TRACK_IS_OLDER = 1 << 8,
    /* Of a slot: what the task did is being added to what those did that have ended. */
    LULL_TRACK_IS_ENDING = 1 << 9,
    LULL_TRACK_IS_CUT = 1 << 4, /* of a chain: it does not reach back to the start of the wait */
};

/* What a task has done since it was first seen. What is not known is neither: some kernels hide switches. */
struct lull_track_sums {
    uint64_t ran_ns, blocked_ns, runnable_ns, unknown_ns;
};

/* What is known of a task. The first 64 bytes are all that most switches touch, without sums. */
struct lull_track_slot {
    uint32_t tid, tgid; /* tid 0: free */
    uint64_t start_time;
    uint64_t since;    /* off the CPU; 0: running, or not known */
    uint64_t woken;    /* runnable again */
    uint64_t ran;      /* on a CPU */
    uint64_t begin;    /* woken last, which `hop` explains */
    uint64_t early_ns; /* woken before it had left the CPU, which lull_track_early explains */
    uint32_t state;
    uint32_t flags;
    struct lull_track_sums sums;
    uint64_t cpu;        /* on which it ran last, with sums */
    uint64_t call_since; /* in a system call, with rules about them; 0: not, or not known */
    int32_t call;        /* that one */
    uint32_t irq;        /* with rules about responses: 1 + the interrupt that woke it; 0: none */
    uint64_t irq_ns;     /* and when that came */
    struct lull_track_hop hop[LULL_TRACK_HOPS];
};

/* Who woke a task before it had left the CPU: for moments, of few tasks, so it is in no slot. */
struct lull_track_early {
    uint64_t ns;
    uint32_t tid, pad;
    struct lull_track_hop hop[LULL_TRACK_HOPS];
};

/* Of the tasks of a process that have ended. */
struct lull_track_ended {
    struct lull_track_sums sums;
    char comm[LULL_TRACK_COMM];
};

/* One of those that a wait was for: a hop without its moment. */
struct lull_track_link {
    uint32_t kind;
    uint32_t a,
        b; /* as in lull_track_hop, but TASK: only the pid; PACKET: port, and bits of below */
    union {
        char comm[LULL_TRACK_COMM];
        uint8_t address[16];
    };
};

/* Of the two ports of a packet the lower one is kept: it names the service. */
enum {
    LULL_TRACK_PACKET_IPV6 = 1 << 0,
    LULL_TRACK_PACKET_TO = 1 << 1, /* the port is that of the receiver */
};

/* A wait that is over, of a task that serves requests. */
struct lull_track_past_wait {
    uint64_t since, woken, until; /* woken: from then on it could have run */
    struct lull_track_link link;  /* who woke it; NONE: not known */
    uint32_t pad;
};

enum { LULL_TRACK_PAST = 64, LULL_TRACK_PAST_LEAST_NS = 20000 };

/* The latest ones that were longer than LULL_TRACK_PAST_LEAST_NS: number i is at i % LULL_TRACK_PAST. */
struct lull_track_past {
    uint64_t n; /* that there have been */
    struct lull_track_past_wait wait[LULL_TRACK_PAST];
};

/* Waits that are shown as one: of the same process, in the same call, for the same. */
struct lull_track_chain {
    uint32_t tgid;
    int32_t call;
    uint32_t state; /* 0: it waited for a CPU, and there are no links */
    uint32_t flags;
    char comm[LULL_TRACK_COMM];
    struct lull_track_link link[LULL_TRACK_HOPS];
};

struct lull_track_chain_sum {
    uint64_t ns; /* within the interval */
    uint64_t waits, longest_ns;
};

struct lull_track_longest {
    uint64_t interval, ns;
};

/* How many of one measure were how long. What is exactly as long as a bucket's upper end is in it. */
struct lull_track_histogram {
    uint64_t n[LULL_TRACK_BUCKETS];
    uint64_t ns; /* of all together, with has_totals */
    /* In the latest intervals of even and of odd number. Where histograms are taken, the first is that of what was
     * taken. What ends in the microseconds of the taking may count to that, and be the longest of the next. */
    struct lull_track_longest longest[2];
};

/* Of each CPU. */
struct lull_track_histograms {
    struct lull_track_histogram of[LULL_TRACK_MEASURES]; /* with sums */
    struct lull_track_histogram rule[LULL_TRACK_RULES];
    struct lull_track_histogram called[LULL_TRACK_CALLED]; /* with has_totals */
};

enum {
    LULL_TRACK_HISTOGRAMS =
        sizeof(struct lull_track_histograms) / sizeof(struct lull_track_histogram)
};

/* All of them, one after the other. */
static inline struct lull_track_histogram *lull_histograms_each(struct lull_track_histograms *all)
{
    return (struct lull_track_histogram *)all;
}

/* What user space changes while the programs run. */
struct lull_track_governed {
    uint32_t without_chains;  /* they are given up, because they cost too much */
    uint32_t without_wakings; /* so is who is woken when */
    uint64_t least_ns;        /* shorter waits are in no chain */
    uint64_t from_ns;         /* the interval's start */
    uint64_t interval;        /* the number of the one for which the longest is noted */
};

struct lull_track_stack {
    int32_t bytes; /* an errno, negative, if there is none */
    uint32_t pad;
    uint64_t frame[LULL_TRACK_FRAMES];
};

/* Of a disk or an interrupt, hop[0] says of which; the task is who gave the request, or was interrupted. */
struct lull_track_record {
    uint32_t rule, flags;
    uint64_t since_ns, woken_ns, end_ns; /* woken_ns 0: not seen */
    uint64_t irq_ns;                     /* of a response: when the interrupt came */
    uint32_t tid, tgid, uid, cpu;
    char comm[LULL_TRACK_COMM];
    int32_t call;
    uint32_t state;
    uint64_t first_argument; /* of the call */
    struct lull_track_hop hop[LULL_TRACK_HOPS];
    char cookie[LULL_TRACK_COOKIE_ROOM]; /* of a mark; else "" */
    struct lull_track_stack kernel, waker, user;
    uint64_t group[LULL_TRACK_HIERARCHIES]; /* numbers of the task's control groups; 0: not known */
};

/* Of each CPU; with a command, waits are its own and those of what it starts. */
struct lull_track_counts {
    uint64_t switches, waits;
    uint64_t events;         /* requests, interrupts and system calls that rules are about */
    uint64_t unseen;         /* waits that the kernel did not show the end of */
    uint64_t untracked;      /* waits of tasks, or requests, without room */
    uint64_t unknown_wakers; /* waits whose end nobody was seen to cause */
    uint64_t unsummed;       /* waits whose chain had no room */
    uint64_t unended;        /* tasks that ended and whose sums had no room */
    uint64_t replaced;       /* marks that began again before they ended */
    uint64_t candidates[LULL_TRACK_RULES]; /* longer than the threshold */
    uint64_t limited[LULL_TRACK_RULES];    /* of them over the limit */
    uint64_t lost[LULL_TRACK_RULES];       /* of them without room in the ring buffer */
};

/* ---- who talks to whom (talks.h) ---- */

enum { LULL_TALKS = 16384 };

struct lull_talk_key {
    uint64_t socket; /* its cookie */
    uint32_t tid, pad;
};

/* The first byte of a unix socket's address here: it is of 100::/64, which no machine has (RFC 6666). */
enum { LULL_TALK_WITHIN = 1 };

/* A task that sent to or received from a connected socket: TCP, UDP, or unix(7) but for datagrams. Addresses of IPv4 are
 * mapped (::ffff:10.9.0.3). Unix sockets have port 0. */
struct lull_talk {
    uint8_t local[16], remote[16];
    uint16_t local_port, remote_port;
    uint32_t tgid;
    uint32_t namespace; /* the inode of the network namespace */
    uint32_t pad;
    uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC */
};

#endif
