/* SPDX-License-Identifier: MIT */
/* /proc/locks: a line for each lock, and behind it, with an arrow, one for each who waits for it. */
#include "live/lock_waits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/poll_proc.h"

/* What is behind that is not looked at: a machine with many locks must not be kept busy by them. */
#define MOST_BYTES ((size_t)1 << 20)
/* Nor more descriptors at a look: locks that are found later have no path. */
#define MOST_FILES 4096

struct lull_lock_waits {
    GHashTable *since; /* line of who waits → when it was there first (int64_t *) */
    GArray *waiting;   /* struct lull_lock_wait */
    uint32_t n_files;  /* that were looked at, this time */
};

/* What a line says. */
struct lock {
    char kind[16];
    int32_t pid;
    unsigned major, minor;
    uint64_t inode;
};

static void clear_wait(gpointer data)
{
    g_free(((struct lull_lock_wait *)data)->path);
}

struct lull_lock_waits *lull_lock_waits_new(void)
{
    struct lull_lock_waits *waits = g_new0(struct lull_lock_waits, 1);
    waits->since = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    waits->waiting = g_array_new(FALSE, FALSE, sizeof(struct lull_lock_wait));
    g_array_set_clear_func(waits->waiting, clear_wait);
    return waits;
}

void lull_lock_waits_free(struct lull_lock_waits *waits)
{
    if (waits) {
        g_hash_table_unref(waits->since);
        g_array_unref(waits->waiting);
        g_free(waits);
    }
}

const GArray *lull_lock_waits_waiting(const struct lull_lock_waits *waits)
{
    return waits->waiting;
}

/* ---- lines ---- */

/* "FLOCK  ADVISORY  WRITE 4711 fe:00:131074 0 EOF" */
static bool parse(const char *text, struct lock *lock)
{
    return sscanf(text, "%15s %*s %*s %" SCNd32 " %x:%x:%" SCNu64, lock->kind, &lock->pid,
                  &lock->major, &lock->minor, &lock->inode) == 5;
}

/* By which a program takes such a lock; NULL: it does not wait for one by itself, as for leases. */
static const char *call_of(const char *kind)
{
    return strcmp(kind, "FLOCK") == 0                                  ? "flock"
           : strcmp(kind, "POSIX") == 0 || strcmp(kind, "OFDLCK") == 0 ? "fcntl"
                                                                       : NULL;
}

static struct lull_lock_task task_of(const struct lock *lock)
{
    struct lull_lock_task task = {.pid = MAX(lock->pid, 0)};
    struct lull_proc_state state;
    if (task.pid > 0 && lull_proc_read_state((uint32_t)task.pid, (uint32_t)task.pid, &state)) {
        memcpy(task.comm, state.comm, sizeof task.comm);
    }
    return task;
}

/* Whether a descriptor of a process has the lock, by its fdinfo (proc_pid_fdinfo(5)). */
static bool has_lock(int32_t pid, const char *name, const struct lock *lock)
{
    char text[2048];
    g_autofree char *path = g_strdup_printf("/proc/%" PRId32 "/fdinfo/%s", pid, name);
    g_autofree char *wanted =
        g_strdup_printf(" %02x:%02x:%" PRIu64 " ", lock->major, lock->minor, lock->inode);
    return lull_proc_read_file(path, text, sizeof text) && strstr(text, wanted);
}

/* Whether it is of the file of the lock, as far as is known without asking its file system, which may hang. */
static bool has_file(int32_t pid, const char *name, const struct lock *lock)
{
    struct statx known;
    g_autofree char *path = g_strdup_printf("/proc/%" PRId32 "/fd/%s", pid, name);
    return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &known) == 0 &&
           known.stx_ino == lock->inode && known.stx_dev_major == lock->major &&
           known.stx_dev_minor == lock->minor;
}

