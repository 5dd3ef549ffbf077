/* SPDX-License-Identifier: MIT */
/* Looks for the file of a kernel. Those of other kernels, which lie beside it, are as large, so each is only asked for
 * its build-id first. */
#include "symbol/vmlinux.h"

#include <glib.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "symbol/build_id.h"
#include "symbol/elf.h"

/* Below a directory of --symbols. */
static const char *const beside[] = {"vmlinux", "vmlinux-*"};
/* Below it and below the root of this machine. */
static const char *const below[] = {"usr/lib/debug/boot/vmlinux-*",
                                    "boot/vmlinux-*",
                                    "lib/modules/*/vmlinux",
                                    "lib/modules/*/build/vmlinux",
                                    "usr/lib/debug/lib/modules/*/vmlinux",
                                    "usr/lib/debug/lib/modules/*/vmlinux.debug",
                                    "usr/lib/debug/usr/lib/modules/*/vmlinux"};

struct lull_object *lull_vmlinux_read(const char *path, const char *build_id)
{
    struct lull_object *object = NULL;
    const char *why;
    int fd;
    if (lull_file_open(path, &fd, NULL, &why) != LULL_OPEN_DONE) {
        return NULL;
    }
    g_autofree char *id = lull_elf_build_id(fd);
    if (g_strcmp0(id, build_id) == 0) {
        object = lull_elf_read(fd, path, &(struct lull_apart){LULL_DEBUG_ROOT, NULL});
    }
    close(fd);
    if (object && !lull_object_is_useful(object)) {
        g_clear_pointer(&object, lull_object_free);
    }
    return object;
}

/* A path that stands for itself in a pattern. */
static char *escaped(const char *path)
{
    GString *text = g_string_new(NULL);
    for (; *path; path++) {
        if (strchr("*?[]\\", *path)) {
            g_string_append_c(text, '\\');
        }
        g_string_append_c(text, *path);
    }
    return g_string_free(text, FALSE);
}

static struct lull_object *find_any(const char *root, const char *const *patterns, size_t n,
                                    const char *build_id)
{
    struct lull_object *object = NULL;
    for (size_t i = 0; i < n && !object; i++) {
        g_autofree char *pattern = g_strconcat(root, "/", patterns[i], NULL);
        glob_t found;
        if (glob(pattern, 0, NULL, &found) == 0) {
            for (size_t k = 0; k < found.gl_pathc && !object; k++) {
                object = lull_vmlinux_read(found.gl_pathv[k], build_id);
            }
        }
        globfree(&found);
    }
    return object;
}

static struct lull_object *find_by_id(const char *root, const char *below_it, const char *build_id,
                                      const char *end)
{
    g_autofree char *path =
        g_strdup_printf("%s%s/.build-id/%.2s/%s%s", root, below_it, build_id, build_id + 2, end);
    return lull_vmlinux_read(path, build_id);
}

struct lull_object *lull_vmlinux_find(const char *directory, const char *build_id)
{
    g_autofree char *root = escaped(directory ? directory : "");
    struct lull_object *object = NULL;
    if (strlen(build_id) <= 2 || !lull_build_id_is(build_id, strlen(build_id))) {
        return NULL;
    }
    if (directory) {
        object = find_any(root, beside, G_N_ELEMENTS(beside), build_id);
        object = object ? object : find_by_id(directory, "", build_id, ".debug");
        object = object ? object : find_by_id(directory, "", build_id, "/elf");
    } else {
        object = find_by_id(g_get_home_dir(), "/.debug", build_id, "/elf");
    }
    object = object ? object : find_any(root, below, G_N_ELEMENTS(below), build_id);
    return object ? object
                  : find_by_id(directory ? directory : "", "/usr/lib/debug", build_id, ".debug");
}

uint64_t lull_vmlinux_start(const struct lull_object *vmlinux)
{
    uint64_t start = 0;
    for (uint32_t i = 0; i < vmlinux->n_loads; i++) {
        const uint64_t address = vmlinux->loads[i].address; /* what each CPU has starts at 0 */
        if (address >> 63 && (start == 0 || address < start)) {
            start = address;
        }
    }
    return start;
}
