/* SPDX-License-Identifier: MIT */
/* Who could end a wait that has not ended: /proc/PID/task/TID/children, and /proc/PID/fd, whose links name pipes and sockets, of
 * pipes say by their mode which end it is (proc_pid_fd(5)), and which socket is at the other end of which, the kernel
 * lists (socket_ends.h). */
#include "record/open_ends.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/lock_holders.h"
#include "record/socket_ends.h"
#include "record/state/polled.h"

/* What more processes have the same end of, all use in common: who of them matters is not known. */
enum { MOST_CANDIDATES = 64 };

enum what { CHILD, SIGNAL, READS, WRITES, POLLS, EPOLLS };

/* So many files are looked at of a poll(). */
enum { MOST_POLLED = 8 };

static const struct ending_call {
    long number;
    enum what what;
    uint8_t timeout; /* of what polls: which argument is it, */
    bool is_ms;      /* in milliseconds, of which less than 0 are none, or by pointer */
    const char *name;
} calls[] = {
    {SYS_wait4, CHILD, 0, false, "wait4"},
    {SYS_waitid, CHILD, 0, false, "waitid"},
    {SYS_rt_sigsuspend, SIGNAL, 0, false, "rt_sigsuspend"},
    {SYS_rt_sigtimedwait, SIGNAL, 0, false, "rt_sigtimedwait"},
    {SYS_read, READS, 0, false, "read"},
    {SYS_readv, READS, 0, false, "readv"},
    {SYS_recvfrom, READS, 0, false, "recvfrom"},
    {SYS_recvmsg, READS, 0, false, "recvmsg"},
    {SYS_write, WRITES, 0, false, "write"},
    {SYS_writev, WRITES, 0, false, "writev"},
    {SYS_sendto, WRITES, 0, false, "sendto"},
    {SYS_sendmsg, WRITES, 0, false, "sendmsg"},
    {SYS_sendfile, WRITES, 0, false, "sendfile"},
    {SYS_connect, WRITES, 0, false, "connect"},
#ifdef SYS_pause
    {SYS_pause, SIGNAL, 0, false, "pause"},
#endif
#ifdef SYS_poll
    {SYS_poll, POLLS, 2, true, "poll"},
    {SYS_select, POLLS, 4, false, "select"},
    {SYS_epoll_wait, EPOLLS, 3, true, "epoll_wait"},
#endif
    {SYS_ppoll, POLLS, 2, false, "ppoll"},
    {SYS_pselect6, POLLS, 4, false, "pselect6"},
    {SYS_epoll_pwait, EPOLLS, 3, true, "epoll_pwait"},
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, EPOLLS, 3, false, "epoll_pwait2"},
#endif
};

/* A pipe that it wants to read from, or to write to, or a socket. */
struct wanted {
    uint64_t inode;
    bool is_read, is_socket;
};

struct waiter {
    int32_t pid, tid;
    const struct ending_call *call;
    struct wanted files[MOST_POLLED];
    uint32_t n_files;
    bool is_timed;   /* it may end by itself: what time-out a socket has, only its owner can ask */
    bool is_unknown; /* it waits for something else as well */
    bool is_own;     /* its own process has another end too */
    GArray *candidates; /* int32_t pids, each once, without its own */
};

/* Who has a file, and of a pipe which end. */
struct file_end {
    int32_t pid;
    bool is_written;
};

struct lull_open_ends {
    gint64 until_us;
    bool is_blind;      /* it may not see the files of all processes */
    GArray *waiters;    /* struct waiter */
    GHashTable *by_pid; /* pid → GArray of their indices */
    GHashTable *files;  /* key_of() what is looked for → GArray of struct file_end */
    struct lull_socket_ends *sockets;
};

static bool is_over(const struct lull_open_ends *ends)
{
    return g_get_monotonic_time() >= ends->until_us;
}

static void clear_waiter(gpointer data)
{
    g_array_unref(((struct waiter *)data)->candidates);
}

static void unref_array(gpointer data)
{
    g_array_unref(data);
}

struct lull_open_ends *lull_open_ends_new(gint64 until_us)
{
    struct lull_open_ends *ends = g_new0(struct lull_open_ends, 1);
    ends->until_us = until_us;
    ends->waiters = g_array_new(FALSE, FALSE, sizeof(struct waiter));
    g_array_set_clear_func(ends->waiters, clear_waiter);
    ends->by_pid = g_hash_table_new_full(NULL, NULL, NULL, unref_array);
    ends->files = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, unref_array);
    ends->sockets = lull_socket_ends_new(until_us);
    return ends;
}

