/* SPDX-License-Identifier: MIT */
/* What calls wait for, from one table: the kind of thing, the words between the call and the thing,
 * and those for what ended the wait. */
#include "kernel/wait_reason.h"

#include "base/map.h"
#include "kernel/calls.h"
#include "kernel/uring_operations.h"

#include <string.h>

enum {
    EINTR_ = 4,
    EAGAIN_ = 11,
    ETIME_ = 62,
    ETIMEDOUT_ = 110,
    EHOSTUNREACH_ = 113,
    EINPROGRESS_ = 115
};
/* What the kernel returns to itself: the call starts again after the handler, or seems to have returned EINTR. */
enum { FIRST_RESTART = 512, LAST_RESTART = 516 };

/* What a call returns when its own time-out ends it. */
enum time_out { NO_TIME_OUT, ZERO_, EAGAIN_OR_ZERO, TIMED_ERROR, NO_CONNECTION };

struct waiting_call {
    const char *name;
    uint8_t kind; /* enum lull_wait_kind; NONE: by its descriptor */
    uint8_t time_out;
    const char *preposition; /* before the object */
};

static const struct waiting_call waiting_calls[] = {
    {"flock", LULL_WAIT_LOCK, NO_TIME_OUT, "of"},
    {"fcntl", LULL_WAIT_LOCK, NO_TIME_OUT, "of"},
    {"fcntl64", LULL_WAIT_LOCK, NO_TIME_OUT, "of"},
    {"semop", LULL_WAIT_LOCK, NO_TIME_OUT, "of"},
    {"semtimedop", LULL_WAIT_LOCK, EAGAIN_OR_ZERO, "of"},
    {"futex", LULL_WAIT_FUTEX, TIMED_ERROR, ""},
    {"futex_wait", LULL_WAIT_FUTEX, TIMED_ERROR, ""},
    {"futex_waitv", LULL_WAIT_FUTEX, TIMED_ERROR, ""},
    {"wait4", LULL_WAIT_CHILD, NO_TIME_OUT, "for"},
    {"waitid", LULL_WAIT_CHILD, NO_TIME_OUT, "for"},
    {"waitpid", LULL_WAIT_CHILD, NO_TIME_OUT, "for"},
    {"vfork", LULL_WAIT_CHILD, NO_TIME_OUT, "for"},
    {"clone", LULL_WAIT_CHILD, NO_TIME_OUT, "for"},
    {"clone3", LULL_WAIT_CHILD, NO_TIME_OUT, "for"},
    {"pause", LULL_WAIT_SIGNAL, NO_TIME_OUT, "for"},
    {"sigsuspend", LULL_WAIT_SIGNAL, NO_TIME_OUT, "for"},
    {"rt_sigsuspend", LULL_WAIT_SIGNAL, NO_TIME_OUT, "for"},
    {"rt_sigtimedwait", LULL_WAIT_SIGNAL, EAGAIN_OR_ZERO, "for"},
    {"nanosleep", LULL_WAIT_SLEEP, NO_TIME_OUT, ""},
    {"clock_nanosleep", LULL_WAIT_SLEEP, NO_TIME_OUT, ""},
    {"poll", LULL_WAIT_READY, ZERO_, "of"},
    {"ppoll", LULL_WAIT_READY, ZERO_, "of"},
    {"select", LULL_WAIT_READY, ZERO_, "of"},
    {"pselect6", LULL_WAIT_READY, ZERO_, "of"},
    {"epoll_wait", LULL_WAIT_READY, ZERO_, "on"},
    {"epoll_pwait", LULL_WAIT_READY, ZERO_, "on"},
    {"epoll_pwait2", LULL_WAIT_READY, ZERO_, "on"},
    {"io_uring_enter", LULL_WAIT_READY, TIMED_ERROR, "on"},
    {"write", LULL_WAIT_NONE, EAGAIN_OR_ZERO, "to"},
    {"writev", LULL_WAIT_NONE, EAGAIN_OR_ZERO, "to"},
    {"pwrite64", LULL_WAIT_NONE, NO_TIME_OUT, "to"},
    {"pwritev", LULL_WAIT_NONE, NO_TIME_OUT, "to"},
    {"pwritev2", LULL_WAIT_NONE, NO_TIME_OUT, "to"},
    {"sendto", LULL_WAIT_NONE, EAGAIN_OR_ZERO, "to"},
    {"sendmsg", LULL_WAIT_NONE, EAGAIN_OR_ZERO, "to"},
    {"sendmmsg", LULL_WAIT_NONE, EAGAIN_OR_ZERO, "to"},
    {"recvfrom", LULL_WAIT_NONE, EAGAIN_OR_ZERO, "from"},
    {"recvmsg", LULL_WAIT_NONE, EAGAIN_OR_ZERO, "from"},
    {"recvmmsg", LULL_WAIT_NONE, EAGAIN_OR_ZERO, "from"},
    {"read", LULL_WAIT_NONE, EAGAIN_OR_ZERO, "of"},
    {"readv", LULL_WAIT_NONE, EAGAIN_OR_ZERO, "of"},
    {"connect", LULL_WAIT_NONE, NO_CONNECTION, "to"},
    {"msgrcv", LULL_WAIT_EVENT, NO_TIME_OUT, "from"},
    {"msgsnd", LULL_WAIT_EVENT, NO_TIME_OUT, "to"},
    {"mq_timedreceive", LULL_WAIT_NONE, TIMED_ERROR, "from"},
    {"mq_timedsend", LULL_WAIT_NONE, TIMED_ERROR, "to"},
    {"io_getevents", LULL_WAIT_READY, ZERO_, "on"},
    {"io_pgetevents", LULL_WAIT_READY, ZERO_, "on"},
    {"accept", LULL_WAIT_NONE, EAGAIN_OR_ZERO, "on"},
    {"accept4", LULL_WAIT_NONE, EAGAIN_OR_ZERO, "on"},
};

