/* SPDX-License-Identifier: MIT */
/* Opens the events of the tracer perf: a group on each CPU, whose leader has the ring buffer that
 * all of the group write to. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/perf/perf.h"

/* Of one CPU and of all. */
#define BUFFER_BYTES (UINT64_C(16) << 20)
#define ALL_BUFFERS_BYTES (UINT64_C(512) << 20)
#define LEAST_BUFFER_BYTES (UINT64_C(1) << 20)

int perfrec_open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

void perfrec_open_error(int why, const char *name, GError **error)
{
    const char *help = "";
    if (why == EACCES || why == EPERM) {
        help = "; run as root, or with the capability CAP_PERFMON";
    } else if (why == EMFILE) {
        help = "; raise the limit of open files (ulimit -Hn)";
    } else if (why == ENOSYS) {
        help = "; this kernel is built without perf events";
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                "the kernel does not open the perf event %s: %s%s", name, g_strerror(why), help);
}

/* CPUs as "0-3,5". */
bool perfrec_online_cpus(GArray *cpus, GError **error)
{
    static const char path[] = "/sys/devices/system/cpu/online";
    char *text;
    if (!g_file_get_contents(path, &text, NULL, error)) {
        return false;
    }
    for (char *at = text; g_ascii_isdigit(*at);) {
        int first = (int)g_ascii_strtoull(at, &at, 10), last = first;
        if (*at == '-') {
            last = (int)g_ascii_strtoull(at + 1, &at, 10);
        }
        for (int cpu = first; cpu <= last; cpu++) {
            g_array_append_val(cpus, cpu);
        }
        at += *at == ',';
    }
    g_free(text);
    if (cpus->len == 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT, "%s: no list of CPUs", path);
    }
    return cpus->len > 0;
}

uint64_t perfrec_buffer_bytes(const struct lull_tracer_request *request)
{
    uint64_t requested = request->buffer_bytes;
    if (requested == 0) {
        uint64_t cpus = (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
        const uint64_t each = request->stack_bytes > 0 ? 4 * BUFFER_BYTES : BUFFER_BYTES;
        requested = CLAMP(ALL_BUFFERS_BYTES / cpus, LEAST_BUFFER_BYTES, each);
    }
    uint64_t bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    while (bytes < requested && bytes <= UINT64_MAX / 4) {
        bytes *= 2;
    }
    return bytes;
}

/* What is seen there beside perf (names.bpf.c, packets.bpf.h) has to be seen before what perf sees; the kernel calls in the
 * order of registration, and one of perf lasts until nobody has the event. */
static bool is_ordered(const char *name)
{
    static const char *const names[] = {"raw_syscalls:sys_exit", "net:net_dev_queue",
                                        "net:netif_receive_skb", NULL};
    return g_strv_contains(names, name);
}

/* One event on a CPU, of the group that `leader` leads, or (-1) that it leads itself; it writes to the
 * buffer of `first`, if that is not -1. */
static int open_one(struct perfrec_open *open, struct perfrec_class *class, int cpu, int leader,
                    int first, GError **error)
{
    int fd = perfrec_open_event(&class->attr, -1, cpu, leader);
    if (fd < 0) {
        perfrec_open_error(errno, class->name, error);
        return -1;
    }
    g_array_append_val(open->fds, fd);
    if (!is_ordered(class->name)) {
        g_array_append_val(open->late, fd);
    }
    uint64_t id;
    if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0 ||
        (first >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, first) < 0)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot set up the perf event %s: %s",
                    class->name, g_strerror(errno));
        return -1;
    }
    g_array_append_val(class->ids, id);
    return fd;
}

static bool open_cpu(struct perfrec_open *open, const struct perfrec_classes *classes,
                     uint32_t which, uint64_t bytes, GError **error)
{
    struct perfrec_ring *ring = &open->rings[which];
    struct perfrec_class *first = &classes->all[0];
    g_autofree int *fds = g_new(int, classes->n);
    fds[0] = open_one(open, first, open->cpus[which], -1, -1, error);
    if (fds[0] < 0 || !perfrec_ring_map(ring, fds[0], bytes, first->attr.write_backward, error)) {
        return false;
    }
    for (uint32_t i = 1; i < classes->n; i++) {
        struct perfrec_class *class = &classes->all[i];
        const bool is_leader = class->leader == i;
        fds[i] = open_one(open, class, open->cpus[which], is_leader ? -1 : fds[class->leader],
                          fds[0], error);
        if (fds[i] < 0) {
            return false;
        }
        if (is_leader) {
            g_array_append_val(open->leaders, fds[i]);
        }
    }
    return true;
}

/* A descriptor for each event and CPU may be more than a process may have. What is open stays open
 * when the limit is brought back, so nothing that this process starts has another limit. */
