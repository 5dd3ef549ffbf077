/* SPDX-License-Identifier: MIT */
/* The search for traces. A directory that has metadata is a trace, and nothing in or below it is
 * one; elsewhere files of some kinds are. What lies in or below a directory with recording.json
 * belongs to that recording. */
#include "source/session/search.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/session/file_kinds.h"
#include "source/files/pipe.h"
#include "source/files/recording.h"
#include "source/files/signature.h"

/* A trace lies at most this deep below the directory that was given: the walk is recursive. */
#define MAX_DEPTH 128

static void free_error(gpointer error)
{
    g_error_free(error);
}

static void free_location(gpointer location)
{
    lull_location_free(location);
}

void lull_search_init(struct lull_search *search)
{
    search->locations = g_ptr_array_new_with_free_func(free_location);
    search->keys = g_ptr_array_new_with_free_func(g_free);
    search->errors = g_ptr_array_new_with_free_func(free_error);
    search->notes = g_ptr_array_new_with_free_func(g_free);
    search->hint = NULL;
    search->hint_path = NULL;
    search->progress = NULL;
    search->progress_user = NULL;
}

void lull_search_clear(struct lull_search *search)
{
    g_ptr_array_unref(search->locations);
    g_ptr_array_unref(search->keys);
    g_ptr_array_unref(search->errors);
    g_ptr_array_unref(search->notes);
    g_free(search->hint_path);
}

static void add_location(struct lull_search *search, struct lull_location *location,
                         struct lull_recording_file *recording, char *key, uint32_t root)
{
    location->recording = lull_recording_ref(recording);
    location->root = root;
    g_ptr_array_add(search->locations, location);
    g_ptr_array_add(search->keys, key);
}

static void add_file(struct lull_search *search, struct lull_location *location, const char *name,
                     const struct lull_file_kind *kind, struct lull_recording_file *recording,
                     char *key, uint32_t root)
{
    location->file = g_strdup(name);
    location->kind = kind;
    add_location(search, location, recording, key, root);
}

static void add_error(struct lull_search *search, const char *path, int reason)
{
    g_ptr_array_add(search->errors,
                    g_error_new(LULL_ERROR, LULL_ERROR_IO, "%s: %s", path, g_strerror(reason)));
}

/* The recording that the place itself is, or that `above` is which it lies in: a reference, or
 * NULL. False, with an error noted, if what describes it is damaged. */
static bool find_recording(struct lull_search *search, const struct lull_location *location,
                           struct lull_recording_file *above,
                           struct lull_recording_file **recording)
{
    GError *error = NULL;
    if (!lull_recording_read(location, recording, &error)) {
        g_ptr_array_add(search->errors, error);
        return false;
    }
    if (!*recording) {
        *recording = lull_recording_ref(above);
    }
    return true;
}

static void note_unfinished(struct lull_search *search, const char *path)
{
    g_ptr_array_add(search->notes,
                    g_strdup_printf("%s: left out, because it is not finished", path));
}

static void note_too_deep(struct lull_search *search, const char *path)
{
    g_ptr_array_add(search->notes,
                    g_strdup_printf("%s: left out, because it is more than %d directories deep",
                                    path, MAX_DEPTH));
}

static void set_hint(struct lull_search *search, const char *path, const char *what)
{
    g_free(search->hint_path);
    search->hint_path = g_strdup(path);
    search->hint = what;
}

/* A file that is no trace; the first one whose name is known is remembered. */
static void note_other(struct lull_search *search, const char *path, const uint8_t *start,
                       size_t size)
{
    const char *what = search->hint ? NULL : lull_signature_of(start, size);
    if (what) {
        set_hint(search, path, what);
    }
}

static char *file_key(const struct stat *st, const char *prefix)
{
    return g_strdup_printf("%ju:%ju:%s", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino, prefix);
}

/* ---- directories ---- */

/* A walk below one of the requested paths. */
struct walk {
    struct lull_search *search;
    GHashTable *seen; /* keys of directories and files */
    uint32_t root;
};

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How the file starts; 0: it cannot be read, or is empty. */
static size_t read_start(const char *path, uint8_t start[LULL_SIGNATURE_BYTES])
{
    const char *why;
    int fd;
    if (lull_file_open(path, &fd, NULL, &why) != LULL_OPEN_DONE) {
        return 0;
    }
    ssize_t n = read(fd, start, LULL_SIGNATURE_BYTES);
    close(fd);
    return n > 0 ? (size_t)n : 0;
}

