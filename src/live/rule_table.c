/* SPDX-License-Identifier: MIT */
/* The kinds of waits, and what filters of each can name. */
#include "live/rule.h"

const struct lull_track_kind lull_track_kinds[] = {
    {.name = "offcpu",
     .help = "from going to sleep to running again; offcpu(D) and offcpu(S): only in that state",
     .measure = LULL_TRACK_OFFCPU,
     .argument = LULL_TRACK_STATES},
    {.name = "wakeup",
     .help = "from being woken, or started, to running: the delay of the scheduler",
     .measure = LULL_TRACK_WAKEUP},
    {.name = "preempt",
     .help = "from losing the CPU while it could run to running again",
     .measure = LULL_TRACK_PREEMPT},
    {.name = "fork",
     .help = "from being started, by fork or clone, to running for the first time",
     .measure = LULL_TRACK_FORK},
    {.name = "response",
     .help = "from the start of the interrupt that wakes a task, itself, by a softirq or by its "
             "thread, to when that runs; response(36): of that line",
     .measure = LULL_TRACK_RESPONSE,
     .argument = LULL_TRACK_IRQ_NUMBER},
    {.name = "futex",
     .help = "offcpu in futex: locks, conditions, joins",
     .measure = LULL_TRACK_OFFCPU,
     .calls = LULL_TRACK_LISTED_CALLS,
     .called = LULL_TRACK_IN_FUTEX,
     .call = {"futex", "futex_waitv", "futex_wait"}},
    {.name = "poll",
     .help = "offcpu in poll, select or epoll_wait, and calls like them",
     .measure = LULL_TRACK_OFFCPU,
     .calls = LULL_TRACK_LISTED_CALLS,
     .called = LULL_TRACK_IN_POLL,
     .call = {"poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"}},
    {.name = "fault",
     .help = "offcpu outside of system calls: page faults",
     .measure = LULL_TRACK_OFFCPU,
     .calls = LULL_TRACK_OUTSIDE_CALLS,
     .called = LULL_TRACK_IN_FAULT},
    {.name = "syscall",
     .help = "a system call, whether it waits or computes; syscall(read,write): of these; costs "
             "every call of every task",
     .measure = LULL_TRACK_SYSCALL,
     .argument = LULL_TRACK_CALL_LIST},
    {.name = "block",
     .help =
         "a request from when the disk got it to when it was complete; block(vda): of that disk",
     .measure = LULL_TRACK_BLOCK,
     .argument = LULL_TRACK_DISK,
     .object = LULL_TRACK_HOP_DISK,
     .by = "issued by"},
    {.name = "queue",
     .help = "a request from when the scheduler of the disk got it to when the disk gets it; "
             "queue(vda)",
     .measure = LULL_TRACK_QUEUE,
     .argument = LULL_TRACK_DISK,
     .object = LULL_TRACK_HOP_DISK,
     .by = "issued by"},
    {.name = "irq",
     .help = "the handler of an interrupt; irq(24): of that line",
     .measure = LULL_TRACK_IRQ,
     .argument = LULL_TRACK_IRQ_NUMBER,
     .has_no_task = true,
     .object = LULL_TRACK_HOP_IRQ,
     .by = "interrupted"},
    {.name = "softirq",
     .help = "a softirq; softirq(NET_RX): of that vector",
     .measure = LULL_TRACK_SOFTIRQ,
     .argument = LULL_TRACK_VECTOR,
     .has_no_task = true,
     .object = LULL_TRACK_HOP_SOFTIRQ,
     .by = "interrupted"},
    {.name = "raise",
     .help = "a softirq from when it was raised first to when it starts; raise(NET_RX): of that "
             "vector",
     .measure = LULL_TRACK_RAISE,
     .argument = LULL_TRACK_VECTOR,
     .has_no_task = true,
     .object = LULL_TRACK_HOP_SOFTIRQ,
     .by = "interrupted"},
    {.name = "serve",
     .help = "a request, from when the server of that TCP port reads it to when it has sent the "
             "start of the answer; serve(80)",
     .measure = LULL_TRACK_SERVE,
     .argument = LULL_TRACK_PORT,
     .needs_argument = true,
     .object = LULL_TRACK_HOP_CONNECTION,
     .by = "read by"},
    {.name = "ask",
     .help =
         "a request, from when it is sent to that port to when the start of the answer is read; "
         "ask(5432)",
     .measure = LULL_TRACK_ASK,
     .argument = LULL_TRACK_PORT,
     .needs_argument = true,
     .object = LULL_TRACK_HOP_CONNECTION,
     .by = "sent by"},
    {.name = "ttfb",
     .help =
         "from when a server has a new connection to when it has sent the first byte; ttfb(80): "
         "at that TCP port",
     .measure = LULL_TRACK_TTFB,
     .argument = LULL_TRACK_PORT,
     .object = LULL_TRACK_HOP_CONNECTION,
     .by = "answered by"},
    {.name = "connect",
     .help = "from when a TCP connection is asked for to when it is there, or has failed; "
             "connect(5432): to that port",
     .measure = LULL_TRACK_CONNECT,
     .argument = LULL_TRACK_PORT,
     .object = LULL_TRACK_HOP_CONNECTION,
     .by = "asked for by"},
    {.name = "netrx",
     .help = "a packet of TCP, from when the interface received it to when a program reads it; "
             "netrx(eth0)",
     .measure = LULL_TRACK_NETRX,
     .argument = LULL_TRACK_INTERFACE,
     .object = LULL_TRACK_HOP_INTERFACE,
     .by = "read by"},
    {.name = "nettx",
     .help = "a packet, from when it is queued to when the interface's driver gets it; nettx(eth0)",
     .measure = LULL_TRACK_NETTX,
     .argument = LULL_TRACK_INTERFACE,
     .object = LULL_TRACK_HOP_INTERFACE,
     .by = "queued by"},
    {.name = "timer",
     .help = "from when a timer (hrtimer) should have expired at the latest to when it does",
     .measure = LULL_TRACK_TIMER,
     .has_no_task = true,
     .object = LULL_TRACK_HOP_EXPIRY,
     .by = "interrupted"},
    {.name = "work",
     .help = "work that the kernel puts off, from when it is queued to when a worker starts it",
     .measure = LULL_TRACK_WORK,
     .object = LULL_TRACK_HOP_WORK,
     .by = "queued by"},
    {.name = "lock",
     .help = "waiting for a lock of the kernel's, spinning or asleep",
     .measure = LULL_TRACK_LOCK},
    {.name = "reclaim",
     .help = "freeing memory before getting some, of the machine or of the control group",
     .measure = LULL_TRACK_RECLAIM},
    {.name = "exec",
     .help = "execve, from when the new program is read to when the old one is gone",
     .measure = LULL_TRACK_EXEC},
    {.name = "mark",
     .help = "what programs with lull/mark.h, or 'lull mark', say: from lull_mark_begin() to "
             "lull_mark_end(); mark(checkout)",
     .measure = LULL_TRACK_MARK,
     .argument = LULL_TRACK_MARK_NAME,
     .needs_argument = true,
     .object = LULL_TRACK_HOP_MARK,
     .by = "begun by"},
    {.name = NULL},
};

