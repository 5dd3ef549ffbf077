/* SPDX-License-Identifier: MIT */
/* /proc/PID/status has the number of a task in each namespace that it is in, ours first and its own last; /proc/PID/fd has the
 * sockets of a process, of which the kernel says which one it was that sent something. */
#include "trigger/inside.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trigger/process_sockets.h"

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

/* ---- who sends ---- */

struct wanted {
    uint64_t socket;
    bool is_found;
};

static bool is_other(void *user, uint64_t inode)
{
    struct wanted *wanted = user;
    wanted->is_found = inode == wanted->socket;
    return !wanted->is_found;
}

static bool has_socket(int64_t pid, uint64_t socket)
{
    struct wanted wanted = {.socket = socket};
    lull_process_sockets(pid, is_other, &wanted);
    return wanted.is_found;
}

/* Calls for each process, until that returns a number other than 0, which it returns. */
static int64_t each_process(int64_t (*each)(const char *process, const void *user),
                            const void *user)
{
    g_autoptr(GDir) dir = g_dir_open("/proc", 0, NULL);
    const char *name;
    int64_t result = 0;
    for (uint32_t i = 0; dir && result == 0 && i < MOST_TASKS && (name = g_dir_read_name(dir));
         i++) {
        if (g_ascii_isdigit(*name)) {
            g_autofree char *process = g_build_filename("/proc", name, NULL);
            result = each(process, user);
        }
    }
    return result;
}

static int64_t if_it_has_socket(const char *process, const void *user)
{
    const int64_t pid = strtol(strrchr(process, '/') + 1, NULL, 10);
    return has_socket(pid, *(const uint64_t *)user) ? pid : 0;
}

/* The number of the process that sends; 0: not known. Most say something of themselves. */
static int64_t find_sender(const struct lull_inside_sender *sender, int64_t named)
{
    if (sender->pid > 0 || sender->socket == 0) {
        return sender->pid;
    }
    return has_socket(named, sender->socket) ? named
                                             : each_process(if_it_has_socket, &sender->socket);
}

bool lull_inside_is_ours(const struct lull_inside_sender *sender, int64_t pid)
{
    const bool is_own = sender->pid <= 0 && sender->socket > 0 && has_socket(pid, sender->socket);
    g_autofree char *from =
        g_strdup_printf("/proc/%" G_GINT64_FORMAT, is_own ? pid : (int64_t)sender->pid);
    int64_t own;
    return pid <= 0 || ((is_own || sender->pid > 0) && read_own(from, &own) == 1);
}

static ino_t network_of(const char *process)
{
    g_autofree char *path = g_build_filename(process, "ns", "net", NULL);
    struct stat st;
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* `user`: the network namespace that it must be in; 0: any. */
static int64_t if_it_is_below(const char *process, const void *user)
{
    const ino_t network = *(const ino_t *)user;
    int64_t own;
    return read_own(process, &own) > 1 && (network == 0 || network_of(process) == network);
}

/* Whether somebody who could have sent it calls processes by other numbers. */
static bool is_doubtful(const struct lull_inside_sender *sender)
{
    const ino_t network = sender->is_http ? network_of("/proc/self") : 0;
    return each_process(if_it_is_below, &network) != 0;
}

bool lull_inside_translate(const struct lull_inside_sender *sender, int64_t *pid, int64_t *tid)
{
    const int64_t process = *pid, thread = *tid;
    if (process <= 0) {
        return true;
    }
    const int64_t who = find_sender(sender, process);
    g_autofree char *from = g_strdup_printf("/proc/%" G_GINT64_FORMAT, who);
    int64_t own = 0;
    const uint32_t n_names = who > 0 ? read_own(from, &own) : 0;
    if (n_names == 1 || (n_names == 0 && !is_doubtful(sender))) {
        return true;
    }
    const ino_t wanted = n_names > 0 ? namespace_of(from) : 0;
    *pid = n_names > 0 && own == process ? who : wanted ? find("/proc", process, wanted) : -1;
    if (thread > 0) {
        g_autofree char *threads = g_strdup_printf("/proc/%" G_GINT64_FORMAT "/task", *pid);
        *tid = *pid > 0 ? find(threads, thread, 0) : -1;
    }
    return *pid > 0 && (thread <= 0 || *tid > 0);
}
