/* SPDX-License-Identifier: MIT */
/* Who waits for a lock now: /proc/PID/task/TID/syscall has the call and its arguments. Who holds it: the memory of a mutex,
 * /proc/locks (proc_locks(5)), and the fdinfo of those who wait themselves. */
#include "record/lock_holders.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "record/tasks.h"

enum { MOST_TIME_US = 1000000, MOST_MUTEX_KIND = 0x7ff };

/* Who waits in such a call. */
struct waiter {
    int32_t pid, tid;
    uint64_t args[3];
};

/* A lock as the kernel lists it: "1: FLOCK  ADVISORY  WRITE 4711 fe:00:131074 0 EOF". */
struct listed {
    char kind[16];
    int32_t pid; /* -1: it belongs to an open file */
    unsigned major, minor;
    uint64_t inode;
};

static void clear_holder(gpointer data)
{
    g_free(((struct lull_lock_holder *)data)->path);
}

static int32_t number_of(const char *name)
{
    guint64 number;
    return g_ascii_string_to_unsigned(name, 10, 1, INT32_MAX, &number, NULL) ? (int32_t)number : 0;
}

static bool is_thread(int32_t pid, int32_t tid)
{
    g_autofree char *path = pid > 0 ? g_strdup_printf("/proc/%" PRId32 "/task/%" PRId32, pid, tid)
                                    : g_strdup_printf("/proc/%" PRId32, tid);
    return access(path, F_OK) == 0;
}

/* Whether its numbers of tasks mean the same as ours. */
static bool is_in_own_namespace(int32_t pid)
{
    struct stat own, its;
    g_autofree char *path = g_strdup_printf("/proc/%" PRId32 "/ns/pid", pid);
    return stat("/proc/self/ns/pid", &own) == 0 && stat(path, &its) == 0 &&
           own.st_ino == its.st_ino;
}

/* ---- mutexes ---- */

/* As glibc lays them out for 64 bits (struct __pthread_mutex_s). */
struct mutex {
    uint32_t word;
    uint32_t depth;
    int32_t owner;
    uint32_t users;
    uint32_t kind;
};

static bool read_memory(int32_t pid, uint64_t address, void *to, size_t size)
{
    const struct iovec here = {to, size};
    const struct iovec there = {(void *)(uintptr_t)address,
                                size}; // NOLINT(performance-no-int-to-ptr)
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* The thread that has the mutex, if it says so: the kernel's own kinds in the word, with a mark that somebody waits; glibc's
 * normal ones behind it, where the word is 2 while somebody waits. 0: not known. */
static int32_t owner_of(int32_t pid, uint64_t address, bool is_private)
{
    struct mutex mutex = {0};
    if (!read_memory(pid, address, &mutex, sizeof mutex) &&
        !read_memory(pid, address, &mutex.word, sizeof mutex.word)) {
        return 0;
    }
    const bool is_glibc =
        mutex.word == 2 && mutex.users > 0 && mutex.kind <= MOST_MUTEX_KIND && sizeof(void *) == 8;
    const int32_t owner = mutex.word & FUTEX_WAITERS ? (int32_t)(mutex.word & FUTEX_TID_MASK)
                          : is_glibc                 ? mutex.owner
                                                     : 0;
    return owner > 0 && is_thread(is_private ? pid : 0, owner) ? owner : 0;
}

static void look_at_futex(const struct waiter *waiter, GArray *found)
{
    const int command = (int)waiter->args[1] & FUTEX_CMD_MASK;
    if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET && command != FUTEX_LOCK_PI &&
        command != 13 /* FUTEX_LOCK_PI2 */) {
        return;
    }
    const struct lull_lock_holder holder = {
        .tid = waiter->tid,
        .holder = owner_of(waiter->pid, waiter->args[0], waiter->args[1] & FUTEX_PRIVATE_FLAG),
        .call = "futex",
        .address = waiter->args[0]};
    if (holder.holder > 0 && holder.holder != waiter->tid && is_in_own_namespace(waiter->pid)) {
        g_array_append_val(found, holder);
    }
}

/* ---- locks of files ---- */

static bool parse_lock(const char *line, struct listed *lock)
{
    const char *colon = strchr(line, ':');
    const char *text = colon ? colon + 1 + strspn(colon + 1, " \t") : line;
    return !g_str_has_prefix(text, "->") &&
           sscanf(text, "%15s %*s %*s %" SCNd32 " %x:%x:%" SCNu64, lock->kind, &lock->pid,
                  &lock->major, &lock->minor, &lock->inode) == 5;
}

/* The process that holds such a lock of the file: the only other one than `own` that the lines name. 0: none; -1: several, or
 * none by its number. */
static int32_t holder_in(const char *text, const char *prefix, const char *kind, int32_t own,
                         const struct stat *file)
{
    int32_t holder = 0;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        struct listed lock;
        if (g_str_has_prefix(*line, prefix) && parse_lock(*line + strlen(prefix), &lock) &&
            strcmp(lock.kind, kind) == 0 && lock.pid != own && lock.inode == file->st_ino &&
            makedev(lock.major, lock.minor) == file->st_dev) {
            holder = holder == 0 || holder == lock.pid ? lock.pid : -1;
        }
    }
    return holder;
}

