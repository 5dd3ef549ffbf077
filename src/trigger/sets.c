/* SPDX-License-Identifier: MIT */
/* Everything happens below one open directory; only what is named as a set is touched. */
#include "trigger/sets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "base/tree.h"

#define DEPTH 8
/* Somebody keeps the set. */
#define PINNED "pinned"
/* Of a recording, in its directory. */
#define DESCRIPTION "recording.json"
#define BLOCK 512

bool lull_sets_prepare(const char *directory, GError **error)
{
    struct stat st;
    int fd = -1;
    if (g_mkdir_with_parents(directory, 0700) != 0 ||
        (fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 || fstat(fd, &st) != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "“%s”, where snapshots go: %s", directory,
                    g_strerror(errno));
    } else if (st.st_uid != geteuid() || (st.st_mode & 022) != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "“%s”, where snapshots go, must belong to the user who runs the daemon, and "
                    "nobody else may write there (chmod 700)",
                    directory);
    } else if (!lull_tree_path_is_beyond_others(directory)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "“%s”, where snapshots go: another user could put something else in its place, "
                    "since a directory above it is theirs; choose one such as /var/lib/lull",
                    directory);
    } else {
        close(fd);
        return true;
    }
    if (fd >= 0) {
        close(fd);
    }
    return false;
}

void lull_sets_name(int64_t epoch_ns, char id[static LULL_SET_ID])
{
    const time_t seconds = (time_t)(epoch_ns / LULL_NS_PER_S);
    struct tm when;
    uint32_t random = 0;
    gmtime_r(&seconds, &when);
    (void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
    char date[LULL_SET_ID];
    strftime(date, sizeof date, "%Y%m%d-%H%M%S", &when);
    g_snprintf(id, LULL_SET_ID, "%.15s-%08x", date, random);
}

bool lull_sets_is_name(const char *name)
{
    static const char form[] = "dddddddd-dddddd-xxxxxxxx";
    for (size_t i = 0; i < sizeof form; i++) {
        const char c = name[i];
        const bool fits = form[i] == 'd'   ? g_ascii_isdigit(c)
                          : form[i] == 'x' ? g_ascii_isxdigit(c)
                                           : c == form[i];
        if (!fits) {
            return false;
        }
    }
    return true;
}

/* On the disk, of all files below. */
static uint64_t size_of(int at, const char *name, unsigned depth)
{
    uint64_t bytes = 0;
    const int fd = lull_tree_open(at, name);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        bytes += (uint64_t)st.st_blocks * BLOCK;
        if (S_ISDIR(st.st_mode) && depth > 0) {
            bytes += size_of(fd, entry->d_name, depth - 1);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return bytes;
}

static bool is_pinned(int at, const char *name)
{
    g_autofree char *path = g_build_filename(name, PINNED, NULL);
    return faccessat(at, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- which one is the oldest ---- */

struct set {
    char name[LULL_SET_ID];
    int64_t written_ns; /* 0: not known, as of what was cut short */
};

static gint by_age(gconstpointer a, gconstpointer b)
{
    const struct set *left = a, *right = b;
    return left->written_ns != right->written_ns ? (left->written_ns > right->written_ns ? 1 : -1)
                                                 : strcmp(left->name, right->name);
}

/* When its description was written, which nothing changes afterwards. */
static int64_t written_ns(int at, const char *name)
{
    g_autofree char *path = g_build_filename(name, DESCRIPTION, NULL);
    struct stat st;
    return fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0
               ? st.st_mtim.tv_sec * LULL_NS_PER_S + st.st_mtim.tv_nsec
               : 0;
}

/* The sets, in the order in which they were written. */
static GArray *list_sets(DIR *dir)
{
    GArray *sets = g_array_new(FALSE, FALSE, sizeof(struct set));
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        if (lull_sets_is_name(entry->d_name)) {
            struct set set = {.written_ns = written_ns(dirfd(dir), entry->d_name)};
            g_strlcpy(set.name, entry->d_name, sizeof set.name);
            g_array_append_val(sets, set);
        }
    }
    g_array_sort(sets, by_age);
    return sets;
}

/* A second at least after the one before: file systems may count in seconds, and clocks are set back. */
static void put_last(int dir, const GArray *sets, const char *name)
{
    const int64_t own_ns = written_ns(dir, name);
    int64_t before_ns = INT64_MIN;
    for (guint i = 0; i < sets->len; i++) {
        const struct set *set = &g_array_index(sets, struct set, i);
        before_ns = strcmp(set->name, name) == 0 ? before_ns : MAX(before_ns, set->written_ns);
    }
    if (own_ns > 0 && own_ns <= before_ns && before_ns < LULL_TIME_MAX - LULL_NS_PER_S) {
        const int64_t after_ns = before_ns + LULL_NS_PER_S;
        const struct timespec times[] = {{.tv_nsec = UTIME_OMIT},
                                         {after_ns / LULL_NS_PER_S, after_ns % LULL_NS_PER_S}};
        g_autofree char *path = g_build_filename(name, DESCRIPTION, NULL);
        utimensat(dir, path, times, AT_SYMLINK_NOFOLLOW);
    }
}

static bool has_room(int dir, const struct lull_trigger_config *config)
{
    struct statvfs disk;
    return fstatvfs(dir, &disk) != 0 ||
           (double)disk.f_bavail >= config->least_free * (double)disk.f_blocks;
}

static uint32_t remove_oldest(int dir, const struct lull_trigger_config *config, const char *kept,
                              const GArray *sets)
{
    uint32_t n = 0;
    uint64_t bytes = 0;
    for (guint i = 0; i < sets->len; i++) {
        bytes += size_of(dir, g_array_index(sets, struct set, i).name, DEPTH);
    }
    for (guint i = 0; i < sets->len && (bytes > config->most_bytes || !has_room(dir, config));
         i++) {
        const char *name = g_array_index(sets, struct set, i).name;
        if ((kept && strcmp(name, kept) == 0) || is_pinned(dir, name)) {
            continue;
        }
        bytes -= size_of(dir, name, DEPTH);
        lull_tree_remove_at(dir, name, DEPTH);
        n++;
    }
    return n;
}

bool lull_sets_make_room(const struct lull_trigger_config *config, const char *kept,
                         uint32_t *n_removed, GError **error)
{
    const int fd = open(config->snapshots, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    *n_removed = 0;
    if (!dir) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot read “%s”: %s", config->snapshots,
                    g_strerror(errno));
        return false;
    }
    GArray *sets = list_sets(dir);
    if (kept) {
        put_last(fd, sets, kept);
    }
    *n_removed = remove_oldest(fd, config, kept, sets);
    const bool done = kept || has_room(fd, config);
    g_array_unref(sets);
    closedir(dir);
    if (!done) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "less than %g %% of the disk of “%s” is free (limit “free”)",
                    100 * config->least_free, config->snapshots);
    }
    return done;
}
