/* SPDX-License-Identifier: MIT */
/* Reads files of /proc, and what their texts say (proc(5), Documentation/accounting/psi.rst). */
#include "live/poll_proc.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PF_IO_WORKER 0x00000010 /* of io_uring */
#define PF_KTHREAD 0x00200000

/* ---- texts ---- */

bool lull_proc_parse_times(const char *text, struct lull_proc_times *times)
{
    return sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &times->ran_ns, &times->delayed_ns,
                  &times->slices) == 3;
}

/* The name is the only field with parentheses, and may hold anything. */
bool lull_proc_parse_state(const char *text, struct lull_proc_state *state)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    const long per_second = sysconf(_SC_CLK_TCK);
    unsigned flags;
    uint64_t start;
    if (!open || !close || close < open || per_second <= 0) {
        return false;
    }
    const size_t length = MIN((size_t)(close - open - 1), sizeof state->comm - 1);
    memset(state->comm, 0, sizeof state->comm);
    memcpy(state->comm, open + 1, length);
    /* The third field, the ninth, and the 22nd. */
    if (sscanf(close + 1,
               " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
               "%" SCNu64,
               &state->letter, &flags, &start) != 3 ||
        start > G_MAXINT64 / 1000000000) {
        return false;
    }
    state->is_kernel = flags & (PF_KTHREAD | PF_IO_WORKER);
    state->start_ns = start * (1000000000 / (uint64_t)per_second);
    return true;
}

/* In hundredths of a second: user, nice, system, idle, iowait, irq, softirq. */
void lull_proc_parse_machine(const char *text, struct lull_proc_machine *machine)
{
    const long per_second = sysconf(_SC_CLK_TCK);
    const char *switches = strstr(text, "\nctxt ");
    uint64_t n[5];
    *machine = (struct lull_proc_machine){0};
    if (per_second > 0 &&
        sscanf(text, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64 " %" SCNu64, &n[0],
               &n[1], &n[2], &n[3], &n[4]) == 5) {
        machine->busy_ns = (n[0] + n[1] + n[2] + n[3] + n[4]) * (1000000000 / (uint64_t)per_second);
    }
    if (switches) {
        sscanf(switches, "\nctxt %" SCNu64, &machine->switches);
    }
}

/* "running" or "-1 …" has no call; a function without a name is "0". What a compiler adds to names (".isra.0")
 * says nothing to people. */
void lull_proc_parse_wait(const char *call, const char *function, struct lull_proc_wait *wait)
{
    *wait = (struct lull_proc_wait){.call = LULL_TRACK_NO_CALL};
    if (sscanf(call, "%" SCNd32, &wait->call) != 1 || wait->call < 0) {
        wait->call = LULL_TRACK_NO_CALL;
    }
    for (size_t i = 0; i < sizeof wait->function - 1; i++) {
        if (!g_ascii_isalnum(function[i]) && function[i] != '_') {
            break;
        }
        wait->function[i] = function[i];
    }
    if (g_ascii_isdigit(wait->function[0])) {
        wait->function[0] = '\0';
    }
}

/* ---- files ---- */

bool lull_proc_read_file(const char *path, char *out, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    const int why = errno;
    if (fd >= 0) {
        close(fd);
    }
    out[n > 0 ? n : 0] = '\0';
    errno = why;
    return n > 0;
}

static bool read_of_task(uint32_t pid, uint32_t tid, const char *name, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/task/%u/%s", pid, tid, name);
    return lull_proc_read_file(path, out, size);
}

bool lull_proc_read_times(uint32_t pid, uint32_t tid, struct lull_proc_times *times)
{
    char text[128];
    return read_of_task(pid, tid, "schedstat", text, sizeof text) &&
           lull_proc_parse_times(text, times);
}

bool lull_proc_read_state(uint32_t pid, uint32_t tid, struct lull_proc_state *state)
{
    char text[1024];
    return read_of_task(pid, tid, "stat", text, sizeof text) && lull_proc_parse_state(text, state);
}

void lull_proc_read_wait(uint32_t pid, uint32_t tid, struct lull_proc_wait *wait)
{
    char call[256], function[128];
    const bool is_shown = read_of_task(pid, tid, "syscall", call, sizeof call);
    const bool is_hidden = !is_shown && (errno == EPERM || errno == EACCES);
    read_of_task(pid, tid, "wchan", function, sizeof function);
    lull_proc_parse_wait(call, function, wait);
    wait->is_hidden = is_hidden;
}

static bool read_any(uint32_t tid, const char *name, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/%s", tid, name);
    return lull_proc_read_file(path, out, size);
}

/* The number after `key`, which is the start of a line. */
static bool read_status(uint32_t tid, const char *key, uint32_t *number)
{
    char text[2048];
    const char *at = read_any(tid, "status", text, sizeof text) ? strstr(text, key) : NULL;
    return at && sscanf(at + strlen(key), "%" SCNu32, number) == 1;
}

bool lull_proc_read_pid(uint32_t tid, uint32_t *pid)
{
    return read_status(tid, "\nTgid:\t", pid);
}

bool lull_proc_read_uid(uint32_t tid, uint32_t *uid)
{
    return read_status(tid, "\nUid:\t", uid);
}

bool lull_proc_is_compat(uint32_t tid)
{
    char head[EI_CLASS + 2];
    const bool is_elf = read_any(tid, "exe", head, sizeof head);
    return is_elf && head[EI_CLASS] == ELFCLASS32 && sizeof(void *) == 8;
}

bool lull_proc_read_pressure(enum lull_pressure kind, uint64_t *some_us)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/pressure/%s", lull_pressure_names[kind]);
    int64_t some = -1, full;
    if (lull_proc_read_file(path, text, sizeof text)) {
        lull_pressure_parse(text, &some, &full);
    }
    *some_us = (uint64_t)some;
    return some >= 0;
}

void lull_proc_read_machine(struct lull_proc_machine *machine)
{
    g_autofree char *text = NULL;
    const bool is_read = g_file_get_contents("/proc/stat", &text, NULL, NULL);
    lull_proc_parse_machine(is_read ? text : "", machine);
}

/* ---- all tasks ---- */

struct visitor {
    void (*visit)(void *user, uint32_t pid, uint32_t tid);
    void *user;
};

/* The names of tasks in /proc are numbers; other names are not. False: there is no such directory. */
static bool each_number(const char *path, uint32_t pid, const struct visitor *visitor,
                        void (*found)(const struct visitor *visitor, uint32_t pid, uint32_t number))
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    guint64 number;
    while (dir && (entry = readdir(dir))) {
        if (g_ascii_string_to_unsigned(entry->d_name, 10, 1, G_MAXINT32, &number, NULL)) {
            found(visitor, pid, (uint32_t)number);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return dir != NULL;
}

static void found_task(const struct visitor *visitor, uint32_t pid, uint32_t tid)
{
    visitor->visit(visitor->user, pid, tid);
}

static void found_process(const struct visitor *visitor, uint32_t unused, uint32_t pid)
{
    char path[64];
    if (pid != (uint32_t)getpid()) {
        snprintf(path, sizeof path, "/proc/%u/task", pid);
        each_number(path, pid, visitor, found_task);
    }
}

bool lull_proc_each_task(void (*visit)(void *user, uint32_t pid, uint32_t tid), void *user)
{
    const struct visitor visitor = {visit, user};
    return each_number("/proc", 0, &visitor, found_process);
}
