/* SPDX-License-Identifier: MIT */
/* Looks for copies of files where people put them. */
#include "symbol/directory.h"

#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static struct lull_object *read_copy(const char *at, const char *directory, const char *build_id,
                                     lull_object_reader *reader, bool *is_other)
{
    const char *why;
    int fd;
    if (lull_file_open(at, &fd, NULL, &why) != LULL_OPEN_DONE) {
        return NULL;
    }
    struct lull_object *object = reader(fd, at, directory);
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

struct lull_object *lull_directory_read(const char *directory, const char *path,
                                        const char *build_id, bool takes_debug,
                                        lull_object_reader *reader, bool *is_other)
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
        object = places[i] ? read_copy(places[i], directory, build_id, reader, is_other) : NULL;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
        g_free(places[i]);
    }
    return object;
}
