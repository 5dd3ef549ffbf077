/* The search for traces. A directory that has metadata is a trace, and nothing in or below it is
 * one; elsewhere files of some kinds are. */
#include "source/search.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/file_kinds.h"

/* A trace lies at most this deep below the directory that was given. */
#define MAX_DEPTH 8

static void free_error(gpointer error)
{
    g_error_free(error);
}

static void free_place(gpointer place)
{
    lull_place_free(place);
}

void lull_search_init(struct lull_search *search)
{
    search->places = g_ptr_array_new_with_free_func(free_place);
    search->keys = g_ptr_array_new_with_free_func(g_free);
    search->errors = g_ptr_array_new_with_free_func(free_error);
    search->notes = g_ptr_array_new_with_free_func(g_free);
}

void lull_search_clear(struct lull_search *search)
{
    g_ptr_array_unref(search->places);
    g_ptr_array_unref(search->keys);
    g_ptr_array_unref(search->errors);
    g_ptr_array_unref(search->notes);
}

static void add_place(struct lull_search *search, struct lull_place *place, char *key,
                      uint32_t root)
{
    place->root = root;
    g_ptr_array_add(search->places, place);
    g_ptr_array_add(search->keys, key);
}

static void add_file(struct lull_search *search, struct lull_place *place, const char *name,
                     const struct lull_file_kind *kind, char *key, uint32_t root)
{
    place->file = g_strdup(name);
    place->kind = kind;
    add_place(search, place, key, root);
}

static void add_error(struct lull_search *search, const char *path, int reason)
{
    g_ptr_array_add(search->errors,
                    g_error_new(LULL_ERROR, LULL_ERROR_IO, "%s: %s", path, g_strerror(reason)));
}

static char *file_key(const struct stat *st, const char *prefix)
{
    return g_strdup_printf("%ju:%ju:%s", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino, prefix);
}

/* ---- directories ---- */

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The file `path`, if it is a trace. */
static bool search_file(struct lull_search *search, GHashTable *seen, const char *path,
                        const struct stat *st, uint32_t root)
{
    const struct lull_file_kind *kind = lull_file_kind_at(path);
    if (kind == NULL)
        return false;
    g_autofree char *key = file_key(st, "");
    if (seen != NULL && !g_hash_table_add(seen, g_strdup(key)))
        return true;
    const char *slash = strrchr(path, '/');
    g_autofree char *dir = g_strndup(path, slash != NULL ? (size_t)(slash + 1 - path) : 0);
    add_file(search, lull_place_new(dir, NULL, ""), slash != NULL ? slash + 1 : path, kind,
             g_steal_pointer(&key), root);
    return true;
}

/* Names in the directory, sorted; NULL with an error noted. LTTng keeps chunks that it is about to
 * move in hidden directories. */
static GPtrArray *list_directory(struct lull_search *search, const char *path)
{
    GError *cause = NULL;
    g_autoptr(GDir) dir = g_dir_open(path, 0, &cause);
    if (dir == NULL) {
        g_ptr_array_add(search->errors,
                        g_error_new(LULL_ERROR, LULL_ERROR_IO, "%s", cause->message));
        g_error_free(cause);
        return NULL;
    }
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    const char *name;
    while ((name = g_dir_read_name(dir)) != NULL)
        if (name[0] != '.' || strcmp(name, ".tmp_old_chunk") == 0 ||
            strcmp(name, ".tmp_new_chunk") == 0)
            g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, compare_names);
    return names;
}

static void search_directory(struct lull_search *search, GHashTable *seen, const char *path,
                             uint32_t root, unsigned depth)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        add_error(search, path, errno);
        return;
    }
    g_autofree char *key = file_key(&st, "");
    if (!g_hash_table_add(seen, g_strdup(key)))
        return;
    g_autofree char *metadata = g_build_filename(path, "metadata", NULL);
    struct stat metadata_st;
    errno = 0;
    if (stat(metadata, &metadata_st) == 0 && S_ISREG(metadata_st.st_mode)) {
        add_place(search, lull_place_new(path, NULL, ""), g_steal_pointer(&key), root);
        return;
    }
    if (errno == EACCES) { /* it can be listed at best, but nothing in it looked at */
        add_error(search, path, EACCES);
        return;
    }
    g_autoptr(GPtrArray) names = list_directory(search, path);
    for (guint i = 0; names != NULL && i < names->len; i++) {
        g_autofree char *child = g_build_filename(path, names->pdata[i], NULL);
        /* A name that cannot even be looked at is no directory that anybody meant. */
        if (depth >= MAX_DEPTH || stat(child, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode))
            search_directory(search, seen, child, root, depth + 1);
        else if (S_ISREG(st.st_mode))
            search_file(search, seen, child, &st, root);
    }
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

/* The directories with metadata, as prefixes. */
static GPtrArray *archive_prefixes(const struct lull_archive *archive)
{
    GPtrArray *prefixes = g_ptr_array_new_with_free_func(g_free);
    for (uint32_t i = 0; i < lull_archive_count(archive); i++) {
        const char *name = lull_archive_member(archive, i)->name;
        const char *slash = strrchr(name, '/');
        if (strcmp(slash != NULL ? slash + 1 : name, "metadata") == 0)
            g_ptr_array_add(prefixes,
                            g_strndup(name, slash != NULL ? (size_t)(slash + 1 - name) : 0));
    }
    g_ptr_array_sort(prefixes, compare_prefixes);
    return prefixes;
}

static void note(void *user, const char *text)
{
    g_ptr_array_add(((struct lull_search *)user)->notes, g_strdup(text));
}

static void search_archive(struct lull_search *search, const char *path, const struct stat *st,
                           uint32_t root)
{
    GError *error = NULL;
    struct lull_archive *archive = lull_archive_open(path, note, search, &error);
    if (archive == NULL) {
        g_ptr_array_add(search->errors, error);
        return;
    }
    g_autoptr(GPtrArray) prefixes = archive_prefixes(archive);
    const char *above = NULL;
    for (guint i = 0; i < prefixes->len; i++) {
        const char *prefix = prefixes->pdata[i];
        /* Sorted, a directory comes right before those below it. */
        if (above != NULL && g_str_has_prefix(prefix, above))
            continue;
        above = prefix;
        size_t length = strlen(prefix);
        g_autofree char *inner = g_strndup(prefix, length > 0 ? length - 1 : 0);
        g_autofree char *full = length > 0 ? g_build_filename(path, inner, NULL) : g_strdup(path);
        add_place(search, lull_place_new(full, archive, prefix), file_key(st, prefix), root);
    }
    lull_archive_unref(archive);
}

void lull_search_path(struct lull_search *search, const char *path, uint32_t root)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        add_error(search, path, errno);
    } else if (S_ISREG(st.st_mode) && search_file(search, NULL, path, &st, root)) {
        return;
    } else if (S_ISREG(st.st_mode)) {
        search_archive(search, path, &st, root);
    } else if (!S_ISDIR(st.st_mode)) {
        g_ptr_array_add(search->errors,
                        g_error_new(LULL_ERROR, LULL_ERROR_FORMAT,
                                    "%s: not a directory (a CTF trace is a directory with a file "
                                    "'metadata')",
                                    path));
    } else {
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        search_directory(search, seen, path, root, 0);
    }
}