static char *find_file(struct lull_lock_waits *waits, int32_t pid, const struct lock *lock,
                       bool (*is_it)(int32_t pid, const char *name, const struct lock *lock))
{
    g_autofree char *folder = g_strdup_printf("/proc/%" PRId32 "/fd", pid);
    GDir *files = pid > 0 ? g_dir_open(folder, 0, NULL) : NULL;
    char *found = NULL;
    const char *name;
    while (files && !found && waits->n_files < MOST_FILES && (name = g_dir_read_name(files))) {
        waits->n_files++;
        if (is_it(pid, name, lock)) {
            g_autofree char *link = g_build_filename(folder, name, NULL);
            found = g_file_read_link(link, NULL);
        }
    }
    if (files) {
        g_dir_close(files);
    }
    return found;
}

/* Who took a lock may have ended, and left it to a child, as flock(1) does; who waits has the file open. */
static char *path_of(struct lull_lock_waits *waits, const struct lock *held,
                     const struct lock *wanted)
{
    char *path = find_file(waits, held->pid, held, has_lock);
    return path ? path : find_file(waits, wanted->pid, wanted, has_file);
}

/* ---- looking ---- */

static gint compare_waits(gconstpointer a, gconstpointer b)
{
    const struct lull_lock_wait *x = a, *y = b;
    return x->at_least_ns != y->at_least_ns
               ? (x->at_least_ns < y->at_least_ns ? 1 : -1)
               : (x->waiter.pid > y->waiter.pid) - (x->waiter.pid < y->waiter.pid);
}

/* `behind`: the number in `waiting` of one who waits for the same lock, whose path is known then; or that of nobody. */
static void add_wait(struct lull_lock_waits *waits, const struct lock *held,
                     const struct lock *wanted, guint behind, int64_t waited_ns)
{
    const GArray *waiting = waits->waiting;
    struct lull_lock_wait wait = {
        .waiter = task_of(wanted),
        .holder = task_of(held),
        .call = call_of(wanted->kind),
        .path = behind < waiting->len
                    ? g_strdup(g_array_index(waiting, struct lull_lock_wait, behind).path)
                    : path_of(waits, held, wanted),
        .at_least_ns = waited_ns};
    g_array_append_val(waits->waiting, wait);
}

/* Without its number, which changes with what is listed before it. */
static char *line_key(const char *wanted)
{
    return g_strndup(wanted, strcspn(wanted, "\n"));
}

void lull_lock_waits_take(struct lull_lock_waits *waits, const char *text, int64_t now_ns)
{
    GHashTable *since = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    struct lock held = {.pid = 0}, wanted;
    bool has_held = false;
    guint first = 0; /* that waits for the lock */
    waits->n_files = 0;
    g_array_set_size(waits->waiting, 0);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *colon = strchr(line, ':');
        const char *lock = colon ? colon + 1 + strspn(colon + 1, " ") : line;
        if (!g_str_has_prefix(lock, "->")) {
            has_held = parse(lock, &held);
            first = waits->waiting->len;
            continue;
        }
        lock += 2 + strspn(lock + 2, " ");
        if (!has_held || !parse(lock, &wanted) || !call_of(wanted.kind) ||
            g_hash_table_size(since) == LULL_LOCK_WAITS) {
            continue;
        }
        char *key = line_key(lock);
        const int64_t *before = g_hash_table_lookup(waits->since, key);
        if (before && !g_hash_table_contains(since, key)) {
            add_wait(waits, &held, &wanted, first, now_ns - *before);
        }
        const int64_t first_ns = before ? *before : now_ns;
        g_hash_table_replace(since, key, g_memdup2(&first_ns, sizeof first_ns));
    }
    g_hash_table_unref(waits->since);
    waits->since = since;
    g_array_sort(waits->waiting, compare_waits);
}

void lull_lock_waits_look(struct lull_lock_waits *waits, int64_t now_ns)
{
    g_autofree char *text = g_malloc(MOST_BYTES + 1);
    const int fd = open("/proc/locks", O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n = 0;
    while (fd >= 0 && used < MOST_BYTES &&
           ((n = read(fd, text + used, MOST_BYTES - used)) > 0 || (n < 0 && errno == EINTR))) {
        used += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    text[used] = '\0';
    lull_lock_waits_take(waits, text, now_ns);
}