/* What some kinds have. */
enum {
    HAS_CALL = 1 << 0,
    HAS_WAKER = 1 << 1,
    HAS_REQUEST = 1 << 2, /* to a disk: its own, or that whose end woke the task */
    HAS_PEER = 1 << 3,    /* a connection, or the packet that woke the task */
    HAS_INTERFACE = 1 << 4,
};

const struct lull_given_name lull_track_names[] = {
    [LULL_TRACK_COMM_NAME] = {"comm", LULL_VALUE_TEXT},
    [LULL_TRACK_PID_NAME] = {"pid", LULL_VALUE_INT},
    [LULL_TRACK_TID_NAME] = {"tid", LULL_VALUE_INT},
    [LULL_TRACK_UID_NAME] = {"uid", LULL_VALUE_INT},
    [LULL_TRACK_CPU_NAME] = {"cpu", LULL_VALUE_INT},
    [LULL_TRACK_GROUP_NAME] = {"cgroup", LULL_VALUE_TEXT},
    [LULL_TRACK_HOST_NAME] = {"host", LULL_VALUE_TEXT},
    [LULL_TRACK_CALL_NAME] = {"call", LULL_VALUE_TEXT},
    [LULL_TRACK_WAKER_NAME] = {"waker_comm", LULL_VALUE_TEXT},
    [LULL_TRACK_DISK_NAME] = {"disk", LULL_VALUE_TEXT},
    [LULL_TRACK_RW_NAME] = {"rw", LULL_VALUE_TEXT},
    [LULL_TRACK_INTERFACE_NAME] = {"iface", LULL_VALUE_TEXT},
    [LULL_TRACK_LPORT_NAME] = {"lport", LULL_VALUE_INT},
    [LULL_TRACK_RPORT_NAME] = {"rport", LULL_VALUE_INT},
    [LULL_TRACK_RADDR_NAME] = {"raddr", LULL_VALUE_TEXT},
    [LULL_TRACK_NAMES] = {NULL, LULL_VALUE_NONE},
};

/* What a name is of; 0: every kind has it. */
static const uint32_t needs[LULL_TRACK_NAMES] = {
    [LULL_TRACK_CALL_NAME] = HAS_CALL,    [LULL_TRACK_WAKER_NAME] = HAS_WAKER,
    [LULL_TRACK_DISK_NAME] = HAS_REQUEST, [LULL_TRACK_RW_NAME] = HAS_REQUEST,
    [LULL_TRACK_LPORT_NAME] = HAS_PEER,   [LULL_TRACK_RPORT_NAME] = HAS_PEER,
    [LULL_TRACK_RADDR_NAME] = HAS_PEER,   [LULL_TRACK_INTERFACE_NAME] = HAS_INTERFACE,
};

static uint32_t of_kind(const struct lull_track_kind *kind)
{
    const uint32_t call = kind->calls == LULL_TRACK_OUTSIDE_CALLS ? 0 : HAS_CALL;
    if (kind->measure > LULL_TRACK_SYSCALL) {
        return kind->object == LULL_TRACK_HOP_DISK         ? HAS_REQUEST
               : kind->object == LULL_TRACK_HOP_CONNECTION ? HAS_PEER
               : kind->object == LULL_TRACK_HOP_INTERFACE  ? HAS_INTERFACE
                                                           : 0;
    }
    switch (kind->measure) {
    case LULL_TRACK_SYSCALL:
    case LULL_TRACK_PREEMPT: /* nobody has to wake it */
        return call;
    case LULL_TRACK_FORK:
        return call | HAS_WAKER;
    default:
        return call | HAS_WAKER | HAS_REQUEST | HAS_PEER;
    }
}

bool lull_track_kind_has(const struct lull_track_kind *kind, enum lull_track_name name)
{
    return (of_kind(kind) & needs[name]) == needs[name];
}
