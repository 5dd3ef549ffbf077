/* SPDX-License-Identifier: MIT */
/* Which files recorded processes have mapped to run them, so that the keeper adds their functions
 * to the recording. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/perf/perf.h"
#include "symbol/elf_frames.h"
#include "symbol/perf_map.h"

/* A machine has some hundred. */
#define MOST_OBJECTS 4096u
/* All of them; what is left then has no names elsewhere. */
#define MOST_US (10 * G_USEC_PER_SEC)
/* By so much the time of a file may be before the moment in which it was written. */
#define GRAIN_NS INT64_C(10000000)
/* A record of linux/perf_event.h: header, pid and tid, address, length, offset, device, inode, its
 * generation, access, and the path; behind it the trailer, in which the time is the second of
 * four. */
#define INODE 48
#define PATH 72
#define TRAILER_BYTES 32

struct object {
    uint64_t inode;    /* or process */
    int64_t mapped_ns; /* first; of a process: when it had started */
    char *path;        /* "": functions that a process makes while it runs */
};

struct perfrec_objects {
    GHashTable *by_key; /* "INODE PATH" → struct object */
    GPtrArray *objects; /* in the order in which they were found */
    int64_t epoch_offset_ns;
};

static void free_object(void *data)
{
    struct object *object = data;
    g_free(object->path);
    g_free(object);
}

struct perfrec_objects *perfrec_objects_new(int64_t epoch_offset_ns)
{
    struct perfrec_objects *objects = g_new0(struct perfrec_objects, 1);
    objects->by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    objects->objects = g_ptr_array_new_with_free_func(free_object);
    objects->epoch_offset_ns = epoch_offset_ns;
    return objects;
}

void perfrec_objects_free(struct perfrec_objects *objects)
{
    if (objects) {
        g_hash_table_unref(objects->by_key);
        g_ptr_array_unref(objects->objects);
        g_free(objects);
    }
}

/* When a process started that runs, by proc(5). */
static int64_t start_of(int pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid);
    g_autofree char *text = NULL;
    struct timespec wall, boot;
    const char *behind = g_file_get_contents(path, &text, NULL, NULL) ? strrchr(text, ')') : NULL;
    g_auto(GStrv) words = behind ? g_strsplit(behind, " ", 22) : NULL;
    if (!words || g_strv_length(words) < 21) {
        return INT64_MAX;
    }
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    const int64_t ticks =
        (int64_t)MIN(g_ascii_strtoull(words[20], NULL, 10), INT64_MAX / 1000000000);
    return (wall.tv_sec - boot.tv_sec) * INT64_C(1000000000) + (wall.tv_nsec - boot.tv_nsec) +
           ticks * (1000000000 / sysconf(_SC_CLK_TCK));
}

void perfrec_objects_add(struct perfrec_objects *objects, int pid, const char *path, uint64_t inode,
                         uint64_t time_ns, bool is_from_before)
{
    const int64_t mapped_ns = (int64_t)time_ns + objects->epoch_offset_ns;
    const bool is_made = lull_perf_map_is_for(path);
    if (!is_made && (*path != '/' || inode == 0)) {
        return;
    }
    const char *name = is_made ? "" : path;
    const uint64_t number = is_made ? (uint64_t)pid : inode;
    g_autofree char *key = g_strdup_printf("%" G_GUINT64_FORMAT " %s", number, name);
    if (objects->objects->len >= MOST_OBJECTS || g_hash_table_contains(objects->by_key, key)) {
        return;
    }
    struct object *object = g_new(struct object, 1);
    *object = (struct object){number,
                              !is_made         ? mapped_ns
                              : is_from_before ? start_of(pid)
                                               : mapped_ns - GRAIN_NS,
                              g_strdup(name)};
    g_ptr_array_add(objects->objects, object);
    g_hash_table_insert(objects->by_key, g_steal_pointer(&key), object);
}

void perfrec_objects_add_record(struct perfrec_objects *objects,
                                const struct perfrec_records *records, uint64_t at)
{
    const uint32_t size = perfrec_head(records, at).size;
    if (size < PATH + 8 + TRAILER_BYTES) {
        return;
    }
    g_autofree char *path = g_malloc(size - PATH - TRAILER_BYTES + 1);
    for (uint32_t i = PATH; i < size - TRAILER_BYTES; i += 8) {
        const uint64_t word = perfrec_word(records, at + i);
        memcpy(path + i - PATH, &word, sizeof word);
    }
    path[size - PATH - TRAILER_BYTES] = '\0';
    const uint64_t ids = perfrec_word(records, at + 8);
    int pid;
    memcpy(&pid, &ids, sizeof pid);
    perfrec_objects_add(objects, pid, path, perfrec_word(records, at + INODE),
                        perfrec_word(records, at + size - TRAILER_BYTES + 8), false);
}

bool perfrec_objects_save(const struct perfrec_objects *objects, const struct lull_keeper *keeper,
                          bool wants_frames, GError **error)
{
    const int64_t end_us = g_get_monotonic_time() + MOST_US;
    bool is_full = false;
    bool is_good = lull_keeper_save_symbols(keeper, LULL_VDSO, 0, 0, wants_frames, &is_full, error);
    for (guint i = 0; i < objects->objects->len && is_good && !is_full; i++) {
        const struct object *object = objects->objects->pdata[i];
        if (g_get_monotonic_time() > end_us) {
            break;
        }
        is_good = *object->path
                      ? lull_keeper_save_symbols(keeper, object->path, object->inode,
                                                 object->mapped_ns, wants_frames, &is_full, error)
                      : lull_keeper_save_map(keeper, (int)object->inode, object->mapped_ns,
                                             &is_full, error);
    }
    return is_good;
}