/* The file `path`, if it is a trace. */
static bool search_file(const struct walk *walk, const char *path, const struct stat *st,
                        struct lull_recording_file *recording)
{
    uint8_t start[LULL_SIGNATURE_BYTES];
    const size_t size = read_start(path, start);
    const struct lull_file_kind *kind = lull_file_kind_of(start, size);
    if (!kind) {
        note_other(walk->search, path, start, size);
        return false;
    }
    g_autofree char *key = file_key(st, "");
    if (!g_hash_table_add(walk->seen, g_strdup(key))) {
        return true;
    }
    const char *slash = strrchr(path, '/');
    g_autofree char *dir = g_strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
    add_file(walk->search, lull_location_new(dir, NULL, ""), slash ? slash + 1 : path, kind,
             recording, g_steal_pointer(&key), walk->root);
    return true;
}

/* Names in the directory, sorted; NULL with an error noted. LTTng keeps chunks that it is about to
 * move in hidden directories. */
static GPtrArray *list_directory(struct lull_search *search, const char *path)
{
    GError *cause = NULL;
    g_autoptr(GDir) dir = g_dir_open(path, 0, &cause);
    if (!dir) {
        g_ptr_array_add(search->errors,
                        g_error_new(LULL_ERROR, LULL_ERROR_IO, "%s", cause->message));
        g_error_free(cause);
        return NULL;
    }
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    const char *name;
    while ((name = g_dir_read_name(dir))) {
        if (name[0] != '.' || strcmp(name, ".tmp_old_chunk") == 0 ||
            strcmp(name, ".tmp_new_chunk") == 0) {
            g_ptr_array_add(names, g_strdup(name));
        }
    }
    g_ptr_array_sort(names, compare_names);
    return names;
}

/* Something that is called as a file of a trace is, but cannot be read as one. */
static void note_unreadable(struct lull_search *search, const char *path)
{
    struct stat st;
    const char *why;
    int fd;
    if (lstat(path, &st) != 0) {
        return;
    }
    const enum lull_open_status status = lull_file_open(path, &fd, NULL, &why);
    if (status == LULL_OPEN_DONE) {
        close(fd);
    } else if (status != LULL_OPEN_DIRECTORY) {
        g_ptr_array_add(search->errors,
                        g_error_new(LULL_ERROR, LULL_ERROR_FORMAT,
                                    "%s: it cannot be read: %s; the trace is left out", path, why));
    }
}

static void search_directory(const struct walk *walk, const char *path,
                             struct lull_recording_file *above, unsigned depth);

static void search_children(const struct walk *walk, const char *path,
                            struct lull_recording_file *recording, unsigned depth)
{
    g_autoptr(GPtrArray) names = list_directory(walk->search, path);
    for (guint i = 0; names && i < names->len; i++) {
        g_autofree char *child = g_build_filename(path, names->pdata[i], NULL);
        struct stat st;
        /* A name that cannot even be looked at is no directory that anybody meant. */
        if (stat(child, &st) != 0) {
            continue;
        }
        if (depth >= MAX_DEPTH && S_ISDIR(st.st_mode)) {
            note_too_deep(walk->search, child);
            continue;
        }
        if (S_ISDIR(st.st_mode) && g_str_has_suffix(child, LULL_RECORDING_UNFINISHED)) {
            note_unfinished(walk->search, child);
        } else if (S_ISDIR(st.st_mode)) {
            search_directory(walk, child, recording, depth + 1);
        } else if ((!S_ISREG(st.st_mode) || !search_file(walk, child, &st, recording)) &&
                   (g_str_has_suffix(child, ".dat") || g_str_has_suffix(child, ".data"))) {
            note_unreadable(walk->search, child);
        }
    }
}

static void search_directory(const struct walk *walk, const char *path,
                             struct lull_recording_file *above, unsigned depth)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        add_error(walk->search, path, errno);
        return;
    }
    g_autofree char *key = file_key(&st, "");
    if (!g_hash_table_add(walk->seen, g_strdup(key))) {
        return;
    }
    g_autofree char *metadata = g_build_filename(path, "metadata", NULL);
    errno = 0;
    bool is_trace = stat(metadata, &st) == 0 && S_ISREG(st.st_mode);
    if (!is_trace && errno == EACCES) { /* it can be listed at best, but nothing in it looked at */
        add_error(walk->search, path, EACCES);
        return;
    }
    if (!is_trace) {
        note_unreadable(walk->search, metadata);
    }
    struct lull_recording_file *recording;
    struct lull_location *location = lull_location_new(path, NULL, "");
    bool is_sound = find_recording(walk->search, location, above, &recording);
    if (is_sound && is_trace) {
        add_location(walk->search, g_steal_pointer(&location), recording, g_steal_pointer(&key),
                     walk->root);
    } else if (is_sound) {
        search_children(walk, path, recording, depth);
    }
    lull_recording_unref(recording);
    lull_location_free(location);
}

