/* SPDX-License-Identifier: MIT */
/* Symbols from the files of this machine. */
#include "symbol/here.h"

#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "symbol/build_id.h"
#include "symbol/elf.h"
#include "symbol/kallsyms.h"
#include "symbol/object.h"

/* The largest programs have some hundred megabytes, with all debug information some gigabytes. */
#define MOST_FILE_BYTES (INT64_C(8) << 30)

bool lull_here_is(const uint8_t boot_id[16])
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL)) {
        return false;
    }
    unsigned n = 0;
    for (const char *at = text; *at && n < 32; at++) {
        const int digit = g_ascii_xdigit_value(*at);
        if (digit < 0) {
            continue;
        }
        if (digit != (boot_id[n / 2] >> (n % 2 ? 0 : 4) & 15)) {
            return false;
        }
        n++;
    }
    return n == 32;
}

struct lull_symbol_table *lull_here_kernel(uint64_t *start)
{
    g_autofree char *text = NULL;
    g_autofree char *modules = NULL;
    gsize length;
    if (!g_file_get_contents("/proc/kallsyms", &text, &length, NULL)) {
        return NULL;
    }
    g_file_get_contents("/proc/modules", &modules, NULL, NULL);
    if (start) {
        *start = lull_kallsyms_start(text, length);
    }
    return lull_kallsyms_parse(text, length, modules);
}

char *lull_here_kernel_id(void)
{
    g_autofree char *notes = NULL;
    gsize length;
    return g_file_get_contents("/sys/kernel/notes", &notes, &length, NULL)
               ? lull_build_id_find(notes, length)
               : NULL;
}

static bool is_same(int fd, uint64_t inode, int64_t mapped_ns)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= MOST_FILE_BYTES &&
           inode != 0 && st.st_ino == inode && st.st_ctim.tv_sec < INT64_MAX / 1000000000 &&
           st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec <= mapped_ns;
}

int lull_here_look(const char *path)
{
    return *path == '/' ? open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
}

/* Who owns the directory may put a device there at any time; to open one may do something. */
int lull_here_take(int place, bool is_good)
{
    char again[32];
    g_snprintf(again, sizeof again, "/proc/self/fd/%d", place);
    const int fd = is_good ? open(again, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    close(place);
    return fd;
}

int lull_here_open(const char *path, uint64_t inode, int64_t mapped_ns)
{
    const int place = lull_here_look(path);
    return place >= 0 ? lull_here_take(place, is_same(place, inode, mapped_ns)) : -1;
}

/* A stripped file names nothing, and others may. */
static struct lull_object *if_useful(struct lull_object *object)
{
    if (object && !lull_object_is_useful(object)) {
        g_clear_pointer(&object, lull_object_free);
    }
    return object;
}

static struct lull_object *read_file(int fd, const char *path, lull_object_reader *reader,
                                     struct lull_debuginfod *servers)
{
    struct lull_object *object = reader(fd, path, &(struct lull_apart){LULL_DEBUG_ROOT, servers});
    close(fd);
    return object;
}

struct lull_object *lull_here_read(int fd, const char *path)
{
    return if_useful(read_file(fd, path, lull_elf_read, NULL));
}

struct lull_object *lull_here_file(const char *path, uint64_t inode, int64_t mapped_ns,
                                   lull_object_reader *reader, struct lull_debuginfod *servers)
{
    const int fd = lull_here_open(path, inode, mapped_ns);
    return fd >= 0 ? if_useful(read_file(fd, path, reader, servers)) : NULL;
}

/* A regular file; the name of a copy of perf's is a link. */
static struct lull_object *read_build(const char *path, const char *build_id,
                                      lull_object_reader *reader, struct lull_debuginfod *servers,
                                      bool *is_other)
{
    const char *why;
    uint64_t size;
    int fd;
    if (*path != '/' || lull_file_open(path, &fd, &size, &why) != LULL_OPEN_DONE) {
        return NULL;
    }
    struct lull_object *object = read_file(fd, path, reader, servers);
    if (object && g_strcmp0(object->build_id, build_id) != 0) {
        g_clear_pointer(&object, lull_object_free);
        *is_other = true;
    }
    return if_useful(object);
}

struct lull_object *lull_here_build(const char *path, const char *build_id,
                                    lull_object_reader *reader, struct lull_debuginfod *servers,
                                    bool *is_other)
{
    *is_other = false;
    struct lull_object *object = read_build(path, build_id, reader, servers, is_other);
    const char *home = g_get_home_dir();
    if (!object && home && strlen(build_id) > 2) {
        bool is_other_copy;
        g_autofree char *copy =
            g_strdup_printf("%s/.debug/.build-id/%.2s/%s/elf", home, build_id, build_id + 2);
        object = read_build(copy, build_id, reader, servers, &is_other_copy);
    }
    return object;
}
