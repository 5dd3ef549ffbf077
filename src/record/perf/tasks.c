/* SPDX-License-Identifier: MIT */
/* The tasks that there are, from /proc. Their names, as records: the kernel reports only those that
 * change. A task that ends meanwhile is left out. */
#include <string.h>

#include "record/perf/perf.h"
#include "record/tasks.h"

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
    if (!proc) {
        return false;
    }
    GByteArray *records = g_byte_array_new();
    const char *pid, *tid;
    while ((pid = g_dir_read_name(proc))) {
        if (!g_ascii_isdigit(*pid)) {
            continue;
        }
        char *path = g_build_filename("/proc", pid, "task", NULL);
        GDir *tasks = g_dir_open(path, 0, NULL);
        while (tasks && (tid = g_dir_read_name(tasks))) {
            if (!filter || perfrec_filter_follows(filter, (pid_t)g_ascii_strtoll(tid, NULL, 10))) {
                put_task(records, path, (uint32_t)g_ascii_strtoull(pid, NULL, 10), tid);
            }
        }
        if (tasks) {
            g_dir_close(tasks);
        }
        g_free(path);
    }
    g_dir_close(proc);
    struct iovec part = {records->data, records->len};
    bool is_good = perfrec_file_append(file, &part, 1, error);
    g_byte_array_free(records, TRUE);
    return is_good;
}

/* The process that started it; 0: none, or it is gone. */
static pid_t parent_of(const char *pid)
{
    char *path = g_build_filename("/proc", pid, "stat", NULL), *text = NULL;
    pid_t parent = 0;
    /* Its name, in parentheses, may hold anything: what follows it is: state, parent. */
    const char *end = g_file_get_contents(path, &text, NULL, NULL) ? strrchr(text, ')') : NULL;
    if (end && strlen(end) > 4) {
        parent = (pid_t)g_ascii_strtoll(end + 4, NULL, 10);
    }
    g_free(text);
    g_free(path);
    return parent;
}

/* Whether something was new. */
static bool learn_process(struct perfrec_filter *filter, const char *name)
{
    pid_t pid = (pid_t)g_ascii_strtoll(name, NULL, 10), parent = parent_of(name);
    bool is_new = false;
    if (!perfrec_filter_follows(filter, pid) &&
        (parent == 0 || !perfrec_filter_follows(filter, parent))) {
        return false;
    }
    GArray *tids = lull_tasks_of(pid, NULL);
    for (guint i = 0; tids && i < tids->len; i++) {
        pid_t tid = g_array_index(tids, pid_t, i);
        is_new |= !perfrec_filter_follows(filter, tid);
        perfrec_filter_follow(filter, tid);
    }
    if (tids) {
        g_array_free(tids, TRUE);
    }
    return is_new;
}

bool perfrec_tasks_learn(struct perfrec_filter *filter, GError **error)
{
    bool is_new = true;
    while (is_new) {
        GDir *proc = g_dir_open("/proc", 0, error);
        if (!proc) {
            return false;
        }
        const char *pid;
        is_new = false;
        while ((pid = g_dir_read_name(proc))) {
            is_new |= g_ascii_isdigit(*pid) && learn_process(filter, pid);
        }
        g_dir_close(proc);
    }
    return true;
}
