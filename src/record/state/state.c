/* SPDX-License-Identifier: MIT */
/* Takes the state of the machine: tasks, their containers and open files from /proc. What ends while it is
 * looked at, or may not be looked at, is left out. Each event is stamped after its data was
 * read: if that has changed in between, an event of the tracer has reported it before. */
#include "record/state/polled.h"
#include "record/state/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "record/state/containers.h"
#include "record/state/machine.h"
#include "record/state/sockets.h"

/* The number of the first pid namespace's file, include/uapi/linux/nsfs.h in the kernel. */
#define FIRST_PID_NAMESPACE 0xeffffffcu

/* Of the task's flags in its `stat`, include/linux/sched.h. */
#define FLAG_WORKER 0x20u

/* status of lttng_statedump_process_state. That a task runs or waits for a CPU is the same letter
 * in /proc: then it is not known. */
enum { STATUS_UNKNOWN = 0, STATUS_ZOMBIE = 4, STATUS_WAITS = 5, STATUS_DEAD = 7 };

struct snapshot {
    struct lull_state_trace *trace;
    struct lull_state_sockets *sockets;
    GHashTable *mapped; /* set of struct file_number: files in memory that were put */
    enum {
        CALLS_NONE,
        CALLS_POLLED,
        CALLS_ALL
    } calls;            /* in which tasks sleep, or only what they poll */
    char text[1 << 14]; /* what was read last; paths in /proc/PID/fd have 4096 bytes at most */
};

/* Numbers are ids of tasks or descriptors; -1 for other names. */
static int number_of(const char *name)
{
    char *end;
    errno = 0;
    long number = strtol(name, &end, 10);
    return g_ascii_isdigit(*name) && *end == '\0' && errno == 0 && number <= INT_MAX ? (int)number
                                                                                     : -1;
}

static DIR *open_directory(int at, const char *path)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0) {
        close(fd);
    }
    return dir;
}

/* The start of a file as text; how many bytes it has, 0 if it is gone. */
static size_t read_text(struct snapshot *snapshot, int at, const char *path)
{
    int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t n = read(fd, snapshot->text, sizeof snapshot->text - 1);
    close(fd);
    snapshot->text[MAX(n, 0)] = '\0';
    return (size_t)MAX(n, 0);
}

/* ---- commands ---- */

/* Bytes of a command line that are kept. */
#define MOST_COMMAND 4096u
/* Characters that mean nothing to a shell, besides letters and digits. */
#define PLAIN "_@%+=:,./-"

char *lull_state_command_line(const char *arguments, size_t length, bool is_cut)
{
    GString *line = g_string_new(NULL);
    for (size_t at = 0; at < length;) {
        g_autofree char *word = g_strndup(arguments + at, length - at);
        bool is_plain = *word != '\0';
        for (const char *c = word; *c; c++) {
            is_plain = is_plain && (g_ascii_isalnum(*c) || strchr(PLAIN, *c) || (*c & 0x80));
        }
        g_autofree char *quoted = is_plain ? NULL : g_shell_quote(word);
        g_string_append_printf(line, "%s%s", at ? " " : "", quoted ? quoted : word);
        at += strlen(word) + 1;
    }
    g_string_append(line, is_cut ? " …" : "");
    return g_string_free(line, FALSE);
}

/* ---- tasks ---- */

/* A task's `stat`, proc_pid_stat(5). */
struct task_stat {
    const char *name;
    char state;
    int ppid, prio;
    unsigned cpu, flags;
};

/* The text of field `n`, counted from 1, where `at` is that of field 3; NULL if there are less. */
static const char *field(const char *at, unsigned n)
{
    for (unsigned i = 3; i < n && at; i++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at;
}

/* The name may hold whatever the task likes, also brackets; what follows it are numbers. Cuts the
 * text at its end. */
static bool parse_stat(char *text, struct task_stat *stat)
{
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open || close[1] != ' ') {
        return false;
    }
    const char *state = close + 2, *cpu = field(state, 39);
    if (!cpu) {
        return false;
    }
    *close = '\0';
    stat->name = open + 1;
    stat->state = *state;
    stat->ppid = (int)strtol(field(state, 4), NULL, 10);
    stat->flags = (unsigned)strtoul(field(state, 9), NULL, 10);
    /* Real-time priorities are below 0 here, what tracepoints show starts 100 below that. */
    stat->prio = (int)strtol(field(state, 18), NULL, 10) + 100;
    stat->cpu = (unsigned)strtoul(cpu, NULL, 10);
    /* The kernel shows what a worker does after its name, "kworker/0:1-events". */
    if ((stat->flags & FLAG_WORKER) && g_str_has_prefix(stat->name, "kworker/") &&
        !g_str_has_prefix(stat->name, "kworker/R")) {
        close = open + 1 + strcspn(open + 1, "+-");
    }
    *MIN(close, open + 1 + 15) = '\0'; /* TASK_COMM_LEN - 1 */
    return true;
}

