/* SPDX-License-Identifier: MIT */
/* Which code lies where when a recording with call chains starts: as records, the kernel's text
 * and the mapped files of each process, from /proc, since the kernel reports only what is mapped
 * later; as a file, the kernel's functions, so that the recording names them anywhere. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "record/kernel_functions.h"
#include "record/perf/perf.h"

/* What sample_id_all appends: perf leaves it zero in records of its own. */
static const uint8_t trailer[32];

/* A record that ends with a text and the trailer. */
static void put_record(GByteArray *to, struct perf_event_header *record, size_t n, const char *text)
{
    static const char zeros[8];
    size_t length = strlen(text) + 1, filling = -length & 7, size = n + length + filling;
    record->size = (uint16_t)(size + sizeof trailer);
    if (size + sizeof trailer > UINT16_MAX) {
        return;
    }
    g_byte_array_append(to, (const guint8 *)record, (guint)n);
    g_byte_array_append(to, (const guint8 *)text, (guint)length);
    g_byte_array_append(to, (const guint8 *)zeros, (guint)filling);
    g_byte_array_append(to, trailer, sizeof trailer);
}

/* A line of /proc/PID/maps: start-end rwxp offset major:minor inode path. */
static void put_map(GByteArray *to, struct perfrec_objects *objects, uint64_t now_ns, uint32_t pid,
                    const char *line)
{
    struct {
        struct perf_event_header header;
        uint32_t pid, tid;
        uint64_t start, size, offset;
        uint32_t major, minor;
        uint64_t inode, generation;
        uint32_t access, flags;
    } record = {.header = {.type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER},
                .pid = pid,
                .tid = pid};
    uint64_t end;
    char access[5];
    int path = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &record.start,
               &end, access, &record.offset, &record.major, &record.minor, &record.inode,
               &path) < 7 ||
        path == 0 || access[2] != 'x') {
        return;
    }
    record.size = end - record.start;
    record.access =
        (access[0] == 'r' ? PROT_READ : 0) | (access[1] == 'w' ? PROT_WRITE : 0) | PROT_EXEC;
    record.flags = access[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
    put_record(to, &record.header, sizeof record, line[path] ? line + path : "//anon");
    perfrec_objects_add(objects, (int)pid, line[path] ? line + path : "//anon", record.inode,
                        now_ns, true);
}

static void put_process(GByteArray *to, struct perfrec_objects *objects, const char *pid)
{
    struct timespec now;
    char *path = g_build_filename("/proc", pid, "maps", NULL), *text;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    if (g_file_get_contents(path, &text, NULL, NULL)) {
        char **lines = g_strsplit(text, "\n", -1);
        for (uint32_t i = 0; lines[i]; i++) {
            put_map(to, objects, now_ns, (uint32_t)g_ascii_strtoull(pid, NULL, 10), lines[i]);
        }
        g_strfreev(lines);
        g_free(text);
    }
    g_free(path);
}

/* An address in /proc/kallsyms, whose lines are: address, kind, name. 0: not there, or hidden. */
static uint64_t symbol(const char *symbols, const char *name)
{
    char *wanted = g_strdup_printf(" %s\n", name);
    const char *at = strstr(symbols, wanted);
    while (at && at > symbols && at[-1] != '\n') {
        at--;
    }
    uint64_t address = at ? g_ascii_strtoull(at, NULL, 16) : 0;
    g_free(wanted);
    return address;
}

static void put_kernel(GByteArray *to, const char *symbols)
{
    struct {
        struct perf_event_header header;
        uint32_t pid, tid;
        uint64_t start, size, offset;
    } record = {.header = {.type = PERF_RECORD_MMAP, .misc = PERF_RECORD_MISC_KERNEL},
                .pid = UINT32_MAX,
                .start = symbol(symbols, "_text")};
    uint64_t end = symbol(symbols, "_etext");
    record.size = end - record.start;
    record.offset = record.start;
    if (record.start != 0 && end > record.start) {
        put_record(to, &record.header, sizeof record, "[kernel.kallsyms]_text");
    }
}

static bool take_kernel(GByteArray *to, const struct lull_keeper *keeper, GError **error)
{
    g_autofree char *symbols = NULL;
    if (!g_file_get_contents("/proc/kallsyms", &symbols, NULL, NULL)) {
        return true;
    }
    put_kernel(to, symbols);
    return lull_kernel_functions_save(keeper, symbols, error);
}

bool perfrec_maps_append(struct perfrec_file *file, struct perfrec_objects *objects,
                         const struct perfrec_filter *filter, const struct lull_keeper *keeper,
                         GError **error)
{
    GDir *proc = g_dir_open("/proc", 0, error);
    if (!proc) {
        return false;
    }
    GByteArray *records = g_byte_array_new();
    bool is_good = take_kernel(records, keeper, error);
    const char *pid;
    while (is_good && (pid = g_dir_read_name(proc))) {
        if (g_ascii_isdigit(*pid) &&
            (!filter || perfrec_filter_follows(filter, (pid_t)g_ascii_strtoll(pid, NULL, 10)))) {
            put_process(records, objects, pid);
        }
    }
    g_dir_close(proc);
    struct iovec part = {records->data, records->len};
    is_good = is_good && perfrec_file_append(file, &part, 1, error);
    g_byte_array_free(records, TRUE);
    return is_good;
}