/* ---- archives ---- */

/* In the order of a walk through directories: '/' is before all other characters. */
static int compare_prefixes(gconstpointer a, gconstpointer b)
{
    const unsigned char *x = *(const unsigned char *const *)a;
    const unsigned char *y = *(const unsigned char *const *)b;
    while (*x != '\0' && *x == *y) {
        x++;
        y++;
    }
    int i = *x == '/' ? 1 : *x == '\0' ? 0 : *x + 1;
    int j = *y == '/' ? 1 : *y == '\0' ? 0 : *y + 1;
    return i - j;
}

/* What may be a trace: prefixes of the directories with metadata, and names of files elsewhere. */
static GPtrArray *archive_names(const struct lull_archive *archive)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    for (uint32_t i = 0; i < lull_archive_count(archive); i++) {
        const char *name = lull_archive_member(archive, i)->name;
        const char *slash = strrchr(name, '/');
        const char *last = slash ? slash + 1 : name;
        if (strcmp(last, "metadata") == 0) {
            g_ptr_array_add(names, g_strndup(name, (size_t)(last - name)));
        } else if (*last != '.') {
            g_ptr_array_add(names, g_strdup(name));
        }
    }
    g_ptr_array_sort(names, compare_prefixes);
    return names;
}

static void note(void *user, const char *text)
{
    g_ptr_array_add(((struct lull_search *)user)->notes, g_strdup(text));
}

/* The walk through an archive. */
struct unpacked {
    struct lull_search *search;
    struct lull_archive *archive;
    const char *path;
    const struct stat *st;
    GHashTable *recordings; /* of each prefix that was looked at, see find_in_archive() */
    uint32_t root;
};

/* Represents the recording of a directory whose description is damaged. */
static const struct lull_recording_file damaged;

static void free_recording(gpointer recording)
{
    if (recording != &damaged) {
        lull_recording_unref(recording);
    }
}

/* The place of a directory of the archive, whose prefix is `length` bytes of `name`. */
static struct lull_location *archive_location(const struct unpacked *u, const char *name,
                                              size_t length)
{
    g_autofree char *prefix = g_strndup(name, length);
    g_autofree char *inner = g_strndup(name, length > 0 ? length - 1 : 0);
    g_autofree char *full = length > 0 ? g_build_filename(u->path, inner, NULL) : g_strdup(u->path);
    return lull_location_new(full, u->archive, prefix);
}

/* The recording that the directory of this prefix is part of, borrowed; NULL: none; or &damaged.
 * Goes up as many levels as the name has, which is no longer than a path may be. */
static const struct lull_recording_file *find_in_archive(const struct unpacked *u, const char *name,
                                                         size_t length)
{
    g_autofree char *prefix = g_strndup(name, length);
    gpointer known;
    if (g_hash_table_lookup_extended(u->recordings, prefix, NULL, &known)) {
        return known;
    }
    const char *slash = length > 1 ? memrchr(name, '/', length - 1) : NULL;
    const struct lull_recording_file *above = NULL, *found = &damaged;
    if (length > 0) {
        above = find_in_archive(u, name, slash ? (size_t)(slash + 1 - name) : 0);
    }
    if (above != &damaged) {
        struct lull_recording_file *recording;
        struct lull_location *location = archive_location(u, name, length);
        if (find_recording(u->search, location, (struct lull_recording_file *)above, &recording)) {
            found = recording;
        }
        lull_location_free(location);
    }
    g_hash_table_insert(u->recordings, g_steal_pointer(&prefix), (gpointer)found);
    return found;
}

