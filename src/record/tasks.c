/* SPDX-License-Identifier: MIT */
/* The threads of a process, from /proc. */
#include "record/tasks.h"

#include <sys/stat.h>

/* Inode of the first pid namespace (PROC_PID_INIT_INO of linux/proc_ns.h). */
#define FIRST_NAMESPACE 0xEFFFFFFCu

bool lull_tasks_are_global(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) != 0 || st.st_ino == FIRST_NAMESPACE;
}

GArray *lull_tasks_of(pid_t pid, GError **error)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)pid);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    if (!dir) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "there is no process %d", (int)pid);
        return NULL;
    }
    GArray *tids = g_array_new(FALSE, FALSE, sizeof(pid_t));
    while ((name = g_dir_read_name(dir))) {
        const pid_t tid = (pid_t)g_ascii_strtoll(name, NULL, 10);
        g_array_append_val(tids, tid);
    }
    return tids;
}
