/* SPDX-License-Identifier: MIT */
/* Making the directory of a recording, and giving it its name. Its parent and it are opened once;
 * what is removed or renamed afterwards is compared with what was created. */
#include "record/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/tree.h"

/* Of directories that a daemon makes. */
#define DEPTH 4
#define MOST_OF_NAME 40
/* How often it is looked whether a daemon still makes files. */
#define REMOVALS 100
/* How often a new lock is tried. */
#define LOCKS 100
#define LOCK_PAUSE_US 1000

/* What a recording shows is for its owner: the directory is closed to others.
 *
 * The mark says that the directory is a recording in work, as long as somebody holds its lock. */
static const char mark[] = ".lull-recording";

/* All that ever is in one, as globs: what holds anything else was not left by Lull. */
static const char *const known[] = {
    mark,      "recording.json",  "trace.dat", "perf.data", "state",     "kernel",      "kallsyms",
    "symbols", "kernel-build-id", "modules",   "lull-*",    "cpu*.part", "reserve.part"};

/* It is held open, so that its number is not given to another meanwhile. */
struct made {
    char *name;
    enum lull_folder_kind kind;
    struct stat st;
    int held; /* -1: a daemon's */
};

/* ---- names ---- */

/* "lull-make-20261121-145500", of the basename of a command. */
static char *make_name(const char *command)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    g_autofree char *when = g_date_time_format(now, "%Y%m%d-%H%M%S");
    g_autofree char *base = command ? g_path_get_basename(command) : g_strdup("");
    for (char *p = base; *p; p++) {
        if (!g_ascii_isalnum(*p) && !strchr("._+-", *p)) {
            *p = '_';
        }
    }
    if (strlen(base) > MOST_OF_NAME) {
        base[MOST_OF_NAME] = '\0';
    }
    return g_strdup_printf("lull-%s%s%s", base, *base ? "-" : "", when);
}

static char *part_of(const char *name)
{
    return g_strconcat(name, ".part", NULL);
}

static bool is_there(const struct lull_folder *folder, const char *name)
{
    struct stat st;
    return fstatat(folder->parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_taken(const struct lull_folder *folder, const char *name)
{
    g_autofree char *part = part_of(name);
    return is_there(folder, name) || is_there(folder, part);
}

static void choose_name(struct lull_folder *folder, const char *command)
{
    g_autofree char *name = make_name(command);
    folder->name = g_strdup(name);
    for (unsigned n = 2; n < 100 && is_taken(folder, folder->name); n++) {
        g_free(folder->name);
        folder->name = g_strdup_printf("%s-%u", name, n);
    }
}

static bool fail(const char *path, const char *why, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "%s: %s", path, why);
    return false;
}

/* The last time that a path is followed. */
static bool open_parent(struct lull_folder *folder, const char *output, const char *command,
                        GError **error)
{
    g_autofree char *wanted = g_strdup(output ? output : ".");
    for (size_t n = strlen(wanted); n > 1 && wanted[n - 1] == '/'; n--) {
        wanted[n - 1] = '\0';
    }
    g_autofree char *parent = output ? g_path_get_dirname(wanted) : g_strdup(".");
    folder->parent = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder->parent < 0) {
        return fail(output ? wanted : "the working directory", g_strerror(errno), error);
    }
    if (output) {
        folder->name = g_path_get_basename(wanted);
    } else {
        choose_name(folder, command);
    }
    g_autofree char *beside = g_build_filename(parent, folder->name, NULL);
    folder->path = g_canonicalize_filename(beside, NULL);
    folder->part = part_of(folder->path);
    return true;
}

/* ---- what a killed recorder has left ---- */

/* Who looks whether it is locked locks it for a moment. */
static bool try_lock(int fd, bool is_new)
{
    bool is_locked = false;
    for (unsigned n = 0; !is_locked && n < (is_new ? LOCKS : 1); n++) {
        g_usleep(n > 0 ? LOCK_PAUSE_US : 0);
        is_locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    }
    return is_locked;
}

/* The descriptor of the mark, locked; -1 if it is not there, or somebody holds the lock. */
static int lock_mark(int dir, int flags)
{
    struct stat st;
    const int fd =
        openat(dir, mark, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags, 0600);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
                    st.st_nlink != 1 || !try_lock(fd, (flags & O_CREAT) != 0))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Nobody but the user we are can have put something there. */