static const struct waiting_call other_call = {"", LULL_WAIT_NONE, NO_TIME_OUT, "of"};

static const struct waiting_call *waiting_call(const struct lull_model *model, uint32_t label)
{
    const char *name = lull_model_label(model, label);
    const size_t length = name ? call_name_length(name) : 0;
    for (size_t i = 0; name && i < G_N_ELEMENTS(waiting_calls); i++) {
        const char *known = waiting_calls[i].name;
        if (*known == *name && strncmp(known, name, length) == 0 && known[length] == '\0') {
            return &waiting_calls[i];
        }
    }
    return &other_call;
}

struct lull_wait_reason lull_wait_reason_of(const struct lull_state_fact *fact)
{
    struct lull_wait_reason reason = LULL_WAIT_REASON_NONE;
    reason.call = fact->syscall;
    if (fact->call && fact->call->name == fact->syscall) {
        reason.file = fact->call->file;
        reason.fd = fact->call->fd;
        reason.path = fact->call->path;
        reason.ipc = fact->call->ipc;
        reason.address = fact->call->futex ? fact->call->futex->address : 0;
        reason.is_sleep = fact->call->is_sleep && reason.fd < 0 && reason.address == 0;
    }
    if (fact->wakeup && fact->wakeup->cause == LULL_CAUSE_TASK) {
        reason.release = fact->wakeup->call;
        reason.release_file = fact->wakeup->file;
    }
    return reason;
}

bool lull_wait_is_for_lock(const struct lull_futex *futex)
{
    enum { WAIT = 0, LOCK_PI = 6, WAIT_BITSET = 9, LOCK_PI2 = 13, TAKEN = 2 };
    enum { MOST_TID = 1 << 22, TID_MASK = 0x3fffffff }; /* PID_MAX_LIMIT, FUTEX_TID_MASK */
    const uint32_t waiters = 1u << 31, owner = futex->value & TID_MASK;
    return futex->operation == LOCK_PI || futex->operation == LOCK_PI2 ||
           ((futex->operation == WAIT || futex->operation == WAIT_BITSET) &&
            (futex->value == TAKEN ||
             ((futex->value & waiters) && owner > 0 && owner <= MOST_TID)));
}

bool lull_wait_reason_is_stop(const struct lull_state_fact *fact, struct lull_wait_reason *reason)
{
    if (fact->letter != 'T' && fact->letter != 't') {
        return false;
    }
    *reason = LULL_WAIT_REASON_NONE;
    reason->stopped = (uint8_t)fact->letter;
    return true;
}

/* ---- what it is about ---- */

