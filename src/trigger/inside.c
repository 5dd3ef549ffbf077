/* SPDX-License-Identifier: MIT */
/* /proc/PID/status has the number of a task in each namespace that it is in, ours first and its own last. */
#include "trigger/inside.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NUMBERS "\nNSpid:"

/* More processes, or threads of one, are not looked at. */
#define MOST_TASKS 100000u

/* How many namespaces know the task (0: it has gone), and its number in the innermost. */
static uint32_t read_own(const char *task, int64_t *own)
{
    g_autofree char *path = g_build_filename(task, "status", NULL);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return 0;
    }
    const char *at = strstr(text, NUMBERS);
    if (!at) {
        return 0;
    }
    uint32_t n = 0;
    at += strlen(NUMBERS);
    while (*at != '\n') {
        char *end;
        const long number = strtol(at, &end, 10);
        if (end == at) {
            break;
        }
        *own = number;
        at = end;
        n++;
    }
    return n;
}

/* Which pid namespace a process is in; 0: not known. */
static ino_t namespace_of(const char *process)
{
    g_autofree char *path = g_build_filename(process, "ns", "pid", NULL);
    struct stat st;
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* The task in a directory of /proc that is called so in its own namespace, which is `wanted` (0: any); -1: there is none. */
static int64_t find(const char *directory, int64_t own, ino_t wanted)
{
    g_autoptr(GDir) dir = g_dir_open(directory, 0, NULL);
    const char *name;
    for (uint32_t i = 0; dir && i < MOST_TASKS && (name = g_dir_read_name(dir)); i++) {
        g_autofree char *task = g_build_filename(directory, name, NULL);
        int64_t number;
        if (g_ascii_isdigit(*name) && read_own(task, &number) > 1 && number == own &&
            (wanted == 0 || namespace_of(task) == wanted)) {
            return strtol(name, NULL, 10);
        }
    }
    return -1;
}

bool lull_inside_translate(int32_t sender, int64_t *pid, int64_t *tid)
{
    g_autofree char *from = g_strdup_printf("/proc/%d", (int)sender);
    const int64_t process = *pid, thread = *tid;
    int64_t own;
    if (sender <= 0 || process <= 0 || read_own(from, &own) <= 1) {
        return true;
    }
    const ino_t wanted = namespace_of(from);
    *pid = own == process ? sender : wanted ? find("/proc", process, wanted) : -1;
    if (thread > 0) {
        g_autofree char *threads = g_strdup_printf("/proc/%" G_GINT64_FORMAT "/task", *pid);
        *tid = *pid > 0 ? find(threads, thread, 0) : -1;
    }
    return *pid > 0 && (thread <= 0 || *tid > 0);
}