static bool is_own(int dir, struct stat *st)
{
    return fstat(dir, st) == 0 && st->st_uid == geteuid() && (st->st_mode & 077) == 0;
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        if (g_pattern_match_simple(known[i], name)) {
            return true;
        }
    }
    return false;
}

/* The names in a directory, but those in all; NULL-terminated, free with g_strfreev(). */
static char **list(int dir)
{
    GPtrArray *names = g_ptr_array_new();
    const int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            g_ptr_array_add(names, g_strdup(entry->d_name));
        }
    }
    if (entries) {
        closedir(entries);
    } else if (fd >= 0) {
        close(fd);
    }
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(names, FALSE);
}

static bool holds_only_known(char *const *names)
{
    for (uint32_t i = 0; names[i]; i++) {
        if (!is_known(names[i])) {
            return false;
        }
    }
    return true;
}

/* Removes a recording in work whose recorder, keeper and guard were killed. Whatever else has that
 * name is not ours, and stays. */
static void remove_left(int parent, const char *part)
{
    struct stat st;
    const int dir = lull_tree_open(parent, part);
    const int lock = dir >= 0 && is_own(dir, &st) ? lock_mark(dir, 0) : -1;
    if (lock >= 0) {
        g_auto(GStrv) names = list(dir);
        const bool is_lulls = holds_only_known(names);
        for (uint32_t i = 0; is_lulls && names[i]; i++) {
            if (unlinkat(dir, names[i], 0) != 0) {
                lull_tree_remove_at(dir, names[i], DEPTH);
            }
        }
        if (is_lulls && lull_tree_is(parent, part, &st)) {
            unlinkat(parent, part, AT_REMOVEDIR);
        }
        close(lock);
    }
    if (dir >= 0) {
        close(dir);
    }
}

static bool is_left(const struct lull_folder *folder, const char *part)
{
    struct stat st;
    const int dir = lull_tree_open(folder->parent, part);
    const int lock = dir >= 0 && is_own(dir, &st) ? lock_mark(dir, 0) : -1;
    if (lock >= 0) {
        close(lock);
    }
    if (dir >= 0) {
        close(dir);
    }
    return lock >= 0;
}

uint64_t lull_folder_find_left(const struct lull_folder *folder, char **first)
{
    g_auto(GStrv) names = list(folder->parent);
    g_autofree char *part = part_of(folder->name);
    uint64_t n = 0;
    *first = NULL;
    for (uint32_t i = 0; names[i]; i++) {
        if (!g_str_has_suffix(names[i], ".part") || strcmp(names[i], part) == 0 ||
            !is_left(folder, names[i])) {
            continue;
        }
        if (n++ == 0) {
            g_autofree char *parent = g_path_get_dirname(folder->path);
            *first = g_build_filename(parent, names[i], NULL);
        }
    }
    return n;
}

/* ---- making ---- */

/* What has the name now may be another directory than the one that was made. */
static bool open_made(struct lull_folder *folder, const char *part, GError **error)
{
    const int dir = lull_tree_open(folder->parent, part);
    if (dir < 0) {
        return fail(folder->part, g_strerror(errno), error);
    }
    g_auto(GStrv) names = list(dir);
    if (!is_own(dir, &folder->self) || names[0]) {
        close(dir);
        return fail(folder->part,
                    "somebody has put another directory in its place, or this file system has no "
                    "owners; record somewhere else",
                    error);
    }
    folder->dir = dir;
    return true;
}

bool lull_folder_make(struct lull_folder *folder, const char *output, const char *command,
                      GError **error)
{
    *folder = (struct lull_folder){.parent = -1, .dir = -1, .lock = -1};
    folder->made = g_array_new(FALSE, FALSE, sizeof(struct made));
    if (!open_parent(folder, output, command, error)) {
        return false;
    }
    g_autofree char *part = part_of(folder->name);
    remove_left(folder->parent, part);
    if (is_there(folder, folder->name)) {
        return fail(folder->path, "already exists; name a new directory", error);
    }
    if (mkdirat(folder->parent, part, 0700) != 0) {
        return fail(folder->part,
                    errno == EEXIST ? "already exists: another recording is still running, or "
                                      "somebody else made it; remove it if none is running"
                                    : g_strerror(errno),
                    error);
    }
    if (!open_made(folder, part, error)) {
        return false;
    }
    folder->lock = lock_mark(folder->dir, O_CREAT | O_EXCL);
    return folder->lock >= 0 || fail(folder->part, g_strerror(errno), error);
}