const char *lull_wait_kind_name(enum lull_wait_kind kind)
{
    static const char *const names[LULL_WAIT_KINDS] = {
        [LULL_WAIT_LOCK] = "lock",
        [LULL_WAIT_FUTEX] = "futex",
        [LULL_WAIT_CHILD] = "child",
        [LULL_WAIT_SIGNAL] = "signal",
        [LULL_WAIT_SLEEP] = "sleep",
        [LULL_WAIT_READY] = "ready",
        [LULL_WAIT_REQUEST] = "request",
        [LULL_WAIT_PIPE] = "pipe",
        [LULL_WAIT_SOCKET] = "socket",
        [LULL_WAIT_FILE] = "file",
        [LULL_WAIT_EVENT] = "event",
        [LULL_WAIT_FAULT] = "fault",
        [LULL_WAIT_MEMORY] = "memory",
        [LULL_WAIT_STOP] = "stop",
        [LULL_WAIT_FREEZE] = "freeze",
        [LULL_WAIT_HYPERVISOR] = "hypervisor",
        [LULL_WAIT_KERNEL_LOCK] = "kernel lock",
    };
    return names[kind];
}

const char *lull_wait_reason_operation(const struct lull_wait_reason *reason)
{
    return lull_uring_operation(reason->operation);
}

static const char *path_of(const struct lull_model *model, uint32_t file)
{
    return file == LULL_NONE ? NULL : lull_model_label(model, lull_model_file(model, file)->path);
}

/* The first says what a descriptor is when nothing but the text of its link in /proc does. */
static const struct {
    const char *prefix;
    uint8_t kind;
    const char *words; /* "": the call that waits for it says as much */
} things[] = {
    {"pipe", LULL_WAIT_PIPE, "a pipe"},
    {"socket", LULL_WAIT_SOCKET, "a socket"},
    {"eventfd", LULL_WAIT_EVENT, "an eventfd"},
    {"anon_inode:[eventfd]", LULL_WAIT_EVENT, "an eventfd"},
    {"timerfd", LULL_WAIT_EVENT, "a timerfd"},
    {"anon_inode:[timerfd]", LULL_WAIT_EVENT, "a timerfd"},
    {"signalfd", LULL_WAIT_EVENT, "a signalfd"},
    {"anon_inode:[signalfd]", LULL_WAIT_EVENT, "a signalfd"},
    {"inotify", LULL_WAIT_EVENT, "an inotify descriptor"},
    {"anon_inode:inotify", LULL_WAIT_EVENT, "an inotify descriptor"},
    {"fanotify", LULL_WAIT_EVENT, "a fanotify descriptor"},
    {"anon_inode:[fanotify]", LULL_WAIT_EVENT, "a fanotify descriptor"},
    {"userfaultfd", LULL_WAIT_EVENT, "a userfaultfd"},
    {"anon_inode:[userfaultfd]", LULL_WAIT_EVENT, "a userfaultfd"},
    {"pidfd", LULL_WAIT_EVENT, "a pidfd"},
    {"anon_inode:[pidfd]", LULL_WAIT_EVENT, "a pidfd"},
    {"terminal", LULL_WAIT_FILE, "a terminal"},
    {"eventpoll", LULL_WAIT_EVENT, ""},
    {"anon_inode:[eventpoll]", LULL_WAIT_EVENT, ""},
    {"io_uring", LULL_WAIT_EVENT, ""},
    {"anon_inode:[io_uring]", LULL_WAIT_EVENT, ""},
};

/* The thing that a path means, not being one; -1 if it is one. "pipe" and "pipe:[4711]" are not. */
static int thing_of(const char *path)
{
    for (size_t i = 0; path && i < G_N_ELEMENTS(things); i++) {
        if (*path == *things[i].prefix && g_str_has_prefix(path, things[i].prefix) &&
            (path[strlen(things[i].prefix)] == '\0' || path[strlen(things[i].prefix)] == ':')) {
            return (int)i;
        }
    }
    return -1;
}

uint32_t lull_wait_reason_path(const struct lull_model *model,
                               const struct lull_wait_reason *reason)
{
    const bool is_known =
        reason->path != LULL_NONE && thing_of(lull_model_label(model, reason->path)) < 0;
    return is_known || reason->file == LULL_NONE ? reason->path
                                                 : lull_model_file(model, reason->file)->path;
}

