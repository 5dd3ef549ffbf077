/* SPDX-License-Identifier: MIT */
/* System calls for tests of the model: one fed to it with the arguments that matter, and the facts
 * that come out as lines of text. */
#ifndef LULL_TESTS_FEED_CALLS_H
#define LULL_TESTS_FEED_CALLS_H

#include "lib/feed.h"

/* Numbers on x86-64 (asm/unistd_64.h). */
enum {
    NR_read = 0,
    NR_write = 1,
    NR_open = 2,
    NR_close = 3,
    NR_rt_sigreturn = 15,
    NR_pread64 = 17,
    NR_readv = 19,
    NR_writev = 20,
    NR_pipe = 22,
    NR_ioctl = 16,
    NR_dup = 32,
    NR_dup2 = 33,
    NR_getpid = 39,
    NR_sendfile = 40,
    NR_socket = 41,
    NR_connect = 42,
    NR_sendto = 44,
    NR_recvfrom = 45,
    NR_recvmsg = 47,
    NR_bind = 49,
    NR_listen = 50,
    NR_socketpair = 53,
    NR_clone = 56,
    NR_execve = 59,
    NR_fcntl = 72,
    NR_fsync = 74,
    NR_creat = 85,
    NR_sync = 162,
    NR_futex = 202,
    NR_exit_group = 231,
    NR_mq_open = 240,
    NR_openat = 257,
    NR_unshare = 272,
    NR_splice = 275,
    NR_sync_file_range = 277,
    NR_signalfd4 = 289,
    NR_accept4 = 288,
    NR_eventfd2 = 290,
    NR_epoll_create1 = 291,
    NR_dup3 = 292,
    NR_pipe2 = 293,
    NR_recvmmsg = 299,
    NR_memfd_create = 319,
    NR_bpf = 321,
    NR_copy_file_range = 326,
    NR_io_uring_setup = 425,
    NR_clone3 = 435,
    NR_close_range = 436,
    NR_openat2 = 437,
};

/* What a call may be given; `have` says which of them it was (0 of a pointer: not). */
struct feed_args {
    int64_t fd, to_fd, new_fd, bytes, flags, command, argument, family, port;
    const char *path;
    const uint8_t *ip4, *ip6;
    int pid; /* 0: no context */
    uint64_t have;
};
#define ARG(field) (UINT64_C(1) << LULL_FIELD_io_entry_##field)

