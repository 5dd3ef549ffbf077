/* SPDX-License-Identifier: MIT */
/* Reads perf maps. Programs write them with and without "0x", and names to the end of the line. */
#include "symbol/perf_map.h"

#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/object.h"
#include "symbol/table.h"

#define MOST_NAME 65535u
#define MOST_BYTES (INT64_C(256) << 20)

/* A hexadecimal number and the space behind it. */
static bool read_number(const char **at, const char *end, uint64_t *number)
{
    *at += end - *at > 2 && (*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X') ? 2 : 0;
    const char *start = *at;
    *number = 0;
    for (int digit; *at < end && (digit = g_ascii_xdigit_value(**at)) >= 0; ++*at) {
        *number = *number << 4 | (unsigned)digit;
    }
    if (*at == start || *at - start > 16 || *at == end || **at != ' ') {
        return false;
    }
    ++*at;
    return true;
}

/* False: there are too many. */
static bool add_line(struct lull_object *object, unsigned rank, const char *at, const char *end)
{
    uint64_t start, size;
    if (!read_number(&at, end, &start) || !read_number(&at, end, &size) || size == 0 || at == end ||
        *at == '\0') {
        return true;
    }
    return lull_symbol_table_add(object->table, start, size, 0, rank, at,
                                 strnlen(at, MIN((size_t)(end - at), MOST_NAME)));
}

struct lull_object *lull_perf_map_parse(const char *text, size_t length)
{
    const struct lull_load all = {0, UINT64_MAX, 0};
    struct lull_object *object = lull_object_new();
    const char *end = text + length, *next;
    unsigned rank = UINT32_MAX; /* the least counts */
    lull_object_add_load(object, &all);
    for (const char *at = text; at < end; at = next) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        next = line_end ? line_end + 1 : end;
        if (!add_line(object, rank--, at, line_end ? line_end : end)) {
            break;
        }
    }
    lull_symbol_table_finish(object->table);
    if (lull_symbol_table_count(object->table) == 0) {
        g_clear_pointer(&object, lull_object_free);
    }
    return object;
}

/* All of the file; NULL: it is too large, or someone else's, who could have it name anything. */
static char *read_own(int fd, size_t *length, bool *is_other)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > MOST_BYTES) {
        return NULL;
    }
    *is_other = st.st_uid != 0 && st.st_uid != geteuid();
    char *text = *is_other ? NULL : g_malloc((size_t)st.st_size + 1);
    ssize_t n;
    *length = 0;
    while (text && *length < (size_t)st.st_size &&
           (n = read(fd, text + *length, (size_t)st.st_size - *length)) > 0) {
        *length += (size_t)n;
    }
    return text;
}

struct lull_object *lull_perf_map_read(int fd, bool *is_other)
{
    size_t length;
    *is_other = false;
    g_autofree char *text = read_own(fd, &length, is_other);
    close(fd);
    return text ? lull_perf_map_parse(text, length) : NULL;
}

bool lull_perf_map_is_for(const char *path)
{
    static const char *const starts[] = {"//anon", "[anon", "/memfd:", "/dev/zero", "[heap]"};
    for (size_t i = 0; i < G_N_ELEMENTS(starts); i++) {
        if (g_str_has_prefix(path, starts[i])) {
            return true;
        }
    }
    return false;
}

char *lull_perf_map_name(int pid)
{
    return g_strdup_printf("perf-%d.map", pid);
}