void lull_open_ends_free(struct lull_open_ends *ends)
{
    g_array_unref(ends->waiters);
    g_hash_table_unref(ends->by_pid);
    g_hash_table_unref(ends->files);
    lull_socket_ends_free(ends->sockets);
    g_free(ends);
}

static void add_candidate(GArray *candidates, int32_t own, int32_t pid)
{
    bool is_there = pid == own;
    for (guint i = 0; i < candidates->len && !is_there; i++) {
        is_there = g_array_index(candidates, int32_t, i) == pid;
    }
    if (!is_there) {
        g_array_append_val(candidates, pid);
    }
}

/* ---- children ---- */

/* A zombie has ended: what it is waited for is something else. */
static bool has_ended(int32_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%" PRId32 "/stat", pid);
    g_autofree char *text = NULL;
    const char *end = g_file_get_contents(path, &text, NULL, NULL) ? strrchr(text, ')') : NULL;
    return !end || (end[1] == ' ' && strchr("ZXx", end[2]));
}

/* All that threads of the process have. */
static void add_children(struct waiter *waiter)
{
    g_autofree char *folder = g_strdup_printf("/proc/%" PRId32 "/task", waiter->pid);
    g_autoptr(GDir) tasks = g_dir_open(folder, 0, NULL);
    const char *task;
    while (tasks && (task = g_dir_read_name(tasks))) {
        g_autofree char *path = g_build_filename(folder, task, "children", NULL);
        g_autofree char *text = NULL;
        g_file_get_contents(path, &text, NULL, NULL);
        g_auto(GStrv) words = g_strsplit(text ? text : "", " ", -1);
        for (char **word = words; *word && waiter->candidates->len <= MOST_CANDIDATES; word++) {
            guint64 pid;
            if (g_ascii_string_to_unsigned(*word, 10, 1, INT32_MAX, &pid, NULL) &&
                !has_ended((int32_t)pid)) {
                add_candidate(waiter->candidates, waiter->pid, (int32_t)pid);
            }
        }
    }
}

/* For one, if the call says for which; else for any. */
static void look_for_children(struct waiter *waiter, const uint64_t *args)
{
    const bool is_wait4 = waiter->call->number == SYS_wait4;
    const int64_t wanted = (int32_t)args[is_wait4 ? 0 : 1];
    if (is_wait4 ? wanted > 0 : args[0] == P_PID) {
        add_candidate(waiter->candidates, waiter->pid, (int32_t)wanted);
    } else {
        add_children(waiter);
    }
}

/* ---- pipes and sockets ---- */

/* Inodes of pipes and of sockets are numbered for themselves. */
static uint64_t key_of(uint64_t inode, bool is_socket)
{
    return inode << 1 | is_socket;
}

/* After a system call that failed. */
static bool is_forbidden(void)
{
    return errno == EACCES || errno == EPERM;
}

/* False: the link names neither a pipe nor a socket, or may not be read. */
static bool read_link(struct lull_open_ends *ends, int folder, const char *name,
                      struct wanted *file)
{
    char text[64];
    const ssize_t n = readlinkat(folder, name, text, sizeof text - 1);
    ends->is_blind |= n < 0 && is_forbidden();
    text[MAX(n, 0)] = '\0';
    file->is_socket = text[0] == 's';
    return sscanf(text, file->is_socket ? "socket:[%" SCNu64 "]" : "pipe:[%" SCNu64 "]",
                  &file->inode) == 1;
}

static void look_for(struct lull_open_ends *ends, uint64_t key)
{
    if (!g_hash_table_contains(ends->files, &key)) {
        g_hash_table_insert(ends->files, g_memdup2(&key, sizeof key),
                            g_array_new(FALSE, FALSE, sizeof(struct file_end)));
    }
}

static void want_file(struct lull_open_ends *ends, struct waiter *waiter, int fd, bool is_read)
{
    g_autofree char *path = g_strdup_printf("/proc/%" PRId32 "/fd/%d", waiter->pid, fd);
    struct wanted wanted = {.is_read = is_read};
    if (waiter->n_files == MOST_POLLED || !read_link(ends, AT_FDCWD, path, &wanted)) {
        waiter->is_unknown = true;
        return;
    }
    waiter->files[waiter->n_files++] = wanted;
    if (wanted.is_socket) {
        waiter->is_timed |= !waiter->call->timeout;
        lull_socket_ends_want(ends->sockets, waiter->pid, wanted.inode);
    } else {
        look_for(ends, key_of(wanted.inode, false));
    }
}

/* What a pipe is polled for, it is read or written for; of a socket both may be asked. */
static void want_polled(struct lull_open_ends *ends, struct waiter *waiter, int fd, bool is_to_read,
                        bool is_to_write)
{
    want_file(ends, waiter, fd, is_to_read);
    waiter->is_unknown |= !is_to_read && !is_to_write;
    if (is_to_read && is_to_write && waiter->n_files > 0) {
        waiter->is_unknown |= !waiter->files[waiter->n_files - 1].is_socket;
    }
}

