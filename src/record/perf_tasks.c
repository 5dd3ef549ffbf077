/* Names of the tasks that there are when a recording begins, as records: the kernel reports only
 * those that change. A task that ends meanwhile is left out. */
#include <errno.h>
#include <string.h>

#include "record/perf.h"

/* What sample_id_all appends to all records: task, time, CPU, identifier. Zeros: perf's own. */
#define TRAILER 32

struct comm {
    struct perf_event_header header;
    uint32_t pid, tid;
    char text[16];
    uint8_t trailer[TRAILER];
};

static void put_task(GByteArray *to, const char *dir, uint32_t pid, const char *tid)
{
    char *path = g_build_filename(dir, tid, "comm", NULL), *text;
    struct comm record = {
        .header = {.type = PERF_RECORD_COMM, .size = sizeof record},
        .pid = pid,
        .tid = (uint32_t)g_ascii_strtoull(tid, NULL, 10),
    };
    gsize n;
    if (g_file_get_contents(path, &text, &n, NULL)) {
        n = MIN(n, sizeof record.text);
        memcpy(record.text, text, n);
        record.text[n ? n - 1 : 0] = '\0'; /* there is a line end */
        g_byte_array_append(to, (const guint8 *)&record, sizeof record);
        g_free(text);
    }
    g_free(path);
}

bool perfrec_tasks_append(struct perfrec_file *file, const struct perfrec_filter *filter,
                          GError **error)
{
    GDir *proc = g_dir_open("/proc", 0, error);
    if (!proc)
        return false;
    GByteArray *records = g_byte_array_new();
    const char *pid, *tid;
    while ((pid = g_dir_read_name(proc))) {
        if (!g_ascii_isdigit(*pid))
            continue;
        char *path = g_build_filename("/proc", pid, "task", NULL);
        GDir *tasks = g_dir_open(path, 0, NULL);
        while (tasks && (tid = g_dir_read_name(tasks))) {
            if (!filter || perfrec_filter_follows(filter, (pid_t)g_ascii_strtoll(tid, NULL, 10)))
                put_task(records, path, (uint32_t)g_ascii_strtoull(pid, NULL, 10), tid);
        }
        if (tasks)
            g_dir_close(tasks);
        g_free(path);
    }
    g_dir_close(proc);
    struct iovec part = {records->data, records->len};
    bool is_good = perfrec_file_append(file, &part, 1, error);
    g_byte_array_free(records, TRUE);
    return is_good;
}
