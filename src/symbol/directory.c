/* SPDX-License-Identifier: MIT */
/* Looks for copies of files where people put them. */
#include "symbol/directory.h"

#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "symbol/elf.h"

static struct lull_object *read_copy(const char *at, const char *root, const char *build_id,
                                     lull_object_reader *reader, struct lull_debuginfod *servers,
                                     bool *is_other)
{
    const char *why;
    int fd;
    if (lull_file_open(at, &fd, NULL, &why) != LULL_OPEN_DONE) {
        return NULL;
    }
    struct lull_object *object = reader(fd, at, &(struct lull_apart){root, servers});
    close(fd);
    const bool is_wrong = object && build_id && g_strcmp0(object->build_id, build_id) != 0;
    *is_other |= is_wrong;
    if (object && (is_wrong || !lull_object_is_useful(object))) {
        g_clear_pointer(&object, lull_object_free);
    }
    return object;
}

/* Paths come from traces: none may lead out of the directory. */
static bool stays_below(const char *path)
{
    return *path == '/' && !strstr(path, "/../") && !g_str_has_suffix(path, "/..");
}

char *lull_path_map(const char *const *maps, const char *path)
{
    for (; stays_below(path) && maps && *maps; maps++) {
        const char *equals = strchr(*maps, '=');
        size_t n = equals ? (size_t)(equals - *maps) : 0;
        while (n > 0 && (*maps)[n - 1] == '/') {
            n--;
        }
        if (equals && strncmp(*maps, path, n) == 0 && (path[n] == '/' || path[n] == '\0')) {
            return g_build_filename(equals + 1, path + n, NULL);
        }
    }
    return NULL;
}

struct lull_object *lull_directory_read_at(const char *path, const char *build_id,
                                           lull_object_reader *reader,
                                           struct lull_debuginfod *servers, bool *is_other)
{
    *is_other = false;
    return read_copy(path, LULL_DEBUG_ROOT, build_id, reader, servers, is_other);
}

struct lull_object *lull_directory_read(const char *directory, const char *path,
                                        const char *build_id, bool takes_debug,
                                        lull_object_reader *reader, struct lull_debuginfod *servers,
                                        bool *is_other)
{
    g_autofree char *name = g_path_get_basename(path);
    char *places[4] = {NULL};
    const bool has_id = build_id && strlen(build_id) > 2;
    struct lull_object *object = NULL;
    *is_other = false;
    if (!stays_below(path)) {
        return NULL;
    }
    places[0] = g_build_filename(directory, path, NULL);
    places[1] = g_build_filename(directory, name, NULL);
    if (has_id) {
        places[2] = g_strdup_printf("%s/.build-id/%.2s/%s/elf", directory, build_id, build_id + 2);
    }
    if (has_id && takes_debug) {
        places[3] =
            g_strdup_printf("%s/.build-id/%.2s/%s.debug", directory, build_id, build_id + 2);
    }
    for (size_t i = 0; !object && i < G_N_ELEMENTS(places); i++) {
        object =
            places[i] ? read_copy(places[i], directory, build_id, reader, servers, is_other) : NULL;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
        g_free(places[i]);
    }
    return object;
}

int lull_directory_open(const char *directory, const char *path)
{
    g_autofree char *name = g_path_get_basename(path);
    g_autofree char *below = g_build_filename(directory, path, NULL);
    g_autofree char *beside = g_build_filename(directory, name, NULL);
    const char *why;
    int fd;
    return stays_below(path) && (lull_file_open(below, &fd, NULL, &why) == LULL_OPEN_DONE ||
                                 lull_file_open(beside, &fd, NULL, &why) == LULL_OPEN_DONE)
               ? fd
               : -1;
}