/* Whether a descriptor of the process has a lock of its open file. */
static bool has_open_lock(int32_t pid, const struct stat *file)
{
    g_autofree char *folder = g_strdup_printf("/proc/%" PRId32 "/fdinfo", pid);
    g_autoptr(GDir) names = g_dir_open(folder, 0, NULL);
    const char *name;
    bool has = false;
    while (names && !has && (name = g_dir_read_name(names))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_autofree char *text = NULL;
        has = g_file_get_contents(path, &text, NULL, NULL) &&
              holder_in(text, "lock:", "OFDLCK", 0, file) != 0;
    }
    return has;
}

/* Of those who wait themselves the only one other that has it; 0: none, or several. */
static int32_t open_holder(int32_t own, const GArray *waiters, const struct stat *file)
{
    int32_t holder = 0;
    for (guint i = 0; i < waiters->len; i++) {
        const int32_t pid = g_array_index(waiters, struct waiter, i).pid;
        if (pid != own && pid != holder && has_open_lock(pid, file)) {
            holder = holder == 0 ? pid : -1;
        }
    }
    return MAX(holder, 0);
}

static bool has_one_thread(int32_t pid)
{
    struct stat tasks;
    g_autofree char *path = g_strdup_printf("/proc/%" PRId32 "/task", pid);
    return stat(path, &tasks) == 0 && tasks.st_nlink == 3; /* one folder in it */
}

static void look_at_file(const struct waiter *waiter, const char *call, const char *kind,
                         const char *locks, const GArray *waiters, GArray *found)
{
    struct stat file;
    g_autofree char *link =
        g_strdup_printf("/proc/%" PRId32 "/fd/%d", waiter->pid, (int)waiter->args[0]);
    if (stat(link, &file) != 0) {
        return;
    }
    const int32_t holder = strcmp(kind, "OFDLCK") == 0
                               ? open_holder(waiter->pid, waiters, &file)
                               : holder_in(locks, "", kind, waiter->pid, &file);
    if (holder > 0) {
        const struct lull_lock_holder known = {.tid = waiter->tid,
                                               .holder = holder,
                                               .call = call,
                                               .path = g_file_read_link(link, NULL),
                                               .is_process = !has_one_thread(holder)};
        g_array_append_val(found, known);
    }
}

/* ---- who waits ---- */

/* "202 0x7f12 0x80 0x2 …"; "running" and "-1 …" are of none. */
static void look_at_task(const char *folder, int32_t pid, const char *name, GArray *futexes,
                         GArray *locks, GArray *ranges)
{
    char text[256];
    g_autofree char *path = g_build_filename(folder, name, "syscall", NULL);
    struct waiter waiter = {.pid = pid, .tid = number_of(name)};
    const int fd = waiter.tid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    const ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    long number = -1;
    if (fd >= 0) {
        close(fd);
    }
    text[MAX(n, 0)] = '\0';
    if (sscanf(text, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64, &number, &waiter.args[0],
               &waiter.args[1], &waiter.args[2]) != 4) {
        return;
    }
    if (number == SYS_futex) {
        g_array_append_val(futexes, waiter);
    } else if (number == SYS_flock) {
        g_array_append_val(locks, waiter);
    } else if (number == SYS_fcntl &&
               (waiter.args[1] == F_SETLKW || waiter.args[1] == F_OFD_SETLKW)) {
        g_array_append_val(ranges, waiter);
    }
}

static void find_waiters(GArray *futexes, GArray *locks, GArray *ranges)
{
    const gint64 until_us = g_get_monotonic_time() + MOST_TIME_US;
    g_autoptr(GDir) processes = g_dir_open("/proc", 0, NULL);
    const char *process, *task;
    while (processes && (process = g_dir_read_name(processes)) &&
           g_get_monotonic_time() < until_us) {
        g_autofree char *folder = g_build_filename("/proc", process, "task", NULL);
        g_autoptr(GDir) tasks = number_of(process) > 0 ? g_dir_open(folder, 0, NULL) : NULL;
        while (tasks && (task = g_dir_read_name(tasks))) {
            look_at_task(folder, number_of(process), task, futexes, locks, ranges);
        }
    }
}

GArray *lull_lock_holders_read(void)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(struct lull_lock_holder));
    g_array_set_clear_func(found, clear_holder);
    if (!lull_tasks_are_global()) {
        return found;
    }
    g_autoptr(GArray) futexes = g_array_new(FALSE, FALSE, sizeof(struct waiter));
    g_autoptr(GArray) locks = g_array_new(FALSE, FALSE, sizeof(struct waiter));
    g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(struct waiter));
    g_autofree char *text = NULL;
    find_waiters(futexes, locks, ranges);
    for (guint i = 0; i < futexes->len; i++) {
        look_at_futex(&g_array_index(futexes, struct waiter, i), found);
    }
    if ((locks->len || ranges->len) && !g_file_get_contents("/proc/locks", &text, NULL, NULL)) {
        return found;
    }
    for (guint i = 0; i < locks->len; i++) {
        look_at_file(&g_array_index(locks, struct waiter, i), "flock", "FLOCK", text, locks, found);
    }
    for (guint i = 0; i < ranges->len; i++) {
        const struct waiter *waiter = &g_array_index(ranges, struct waiter, i);
        look_at_file(waiter, "fcntl", waiter->args[1] == F_SETLKW ? "POSIX" : "OFDLCK", text,
                     ranges, found);
    }
    return found;
}
