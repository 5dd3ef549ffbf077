/* SPDX-License-Identifier: MIT */
/* /proc/locks: a line for each lock, and behind it, with an arrow, one for each who waits for it. */
#include "live/lock_waits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "live/poll_proc.h"

/* What is behind that is not looked at: a machine with many locks must not be kept busy by them. */
#define MOST_BYTES ((size_t)1 << 20)
/* A process with more descriptors has files without a path here. */
#define MOST_FILES 4096

struct lull_lock_waits {
    GHashTable *since; /* line of who waits → when it was there first (int64_t *) */
    GArray *waiting;   /* struct lull_lock_wait */
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

/* The file of which a process has something in its descriptor's fdinfo (proc_pid_fdinfo(5)); the file itself is not
 * touched: its file system may hang. */
static char *find_file(int32_t pid, const char *wanted)
{
    g_autofree char *folder = g_strdup_printf("/proc/%" PRId32 "/fdinfo", pid);
    GDir *files = pid > 0 ? g_dir_open(folder, 0, NULL) : NULL;
    char *found = NULL;
    const char *name;
    for (uint32_t n = 0; files && !found && n < MOST_FILES && (name = g_dir_read_name(files));
         n++) {
        char text[2048];
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (lull_proc_read_file(path, text, sizeof text) && strstr(text, wanted)) {
            g_autofree char *link = g_strdup_printf("/proc/%" PRId32 "/fd/%s", pid, name);
            found = g_file_read_link(link, NULL);
        }
    }
    if (files) {
        g_dir_close(files);
    }
    return found;
}

/* The holder's descriptor has the lock; where the holder is not known, who waits has the file open. */
static char *path_of(const struct lock *held, const struct lock *wanted)
{
    g_autofree char *lock =
        g_strdup_printf(" %02x:%02x:%" PRIu64 " ", held->major, held->minor, held->inode);
    g_autofree char *inode = g_strdup_printf("\nino:\t%" PRIu64 "\n", wanted->inode);
    char *path = find_file(held->pid, lock);
    return path ? path : find_file(wanted->pid, inode);
}

/* ---- looking ---- */

static gint compare_waits(gconstpointer a, gconstpointer b)
{
    const struct lull_lock_wait *x = a, *y = b;
    return x->at_least_ns != y->at_least_ns
               ? (x->at_least_ns < y->at_least_ns ? 1 : -1)
               : (x->waiter.pid > y->waiter.pid) - (x->waiter.pid < y->waiter.pid);
}

static void add_wait(struct lull_lock_waits *waits, const struct lock *held,
                     const struct lock *wanted, int64_t waited_ns)
{
    struct lull_lock_wait wait = {.waiter = task_of(wanted),
                                  .holder = task_of(held),
                                  .call = call_of(wanted->kind),
                                  .path = path_of(held, wanted),
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
    g_array_set_size(waits->waiting, 0);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *colon = strchr(line, ':');
        const char *lock = colon ? colon + 1 + strspn(colon + 1, " ") : line;
        if (!g_str_has_prefix(lock, "->")) {
            has_held = parse(lock, &held);
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
            add_wait(waits, &held, &wanted, now_ns - *before);
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
