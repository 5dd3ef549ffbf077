/* SPDX-License-Identifier: MIT */
/* Why a task waited: the system call in which it did, what that call is about (a file, a lock, a
 * child, …), what the waker did to end it, and the same as a sentence. Whoever says what a wait was
 * for says it with this. */
#ifndef LULL_KERNEL_WAIT_REASON_H
#define LULL_KERNEL_WAIT_REASON_H

#include <glib.h>

#include "kernel/model.h"

/* What kind of thing a call waits for. */
enum lull_wait_kind {
    LULL_WAIT_NONE,  /* no call, or one of which nothing is known */
    LULL_WAIT_LOCK,  /* something that another task holds: flock, fcntl, semop */
    LULL_WAIT_FUTEX, /* a mutex, a condition variable, a semaphore, …: the kernel cannot tell */
    LULL_WAIT_CHILD, /* the end of a child */
    LULL_WAIT_SIGNAL,
    LULL_WAIT_SLEEP,   /* the time to pass */
    LULL_WAIT_READY,   /* one of several descriptors: poll, select, epoll_wait */
    LULL_WAIT_REQUEST, /* a request of an io_uring */
    LULL_WAIT_PIPE,
    LULL_WAIT_SOCKET,
    LULL_WAIT_FILE,        /* a file, a directory, a device */
    LULL_WAIT_EVENT,       /* an eventfd, a timerfd, … */
    LULL_WAIT_FAULT,       /* memory that has to be read from a disk: a file that is mapped, swap */
    LULL_WAIT_MEMORY,      /* nothing: its control group has more memory than memory.high */
    LULL_WAIT_STOP,        /* nothing: it was stopped, and had to be continued */
    LULL_WAIT_FREEZE,      /* nothing: its control group was frozen, and had to be thawed */
    LULL_WAIT_HYPERVISOR,  /* its virtual CPU, which did not run the guest */
    LULL_WAIT_KERNEL_LOCK, /* a lock of the kernel, whatever call or page fault wants that */
    LULL_WAIT_KINDS
};

/* What memory was used that is not there, or more than there should be. */
enum lull_fault {
    LULL_FAULT_NONE,
    LULL_FAULT_ANY,  /* not known which */
    LULL_FAULT_FILE, /* of a file that is mapped; the address of the reason is its inode */
    LULL_FAULT_SWAP, /* the task's own, which is in swap */
    LULL_FAULT_HIGH, /* no fault: what its control group has beyond memory.high */
};

/* Compared by its bytes: members that are not set are LULL_NONE, -1 or 0, and there is no
 * padding. */
struct lull_wait_reason {
    uint64_t address;      /* of the futex; of a fault in a file: its inode; 0: none */
    uint32_t call;         /* label of the system call it waited in, or LULL_NONE */
    uint32_t file;         /* lull_model_file() of that call's descriptor, or LULL_NONE */
    uint32_t path;         /* label: what the file was called then, or LULL_NONE */
    int32_t fd;            /* that descriptor, or -1 */
    int32_t ipc;           /* number of a System V semaphore set or message queue, or -1 */
    uint32_t release;      /* label of the call in which the waker ended the wait, or LULL_NONE */
    uint32_t release_file; /* of that call's descriptor, or LULL_NONE */
    uint8_t fault; /* enum lull_fault: for memory, in no call, or that the call uses; 0: not */
    /* In no call: 'T': by a signal, 't': by a debugger, 'F': with its control group, of which `file` is the switch; 0: not. */
    uint8_t stopped;
    uint8_t is_guest : 1; /* its virtual CPU was not in the guest */
    uint8_t is_sleep : 1; /* the call waited for no descriptor, though others of its name do */
    uint8_t is_dirty : 1; /* the kernel let it sleep, as too many dirty pages wait for a disk */
    uint8_t lock : 4;     /* enum lull_kernel_lock: what it wanted in the call or the page fault */
    uint8_t unused : 1;
    uint8_t
        operation; /* of the io_uring's request that it waited for, IORING_OP_… + 1; 0: not known */
};

#define LULL_WAIT_REASON_NONE                                                                      \
    ((struct lull_wait_reason){.call = LULL_NONE,                                                  \
                               .file = LULL_NONE,                                                  \
                               .path = LULL_NONE,                                                  \
                               .fd = -1,                                                           \
                               .ipc = -1,                                                          \
                               .release = LULL_NONE,                                               \
                               .release_file = LULL_NONE})

/* Whether that is a wait for a lock that a task holds. The kernel cannot tell, but what libraries wait with says so: 2 is a lock
 * with waiters to glibc, Go and Rust, the highest bit beside a tid the same to the kernel (futex(2), FUTEX_WAITERS), and to musl.
 * False: another thing, as a condition variable, a semaphore, or a lock of another kind. */
bool lull_wait_is_for_lock(const struct lull_futex *futex);

/* How the call ended in which a task had waited. */
struct lull_wait_end {
    bool is_known;
    bool is_zero;  /* it returned 0 */
    int32_t error; /* the errno that it returned, or 0 */
};

/* Whether it waited for something that the call, if any, needs on its way: not what the call itself waits for. */
static inline bool lull_wait_reason_is_imposed(const struct lull_wait_reason *reason)
{
    return reason->fault || reason->lock;
}