bool lull_wait_reason_is_freeze(const struct lull_model *model, const struct lull_state_fact *fact,
                                struct lull_wait_reason *reason)
{
    const struct lull_wakeup *wakeup = fact->wakeup;
    /* Of versions 2 and 1 of control groups. */
    static const char *const switches[] = {"/cgroup.freeze", "/freezer.state"};
    const char *path = fact->syscall == LULL_NONE && wakeup && wakeup->cause == LULL_CAUSE_TASK
                           ? path_of(model, wakeup->file)
                           : NULL;
    for (size_t i = 0; path && i < G_N_ELEMENTS(switches); i++) {
        if (g_str_has_suffix(path, switches[i])) {
            *reason = LULL_WAIT_REASON_NONE;
            reason->file = reason->release_file = wakeup->file;
            reason->release = wakeup->call;
            reason->stopped = 'F';
            return true;
        }
    }
    return false;
}

static enum lull_wait_kind kind_of_file(const struct lull_model *model, uint32_t file)
{
    static const uint8_t kinds[] = {
        [LULL_FILE_UNKNOWN] = LULL_WAIT_NONE, [LULL_FILE_DISK] = LULL_WAIT_FILE,
        [LULL_FILE_NET] = LULL_WAIT_SOCKET,   [LULL_FILE_SOCKET] = LULL_WAIT_SOCKET,
        [LULL_FILE_PIPE] = LULL_WAIT_PIPE,    [LULL_FILE_OTHER] = LULL_WAIT_EVENT,
    };
    int thing = thing_of(path_of(model, file));
    return thing >= 0          ? things[thing].kind
           : file == LULL_NONE ? LULL_WAIT_NONE
                               : kinds[lull_model_file(model, file)->type];
}

enum lull_wait_kind lull_wait_reason_kind(const struct lull_model *model,
                                          const struct lull_wait_reason *reason)
{
    if (reason->lock) {
        return LULL_WAIT_KERNEL_LOCK;
    }
    if (reason->fault) {
        return reason->fault == LULL_FAULT_HIGH ? LULL_WAIT_MEMORY : LULL_WAIT_FAULT;
    }
    if (reason->stopped) {
        return reason->stopped == 'F' ? LULL_WAIT_FREEZE : LULL_WAIT_STOP;
    }
    if (reason->is_guest) {
        return LULL_WAIT_HYPERVISOR;
    }
    if (reason->operation) {
        return LULL_WAIT_REQUEST;
    }
    const struct waiting_call *call = waiting_call(model, reason->call);
    if (call->kind == LULL_WAIT_READY && reason->is_sleep) {
        return LULL_WAIT_SLEEP;
    }
    if (call->kind != LULL_WAIT_NONE) {
        return call->kind;
    }
    /* stat(), access() … are given a path alone. */
    const bool is_given = reason->file == LULL_NONE && reason->fd < 0 && reason->path != LULL_NONE;
    return is_given ? LULL_WAIT_FILE : kind_of_file(model, reason->file);
}

/* It was opened by a path, which is a text in the memory of its process: not recorded. */
static bool is_opened_unnamed(const struct lull_model *model, uint32_t number)
{
    const struct lull_file *file = number == LULL_NONE ? NULL : lull_model_file(model, number);
    return file && file->type == LULL_FILE_DISK && file->open_ns != INT64_MIN;
}

/* `path` is what it was called then. */
static void append_named(const struct lull_model *model, uint32_t file, const char *path,
                         int32_t fd, GString *out)
{
    const bool is_datagram = file != LULL_NONE && lull_model_file(model, file)->is_datagram;
    int thing = thing_of(path);
    if (thing >= 0 && is_datagram) {
        g_string_append(out, "a UDP socket");
    } else if (thing >= 0) {
        g_string_append(out, things[thing].words);
    } else if (path) {
        g_string_append(out, is_datagram ? "udp " : "");
        g_string_append(out, path);
    } else if (kind_of_file(model, file) == LULL_WAIT_SOCKET) {
        g_string_append(out, "a socket");
    } else if (kind_of_file(model, file) == LULL_WAIT_PIPE) {
        g_string_append(out, "a pipe");
    } else if (fd >= 0 && is_opened_unnamed(model, file)) {
        g_string_append_printf(out, "a file opened meanwhile (descriptor %d)", fd);
    } else if (fd >= 0) {
        g_string_append_printf(out, "descriptor %d", fd);
    }
}