static void look_at_poll(struct lull_open_ends *ends, struct waiter *waiter,
                         const struct lull_state_call *call)
{
    struct lull_state_polled polled[LULL_STATE_POLLED_MOST];
    const size_t n = lull_state_read_polled(waiter->pid, call, polled);
    waiter->is_unknown = n == 0;
    for (size_t i = 0; i < n && !waiter->is_unknown; i++) {
        want_polled(ends, waiter, polled[i].fd, polled[i].is_to_read, polled[i].is_to_write);
    }
}

/* Its fdinfo has a line for each file: "tfd:        5 events:       19 data: …" (proc_pid_fdinfo(5)). */
static void look_at_epoll(struct lull_open_ends *ends, struct waiter *waiter, const uint64_t *args)
{
    char line[256];
    g_autofree char *path =
        g_strdup_printf("/proc/%" PRId32 "/fdinfo/%d", waiter->pid, (int)args[0]);
    FILE *file = fopen(path, "re");
    waiter->is_unknown = !file;
    while (file && !waiter->is_unknown && fgets(line, sizeof line, file)) {
        int fd;
        uint32_t asked;
        if (sscanf(line, "tfd: %d events: %" SCNx32, &fd, &asked) == 2) {
            want_polled(ends, waiter, fd, asked & EPOLLIN, asked & EPOLLOUT);
        }
    }
    if (file) {
        fclose(file);
    }
}

/* The first process may forbid even root to look. What it starts has pipes of its own, as a rule. */
enum { INIT = 1 };

static void look_at_files(struct lull_open_ends *ends, int32_t pid)
{
    const bool was_blind = ends->is_blind;
    g_autofree char *path = g_strdup_printf("/proc/%" PRId32 "/fd", pid);
    DIR *files = opendir(path);
    ends->is_blind |= !files && is_forbidden();
    const struct dirent *entry;
    while (files && (entry = readdir(files))) {
        struct stat link;
        struct wanted file;
        if (!read_link(ends, dirfd(files), entry->d_name, &file)) {
            continue;
        }
        const uint64_t key = key_of(file.inode, file.is_socket);
        GArray *known = g_hash_table_lookup(ends->files, &key);
        if (known && known->len <= 2 * MOST_CANDIDATES &&
            fstatat(dirfd(files), entry->d_name, &link, AT_SYMLINK_NOFOLLOW) == 0) {
            const struct file_end end = {pid, link.st_mode & S_IWUSR};
            g_array_append_val(known, end);
        }
    }
    if (files) {
        closedir(files);
    }
    ends->is_blind = pid == INIT ? was_blind : ends->is_blind;
}

static void add_holders(struct lull_open_ends *ends, struct waiter *waiter,
                        const struct wanted *wanted, uint64_t other)
{
    const uint64_t key = key_of(other, wanted->is_socket);
    const GArray *known = g_hash_table_lookup(ends->files, &key);
    for (guint i = 0; i < known->len; i++) {
        const struct file_end *end = &g_array_index(known, struct file_end, i);
        if (wanted->is_socket || end->is_written == wanted->is_read) {
            add_candidate(waiter->candidates, waiter->pid, end->pid);
            waiter->is_own |= end->pid == waiter->pid;
        }
    }
}

/* Calls for each file that is another end of one that somebody waits for. */
static void each_other(struct lull_open_ends *ends,
                       void (*take)(struct lull_open_ends *ends, struct waiter *waiter,
                                    const struct wanted *wanted, uint64_t other))
{
    for (guint i = 0; i < ends->waiters->len; i++) {
        struct waiter *waiter = &g_array_index(ends->waiters, struct waiter, i);
        for (uint32_t k = 0; k < waiter->n_files && !waiter->is_unknown; k++) {
            const struct wanted *wanted = &waiter->files[k];
            const GArray *others =
                wanted->is_socket ? lull_socket_ends_of(ends->sockets, wanted->inode) : NULL;
            waiter->is_unknown = wanted->is_socket && !others;
            for (guint n = 0; others && n < others->len; n++) {
                take(ends, waiter, wanted, g_array_index(others, uint64_t, n));
            }
            if (!wanted->is_socket) {
                take(ends, waiter, wanted, wanted->inode);
            }
        }
    }
}

static void look_for_other(struct lull_open_ends *ends, struct waiter *waiter,
                           const struct wanted *wanted, uint64_t other)
{
    (void)waiter;
    look_for(ends, key_of(other, wanted->is_socket));
}

