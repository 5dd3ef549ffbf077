/* SPDX-License-Identifier: MIT */
/* Who waits for a lock now: /proc/PID/task/TID/syscall has the call and its arguments. Who holds it: the memory of a mutex
 * or of a lock of readers and writers, /proc/locks (proc_locks(5)), and the fdinfo of those who wait themselves. */
#include "record/lock_holders.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "record/open_ends.h"
#include "record/state/polled.h"
#include "record/tasks.h"

enum { MOST_TIME_US = 1000000, MOST_MUTEX_KIND = 0x7ff };

/* The calls in which a lock is waited for, by number and second argument (0: any), and how the kernel lists that kind of lock;
 * NULL: it does not. */
static const struct waiting_call {
    long number;
    uint64_t command;
    const char *name, *kind;
} calls[] = {
    {SYS_futex, 0, "futex", NULL},
    {SYS_flock, 0, "flock", "FLOCK"},
    {SYS_fcntl, F_SETLKW, "fcntl", "POSIX"},
    {SYS_fcntl, F_OFD_SETLKW, "fcntl", "OFDLCK"},
};

/* Who waits in one of them. */
struct waiter {
    int32_t pid, tid;
    const struct waiting_call *call;
    uint64_t args[3];
};

/* A lock as the kernel lists it: "1: FLOCK  ADVISORY  WRITE 4711 fe:00:131074 0 EOF". */
struct listed {
    char kind[16];
    int32_t pid; /* -1: it belongs to an open file */
    unsigned major, minor;
    uint64_t inode;
};

struct looking {
    gint64 until_us;
    GArray *waiters; /* struct waiter */
    struct lull_open_ends *ends;
    GArray *listed; /* struct listed, of the machine */
    GArray *found;  /* struct lull_lock_holder */
};

static bool is_over(const struct looking *looking)
{
    return g_get_monotonic_time() >= looking->until_us;
}

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

/* The thread that has the mutex, if it says so: the kernel's own kinds in the word, with a mark that somebody waits; glibc's
 * normal ones behind it, where the word is 2 while somebody waits. 0: not known. */
static int32_t owner_of(int32_t pid, uint64_t address, bool is_private)
{
    struct mutex mutex = {0};
    if (!lull_state_read_memory(pid, address, &mutex, sizeof mutex) &&
        !lull_state_read_memory(pid, address, &mutex.word, sizeof mutex.word)) {
        return 0;
    }
    const bool is_glibc =
        mutex.word == 2 && mutex.users > 0 && mutex.kind <= MOST_MUTEX_KIND && sizeof(void *) == 8;
    const int32_t owner = mutex.word & FUTEX_WAITERS ? (int32_t)(mutex.word & FUTEX_TID_MASK)
                          : is_glibc                 ? mutex.owner
                                                     : 0;
    return owner > 0 && is_thread(is_private ? pid : 0, owner) ? owner : 0;
}

/* As glibc lays out locks of readers and writers for 64 bits (struct __pthread_rwlock_arch_t). */
struct rwlock {
    uint32_t readers, writers;
    uint32_t phase, writers_word; /* waited for by readers, and by all but the next writer */
    uint32_t pads[2];
    int32_t writer, is_shared;
};

/* The writer that has the lock of which this is one of the two words; 0: it is none, or readers have it, who say nowhere who
 * they are. A lock that a writer has and that others wait for looks like little else. */
static int32_t writer_of(int32_t pid, uint64_t address, bool is_private)
{
    enum { WRITES = 1, TAKEN = 2, READER = 8 }; /* in `readers` */
    enum { WAIT = 3 };                          /* in the words: not yet, and somebody waits */
    static const size_t words[] = {offsetof(struct rwlock, phase),
                                   offsetof(struct rwlock, writers_word)};
    for (size_t i = 0; sizeof(void *) == 8 && i < G_N_ELEMENTS(words); i++) {
        struct rwlock lock;
        if (!lull_state_read_memory(pid, address - words[i], &lock, sizeof lock)) {
            continue;
        }
        const bool is_waited_for =
            i == 0 ? lock.phase == WAIT && lock.readers >= READER : lock.writers_word == WAIT;
        if (is_waited_for && (lock.readers & (WRITES | TAKEN)) == (WRITES | TAKEN) &&
            lock.pads[0] == 0 && lock.pads[1] == 0 && (lock.is_shared == 0) == is_private &&
            lock.writer > 0 && is_thread(is_private ? pid : 0, lock.writer)) {
            return lock.writer;
        }
    }
    return 0;
}