static int status_of(char state)
{
    switch (state) {
    case 'S': /* sleeps */
    case 'D':
    case 'I':
    case 'T': /* is stopped */
    case 't':
    case 'P':
        return STATUS_WAITS;
    case 'Z':
        return STATUS_ZOMBIE;
    case 'X':
    case 'x':
        return STATUS_DEAD;
    default:
        return STATUS_UNKNOWN;
    }
}

/* ---- containers ---- */

/* The number of a line of /proc/PID/cgroup in the order in which they are looked at, -1: it is not
 * one of them. Where version 2 manages nothing, all are in its root: then one of version 1 counts. */
static int rank_of_group(const char *controllers)
{
    static const char *const names[] = {"", "cpu,cpuacct", "cpu", "name=systemd", "memory"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (strcmp(controllers, names[i]) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Whether a group has the id of a container in its name. */
static bool has_id(const char *path)
{
    enum { ID_LENGTH = 64 };
    for (const char *at = path; *at; at++) {
        const size_t digits = strspn(at, "0123456789abcdef");
        if (digits >= ID_LENGTH) {
            return true;
        }
        at += digits ? digits - 1 : 0;
    }
    return false;
}

const char *lull_state_group(char *text)
{
    const char *best = NULL;
    int most = 0;
    char *rest = text, *end = strrchr(text, '\n');
    if (!end) {
        return NULL;
    }
    *end = '\0';
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) {
            continue;
        }
        *path++ = '\0';
        const int rank = rank_of_group(controllers + 1);
        const int weight = 2 * has_id(path) + (rank == 0 && strcmp(path, "/") != 0);
        if (rank >= 0 &&
            (!best || weight > most || (weight == most && strlen(path) > strlen(best)))) {
            best = path;
            most = weight;
        }
    }
    return best;
}

static void dump_group(struct snapshot *snapshot, int tasks, int tid)
{
    char path[32];
    g_snprintf(path, sizeof path, "%d/cgroup", tid);
    const char *group = read_text(snapshot, tasks, path) ? lull_state_group(snapshot->text) : NULL;
    if (group) {
        lull_state_trace_put(snapshot->trace, LULL_STATE_CGROUP,
                             (union lull_state_value[]){{tid}, {.text = group}});
    }
}

/* "NSpid:	4711	1": the tid in each namespace, the task's own last. */
static void dump_namespace(struct snapshot *snapshot, int tasks, int tid)
{
    char path[32];
    struct stat st;
    g_snprintf(path, sizeof path, "%d/ns/pid", tid);
    if (fstatat(tasks, path, &st, 0) != 0 || st.st_ino == FIRST_PID_NAMESPACE) {
        return;
    }
    g_snprintf(path, sizeof path, "%d/status", tid);
    const char *line = read_text(snapshot, tasks, path) ? strstr(snapshot->text, "\nNSpid:") : NULL;
    int level = -1, vtid = -1;
    for (const char *at = line ? strchr(line, '\t') : NULL; at && *at == '\t'; level++) {
        char *end;
        vtid = (int)strtol(at, &end, 10);
        at = end;
    }
    if (level > 0) {
        lull_state_trace_put(
            snapshot->trace, LULL_STATE_PID_NS,
            (union lull_state_value[]){{tid}, {vtid}, {level}, {(int64_t)st.st_ino}});
    }
}

/* Threads share their descriptors, as a rule: the table is called after the process. */
static bool dump_task(struct snapshot *snapshot, int tasks, int pid, int tid)
{
    char path[32];
    struct task_stat stat;
    g_snprintf(path, sizeof path, "%d/stat", tid);
    if (!read_text(snapshot, tasks, path) || !parse_stat(snapshot->text, &stat)) {
        return false;
    }
    lull_state_trace_put(snapshot->trace, LULL_STATE_PROCESS,
                         (union lull_state_value[]){{tid},
                                                    {pid},
                                                    {stat.ppid},
                                                    {.text = stat.name},
                                                    {status_of(stat.state)},
                                                    {stat.cpu},
                                                    {pid},
                                                    {stat.prio}});
    dump_group(snapshot, tasks, tid);
    dump_namespace(snapshot, tasks, tid);
    return true;
}

/* Its arguments; workers of the kernel have none. */
static void dump_command(struct snapshot *snapshot, int proc, int pid)
{
    char path[32];
    g_snprintf(path, sizeof path, "%d/cmdline", pid);
    size_t length = read_text(snapshot, proc, path);
    /* A program that writes a title over its arguments leaves zeros behind it. */
    while (length > 1 && snapshot->text[length - 1] == '\0' && snapshot->text[length - 2] == '\0') {
        length--;
    }
    const bool is_cut = length > MOST_COMMAND;
    if (length > 0) {
        g_autofree char *line =
            lull_state_command_line(snapshot->text, MIN(length, MOST_COMMAND), is_cut);
        lull_state_trace_put(snapshot->trace, LULL_STATE_COMMAND,
                             (union lull_state_value[]){{pid}, {.text = line}});
    }
}

/* ---- open files ---- */

static int64_t flags_of(struct snapshot *snapshot, int infos, const char *name)
{
    if (!read_text(snapshot, infos, name)) {
        return -1;
    }
    const char *line = strstr(snapshot->text, "flags:");
    return line ? (int64_t)strtoul(line + strlen("flags:"), NULL, 8) : -1;
}

/* Notes descriptors of epoll in `epolls`. */
static void dump_file(struct snapshot *snapshot, int files, int infos, int pid, const char *name,
                      GArray *epolls)
{
    int fd = number_of(name);
    int64_t flags = fd >= 0 ? flags_of(snapshot, infos, name) : -1;
    if (flags < 0) {
        return;
    }
    ssize_t n = readlinkat(files, name, snapshot->text, sizeof snapshot->text - 1);
    if (n <= 0) {
        return;
    }
    snapshot->text[n] = '\0';
    lull_state_trace_put(
        snapshot->trace, LULL_STATE_FILE,
        (union lull_state_value[]){{pid}, {fd}, {flags}, {.text = snapshot->text}});
    if (strcmp(snapshot->text, "anon_inode:[eventpoll]") == 0) {
        g_array_append_val(epolls, fd);
    }
    const struct lull_state_end *end = lull_state_sockets_find(snapshot->sockets, snapshot->text);
    if (end) {
        lull_state_trace_put(snapshot->trace, LULL_STATE_PEER,
                             (union lull_state_value[]){{pid},
                                                        {fd},
                                                        {end->family},
                                                        {end->port},
                                                        {end->own_port},
                                                        {lull_state_half(end->address)},
                                                        {lull_state_half(end->address + 8)},
                                                        {end->is_datagram},
                                                        {.text = end->path ? end->path : ""}});
    }
}

/* What it watches, proc_pid_fdinfo(5): "tfd:  5 events:  19 data:  11 …". */
static void dump_epoll(struct snapshot *snapshot, int infos, int pid, int epoll)
{
    char name[16];
    int fd;
    uint64_t data;
    g_snprintf(name, sizeof name, "%d", epoll);
    FILE *file = lull_file_open_lines(infos, name);
    while (file && fgets(snapshot->text, sizeof snapshot->text, file)) {
        if (sscanf(snapshot->text, "tfd: %d events: %*x data: %" SCNx64, &fd, &data) == 2) {
            lull_state_trace_put(snapshot->trace, LULL_STATE_EPOLL,
                                 (union lull_state_value[]){{pid}, {epoll}, {fd}, {(int64_t)data}});
        }
    }
    if (file) {
        fclose(file);
    }
}

static void dump_files(struct snapshot *snapshot, int proc, int pid)
{
    char path[32];
    g_autoptr(GArray) epolls = g_array_new(FALSE, FALSE, sizeof(int));
    g_snprintf(path, sizeof path, "%d/fd", pid);
    DIR *files = open_directory(proc, path);
    g_snprintf(path, sizeof path, "%d/fdinfo", pid);
    int infos = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files && infos >= 0) {
        lull_state_sockets_read(snapshot->sockets, proc, pid);
        for (const struct dirent *entry; (entry = readdir(files));) {
            dump_file(snapshot, dirfd(files), infos, pid, entry->d_name, epolls);
        }
        for (guint i = 0; i < epolls->len; i++) {
            dump_epoll(snapshot, infos, pid, g_array_index(epolls, int, i));
        }
    }
    if (infos >= 0) {
        close(infos);
    }
    if (files) {
        closedir(files);
    }
}