/* ---- what is in it ---- */

static struct made *find(const struct lull_folder *folder, const char *name)
{
    for (guint i = 0; i < folder->made->len; i++) {
        struct made *made = &g_array_index(folder->made, struct made, i);
        if (strcmp(made->name, name) == 0) {
            return made;
        }
    }
    return NULL;
}

/* The directory that holds NAME or DIRECTORY/NAME, which must be the one that was created; -1, with
 * errno. *base is the last part. */
static int open_holder(const struct lull_folder *folder, const char *name, const char **base)
{
    const char *slash = strchr(name, '/');
    *base = slash ? slash + 1 : name;
    if (!slash) {
        return fcntl(folder->dir, F_DUPFD_CLOEXEC, 0);
    }
    g_autofree char *above = g_strndup(name, (size_t)(slash - name));
    const struct made *made = find(folder, above);
    struct stat st;
    const int fd = lull_tree_open(folder->dir, above);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !made ||
                    (made->kind == LULL_FOLDER_DIRECTORY &&
                     (st.st_dev != made->st.st_dev || st.st_ino != made->st.st_ino)))) {
        close(fd);
        errno = ESTALE;
        return -1;
    }
    return fd;
}

/* A descriptor of it; -1, with errno. */
static int create_at(int at, const char *base, enum lull_folder_kind kind, struct stat *st)
{
    int fd = -1;
    if (kind != LULL_FOLDER_DIRECTORY) {
        fd = openat(at, base, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    } else if (mkdirat(at, base, 0777) == 0) {
        fd = lull_tree_open(at, base);
    }
    if (fd >= 0 && fstat(fd, st) != 0) {
        close(fd);
        return -1;
    }
    if (fd >= 0 && kind == LULL_FOLDER_UNNAMED && lull_tree_is(at, base, st)) {
        unlinkat(at, base, 0);
    }
    return fd;
}

/* Creates it, and notes what it is; a descriptor of a file is the caller's. */
static bool create(struct lull_folder *folder, struct made *made, int *fd)
{
    const char *base;
    const int at = open_holder(folder, made->name, &base);
    if (at < 0) {
        return false;
    }
    const int created = create_at(at, base, made->kind, &made->st);
    const int why = errno;
    close(at);
    errno = why;
    if (created >= 0 && made->kind == LULL_FOLDER_FILE) {
        made->held = fcntl(created, F_DUPFD_CLOEXEC, 0);
    } else if (made->kind == LULL_FOLDER_DIRECTORY) {
        made->held = created;
    }
    *fd = made->kind == LULL_FOLDER_DIRECTORY ? 0 : created;
    return created >= 0;
}

int lull_folder_create(struct lull_folder *folder, const char *name, enum lull_folder_kind kind,
                       GError **error)
{
    struct made made = {.name = g_strdup(name), .kind = kind, .held = -1};
    int fd = 0;
    if (kind != LULL_FOLDER_FOREIGN && !create(folder, &made, &fd)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot create “%s” in “%s”: %s", name,
                    folder->part, g_strerror(errno));
        g_free(made.name);
        return -1;
    }
    if (kind == LULL_FOLDER_UNNAMED) {
        g_free(made.name);
    } else {
        g_array_append_val(folder->made, made);
    }
    return fd;
}

static uint64_t measure(int at, const char *name, unsigned depth)
{
    struct stat st;
    uint64_t bytes = 0;
    const int fd = lull_tree_open(at, name);
    if (fd < 0) {
        return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)
                   ? (uint64_t)st.st_size
                   : 0;
    }
    g_auto(GStrv) names = list(fd);
    for (uint32_t i = 0; names[i] && depth > 0; i++) {
        bytes += measure(fd, names[i], depth - 1);
    }
    close(fd);
    return bytes;
}

uint64_t lull_folder_measure(const struct lull_folder *folder, const char *name)
{
    const char *base;
    const int at = open_holder(folder, name, &base);
    const uint64_t bytes = at >= 0 ? measure(at, base, DEPTH) : 0;
    if (at >= 0) {
        close(at);
    }
    return bytes;
}

