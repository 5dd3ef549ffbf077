/* SPDX-License-Identifier: MIT */
/* Who could end a wait that has not ended: /proc/PID/task/TID/children, and /proc/PID/fd, whose links name pipes and say by
 * their mode which end it is (proc_pid_fd(5)). */
#include "record/open_ends.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/lock_holders.h"

/* What more processes have the same end of, all use in common: who of them matters is not known. */
enum { MOST_CANDIDATES = 64 };

enum what { CHILD, READS, WRITES, POLLS };

/* So many pipes are looked at of a poll(). */
enum { MOST_POLLED = 8 };

static const struct ending_call {
    long number;
    enum what what;
    const char *name;
} calls[] = {
    {SYS_wait4, CHILD, "wait4"}, {SYS_waitid, CHILD, "waitid"}, {SYS_read, READS, "read"},
    {SYS_readv, READS, "readv"}, {SYS_write, WRITES, "write"},  {SYS_writev, WRITES, "writev"},
#ifdef SYS_poll
    {SYS_poll, POLLS, "poll"},
#endif
    {SYS_ppoll, POLLS, "ppoll"},
};

/* A pipe that it wants to read from, or to write to. */
struct wanted {
    uint64_t inode;
    bool is_read;
};

struct waiter {
    int32_t pid, tid;
    const struct ending_call *call;
    struct wanted pipes[MOST_POLLED];
    uint32_t n_pipes;
    bool is_own;        /* its own process has another end too */
    GArray *candidates; /* int32_t pids, each once, without its own */
};

/* An end of a pipe. */
struct pipe_end {
    uint64_t inode;
    int32_t pid;
    bool is_written;
};

struct lull_open_ends {
    gint64 until_us;
    bool is_blind;      /* it may not see the files of all processes */
    GArray *waiters;    /* struct waiter */
    GHashTable *by_pid; /* pid → GArray of their indices */
    GHashTable *pipes;  /* inode that somebody waits for → GArray of struct pipe_end */
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
    ends->pipes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, unref_array);
    return ends;
}

void lull_open_ends_free(struct lull_open_ends *ends)
{
    g_array_unref(ends->waiters);
    g_hash_table_unref(ends->by_pid);
    g_hash_table_unref(ends->pipes);
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

/* ---- pipes ---- */

/* After a system call that failed. */
static bool is_forbidden(void)
{
    return errno == EACCES || errno == EPERM;
}

/* 0: the link names none, or may not be read. */
static uint64_t pipe_of(struct lull_open_ends *ends, int folder, const char *name)
{
    char text[64];
    uint64_t inode;
    const ssize_t n = readlinkat(folder, name, text, sizeof text - 1);
    ends->is_blind |= n < 0 && is_forbidden();
    text[MAX(n, 0)] = '\0';
    return sscanf(text, "pipe:[%" SCNu64 "]", &inode) == 1 ? inode : 0;
}

/* False: it is none. */
static bool want_pipe(struct lull_open_ends *ends, struct waiter *waiter, int fd, bool is_read)
{
    g_autofree char *path = g_strdup_printf("/proc/%" PRId32 "/fd/%d", waiter->pid, fd);
    const struct wanted wanted = {pipe_of(ends, AT_FDCWD, path), is_read};
    if (!wanted.inode) {
        return false;
    }
    waiter->pipes[waiter->n_pipes++] = wanted;
    if (!g_hash_table_contains(ends->pipes, &wanted.inode)) {
        g_hash_table_insert(ends->pipes, g_memdup2(&wanted.inode, sizeof wanted.inode),
                            g_array_new(FALSE, FALSE, sizeof(struct pipe_end)));
    }
    return true;
}

/* Only of a poll() that nothing but pipes can end: without a time-out, and with nothing else in it. */
static void look_for_polled(struct lull_open_ends *ends, struct waiter *waiter,
                            const uint64_t *args)
{
    struct pollfd polled[MOST_POLLED];
    const bool is_ppoll = waiter->call->number == SYS_ppoll;
    const bool is_endless = is_ppoll ? args[2] == 0 : (int32_t)args[2] < 0;
    const size_t n = args[1] <= MOST_POLLED ? args[1] : 0;
    bool are_pipes =
        n > 0 && is_endless && lull_read_memory(waiter->pid, args[0], polled, n * sizeof *polled);
    for (size_t i = 0; i < n && are_pipes; i++) {
        const int asked = polled[i].events & (POLLIN | POLLOUT);
        are_pipes = polled[i].fd < 0 || (asked && asked != (POLLIN | POLLOUT) &&
                                         want_pipe(ends, waiter, polled[i].fd, asked == POLLIN));
    }
    waiter->n_pipes = are_pipes ? waiter->n_pipes : 0;
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
        struct pipe_end end = {.inode = pipe_of(ends, dirfd(files), entry->d_name), .pid = pid};
        GArray *known = end.inode ? g_hash_table_lookup(ends->pipes, &end.inode) : NULL;
        if (known && known->len <= 2 * MOST_CANDIDATES &&
            fstatat(dirfd(files), entry->d_name, &link, AT_SYMLINK_NOFOLLOW) == 0) {
            end.is_written = link.st_mode & S_IWUSR;
            g_array_append_val(known, end);
        }
    }
    if (files) {
        closedir(files);
    }
    ends->is_blind = pid == INIT ? was_blind : ends->is_blind;
}

