/* Directories and directories inside archives, looked at in the same way. */
#include "source/session/place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/session/recording.h"

struct lull_place *lull_place_new(const char *path, struct lull_archive *archive,
                                  const char *prefix)
{
    struct lull_place *place = g_new0(struct lull_place, 1);
    place->path = g_strdup(path);
    place->archive = archive != NULL ? lull_archive_ref(archive) : NULL;
    place->prefix = g_strdup(prefix);
    return place;
}

void lull_place_free(struct lull_place *place)
{
    if (place == NULL) {
        return;
    }
    if (place->archive != NULL) {
        lull_archive_unref(place->archive);
    }
    g_free(place->path);
    g_free(place->prefix);
    g_free(place->file);
    g_free(place->metadata);
    lull_recording_unref(place->recording);
    g_free(place);
}

static bool may_be_stream(const char *name)
{
    return name[0] != '.' && strcmp(name, "metadata") != 0 && strcmp(name, "index") != 0;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void list_members(const struct lull_place *place, GPtrArray *names)
{
    size_t length = strlen(place->prefix);
    uint32_t n = lull_archive_count(place->archive);
    for (uint32_t i = lull_archive_first(place->archive, place->prefix); i < n; i++) {
        const char *name = lull_archive_member(place->archive, i)->name;
        if (strncmp(name, place->prefix, length) != 0) {
            break;
        }
        if (strchr(name + length, '/') == NULL && may_be_stream(name + length)) {
            g_ptr_array_add(names, g_strdup(name + length));
        }
    }
}

GPtrArray *lull_place_list(const struct lull_place *place, GError **error)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    if (place->archive != NULL) {
        list_members(place, names);
    } else {
        g_autoptr(GError) cause = NULL;
        g_autoptr(GDir) dir = g_dir_open(place->path, 0, &cause);
        const char *name;
        if (dir == NULL) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s", cause->message);
            g_ptr_array_unref(names);
            return NULL;
        }
        while ((name = g_dir_read_name(dir)) != NULL) {
            if (may_be_stream(name)) {
                g_ptr_array_add(names, g_strdup(name));
            }
        }
    }
    g_ptr_array_sort(names, compare_names);
    return names;
}

static const struct lull_archive_member *find_member(const struct lull_place *place,
                                                     const char *name)
{
    g_autofree char *full = g_strconcat(place->prefix, name, NULL);
    return lull_archive_find(place->archive, full);
}

bool lull_place_read(const struct lull_place *place, const char *name, char **data, gsize *size,
                     GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autofree char *path = g_build_filename(place->path, name, NULL);
    if (place->archive == NULL) {
        if (g_file_get_contents(path, data, size, &cause)) {
            return true;
        }
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s", cause->message);
        return false;
    }
    const struct lull_archive_member *member = find_member(place, name);
    if (member == NULL || member->size > G_MAXSSIZE - 1) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: there is no such file", path);
        return false;
    }
    *data = g_try_malloc(member->size + 1);
    *size = member->size;
    if (*data == NULL || !lull_archive_read(place->archive, member, (uint8_t *)*data)) {
        g_clear_pointer(data, g_free);
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: its contents cannot be read", path);
        return false;
    }
    (*data)[member->size] = '\0';
    return true;
}

enum lull_place_kind lull_place_bytes(const struct lull_place *place, const char *name,
                                      struct lull_bytes **bytes, uint64_t *size, GError **error)
{
    if (place->archive != NULL) {
        const struct lull_archive_member *member = find_member(place, name);
        if (member == NULL) {
            return LULL_PLACE_OTHER;
        }
        *bytes = lull_archive_bytes(place->archive, member);
        *size = member->size;
        return LULL_PLACE_FILE;
    }
    g_autofree char *path = g_build_filename(place->path, name, NULL);
    struct stat st;
    /* Not blocking: a pipe or device with a stream's name must not hang us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool is_known = fd >= 0 && fstat(fd, &st) == 0;
    int reason = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (!is_known) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: the stream file cannot be read: %s",
                    path, g_strerror(reason));
        return LULL_PLACE_FAILED;
    }
    if (!S_ISREG(st.st_mode)) {
        return LULL_PLACE_OTHER;
    }
    *bytes = lull_bytes_of_file(path);
    *size = (uint64_t)st.st_size;
    return LULL_PLACE_FILE;
}