bool lull_folder_lift(struct lull_folder *folder, const char *prefix, const char *name,
                      GError **error)
{
    g_auto(GStrv) names = list(folder->dir);
    for (uint32_t i = 0; names[i]; i++) {
        const int from =
            g_str_has_prefix(names[i], prefix) ? lull_tree_open(folder->dir, names[i]) : -1;
        const bool is_done = from >= 0 && renameat(from, name, folder->dir, name) == 0;
        if (from >= 0) {
            close(from);
        }
        if (is_done) {
            unlinkat(folder->dir, names[i], AT_REMOVEDIR);
            return true;
        }
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "there is no “%s…/%s” in “%s”", prefix, name,
                folder->part);
    return false;
}

bool lull_folder_has_room(const struct lull_folder *folder)
{
    struct statvfs st;
    return fstatvfs(folder->dir, &st) != 0 || st.f_blocks == 0 || st.f_bfree > 0;
}

bool lull_folder_is_beyond_others(const struct lull_folder *folder)
{
    return lull_tree_is_beyond_others(folder->dir);
}

/* ---- the end ---- */

static void forget_made(struct lull_folder *folder)
{
    for (guint i = 0; i < folder->made->len; i++) {
        const struct made *made = &g_array_index(folder->made, struct made, i);
        if (made->held >= 0) {
            close(made->held);
        }
        g_free(made->name);
    }
    g_array_set_size(folder->made, 0);
}

static void remove_mark(const struct lull_folder *folder)
{
    struct stat st;
    if (folder->lock >= 0 && fstat(folder->lock, &st) == 0 &&
        lull_tree_is(folder->dir, mark, &st)) {
        unlinkat(folder->dir, mark, 0);
    }
}

bool lull_folder_publish(struct lull_folder *folder, GError **error)
{
    g_autofree char *part = part_of(folder->name);
    remove_mark(folder);
    if (lull_tree_publish_at(folder->parent, part, folder->name, &folder->self)) {
        close(folder->lock);
        folder->lock = -1;
        forget_made(folder);
        close(folder->dir);
        folder->dir = -1;
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: cannot be made of %s: %s", folder->path,
                folder->part,
                errno == ESTALE ? "somebody put something else in its place" : g_strerror(errno));
    return false;
}

/* What a daemon makes may grow meanwhile. */
static void remove_foreign(const struct lull_folder *folder, const char *pattern)
{
    bool is_left = true;
    for (unsigned n = 0; is_left && n < REMOVALS; n++) {
        g_auto(GStrv) names = list(folder->dir);
        is_left = false;
        for (uint32_t i = 0; names[i]; i++) {
            if (g_pattern_match_simple(pattern, names[i])) {
                lull_tree_remove_at(folder->dir, names[i], DEPTH);
                is_left = true;
            }
        }
    }
}

static void remove_made(const struct lull_folder *folder, const struct made *made)
{
    const char *base;
    if (made->kind == LULL_FOLDER_FOREIGN) {
        remove_foreign(folder, made->name);
        return;
    }
    const int at = open_holder(folder, made->name, &base);
    if (at < 0) {
        return;
    }
    if (lull_tree_is(at, base, &made->st)) {
        unlinkat(at, base, made->kind == LULL_FOLDER_DIRECTORY ? AT_REMOVEDIR : 0);
    }
    close(at);
}

static void remove_all(struct lull_folder *folder)
{
    g_autofree char *part = part_of(folder->name);
    for (guint i = folder->made->len; i-- > 0;) {
        remove_made(folder, &g_array_index(folder->made, struct made, i));
    }
    remove_mark(folder);
    if (lull_tree_is(folder->parent, part, &folder->self)) {
        unlinkat(folder->parent, part, AT_REMOVEDIR);
    }
}

static void close_all(const struct lull_folder *folder)
{
    const int all[] = {folder->lock, folder->dir, folder->parent};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        if (all[i] >= 0) {
            close(all[i]);
        }
    }
}

void lull_folder_clear(struct lull_folder *folder)
{
    if (!folder->made) {
        return;
    }
    if (folder->dir >= 0) {
        remove_all(folder);
    }
    close_all(folder);
    forget_made(folder);
    g_array_unref(folder->made);
    g_free(folder->path);
    g_free(folder->part);
    g_free(folder->name);
    *folder = (struct lull_folder){.parent = -1, .dir = -1, .lock = -1};
}