static void append_file(const struct lull_model *model, uint32_t file, int32_t fd, GString *out)
{
    append_named(model, file, path_of(model, file), fd, out);
}

/* "semaphore set 5", "message queue 3" */
static void append_ipc(const struct lull_model *model, const struct lull_wait_reason *reason,
                       GString *out)
{
    const char *call = lull_model_label(model, reason->call);
    g_string_append_printf(out, "%s %d",
                           g_str_has_prefix(call, "sem") ? "semaphore set" : "message queue",
                           reason->ipc);
}

void lull_wait_reason_append_peer(const struct lull_model *model, uint32_t file, uint32_t path,
                                  GString *out)
{
    append_named(model, file, lull_model_label(model, path), -1, out);
}

/* "read of /var/lib/x", "timeout" */
static void append_request(const struct lull_model *model, const struct lull_wait_reason *reason,
                           GString *out)
{
    const int32_t fd = reason->file == LULL_NONE ? -1 : lull_model_file(model, reason->file)->fd;
    g_string_append(out, lull_wait_reason_operation(reason));
    const gsize before = out->len;
    g_string_append_printf(out, " %s ", lull_uring_preposition(reason->operation));
    const gsize start = out->len;
    append_file(model, reason->file, fd, out);
    if (out->len == start) {
        g_string_truncate(out, before);
    }
}

void lull_wait_reason_append_object(const struct lull_model *model,
                                    const struct lull_wait_reason *reason, GString *out)
{
    if (reason->fault) {
        if (reason->path != LULL_NONE) {
            g_string_append(out, lull_model_label(model, reason->path));
        } else if (reason->address) {
            g_string_append_printf(out, "inode %" G_GUINT64_FORMAT, reason->address);
        }
    } else if (reason->address) {
        g_string_append_printf(out, "0x%" G_GINT64_MODIFIER "x", reason->address);
    } else if (lull_wait_reason_operation(reason)) {
        append_request(model, reason, out);
    } else if (reason->ipc >= 0) {
        append_ipc(model, reason, out);
    } else {
        append_named(model, reason->file,
                     lull_model_label(model, lull_wait_reason_path(model, reason)), reason->fd,
                     out);
    }
}

const char *lull_wait_reason_thing(const struct lull_model *model,
                                   const struct lull_wait_reason *reason)
{
    const bool has_file =
        !reason->fault && !reason->address && !reason->operation && reason->file != LULL_NONE;
    const int thing =
        has_file ? thing_of(lull_model_label(model, lull_wait_reason_path(model, reason))) : -1;
    const bool is_plain = thing >= 0 && !lull_model_file(model, reason->file)->is_datagram;
    return is_plain && *things[thing].words ? things[thing].words : NULL;
}

bool lull_wait_file_is(const struct lull_model *model, uint32_t file, const char *thing)
{
    const int number = thing_of(path_of(model, file));
    return number >= 0 && strcmp(things[number].words, thing) == 0;
}

/* ---- what ended it ---- */

static bool is_one_of(const char *name, const char *const *names)
{
    return name && g_strv_contains(names, name);
}

/* Of vfork() and the like: the child has the parent's memory until it runs a program. */
static bool is_clone_call(const char *name)
{
    static const char *const names[] = {"vfork", "clone", "clone3", NULL};
    return is_one_of(name, names);
}

static bool is_signal_call(const char *name)
{
    static const char *const names[] = {
        "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal",
        NULL};
    return is_one_of(name, names);
}

static bool is_exit_call(const char *name)
{
    static const char *const names[] = {"exit", "exit_group", NULL};
    return is_one_of(name, names);
}

static bool is_exec_call(const char *name)
{
    static const char *const names[] = {"execve", "execveat", NULL};
    return is_one_of(name, names);
}

/* Nothing but a lease lets fcntl() end an open(). */
static bool is_lease_call(const char *name)
{
    static const char *const names[] = {"fcntl", "fcntl64", NULL};
    return is_one_of(name, names);
}