/* ---- files in memory ---- */

struct file_number {
    uint64_t inode;
    uint32_t device;
};

static guint hash_number(gconstpointer data)
{
    const struct file_number *number = data;
    return (guint)(number->inode * 31 + number->device);
}

static gboolean is_same_number(gconstpointer a, gconstpointer b)
{
    const struct file_number *one = a, *other = b;
    return one->inode == other->inode && one->device == other->device;
}

/* A line of /proc/PID/maps, proc_pid_maps(5): "7f12-7f34 r-xp 00000000 fd:01 1234   /usr/lib/x.so". */
static void dump_mapping(struct snapshot *snapshot, char *line)
{
    unsigned major, minor;
    uint64_t inode;
    int at = 0;
    if (sscanf(line, "%*x-%*x %*s %*x %x:%x %" SCNu64 " %n", &major, &minor, &inode, &at) != 3 ||
        at == 0 || inode == 0 || line[at] != '/') {
        return;
    }
    const struct file_number number = {inode, lull_state_device(major, minor)};
    if (g_hash_table_contains(snapshot->mapped, &number)) {
        return;
    }
    g_hash_table_add(snapshot->mapped, g_memdup2(&number, sizeof number));
    lull_state_trace_put(
        snapshot->trace, LULL_STATE_MAPPED_FILE,
        (union lull_state_value[]){{number.device}, {(int64_t)inode}, {.text = line + at}});
}