static bool raise_limit(struct rlimit *before)
{
    if (getrlimit(RLIMIT_NOFILE, before) < 0) {
        return false;
    }
    struct rlimit raised = {before->rlim_max, before->rlim_max};
    return setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

/* Kernels before 6.0 do not count what an event lost. */
static bool can_count_lost(const struct perfrec_class *class)
{
    int fd = perfrec_open_event(&class->attr, -1, 0, -1);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0 || errno != EINVAL;
}

bool perfrec_open_all(struct perfrec_open *open, const struct perfrec_classes *classes,
                      const struct lull_tracer_request *request, GError **error)
{
    open->fds = g_array_new(FALSE, FALSE, sizeof(int));
    open->late = g_array_new(FALSE, FALSE, sizeof(int));
    open->leaders = g_array_new(FALSE, FALSE, sizeof(int));
    GArray *cpus = g_array_new(FALSE, FALSE, sizeof(int));
    bool is_good = perfrec_online_cpus(cpus, error);
    open->n_rings = cpus->len;
    open->cpus = (int *)(void *)g_array_free(cpus, FALSE);
    open->rings = g_new0(struct perfrec_ring, open->n_rings);
    bool counts_lost = can_count_lost(&classes->all[0]);
    for (uint32_t i = 0; !counts_lost && i < classes->n; i++) {
        classes->all[i].attr.read_format &= ~(uint64_t)PERFREC_FORMAT_LOST;
    }
    struct rlimit limit;
    bool is_raised = raise_limit(&limit);
    for (uint32_t i = 0; is_good && i < open->n_rings; i++) {
        is_good = open_cpu(open, classes, i, perfrec_buffer_bytes(request), error);
    }
    if (is_raised) {
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (!is_good) {
        perfrec_open_clear(open);
    }
    return is_good;
}

static bool switch_on(int fd, bool is_on, GError **error)
{
    if (ioctl(fd, is_on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) < 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot %s perf events: %s",
                    is_on ? "start" : "stop", g_strerror(errno));
        return false;
    }
    return true;
}

bool perfrec_open_enable(const struct perfrec_open *open, bool is_on, GError **error)
{
    for (uint32_t i = 0; i < open->n_rings; i++) {
        if (!switch_on(open->rings[i].fd, is_on, error)) {
            return false;
        }
    }
    for (guint i = 0; i < open->leaders->len; i++) {
        if (!switch_on(g_array_index(open->leaders, int, i), is_on, error)) {
            return false;
        }
    }
    return true;
}

/* Of a read of `n` bytes: the value of the event, and what it lost; or of a group how many there are,
 * two times, and of each value, identifier and what it lost, the leader first. */
static uint64_t lost_of(const uint64_t *words, ssize_t n)
{
    enum { TIMES = 2, EACH = 3 };
    if (n == 2 * sizeof *words) {
        return words[1];
    }
    const uint64_t n_words = n > 0 ? (uint64_t)n / sizeof *words : 0;
    const bool is_group = n_words > 1 + TIMES && words[0] == (n_words - 1 - TIMES) / EACH &&
                          (n_words - 1 - TIMES) % EACH == 0;
    return is_group ? words[1 + TIMES + EACH - 1] : 0;
}

uint64_t perfrec_open_lost(const struct perfrec_open *open)
{
    uint64_t lost = 0, words[64];
    for (guint i = 0; i < open->fds->len; i++) {
        lost += lost_of(words, read(g_array_index(open->fds, int, i), words, sizeof words));
    }
    return lost;
}

static gint compare_fds(gconstpointer a, gconstpointer b)
{
    return *(const int *)a - *(const int *)b;
}

/* In a process of its own: keeps these, in order, until nobody has the other end of the pipe, and closes them by its end. */
static G_NORETURN void keep(const GArray *fds, int pipe)
{
    char nothing;
    unsigned next = 0;
    for (guint i = 0; i < fds->len; i++) {
        const unsigned fd = (unsigned)g_array_index(fds, int, i);
        if (fd > next) {
            syscall(SYS_close_range, next, fd - 1, 0u);
        }
        next = fd + 1;
    }
    syscall(SYS_close_range, next, ~0u, 0u);
    (void)!read(pipe, &nothing, 1);
    _exit(0);
}

/* Whoever is the last to close a tracepoint waits until no CPU can be in it: 40 ms for each of 60, one after the other. They
 * are stopped, so nobody has to wait for that: a process that is nobody's child has them, too, and closes them after us. */
static void close_events(const struct perfrec_open *open)
{
    int ends[2];
    const bool has_pipe = open->late->len && pipe2(ends, O_CLOEXEC) == 0;
    const pid_t child = has_pipe ? fork() : -1;
    if (child == 0) {
        if (fork() == 0) {
            g_array_append_val(open->late, ends[0]);
            g_array_sort(open->late, compare_fds);
            keep(open->late, ends[0]);
        }
        _exit(0);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    for (guint i = 0; i < open->fds->len; i++) {
        close(g_array_index(open->fds, int, i));
    }
    if (has_pipe) {
        close(ends[0]);
        close(ends[1]);
    }
}

void perfrec_open_clear(struct perfrec_open *open)
{
    for (uint32_t i = 0; i < open->n_rings; i++) {
        perfrec_ring_unmap(&open->rings[i]);
    }
    close_events(open);
    g_array_free(open->fds, TRUE);
    g_array_free(open->late, TRUE);
    g_array_free(open->leaders, TRUE);
    g_free(open->rings);
    g_free(open->cpus);
    memset(open, 0, sizeof *open);
}
