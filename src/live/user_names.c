/* SPDX-License-Identifier: MIT */
/* The maps of the process asked for last are kept for a moment, the symbols of files for good. */
#include "live/user_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "symbol/demangle.h"
#include "symbol/elf.h"
#include "symbol/here.h"
#include "symbol/object.h"

#define MAPS_LAST_NS LULL_NS_PER_S

struct mapping {
    uint64_t start, end, offset, inode;
    char *path;
};

struct lull_user_names {
    bool has_symbols;
    GHashTable *objects; /* "INODE PATH" → struct lull_object *, or NULL */
    GArray *maps;        /* struct mapping, of `pid`, in the order of addresses */
    uint32_t pid;
    int64_t read_ns;
};

static void clear_mapping(void *mapping)
{
    g_free(((struct mapping *)mapping)->path);
}

static void free_object(void *object)
{
    if (object) {
        lull_object_free(object);
    }
}

struct lull_user_names *lull_user_names_new(bool has_symbols)
{
    struct lull_user_names *names = g_new0(struct lull_user_names, 1);
    names->has_symbols = has_symbols;
    names->objects = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_object);
    names->maps = g_array_new(FALSE, FALSE, sizeof(struct mapping));
    g_array_set_clear_func(names->maps, clear_mapping);
    return names;
}

void lull_user_names_free(struct lull_user_names *names)
{
    if (names) {
        g_hash_table_unref(names->objects);
        g_array_unref(names->maps);
        g_free(names);
    }
}

/* What is executable, and a file. */
static void add_mapping(struct lull_user_names *names, const char *line)
{
    struct mapping mapping = {0};
    int at = 0;
    char executable;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %" SCNx64 " %*s %" SCNu64 " %n",
               &mapping.start, &mapping.end, &executable, &mapping.offset, &mapping.inode,
               &at) == 5 &&
        executable == 'x' && at && line[at] == '/') {
        mapping.path = g_strdup(line + at);
        g_array_append_val(names->maps, mapping);
    }
}

static void read_maps(struct lull_user_names *names, uint32_t pid)
{
    char path[64];
    g_autofree char *text = NULL;
    const int64_t now = g_get_monotonic_time() * 1000;
    if (names->pid == pid && now - names->read_ns < MAPS_LAST_NS) {
        return;
    }
    names->pid = pid;
    names->read_ns = now;
    g_array_set_size(names->maps, 0);
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (uint32_t i = 0; lines[i]; i++) {
        add_mapping(names, lines[i]);
    }
}

/* The process may see other files than this one does. */
static struct lull_object *object_of(struct lull_user_names *names, const struct mapping *mapping)
{
    void *object = NULL;
    char *key = g_strdup_printf("%" PRIu64 " %s", mapping->inode, mapping->path);
    if (g_hash_table_lookup_extended(names->objects, key, NULL, &object)) {
        g_free(key);
        return object;
    }
    g_autofree char *path = g_strdup_printf("/proc/%u/root%s", names->pid, mapping->path);
    object = lull_here_file(path, mapping->inode, g_get_real_time() * 1000, lull_elf_read, NULL);
    g_hash_table_insert(names->objects, key, object);
    return object;
}

static const struct mapping *mapping_of(const struct lull_user_names *names, uint64_t address)
{
    for (guint i = 0; i < names->maps->len; i++) {
        const struct mapping *mapping = &g_array_index(names->maps, struct mapping, i);
        if (address >= mapping->start && address < mapping->end) {
            return mapping;
        }
    }
    return NULL;
}

void lull_user_names_append(struct lull_user_names *names, uint32_t pid, uint64_t address,
                            GString *out)
{
    uint64_t within;
    if (names) {
        read_maps(names, pid);
    }
    const struct mapping *mapping = names ? mapping_of(names, address) : NULL;
    if (!mapping) {
        g_string_append_printf(out, "0x%" PRIx64, address);
        return;
    }
    const uint64_t offset = address - mapping->start + mapping->offset;
    const struct lull_object *object = names->has_symbols ? object_of(names, mapping) : NULL;
    const char *function = object ? lull_object_find(object, offset, &within) : NULL;
    if (function) {
        lull_demangle_append(function, out);
    } else {
        g_autofree char *file = g_path_get_basename(mapping->path);
        g_string_append_printf(out, "%s+0x%" PRIx64, file, offset);
    }
}