static void dump_mappings(struct snapshot *snapshot, int proc, int pid)
{
    char name[32];
    g_snprintf(name, sizeof name, "%d/maps", pid);
    FILE *file = lull_file_open_lines(proc, name);
    while (file && fgets(snapshot->text, sizeof snapshot->text, file)) {
        dump_mapping(snapshot, g_strchomp(snapshot->text));
    }
    if (file) {
        fclose(file);
    }
}

/* ---- system calls ---- */

bool lull_state_parse_call(const char *text, struct lull_state_call *call)
{
    uint64_t *args = call->args, stack;
    return sizeof(long) == sizeof(uint64_t) &&
           sscanf(text,
                  "%d %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
                  " %" SCNx64,
                  &call->number, &args[0], &args[1], &args[2], &args[3], &args[4], &args[5],
                  &stack) == 8 &&
           call->number >= 0 && stack > UINT32_MAX;
}

static void dump_polled(struct snapshot *snapshot, int pid, int tid,
                        const struct lull_state_call *call)
{
    struct lull_state_polled polled[LULL_STATE_POLLED_MOST];
    const size_t n = lull_state_read_polled(pid, call, polled);
    for (size_t i = 0; i < n; i++) {
        lull_state_trace_put(snapshot->trace, LULL_STATE_POLL,
                             (union lull_state_value[]){{tid}, {polled[i].fd}});
    }
}

static void dump_call(struct snapshot *snapshot, int tasks, int pid, int tid)
{
    char path[32];
    struct lull_state_call call;
    g_snprintf(path, sizeof path, "%d/syscall", tid);
    if (!read_text(snapshot, tasks, path) || !lull_state_parse_call(snapshot->text, &call)) {
        return;
    }
    if (snapshot->calls == CALLS_ALL) {
        lull_state_trace_put(snapshot->trace, LULL_STATE_CALL,
                             (union lull_state_value[]){{tid},
                                                        {call.number},
                                                        {(int64_t)call.args[0]},
                                                        {(int64_t)call.args[1]},
                                                        {(int64_t)call.args[2]},
                                                        {(int64_t)call.args[3]},
                                                        {(int64_t)call.args[4]},
                                                        {(int64_t)call.args[5]}});
    }
    dump_polled(snapshot, pid, tid, &call);
}

/* ---- all ---- */

