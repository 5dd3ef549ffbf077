/* SPDX-License-Identifier: MIT */
/* Which builds of the files in call chains were mapped: perf notes them in the header when it ends,
 * of files that samples hit, or the kernel in each record of a mapping (`--buildid-mmap`). */
#include <string.h>

#include "source/perf/perf.h"

/* A header record: head, process, build-id with its size behind it, path. A mapping has size, three
 * bytes of nothing, and build-id in the place of device and inode. */
#define HEAD_BUILD_ID 12u
#define HEAD_SIZE 32u
#define HEAD_PATH 36u
#define HEAD_HAS_SIZE (1u << 15)
#define MAP_SIZE 40u
#define MAP_BUILD_ID 44u
#define MAP_PATH 72u
#define BUILD_ID_BYTES 20u
#define MOST_PATHS 65536u

/* Two builds of one path: then neither is known to be the right one. */
static const char several[] = "";

static void note(struct perf_file *file, const char *path, size_t most, const uint8_t *id,
                 uint32_t size)
{
    char digits[2 * BUILD_ID_BYTES + 1];
    g_autofree char *key = g_strndup(path, most);
    char *bracket = *key == '[' ? strchr(key, ']') : NULL;
    if (bracket) { /* "[kernel.kallsyms]_text": where it starts */
        bracket[1] = '\0';
    }
    const char *known = g_hash_table_lookup(file->build_ids, key);
    if (size == 0 || size > BUILD_ID_BYTES || g_hash_table_size(file->build_ids) >= MOST_PATHS) {
        return;
    }
    for (uint32_t i = 0; i < size; i++) {
        g_snprintf(digits + 2 * (size_t)i, 3, "%02x", id[i]);
    }
    if (!known || strcmp(known, digits) != 0) {
        g_hash_table_replace(file->build_ids, g_steal_pointer(&key),
                             g_strdup(known ? several : digits));
    }
}

bool perf_build_ids_take(struct perf_file *file, const uint8_t *data, uint64_t size)
{
    while (size >= HEAD_PATH) {
        const uint16_t misc = perf_u16(file, data + 4), length = perf_u16(file, data + 6);
        if (length < HEAD_PATH || length > size) {
            return false;
        }
        note(file, (const char *)data + HEAD_PATH, length - HEAD_PATH, data + HEAD_BUILD_ID,
             misc & HEAD_HAS_SIZE ? data[HEAD_SIZE] : BUILD_ID_BYTES);
        data += length;
        size -= length;
    }
    return size == 0;
}

void perf_build_ids_map(struct perf_file *file, const uint8_t *record, uint32_t size)
{
    if (perf_is_build_id_map(file, record) && size >= MAP_PATH) {
        note(file, (const char *)record + MAP_PATH, size - MAP_PATH, record + MAP_BUILD_ID,
             record[MAP_SIZE]);
    }
}