/* FEED_ENTER(model, cpu, t, openat, ARG(path) | ARG(flags), .path = "/x", .flags = 0) */
#define FEED_ENTER(model, cpu, t, name, given, ...)                                                \
    feed_enter(model, cpu, t, NR_##name, &(struct feed_args){.have = (given), ##__VA_ARGS__})

static inline void feed_enter(struct lull_model *model, int32_t cpu, int64_t t, int number,
                              const struct feed_args *args)
{
    struct lull_ev_io_entry ev = {
        .have = args->have | ARG(number),
        .number = number,
        .fd = args->fd,
        .to_fd = args->to_fd,
        .new_fd = args->new_fd,
        .bytes = args->bytes,
        .flags = args->flags,
        .command = args->command,
        .argument = args->argument,
        .family = args->family,
        .port = args->port,
    };
    if (args->path) {
        ev.path = feed_text(args->path);
    }
    if (args->ip4) {
        ev.ip4 = (struct lull_text){(const char *)args->ip4, 4};
    }
    if (args->ip6) {
        ev.ip6 = (struct lull_text){(const char *)args->ip6, 16};
    }
    if (args->pid) {
        ev.have |= ARG(context_pid);
        ev.context_pid = args->pid;
    }
    lull_model_feed(model, LULL_EVENT_io_entry, &ev, 0, cpu, t);
}

static inline void feed_leave(struct lull_model *model, int32_t cpu, int64_t t, int number,
                              int64_t ret)
{
    FEED(io_exit, 0, cpu, t,
         .have = UINT64_C(1) << LULL_FIELD_io_exit_number | UINT64_C(1) << LULL_FIELD_io_exit_ret,
         .number = number, .ret = ret);
}

/* A whole call, of 10 ns. */
#define FEED_CALL(model, cpu, t, name, ret, given, ...)                                            \
    do {                                                                                           \
        FEED_ENTER(model, cpu, t, name, given, ##__VA_ARGS__);                                     \
        feed_leave(model, cpu, (t) + 10, NR_##name, ret);                                          \
    } while (0)

/* One that returned two descriptors. */
static inline void feed_pair(struct lull_model *model, int32_t cpu, int64_t t, int number,
                             int64_t flags, int32_t first, int32_t second)
{
    /* The feed has no event class to tell the byte order: it is little-endian. */
    const int32_t fds[2] = {GINT32_TO_LE(first), GINT32_TO_LE(second)};
    const struct feed_args args = {.have = ARG(flags), .flags = flags};
    feed_enter(model, cpu, t, number, &args);
    FEED(io_exit, 0, cpu, t + 10,
         .have = UINT64_C(1) << LULL_FIELD_io_exit_number | UINT64_C(1) << LULL_FIELD_io_exit_ret |
                 UINT64_C(1) << LULL_FIELD_io_exit_pair,
         .number = number, .ret = 0, .pair = {(const char *)fds, sizeof fds});
}

static inline void feed_fork(struct lull_model *model, int32_t cpu, int64_t t, int parent,
                             int child, int child_pid)
{
    FEED(sched_process_fork, 0, cpu, t,
         .have = ~(UINT64_C(1) << LULL_FIELD_sched_process_fork_parent_pid), .parent_tid = parent,
         .child_tid = child, .child_pid = child_pid, .child_comm = feed_text("child"));
}

static inline void feed_exec(struct lull_model *model, int32_t cpu, int64_t t, int tid)
{
    FEED(sched_process_exec, 0, cpu, t, .have = ALL, .tid = tid, .old_tid = tid,
         .filename = feed_text("/bin/x"));
}

static inline void append_file(GString *out, const struct lull_model *model, const char *what,
                               int32_t fd, uint32_t number)
{
    static const char *const types[] = {"unknown", "disk", "net", "socket", "pipe", "other"};
    if (fd >= 0) {
        g_string_append_printf(out, " %s %d", what, fd);
    }
    if (number == LULL_NONE) {
        return;
    }
    const struct lull_file *file = lull_model_file(model, number);
    g_string_append_printf(out, "=%s,%s%s,", types[file->type],
                           file->path == LULL_NONE ? "?" : lull_model_label(model, file->path),
                           file->is_cloexec ? ",cloexec" : "");
    if (file->open_ns == INT64_MIN) {
        g_string_append(out, "before");
    } else {
        g_string_append_printf(out, "%d", (int)file->open_ns);
    }
}

/* "10: read 100..110 = 5 read 3=disk,/etc/passwd,before wants 10 moved 5" */
static inline void append_call(GString *out, const struct lull_model *model,
                               const struct lull_syscall_fact *fact)
{
    static const char *const kinds[] = {"other", "open", "dup",  "close",  "read",
                                        "write", "copy", "sync", "connect"};
    g_string_append_printf(out, "%d: %s ", lull_model_task(model, fact->task)->tid,
                           lull_model_label(model, fact->name));
    if (fact->start_ns != INT64_MIN) {
        g_string_append_printf(out, "%d", (int)fact->start_ns);
    }
    g_string_append_printf(out, "..%d", (int)fact->end_ns);
    if (fact->is_open) {
        g_string_append(out, " open");
    }
    if (fact->has_ret) {
        g_string_append_printf(out, " = %" G_GINT64_FORMAT, fact->ret);
    }
    if (fact->io) {
        g_string_append_printf(out, " %s", kinds[fact->io->kind]);
        append_file(out, model, "fd", fact->io->fd, fact->io->file);
        append_file(out, model, "to", fact->io->to_fd, fact->io->to_file);
        if (fact->io->requested_bytes >= 0) {
            g_string_append_printf(out, " wants %d", (int)fact->io->requested_bytes);
        }
        if (fact->io->bytes >= 0) {
            g_string_append_printf(out, " moved %d", (int)fact->io->bytes);
        }
    }
    if (fact->futex) {
        g_string_append_printf(out, " futex %x op %d%s val %u", (unsigned)fact->futex->address,
                               fact->futex->operation, fact->futex->is_private ? " private" : "",
                               fact->futex->value);
    }
    g_string_append_c(out, '\n');
}

#endif