static void dump_process(struct snapshot *snapshot, int proc, int pid)
{
    char path[32];
    g_snprintf(path, sizeof path, "%d/task", pid);
    DIR *tasks = open_directory(proc, path);
    if (!tasks) {
        return;
    }
    bool is_there = false;
    for (const struct dirent *entry; (entry = readdir(tasks));) {
        int tid = number_of(entry->d_name);
        if (tid > 0 && dump_task(snapshot, dirfd(tasks), pid, tid)) {
            is_there = true;
        }
    }
    if (is_there) {
        dump_command(snapshot, proc, pid);
        dump_files(snapshot, proc, pid);
        dump_mappings(snapshot, proc, pid);
    }
    rewinddir(tasks);
    for (const struct dirent *entry; snapshot->calls != CALLS_NONE && (entry = readdir(tasks));) {
        const int tid = number_of(entry->d_name);
        if (tid > 0) {
            dump_call(snapshot, dirfd(tasks), pid, tid);
        }
    }
    closedir(tasks);
}

/* Tracers number tasks as the first pid namespace does; in another one /proc has other numbers. */
static bool has_same_numbers(int proc)
{
    struct stat st;
    char self[16];
    ssize_t n = readlinkat(proc, "self", self, sizeof self - 1);
    if (n <= 0 || stat("/proc/self/ns/pid", &st) != 0 || st.st_ino != FIRST_PID_NAMESPACE) {
        return false;
    }
    self[n] = '\0';
    return number_of(self) == getpid();
}

static void dump_processes(struct snapshot *snapshot)
{
    DIR *proc = open_directory(AT_FDCWD, "/proc");
    if (!proc) {
        return;
    }
    if (has_same_numbers(dirfd(proc))) {
        snapshot->sockets = lull_state_sockets_new();
        snapshot->mapped = g_hash_table_new_full(hash_number, is_same_number, g_free, NULL);
        for (const struct dirent *entry; (entry = readdir(proc));) {
            int pid = number_of(entry->d_name);
            if (pid > 0) {
                dump_process(snapshot, dirfd(proc), pid);
            }
        }
        g_hash_table_unref(snapshot->mapped);
        lull_state_sockets_free(snapshot->sockets);
    }
    closedir(proc);
}

static void put_state(struct lull_state_trace *trace, bool with_calls)
{
    struct snapshot snapshot = {.trace = trace, .calls = with_calls ? CALLS_ALL : CALLS_NONE};
    lull_state_trace_put(trace, LULL_STATE_START, NULL);
    lull_state_dump_containers(trace, "");
    dump_processes(&snapshot);
    lull_state_dump_machine(trace);
    lull_state_trace_put(trace, LULL_STATE_END, NULL);
}

static bool write_state(struct lull_state_trace *trace, GError **error)
{
    put_state(trace, false);
    return lull_state_trace_close(trace, error);
}

bool lull_state_write(const struct lull_state_files *files, int64_t epoch_offset_ns, GError **error)
{
    struct lull_state_trace *trace = lull_state_trace_new(files, epoch_offset_ns, error);
    return trace && write_state(trace, error);
}

struct lull_state_trace *lull_state_start(const struct lull_state_files *files,
                                          int64_t epoch_offset_ns, bool with_calls, GError **error)
{
    struct lull_state_trace *trace = lull_state_trace_new(files, epoch_offset_ns, error);
    if (!trace) {
        return NULL;
    }
    put_state(trace, with_calls);
    if (!lull_state_trace_flush(trace)) {
        lull_state_trace_close(trace, error);
        return NULL;
    }
    return trace;
}

bool lull_state_end(struct lull_state_trace *trace, bool with_files, GError **error)
{
    struct snapshot snapshot = {.trace = trace, .calls = CALLS_POLLED};
    lull_state_dump_containers(trace, "");
    if (with_files) {
        dump_processes(&snapshot);
    }
    lull_state_trace_cut(trace);
    return lull_state_trace_close(trace, error);
}

struct lull_state_trace *lull_state_start_at(const struct lull_state_files *files,
                                             int64_t epoch_offset_ns, int64_t time_ns,
                                             GError **error)
{
    struct lull_state_trace *trace = lull_state_trace_new(files, epoch_offset_ns, error);
    if (trace) {
        lull_state_trace_stop_clock(trace, time_ns - epoch_offset_ns);
        put_state(trace, true);
    }
    return trace;
}