static const struct lull_file_kind *archive_kind(const struct unpacked *u, const char *name)
{
    uint8_t start[LULL_SIGNATURE_BYTES];
    const struct lull_archive_member *member = lull_archive_find(u->archive, name);
    size_t size = member ? MIN(member->size, sizeof start) : 0;
    struct lull_archive_member cut = {.size = size, .base = size > 0 ? member->base : 0};
    if (size == 0 || !lull_archive_read(u->archive, &cut, start)) {
        return NULL;
    }
    const struct lull_file_kind *kind = lull_file_kind_of(start, size);
    if (!kind) {
        g_autofree char *path = g_build_filename(u->path, name, NULL);
        note_other(u->search, path, start, size);
    }
    return kind;
}

static void add_from_archive(const struct unpacked *u, const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *last = slash ? slash + 1 : name;
    size_t length = (size_t)(last - name);
    const struct lull_file_kind *kind = *last != '\0' ? archive_kind(u, name) : NULL;
    if (*last != '\0' && !kind) {
        return;
    }
    const struct lull_recording_file *found = find_in_archive(u, name, length);
    if (found == &damaged) {
        return;
    }
    struct lull_recording_file *recording = (struct lull_recording_file *)found;
    if (kind) {
        add_file(u->search, archive_location(u, name, length), last, kind, recording,
                 file_key(u->st, name), u->root);
    } else {
        add_location(u->search, archive_location(u, name, length), recording, file_key(u->st, name),
                     u->root);
    }
}

static void search_members(struct lull_search *search, struct lull_archive *archive,
                           const char *path, const struct stat *st, uint32_t root)
{
    g_autoptr(GPtrArray) names = archive_names(archive);
    g_autoptr(GHashTable) recordings =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_recording);
    const struct unpacked u = {search, archive, path, st, recordings, root};
    const char *above = NULL, *unfinished = NULL;
    for (guint i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];
        const char *part = strstr(name, LULL_RECORDING_UNFINISHED "/");
        /* Sorted, a directory comes right before what is below it. */
        if (above && g_str_has_prefix(name, above)) {
            continue;
        }
        if (part) {
            size_t length = (size_t)(part - name) + strlen(LULL_RECORDING_UNFINISHED);
            g_autofree char *full = g_strdup_printf("%s/%.*s", path, (int)length, name);
            if (!unfinished || strncmp(name, unfinished, length + 1) != 0) {
                note_unfinished(search, full);
            }
            unfinished = name;
            continue;
        }
        if (*name == '\0' || g_str_has_suffix(name, "/")) {
            above = name;
        }
        add_from_archive(&u, name);
    }
}

static struct lull_unpack_watch watch_of(struct lull_search *search)
{
    return (struct lull_unpack_watch){.problem = note,
                                      .progress = search->progress,
                                      .user = search,
                                      .progress_user = search->progress_user};
}

/* Takes the archive; NULL: it cannot be read, for a reason that is better said otherwise if the
 * file is known. */
static void search_archive(struct lull_search *search, struct lull_archive *archive,
                           const char *path, const struct stat *st, uint32_t root, GError *error)
{
    const guint before = search->locations->len;
    if (archive) {
        search_members(search, archive, path, st, root);
        if (lull_archive_is_single(archive) && search->locations->len == before && !search->hint) {
            set_hint(search, path, "compressed, but its contents are not a trace");
        }
        lull_archive_unref(archive);
    } else if (search->hint) {
        g_error_free(error);
    } else {
        g_ptr_array_add(search->errors, error);
    }
}

static void search_packed(struct lull_search *search, const char *path, const struct stat *st,
                          uint32_t root)
{
    const struct lull_unpack_watch watch = watch_of(search);
    GError *error = NULL;
    struct lull_archive *archive = lull_archive_open(path, &watch, &error);
    search_archive(search, archive, path, st, root, error);
}

/* ---- pipes ---- */

/* A trace of one file, or an archive, comes through the pipe. */
static void search_pipe(struct lull_search *search, const char *path, int fd, const struct stat *st,
                        uint32_t root)
{
    const struct lull_unpack_watch watch = watch_of(search);
    GError *error = NULL;
    struct lull_archive *all = lull_archive_of_pipe(path, fd, &watch, &error);
    if (!all) {
        g_ptr_array_add(search->errors, error);
        return;
    }
    g_autofree char *dir = g_path_get_dirname(path);
    const struct unpacked u = {.search = search, .archive = all, .path = dir};
    const char *name = lull_archive_member(all, 0)->name;
    const struct lull_file_kind *kind = archive_kind(&u, name);
    if (kind) {
        add_file(search, lull_location_new(dir, all, ""), name, kind, NULL, file_key(st, ""), root);
    } else if (lull_archive_member(all, 0)->size == 0) {
        set_hint(search, path, "a pipe, and nothing came through it");
    } else {
        struct lull_archive *archive = lull_archive_open_inner(all, path, &watch, &error);
        search_archive(search, archive, path, st, root, error);
    }
    lull_archive_unref(all);
}

