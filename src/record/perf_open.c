/* Opens the events of the tracer perf: a group on each CPU, whose leader has the ring buffer that
 * all of the group write to. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/perf.h"

#define DEFAULT_BUFFER (UINT64_C(4) << 20)

int perfrec_open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

void perfrec_open_error(int why, const char *name, GError **error)
{
    const char *help = "";
    if (why == EACCES || why == EPERM)
        help = "; run as root, or with the capability CAP_PERFMON";
    else if (why == EMFILE)
        help = "; raise the limit of open files (ulimit -Hn)";
    else if (why == ENOSYS)
        help = "; this kernel is built without perf events";
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                "the kernel does not open the perf event %s: %s%s", name, g_strerror(why), help);
}

/* CPUs as "0-3,5". */
static bool online_cpus(GArray *cpus, GError **error)
{
    static const char path[] = "/sys/devices/system/cpu/online";
    char *text;
    if (!g_file_get_contents(path, &text, NULL, error))
        return false;
    for (char *at = text; g_ascii_isdigit(*at);) {
        int first = (int)g_ascii_strtoull(at, &at, 10), last = first;
        if (*at == '-')
            last = (int)g_ascii_strtoull(at + 1, &at, 10);
        for (int cpu = first; cpu <= last; cpu++)
            g_array_append_val(cpus, cpu);
        at += *at == ',';
    }
    g_free(text);
    if (cpus->len == 0)
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT, "%s: no list of CPUs", path);
    return cpus->len > 0;
}

/* The size of the ring buffer of a CPU: what is asked for, as the next power of two. */
static uint64_t buffer_bytes(const struct lull_tracer_request *request)
{
    uint64_t asked = request->buffer_bytes ? request->buffer_bytes : DEFAULT_BUFFER;
    uint64_t bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    while (bytes < asked && bytes <= UINT64_MAX / 4)
        bytes *= 2;
    return bytes;
}

/* One event of a group; the first, with `group` -1, is the group's leader. */
static bool open_one(struct perfrec_open *open, struct perfrec_class *class, pid_t pid, int cpu,
                     int group, int output, GError **error)
{
    int fd = perfrec_open_event(&class->attr, pid, cpu, group);
    if (fd < 0) {
        perfrec_open_error(errno, class->name, error);
        return false;
    }
    g_array_append_val(open->fds, fd);
    uint64_t id;
    if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0 ||
        (output >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, output) < 0) ||
        (class->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, class->filter) < 0)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot set up the perf event %s: %s",
                    class->name, g_strerror(errno));
        return false;
    }
    g_array_append_val(class->ids, id);
    if (group < 0)
        g_array_append_val(open->leaders, fd);
    return true;
}

/* The group of `scope`. Its leader writes to `output`, or to a buffer of its own if that is -1. */
static bool open_group(struct perfrec_open *open, const struct perfrec_classes *classes,
                       enum perfrec_scope scope, pid_t pid, struct perfrec_ring *ring, int cpu,
                       GError **error)
{
    int leader = -1;
    for (uint32_t i = 0; i < classes->n; i++) {
        struct perfrec_class *class = &classes->all[i];
        if (class->scope != scope)
            continue;
        if (!open_one(open, class, pid, cpu, leader, ring->page ? ring->fd : -1, error))
            return false;
        int fd = g_array_index(open->fds, int, open->fds->len - 1);
        if (leader < 0)
            leader = fd;
        if (!ring->page &&
            !perfrec_ring_map(ring, fd, ring->bytes, class->attr.write_backward, error))
            return false;
    }
    return true;
}

/* A descriptor for each event and CPU may be more than a process may have. What is open stays open
 * when the limit is brought back, so nothing that this process starts has another limit. */
static bool raise_limit(struct rlimit *before)
{
    if (getrlimit(RLIMIT_NOFILE, before) < 0)
        return false;
    struct rlimit raised = {before->rlim_max, before->rlim_max};
    return setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

bool perfrec_open_machine(struct perfrec_open *open, struct perfrec_classes *classes,
                          const struct lull_tracer_request *request, GError **error)
{
    open->fds = g_array_new(FALSE, FALSE, sizeof(int));
    open->leaders = g_array_new(FALSE, FALSE, sizeof(int));
    GArray *cpus = g_array_new(FALSE, FALSE, sizeof(int));
    bool is_good = online_cpus(cpus, error);
    open->n_rings = cpus->len;
    open->cpus = (int *)(void *)g_array_free(cpus, FALSE);
    open->rings = g_new0(struct perfrec_ring, open->n_rings);
    struct rlimit limit;
    bool is_raised = raise_limit(&limit);
    for (uint32_t i = 0; is_good && i < open->n_rings; i++) {
        open->rings[i].bytes = buffer_bytes(request);
        is_good =
            open_group(open, classes, PERFREC_MACHINE, -1, &open->rings[i], open->cpus[i], error);
    }
    if (is_raised)
        setrlimit(RLIMIT_NOFILE, &limit);
    if (!is_good)
        perfrec_open_clear(open);
    return is_good;
}

bool perfrec_open_enable(const struct perfrec_open *open, bool is_on, GError **error)
{
    for (guint i = 0; i < open->leaders->len; i++) {
        int fd = g_array_index(open->leaders, int, i);
        if (ioctl(fd, is_on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) < 0) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot %s perf events: %s",
                        is_on ? "start" : "stop", g_strerror(errno));
            return false;
        }
    }
    return true;
}

void perfrec_open_clear(struct perfrec_open *open)
{
    for (uint32_t i = 0; i < open->n_rings; i++)
        perfrec_ring_unmap(&open->rings[i]);
    for (guint i = 0; i < open->fds->len; i++)
        close(g_array_index(open->fds, int, i));
    g_array_free(open->fds, TRUE);
    g_array_free(open->leaders, TRUE);
    g_free(open->rings);
    g_free(open->cpus);
    memset(open, 0, sizeof *open);
}