/* They wait until the leases of other processes are given up. */
static bool is_leased_call(const char *name)
{
    static const char *const names[] = {
        "open", "openat", "openat2", "creat", "open_by_handle_at", "truncate", "truncate64", NULL};
    return is_one_of(name, names);
}

bool lull_wait_reason_is_open(const struct lull_model *model, const struct lull_wait_reason *reason)
{
    return is_leased_call(lull_model_label(model, reason->call));
}

bool lull_wait_reason_is_lease(const struct lull_model *model,
                               const struct lull_wait_reason *reason)
{
    static const char *const closers[] = {"close", "close_range", "dup2", "dup3", NULL};
    const char *release = lull_model_label(model, reason->release);
    return reason->call != LULL_NONE && !lull_wait_reason_is_imposed(reason) &&
           is_leased_call(lull_model_label(model, reason->call)) &&
           (!release || is_lease_call(release) || is_exit_call(release) || is_exec_call(release) ||
            is_one_of(release, closers));
}

/* What the waker's call did to the thing that was waited for; NULL: it does not say. */
static const char *verb_of(const char *name)
{
    static const struct {
        const char *verb;
        const char *const names[10];
    } verbs[] = {
        {"wrote to",
         {"write", "writev", "pwrite64", "sendto", "sendmsg", "sendmmsg", "splice", "msgsnd",
          "mq_timedsend"}},
        {"read from",
         {"read", "readv", "recvfrom", "recvmsg", "recvmmsg", "msgrcv", "mq_timedreceive"}},
        {"closed", {"close", "close_range", "shutdown", "exit", "exit_group"}},
    };
    for (size_t i = 0; name && i < G_N_ELEMENTS(verbs); i++) {
        if (g_strv_contains(verbs[i].names, name)) {
            return verbs[i].verb;
        }
    }
    return NULL;
}

/* Between two tasks. A descriptor of which nothing is known is one if another task's call on such a
 * thing ended the wait. */
static bool can_pass_data(enum lull_wait_kind kind)
{
    return kind == LULL_WAIT_PIPE || kind == LULL_WAIT_SOCKET || kind == LULL_WAIT_EVENT ||
           kind == LULL_WAIT_NONE;
}

/* A reader has no use for room: who reads what it sent through the same socket wakes it for nothing,
 * and it goes on waiting. */
static bool is_in_vain(const struct lull_model *model, const struct lull_wait_reason *reason)
{
    static const char *const readers[] = {"read", "readv", "recvfrom", "recvmsg", "recvmmsg", NULL};
    const char *call = lull_model_label(model, reason->call);
    return (lull_wait_reason_kind(model, reason) == LULL_WAIT_SOCKET ||
            g_str_has_prefix(call, "recv")) &&
           is_one_of(call, readers) && is_one_of(lull_model_label(model, reason->release), readers);
}

/* Who ended the wait did so with something else than what the call is about, as one that provides a page that a write needs;
 * splice() has two descriptors. */
static bool is_by_other_thing(const struct lull_model *model, const struct lull_wait_reason *reason,
                              enum lull_wait_kind kind)
{
    const enum lull_wait_kind released = kind_of_file(model, reason->release_file);
    return kind != LULL_WAIT_NONE && released != LULL_WAIT_NONE && kind != released &&
           g_strcmp0(lull_model_label(model, reason->release), "splice") != 0;
}

static void append_release(const struct lull_model *model, const struct lull_wait_reason *reason,
                           bool has_object, const char *waker, GString *out)
{
    const char *release = lull_model_label(model, reason->release);
    const enum lull_wait_kind kind = lull_wait_reason_kind(model, reason);
    const char *verb = verb_of(release);
    if (is_signal_call(release)) {
        g_string_append_printf(out, ", signalled by %s", waker);
    } else if (kind == LULL_WAIT_CHILD && is_clone_call(lull_model_label(model, reason->call))) {
        g_string_append_printf(out, " until its child %s %s", waker,
                               is_exec_call(release) ? "started a program" : "let it go on");
    } else if (kind == LULL_WAIT_CHILD) {
        g_string_append_printf(
            out, is_exit_call(release) || !release ? " for its child %s" : ", woken by %s", waker);
    } else if (kind == LULL_WAIT_LOCK || kind == LULL_WAIT_KERNEL_LOCK) {
        g_string_append_printf(out, ", released by %s", waker);
    } else if (is_lease_call(release) && lull_wait_reason_is_lease(model, reason)) {
        g_string_append_printf(out, ", whose lease %s gave up", waker);
    } else if (is_in_vain(model, reason)) {
        g_string_append_printf(out, ", woken in vain by %s, which read what it had sent", waker);
    } else if (verb && has_object && can_pass_data(kind) &&
               !is_by_other_thing(model, reason, kind)) {
        g_string_append_printf(out, " that %s %s", waker, verb);
    } else {
        g_string_append(out, ", woken by ");
        g_string_append(out, waker);
        if ((kind == LULL_WAIT_READY || kind == LULL_WAIT_REQUEST) && release) {
            g_string_append(out, " in ");
            g_string_append(out, release);
        }
    }
}