static void look_at_futex(struct looking *looking, const struct waiter *waiter)
{
    const int command = (int)waiter->args[1] & FUTEX_CMD_MASK;
    if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET && command != FUTEX_LOCK_PI &&
        command != 13 /* FUTEX_LOCK_PI2 */) {
        return;
    }
    const bool is_private = waiter->args[1] & FUTEX_PRIVATE_FLAG;
    const int32_t owner = owner_of(waiter->pid, waiter->args[0], is_private);
    const struct lull_lock_holder holder = {
        .tid = waiter->tid,
        .holder = owner > 0 ? owner : writer_of(waiter->pid, waiter->args[0], is_private),
        .call = waiter->call->name,
        .address = waiter->args[0]};
    if (holder.holder > 0 && holder.holder != waiter->tid && is_in_own_namespace(waiter->pid)) {
        g_array_append_val(looking->found, holder);
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

/* struct listed, of the lines that start so. */
static GArray *read_locks(const char *path, const char *prefix)
{
    GArray *listed = g_array_new(FALSE, FALSE, sizeof(struct listed));
    g_autofree char *text = NULL;
    g_file_get_contents(path, &text, NULL, NULL);
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
    for (char **line = lines; *line; line++) {
        struct listed lock;
        if (g_str_has_prefix(*line, prefix) && parse_lock(*line + strlen(prefix), &lock)) {
            g_array_append_val(listed, lock);
        }
    }
    return listed;
}

/* The process that holds such a lock of the file: the only other one than `own` that is listed. 0: none; -1: several, or
 * none by its number. */
static int32_t holder_in(const GArray *listed, const char *kind, int32_t own,
                         const struct stat *file)
{
    int32_t holder = 0;
    for (guint i = 0; i < listed->len; i++) {
        const struct listed *lock = &g_array_index(listed, struct listed, i);
        if (lock->inode == file->st_ino && makedev(lock->major, lock->minor) == file->st_dev &&
            lock->pid != own && strcmp(lock->kind, kind) == 0) {
            holder = holder == 0 || holder == lock->pid ? lock->pid : -1;
        }
    }
    return holder;
}

/* Whether a descriptor of the process has a lock of its open file. */
static bool has_open_lock(const struct looking *looking, int32_t pid, const char *kind,
                          const struct stat *file)
{
    g_autofree char *folder = g_strdup_printf("/proc/%" PRId32 "/fdinfo", pid);
    g_autoptr(GDir) names = g_dir_open(folder, 0, NULL);
    const char *name;
    bool has = false;
    while (names && !has && !is_over(looking) && (name = g_dir_read_name(names))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_autoptr(GArray) listed = read_locks(path, "lock:");
        has = holder_in(listed, kind, 0, file) != 0;
    }
    return has;
}

/* Of those who wait for such a lock themselves the only one other that has it; 0: none, several, or there was no time. */
static int32_t open_holder(const struct looking *looking, const struct waiter *waiter,
                           const struct stat *file)
{
    int32_t holder = 0;
    for (guint i = 0; i < looking->waiters->len; i++) {
        const struct waiter *other = &g_array_index(looking->waiters, struct waiter, i);
        if (other->call == waiter->call && other->pid != waiter->pid && other->pid != holder &&
            has_open_lock(looking, other->pid, waiter->call->kind, file)) {
            holder = holder == 0 ? other->pid : -1;
        }
    }
    return is_over(looking) ? 0 : MAX(holder, 0);
}

bool lull_has_one_thread(int32_t pid)
{
    struct stat tasks;
    g_autofree char *path = g_strdup_printf("/proc/%" PRId32 "/task", pid);
    return stat(path, &tasks) == 0 && tasks.st_nlink == 3; /* one folder in it */
}

/* Which file it is, as the kernel knows: a server that does not answer any more is not asked. */
static bool read_number(const char *link, struct stat *file)
{
    struct statx known;
    const bool is_there = statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_INO, &known) == 0;
    *file = is_there ? (struct stat){.st_ino = known.stx_ino,
                                     .st_dev = makedev(known.stx_dev_major, known.stx_dev_minor)}
                     : (struct stat){0};
    return is_there;
}