static void refuse_special(struct lull_search *search, const char *path, const struct stat *st)
{
    const bool is_pipe = S_ISFIFO(st->st_mode);
    g_ptr_array_add(search->errors,
                    g_error_new(LULL_ERROR, LULL_ERROR_FORMAT, "%s: %s", path,
                                is_pipe ? "it is a pipe, and Lull does not wait for it; to read "
                                          "what a program writes, use 'PROGRAM | lull … /dev/stdin'"
                                        : "not a directory (a CTF trace is a directory with a file "
                                          "'metadata')"));
}

static void add_unfinished(struct lull_search *search, const char *path)
{
    g_ptr_array_add(
        search->errors,
        g_error_new(LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: an unfinished recording or export: a program is still writing it, or was "
                    "killed. To read what is there, rename it",
                    path));
}

/* ---- recordings ---- */

static bool is_state(const struct lull_location *location)
{
    g_autofree char *state =
        g_build_filename(location->recording->info.path, LULL_RECORDING_STATE, NULL);
    return strcmp(location->path, state) == 0;
}

/* A recording of which nothing but the state of the machine was found is not whole. */
static void check_recordings(struct lull_search *search, guint first)
{
    static const struct {
        const char *tracer, *file;
    } files[] = {{"ftrace", "trace.dat"}, {"perf", "perf.data"}, {"lttng", "kernel/metadata"}};
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    for (guint i = first; i < search->locations->len; i++) {
        const struct lull_location *location = search->locations->pdata[i];
        if (location->recording && !is_state(location)) {
            g_hash_table_add(seen, location->recording);
        }
    }
    for (guint i = first; i < search->locations->len; i++) {
        const struct lull_location *location = search->locations->pdata[i];
        if (!location->recording || !g_hash_table_add(seen, location->recording)) {
            continue;
        }
        const struct lull_recording_info *info = &location->recording->info;
        const char *file = "what the tracer wrote";
        for (size_t k = 0; k < G_N_ELEMENTS(files); k++) {
            file = strcmp(info->tracer, files[k].tracer) == 0 ? files[k].file : file;
        }
        g_autofree char *whole = g_build_filename(info->path, file, NULL);
        g_ptr_array_add(
            search->notes,
            g_strdup_printf("%s: %s %s: only the state of the machine is left of this recording",
                            info->path, file,
                            access(whole, F_OK) == 0 ? "cannot be read" : "is missing"));
    }
}

void lull_search_path(struct lull_search *search, const char *path, uint32_t root)
{
    struct stat st;
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const struct walk walk = {search, seen, root};
    const guint first = search->locations->len, errors = search->errors->len;
    int fd;
    search->hint = NULL;
    if (stat(path, &st) != 0) {
        const int reason = errno;
        if (strcmp(path, "-") == 0 && reason == ENOENT) {
            set_hint(search, path, "not a trace; for standard input, write /dev/stdin");
        } else {
            add_error(search, path, reason);
        }
    } else if (lull_recording_is_unfinished(path)) {
        add_unfinished(search, path);
    } else if (S_ISREG(st.st_mode) && st.st_size == 0) {
        set_hint(search, path, "empty");
    } else if (S_ISREG(st.st_mode)) {
        if (!search_file(&walk, path, &st, NULL)) {
            search_packed(search, path, &st, root);
        }
    } else if ((fd = lull_pipe_inherited(path, &st)) >= 0) {
        search_pipe(search, path, fd, &st, root);
    } else if (!S_ISDIR(st.st_mode)) {
        refuse_special(search, path, &st);
    } else {
        search_directory(&walk, path, NULL, 0);
    }
    if (search->hint && search->locations->len == first && search->errors->len == errors) {
        const bool is_it = strcmp(search->hint_path, path) == 0;
        g_ptr_array_add(search->errors,
                        g_error_new(LULL_ERROR, LULL_ERROR_FORMAT, "%s: %s%s is %s", path,
                                    is_it ? "it" : "there is no trace in it; ",
                                    is_it ? "" : search->hint_path, search->hint));
    }
    check_recordings(search, first);
}