void lull_wait_reason_append_lock(const struct lull_wait_reason *reason, GString *out)
{
    static const char *const words[LULL_KERNEL_LOCKS] = {
        [LULL_KERNEL_MUTEX] = "mutex",
        [LULL_KERNEL_RWSEM_READ] = "rwsem, to read",
        [LULL_KERNEL_RWSEM_WRITE] = "rwsem, to write",
        [LULL_KERNEL_PERCPU_RWSEM_READ] = "percpu-rwsem, to read",
        [LULL_KERNEL_PERCPU_RWSEM_WRITE] = "percpu-rwsem, to write",
        [LULL_KERNEL_SEMAPHORE] = "semaphore",
        [LULL_KERNEL_RT_MUTEX] = "rt-mutex",
    };
    if (reason->lock) {
        g_string_append_printf(out, "for a kernel lock (%s)", words[reason->lock]);
    }
}

static const char *fault_words(const struct lull_wait_reason *reason)
{
    static const char *const words[] = {
        [LULL_FAULT_NONE] = "in no page fault",
        [LULL_FAULT_ANY] = "in a page fault",
        [LULL_FAULT_FILE] = "in a page fault of a mapped file",
        [LULL_FAULT_SWAP] = "in a page fault of memory in swap",
        [LULL_FAULT_HIGH] = "as its control group is above memory.high",
    };
    return words[reason->fault];
}

void lull_wait_reason_append_fault(const struct lull_model *model,
                                   const struct lull_wait_reason *reason, GString *out)
{
    const bool is_named = reason->path != LULL_NONE;
    g_string_append(out, is_named ? "in a page fault of " : fault_words(reason));
    g_string_append(out, reason->address && !is_named ? ", " : "");
    lull_wait_reason_append_object(model, reason, out);
}

/* " of /path", " 0x7f00"; false: nothing, since nothing is known. */
static bool append_of_object(const struct lull_model *model, const struct lull_wait_reason *reason,
                             GString *out)
{
    const char *preposition =
        reason->operation ? "for" : waiting_call(model, reason->call)->preposition;
    const gsize before = out->len;
    g_string_append(out, *preposition ? " " : "");
    g_string_append(out, preposition);
    g_string_append_c(out, ' ');
    const gsize start = out->len;
    lull_wait_reason_append_object(model, reason, out);
    const bool is_there = out->len > start;
    g_string_truncate(out, is_there ? out->len : before);
    return is_there;
}

/* "woken by expect/7 in write to /dev/ptmx" */
static void append_waking(const struct lull_model *model, const struct lull_wait_reason *reason,
                          const char *waker, GString *out)
{
    struct lull_wait_reason release = LULL_WAIT_REASON_NONE;
    if (!waker) {
        return;
    }
    g_string_append_printf(out, "woken by %s", waker);
    if (reason->release != LULL_NONE) {
        release.call = reason->release;
        release.file = reason->release_file;
        g_string_append_printf(out, " in %s", lull_model_label(model, release.call));
        append_of_object(model, &release, out);
    }
}