static void look_at_file(struct looking *looking, const struct waiter *waiter)
{
    struct stat file;
    g_autofree char *link =
        g_strdup_printf("/proc/%" PRId32 "/fd/%d", waiter->pid, (int)waiter->args[0]);
    if (!read_number(link, &file)) {
        return;
    }
    const char *kind = waiter->call->kind;
    const int32_t holder = strcmp(kind, "OFDLCK") == 0
                               ? open_holder(looking, waiter, &file)
                               : holder_in(looking->listed, kind, waiter->pid, &file);
    if (holder > 0) {
        const struct lull_lock_holder known = {.tid = waiter->tid,
                                               .holder = holder,
                                               .call = waiter->call->name,
                                               .path = g_file_read_link(link, NULL),
                                               .is_process = !lull_has_one_thread(holder)};
        g_array_append_val(looking->found, known);
    }
}

/* ---- who waits ---- */

static void look_at_task(struct looking *looking, const char *folder, int32_t pid, const char *name)
{
    char text[256];
    g_autofree char *path = g_build_filename(folder, name, "syscall", NULL);
    struct waiter waiter = {.pid = pid, .tid = number_of(name)};
    struct lull_state_call call;
    const int fd = waiter.tid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    const ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[MAX(n, 0)] = '\0';
    if (!lull_state_parse_call(text, &call)) {
        return;
    }
    memcpy(waiter.args, call.args, sizeof waiter.args);
    for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
        if (calls[i].number == call.number &&
            (calls[i].command == 0 || calls[i].command == waiter.args[1])) {
            waiter.call = &calls[i];
            g_array_append_val(looking->waiters, waiter);
        }
    }
    lull_open_ends_add(looking->ends, pid, waiter.tid, &call);
}

static void find_waiters(struct looking *looking)
{
    g_autoptr(GDir) processes = g_dir_open("/proc", 0, NULL);
    const char *process, *task;
    while (processes && !is_over(looking) && (process = g_dir_read_name(processes))) {
        const int32_t pid = number_of(process);
        g_autofree char *folder = g_build_filename("/proc", process, "task", NULL);
        g_autoptr(GDir) tasks = pid > 0 ? g_dir_open(folder, 0, NULL) : NULL;
        while (tasks && !is_over(looking) && (task = g_dir_read_name(tasks))) {
            look_at_task(looking, folder, pid, task);
        }
    }
}

GArray *lull_lock_holders_read(void)
{
    struct looking looking = {.until_us = g_get_monotonic_time() + MOST_TIME_US,
                              .found = g_array_new(FALSE, FALSE, sizeof(struct lull_lock_holder))};
    g_array_set_clear_func(looking.found, clear_holder);
    if (!lull_tasks_are_global()) {
        return looking.found;
    }
    looking.waiters = g_array_new(FALSE, FALSE, sizeof(struct waiter));
    looking.ends = lull_open_ends_new(looking.until_us);
    find_waiters(&looking);
    for (guint i = 0; i < looking.waiters->len && !is_over(&looking); i++) {
        const struct waiter *waiter = &g_array_index(looking.waiters, struct waiter, i);
        if (waiter->call->kind) {
            /* For some 10 ms the kernel waits for all CPUs before it lists them: only if that is needed. */
            looking.listed = looking.listed ? looking.listed : read_locks("/proc/locks", "");
            look_at_file(&looking, waiter);
        } else {
            look_at_futex(&looking, waiter);
        }
    }
    lull_open_ends_find(looking.ends, looking.found);
    lull_open_ends_free(looking.ends);
    g_array_unref(looking.waiters);
    g_clear_pointer(&looking.listed, g_array_unref);
    return looking.found;
}