static void find_ends(struct lull_open_ends *ends)
{
    lull_socket_ends_find(ends->sockets);
    each_other(ends, look_for_other);
    g_autoptr(GDir) processes =
        g_hash_table_size(ends->files) ? g_dir_open("/proc", 0, NULL) : NULL;
    const char *process;
    while (processes && !is_over(ends) && (process = g_dir_read_name(processes))) {
        guint64 pid;
        if (g_ascii_string_to_unsigned(process, 10, 1, INT32_MAX, &pid, NULL)) {
            look_at_files(ends, (int32_t)pid);
        }
    }
    each_other(ends, add_holders);
}

/* ---- for whom ---- */

void lull_open_ends_add(struct lull_open_ends *ends, int32_t pid, int32_t tid,
                        const struct lull_state_call *call)
{
    const uint64_t *args = call->args;
    struct waiter waiter = {.pid = pid, .tid = tid};
    for (size_t i = 0; i < G_N_ELEMENTS(calls) && !waiter.call; i++) {
        waiter.call = calls[i].number == call->number ? &calls[i] : NULL;
    }
    if (!waiter.call || is_over(ends)) {
        return;
    }
    const uint64_t timeout = args[waiter.call->timeout];
    waiter.candidates = g_array_new(FALSE, FALSE, sizeof(int32_t));
    waiter.is_timed =
        waiter.call->timeout && (waiter.call->is_ms ? (int32_t)timeout >= 0 : timeout != 0);
    switch (waiter.call->what) {
    case CHILD:
        look_for_children(&waiter, args);
        break;
    case SIGNAL:
        waiter.is_timed = true; /* any other may end it, too */
        add_children(&waiter);
        break;
    case POLLS:
        look_at_poll(ends, &waiter, call);
        break;
    case EPOLLS:
        look_at_epoll(ends, &waiter, args);
        break;
    case READS:
    case WRITES:
        want_file(ends, &waiter, (int)args[0], waiter.call->what == READS);
        break;
    }
    GArray *own = g_hash_table_lookup(ends->by_pid, GINT_TO_POINTER(pid));
    if (!own) {
        own = g_array_new(FALSE, FALSE, sizeof(guint));
        g_hash_table_insert(ends->by_pid, GINT_TO_POINTER(pid), own);
    }
    g_array_append_val(own, ends->waiters->len);
    g_array_append_val(ends->waiters, waiter);
}

static bool is_among(const GArray *pids, int32_t pid)
{
    bool is = false;
    for (guint i = 0; i < pids->len && !is; i++) {
        is = g_array_index(pids, int32_t, i) == pid;
    }
    return is;
}

/* Whether a thread of the process waits for another of them. */
static bool waits_for_any(const struct lull_open_ends *ends, int32_t pid, const GArray *pids)
{
    const GArray *own = g_hash_table_lookup(ends->by_pid, GINT_TO_POINTER(pid));
    for (guint i = 0; own && i < own->len; i++) {
        const struct waiter *waiter =
            &g_array_index(ends->waiters, struct waiter, g_array_index(own, guint, i));
        for (guint k = 0; k < waiter->candidates->len; k++) {
            if (is_among(pids, g_array_index(waiter->candidates, int32_t, k))) {
                return true;
            }
        }
    }
    return false;
}

/* 0: none, or several. */
static int32_t choose(const struct lull_open_ends *ends, const GArray *candidates)
{
    int32_t chosen = 0;
    for (guint i = 0; i < candidates->len; i++) {
        const int32_t pid = g_array_index(candidates, int32_t, i);
        if (candidates->len == 1 || !waits_for_any(ends, pid, candidates)) {
            chosen = chosen == 0 ? pid : -1;
        }
    }
    return MAX(chosen, 0);
}

void lull_open_ends_find(struct lull_open_ends *ends, GArray *found)
{
    find_ends(ends);
    for (guint i = 0; i < ends->waiters->len && !is_over(ends); i++) {
        const struct waiter *waiter = &g_array_index(ends->waiters, struct waiter, i);
        const bool is_alone = !waiter->is_unknown && (waiter->n_files == 0 || !ends->is_blind) &&
                              (!waiter->is_own || lull_has_one_thread(waiter->pid));
        const int32_t holder = is_alone && waiter->candidates->len <= MOST_CANDIDATES
                                   ? choose(ends, waiter->candidates)
                                   : 0;
        if (holder > 0) {
            const struct lull_lock_holder known = {.tid = waiter->tid,
                                                   .holder = holder,
                                                   .call = waiter->call->name,
                                                   .is_process = !lull_has_one_thread(holder),
                                                   .is_timed = waiter->is_timed};
            g_array_append_val(found, known);
        }
    }
}