void lull_wait_reason_append(const struct lull_model *model, const struct lull_wait_reason *reason,
                             const char *waker, GString *out)
{
    if (reason->fault) {
        if (reason->call != LULL_NONE) {
            g_string_append_printf(out, "in %s, ", lull_model_label(model, reason->call));
        }
        lull_wait_reason_append_fault(model, reason, out);
        g_string_append(out, reason->lock ? " " : "");
        lull_wait_reason_append_lock(reason, out);
        if (waker) {
            g_string_append_printf(out, ", %s by %s", reason->lock ? "released" : "woken", waker);
        }
        return;
    }
    if (reason->stopped == 'F') {
        g_string_append(out, "frozen by ");
        append_file(model, reason->file, -1, out);
        if (waker) {
            g_string_append_printf(out, " until %s thawed it", waker);
        }
        return;
    }
    if (reason->stopped) {
        g_string_append_printf(out, "stopped by a %s",
                               reason->stopped == 't' ? "debugger" : "signal");
        if (waker) {
            g_string_append_printf(out, " until %s continued it", waker);
        }
        return;
    }
    if (reason->is_guest) {
        g_string_append_printf(out, "for its virtual CPU%s%s", waker ? ", " : "",
                               waker ? waker : "");
        return;
    }
    if (reason->call == LULL_NONE && !reason->lock) {
        append_waking(model, reason, waker, out);
        return;
    }
    bool has_object = false;
    if (reason->call != LULL_NONE) {
        g_string_append_printf(out, "in %s", lull_model_label(model, reason->call));
        has_object = append_of_object(model, reason, out);
        g_string_append(out, reason->lock ? " " : "");
    }
    lull_wait_reason_append_lock(reason, out);
    if (waker) {
        append_release(model, reason, has_object, waker, out);
    }
}

bool lull_wait_reason_timed_out(const struct lull_model *model,
                                const struct lull_wait_reason *reason, struct lull_wait_end end)
{
    if (!end.is_known || reason->call == LULL_NONE || reason->is_sleep ||
        lull_wait_reason_is_imposed(reason)) {
        return false;
    }
    switch ((enum time_out)waiting_call(model, reason->call)->time_out) {
    case ZERO_:
        return end.is_zero;
    case EAGAIN_OR_ZERO:
        return end.error == EAGAIN_;
    case TIMED_ERROR:
        return end.error == ETIMEDOUT_ || end.error == ETIME_;
    case NO_CONNECTION: /* nobody answers; SO_SNDTIMEO of socket(7) */
        return end.error == ETIMEDOUT_ || end.error == EHOSTUNREACH_ || end.error == EINPROGRESS_ ||
               end.error == EAGAIN_;
    case NO_TIME_OUT:
        break;
    }
    return false;
}

bool lull_wait_reason_is_signalled(const struct lull_model *model,
                                   const struct lull_wait_reason *reason)
{
    const char *release = lull_model_label(model, reason->release);
    return release && is_signal_call(release);
}

bool lull_wait_is_interrupted(struct lull_wait_end end)
{
    return end.is_known &&
           (end.error == EINTR_ || (end.error >= FIRST_RESTART && end.error <= LAST_RESTART));
}

/* ---- each once ---- */

_Static_assert(sizeof(struct lull_wait_reason) == 40, "a reason has no padding");

static guint hash_reason(gconstpointer key)
{
    return lull_hash_words(key, sizeof(struct lull_wait_reason));
}

static gboolean equal_reasons(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct lull_wait_reason)) == 0;
}

uint32_t lull_wait_reasons_add(struct lull_wait_reasons *reasons,
                               const struct lull_wait_reason *reason)
{
    if (!reasons->numbers) {
        reasons->numbers = g_hash_table_new(hash_reason, equal_reasons);
        reasons->list = g_ptr_array_new_with_free_func(g_free);
    }
    gpointer found = g_hash_table_lookup(reasons->numbers, reason);
    if (!found) {
        struct lull_wait_reason *copy = g_memdup2(reason, sizeof *reason);
        g_ptr_array_add(reasons->list, copy);
        found = GUINT_TO_POINTER(reasons->list->len);
        g_hash_table_insert(reasons->numbers, copy, found);
    }
    return GPOINTER_TO_UINT(found) - 1;
}

const struct lull_wait_reason *lull_wait_reasons_at(const struct lull_wait_reasons *reasons,
                                                    uint32_t number)
{
    return reasons->list->pdata[number];
}

void lull_wait_reasons_clear(struct lull_wait_reasons *reasons)
{
    g_clear_pointer(&reasons->numbers, g_hash_table_unref);
    g_clear_pointer(&reasons->list, g_ptr_array_unref);
}
