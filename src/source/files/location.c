/* SPDX-License-Identifier: MIT */
/* Directories and directories inside archives, looked at in the same way. */
#include "source/files/location.h"

#include <string.h>
#include <unistd.h>

#include "source/files/recording.h"

struct lull_location *lull_location_new(const char *path, struct lull_archive *archive,
                                        const char *prefix)
{
    struct lull_location *location = g_new0(struct lull_location, 1);
    location->path = g_strdup(path);
    location->archive = archive ? lull_archive_ref(archive) : NULL;
    location->prefix = g_strdup(prefix);
    return location;
}

void lull_location_free(struct lull_location *location)
{
    if (!location) {
        return;
    }
    if (location->archive) {
        lull_archive_unref(location->archive);
    }
    g_free(location->path);
    g_free(location->prefix);
    g_free(location->file);
    g_free(location->metadata);
    lull_recording_unref(location->recording);
    g_free(location);
}

static bool may_be_stream(const char *name)
{
    return name[0] != '.' && strcmp(name, "metadata") != 0 && strcmp(name, "index") != 0;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void list_members(const struct lull_location *location, GPtrArray *names)
{
    size_t length = strlen(location->prefix);
    uint32_t n = lull_archive_count(location->archive);
    for (uint32_t i = lull_archive_first(location->archive, location->prefix); i < n; i++) {
        const char *name = lull_archive_member(location->archive, i)->name;
        if (strncmp(name, location->prefix, length) != 0) {
            break;
        }
        if (!strchr(name + length, '/') && may_be_stream(name + length)) {
            g_ptr_array_add(names, g_strdup(name + length));
        }
    }
}

GPtrArray *lull_location_list(const struct lull_location *location, GError **error)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    if (location->archive) {
        list_members(location, names);
    } else {
        g_autoptr(GError) cause = NULL;
        g_autoptr(GDir) dir = g_dir_open(location->path, 0, &cause);
        const char *name;
        if (!dir) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s", cause->message);
            g_ptr_array_unref(names);
            return NULL;
        }
        while ((name = g_dir_read_name(dir))) {
            if (may_be_stream(name)) {
                g_ptr_array_add(names, g_strdup(name));
            }
        }
    }
    g_ptr_array_sort(names, compare_names);
    return names;
}

static const struct lull_archive_member *find_member(const struct lull_location *location,
                                                     const char *name)
{
    g_autofree char *full = g_strconcat(location->prefix, name, NULL);
    return lull_archive_find(location->archive, full);
}

bool lull_location_read(const struct lull_location *location, const char *name, uint64_t most_bytes,
                        char **data, gsize *size, GError **error)
{
    g_autofree char *path = g_build_filename(location->path, name, NULL);
    if (!location->archive) {
        return lull_file_read(path, most_bytes, data, size, error);
    }
    const struct lull_archive_member *member = find_member(location, name);
    if (!member) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: there is no such file", path);
        return false;
    }
    if (!lull_file_check_size(path, member->size, most_bytes, error)) {
        return false;
    }
    *data = g_try_malloc(member->size + 1);
    *size = member->size;
    if (!*data || !lull_archive_read(location->archive, member, (uint8_t *)*data)) {
        g_clear_pointer(data, g_free);
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: its contents cannot be read", path);
        return false;
    }
    (*data)[member->size] = '\0';
    return true;
}

static enum lull_open_status member_bytes(const struct lull_location *location, const char *name,
                                          struct lull_bytes **bytes, uint64_t *size,
                                          const char **why)
{
    const struct lull_archive_member *member = find_member(location, name);
    if (!member) {
        *why = "there is no such file";
        return LULL_OPEN_ABSENT;
    }
    *bytes = lull_archive_bytes(location->archive, member);
    *size = member->size;
    return LULL_OPEN_DONE;
}

enum lull_open_status lull_location_bytes(const struct lull_location *location, const char *name,
                                          struct lull_bytes **bytes, uint64_t *size, GError **error)
{
    int fd;
    const char *why;
    g_autofree char *path = g_build_filename(location->path, name, NULL);
    enum lull_open_status status = location->archive
                                       ? member_bytes(location, name, bytes, size, &why)
                                       : lull_file_open(path, &fd, size, &why);
    if (status != LULL_OPEN_DONE) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: it cannot be read: %s", path, why);
    } else if (!location->archive) {
        close(fd);
        *bytes = lull_bytes_of_file(path);
    }
    return status;
}