/* Takes the reason from the fact that says that a task was BLOCKED in a call. */
struct lull_wait_reason lull_wait_reason_of(const struct lull_state_fact *fact);

/* Whether the fact says that a task was stopped; then *reason is that. */
bool lull_wait_reason_is_stop(const struct lull_state_fact *fact, struct lull_wait_reason *reason);

/* Whether the fact says that a task was frozen with its control group: who ended that wrote to the file that thaws one. */
bool lull_wait_reason_is_freeze(const struct lull_model *model, const struct lull_state_fact *fact,
                                struct lull_wait_reason *reason);

/* "futex", "child", …; NULL for NONE. */
const char *lull_wait_kind_name(enum lull_wait_kind kind);
enum lull_wait_kind lull_wait_reason_kind(const struct lull_model *model,
                                          const struct lull_wait_reason *reason);

/* Appends what the call is about: "/var/lib/x", "10.9.0.2:80", "a pipe", "descriptor 5",
 * "0x7f12a0"; nothing if nothing is known. */
void lull_wait_reason_append_object(const struct lull_model *model,
                                    const struct lull_wait_reason *reason, GString *out);
/* Appends "in a page fault of /path", of a reason with a fault. */
void lull_wait_reason_append_fault(const struct lull_model *model,
                                   const struct lull_wait_reason *reason, GString *out);
/* Appends "for a kernel lock (mutex)" if it was that. */
void lull_wait_reason_append_lock(const struct lull_wait_reason *reason, GString *out);
/* Appends whom a socket sends to, by the label that it had as its name at that time. */
void lull_wait_reason_append_peer(const struct lull_model *model, uint32_t file, uint32_t path,
                                  GString *out);
/* What the call is about if that is a thing without a name, which is called the same each time: "a pipe", "a timerfd";
 * else NULL. */
const char *lull_wait_reason_thing(const struct lull_model *model,
                                   const struct lull_wait_reason *reason);
/* Appends the reason as a part of a sentence; `waker` is how the task is called that ended the
 * wait, or NULL if that was no task or is not known:
 *     in flock of /var/lock/x, released by make/12
 *     in read of a pipe that sed/13 wrote to
 *     in wait4 for its child sh/14
 *     stopped by a signal until bash/15 continued it
 *     woken by expect/7 in write to /dev/ptmx
 * The last if it waited in no call, as threads of the kernel do. Appends nothing if neither is known. */
void lull_wait_reason_append(const struct lull_model *model, const struct lull_wait_reason *reason,
                             const char *waker, GString *out);

/* Whether a file is such a thing: "a pipe", "a timerfd". LULL_NONE is none. */
bool lull_wait_file_is(const struct lull_model *model, uint32_t file, const char *thing);
/* wait_late.c: whether what the call is for may be known only when it ends. */
bool lull_wait_reason_is_late(const struct lull_model *model,
                              const struct lull_wait_reason *reason);
bool lull_wait_reason_is_connect(const struct lull_model *model,
                                 const struct lull_wait_reason *reason);
/* The call has ended now: takes what it was about from what it did (NULL: not known). Whether that changed the reason. */
bool lull_wait_reason_learn(const struct lull_model *model, struct lull_wait_reason *reason,
                            const struct lull_syscall_fact *fact);
/* Label of what its file was called, or LULL_NONE. */
uint32_t lull_wait_reason_path(const struct lull_model *model,
                               const struct lull_wait_reason *reason);

/* Whether it was in io_uring_enter(), for requests as far as is known; then what is known of these can be put into it. */
bool lull_wait_reason_is_uring(const struct lull_model *model,
                               const struct lull_wait_reason *reason);
void lull_wait_reason_set_uring(struct lull_wait_reason *reason,
                                const struct lull_uring_wait *wait);
/* "read", "timeout", …; NULL: no request, or not known which. */
const char *lull_wait_reason_operation(const struct lull_wait_reason *reason);

/* Whether it was in a call that opens a file by its path. */
bool lull_wait_reason_is_open(const struct lull_model *model,
                              const struct lull_wait_reason *reason);

/* Whether it may have been for a lease of a file (fcntl(2), F_SETLEASE): a file is opened, and who ended the wait was in
 * a call in which a lease is given up, or killed. */
bool lull_wait_reason_is_lease(const struct lull_model *model,
                               const struct lull_wait_reason *reason);

/* Whether the call that ended so had waited until its own time-out. */
bool lull_wait_reason_timed_out(const struct lull_model *model,
                                const struct lull_wait_reason *reason, struct lull_wait_end end);

/* Whether the task that ended the wait did so by sending a signal. */
bool lull_wait_reason_is_signalled(const struct lull_model *model,
                                   const struct lull_wait_reason *reason);

/* Whether a signal ended the call, which may start again. */
bool lull_wait_is_interrupted(struct lull_wait_end end);

/* Reasons that were met, each once, by number. A zeroed struct is empty. */
struct lull_wait_reasons {
    GHashTable *numbers;
    GPtrArray *list;
};
uint32_t lull_wait_reasons_add(struct lull_wait_reasons *reasons,
                               const struct lull_wait_reason *reason);
const struct lull_wait_reason *lull_wait_reasons_at(const struct lull_wait_reasons *reasons,
                                                    uint32_t number);
/* Leaves an empty struct. */
void lull_wait_reasons_clear(struct lull_wait_reasons *reasons);

#endif