static void add_ends(const struct lull_open_ends *ends, struct waiter *waiter,
                     const struct wanted *wanted)
{
    const GArray *known = g_hash_table_lookup(ends->pipes, &wanted->inode);
    for (guint i = 0; i < known->len; i++) {
        const struct pipe_end *end = &g_array_index(known, struct pipe_end, i);
        if (end->is_written == wanted->is_read) {
            add_candidate(waiter->candidates, waiter->pid, end->pid);
            waiter->is_own |= end->pid == waiter->pid;
        }
    }
}

static void find_ends(struct lull_open_ends *ends)
{
    g_autoptr(GDir) processes =
        g_hash_table_size(ends->pipes) ? g_dir_open("/proc", 0, NULL) : NULL;
    const char *process;
    while (processes && !is_over(ends) && (process = g_dir_read_name(processes))) {
        guint64 pid;
        if (g_ascii_string_to_unsigned(process, 10, 1, INT32_MAX, &pid, NULL)) {
            look_at_files(ends, (int32_t)pid);
        }
    }
    for (guint i = 0; i < ends->waiters->len; i++) {
        struct waiter *waiter = &g_array_index(ends->waiters, struct waiter, i);
        for (uint32_t k = 0; k < waiter->n_pipes; k++) {
            add_ends(ends, waiter, &waiter->pipes[k]);
        }
    }
}

/* ---- for whom ---- */

void lull_open_ends_add(struct lull_open_ends *ends, int32_t pid, int32_t tid, long number,
                        const uint64_t *args)
{
    struct waiter waiter = {.pid = pid, .tid = tid};
    for (size_t i = 0; i < G_N_ELEMENTS(calls) && !waiter.call; i++) {
        waiter.call = calls[i].number == number ? &calls[i] : NULL;
    }
    if (!waiter.call || is_over(ends)) {
        return;
    }
    waiter.candidates = g_array_new(FALSE, FALSE, sizeof(int32_t));
    if (waiter.call->what == CHILD) {
        look_for_children(&waiter, args);
    } else if (waiter.call->what == POLLS) {
        look_for_polled(ends, &waiter, args);
    } else {
        want_pipe(ends, &waiter, (int)args[0], waiter.call->what == READS);
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
        const bool is_alone = (waiter->n_pipes == 0 || !ends->is_blind) &&
                              (!waiter->is_own || lull_has_one_thread(waiter->pid));
        const int32_t holder = is_alone && waiter->candidates->len <= MOST_CANDIDATES
                                   ? choose(ends, waiter->candidates)
                                   : 0;
        if (holder > 0) {
            const struct lull_lock_holder known = {.tid = waiter->tid,
                                                   .holder = holder,
                                                   .call = waiter->call->name,
                                                   .is_process = !lull_has_one_thread(holder)};
            g_array_append_val(found, known);
        }
    }
}
