/* SPDX-License-Identifier: MIT */
/* Moves the pages of one CPU's ring buffer to a file. A full page goes from the kernel's buffer to
 * the file system through a pipe (splice), without passing through our memory. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "record/ftrace/ftrace.h"

/* Of the pipe; the kernel may give less. */
#define PIPE_BYTES (1 << 20)
/* How long a reader waits if the kernel says that there are pages and then has none that is full.
 */
#define RETRY_MS 20
/* In a page's header after its time, beside how much of it is filled: events before it were lost,
 * and their number is at its end (RB_MISSED_EVENTS, RB_MISSED_STORED). */
#define MISSED_BITS (3ul << 30)

static bool fail(const struct lull_ftrace_cpu *cpu, const char *what, int why, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s of CPU %d: %s", what, cpu->cpu,
                g_strerror(why));
    return false;
}

bool lull_ftrace_cpu_open(struct lull_ftrace_cpu *cpu, const struct lull_ftrace_instance *instance,
                          GError **error)
{
    g_autofree char *file = g_strdup_printf("per_cpu/cpu%d/trace_pipe_raw", cpu->cpu);
    cpu->raw =
        tracefs_instance_file_open(instance->tracefs, file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (cpu->raw < 0) {
        return fail(cpu, "cannot read the ring buffer", errno, error);
    }
    if (pipe2(cpu->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        cpu->pipe[0] = cpu->pipe[1] = -1;
        return fail(cpu, "no pipe for the ring buffer", errno, error);
    }
    fcntl(cpu->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
    cpu->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return cpu->stop >= 0 || fail(cpu, "no event for the reader", errno, error);
}

bool lull_ftrace_cpu_start_file(struct lull_ftrace_cpu *cpu, const struct lull_keeper *keeper,
                                GError **error)
{
    g_autofree char *name = g_strdup_printf("cpu%d.part", cpu->cpu);
    cpu->bytes = 0;
    cpu->is_cut = false;
    cpu->out = lull_keeper_create_unnamed(keeper, name, error);
    return cpu->out >= 0;
}

/* From the pipe to the file. */
static bool empty_pipe(struct lull_ftrace_cpu *cpu)
{
    while (cpu->in_pipe > 0) {
        const ssize_t n = splice(cpu->pipe[0], NULL, cpu->out, NULL, cpu->in_pipe, SPLICE_F_MOVE);
        if (n > 0) {
            cpu->in_pipe -= (size_t)n;
            cpu->bytes += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            cpu->why = n == 0 ? EIO : errno;
            return false;
        }
    }
    return true;
}

/* Moves full pages; whether there were any. */
static bool move_pages(struct lull_ftrace_cpu *cpu)
{
    const ssize_t n =
        splice(cpu->raw, NULL, cpu->pipe[1], NULL, PIPE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (n > 0) {
        cpu->in_pipe = (size_t)n;
        return empty_pipe(cpu);
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        cpu->why = errno;
    }
    return false;
}

/* What happens while nobody reads would overwrite what comes next. */
static void stop_all(struct lull_ftrace_cpu *cpu)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    (void)!write(cpu->off, "0", 1);
    cpu->off_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Kernels differ in when they wake who polls a ring buffer: at the filling that buffer_percent
 * says, or at once. So a wake-up that brings no full page is followed by a pause. */
static gpointer read_pages(gpointer data)
{
    struct lull_ftrace_cpu *cpu = data;
    struct pollfd ready[] = {{.fd = cpu->stop, .events = POLLIN},
                             {.fd = cpu->raw, .events = POLLIN}};
    bool was_early = false;
    while (cpu->why == 0) {
        const int n = was_early ? poll(ready, 1, RETRY_MS) : poll(ready, 2, -1);
        if (n < 0 && errno != EINTR) {
            cpu->why = errno;
        } else if (n > 0 && ready[0].revents) {
            break;
        }
        was_early = !move_pages(cpu);
        while (cpu->why == 0 && !was_early && move_pages(cpu)) {
        }
    }
    if (lull_tracer_is_full(cpu->why)) {
        stop_all(cpu);
    }
    return NULL;
}

bool lull_ftrace_cpu_start(struct lull_ftrace_cpu *cpu, GError **error)
{
    g_autofree char *name = g_strdup_printf("lull-cpu%d", cpu->cpu);
    cpu->thread = g_thread_try_new(name, read_pages, cpu, error);
    return cpu->thread != NULL;
}

bool lull_ftrace_cpu_check(const struct lull_ftrace_cpu *cpu, GError **error)
{
    const int why = __atomic_load_n(&cpu->why, __ATOMIC_RELAXED);
    return why == 0 || fail(cpu, "cannot save the events", why, error);
}

/* The pages that are not full can only be read. They go through the pipe too, which then holds what
 * did not reach the file. */
static void read_rest(struct lull_ftrace_cpu *cpu)
{
    g_autofree uint8_t *page = g_malloc(cpu->page_bytes);
    ssize_t n;
    while (cpu->why == 0 &&
           ((n = read(cpu->raw, page, cpu->page_bytes)) > 0 || (n < 0 && errno == EINTR))) {
        if (n > 0 && write(cpu->pipe[1], page, (size_t)n) != n) {
            cpu->why = EIO; /* it is empty, and holds more than a page */
        } else if (n > 0) {
            cpu->in_pipe = (size_t)n;
            empty_pipe(cpu);
        }
    }
}

void lull_ftrace_cpu_stop(struct lull_ftrace_cpu *cpu)
{
    if (cpu->thread) {
        const uint64_t one = 1;
        while (write(cpu->stop, &one, sizeof one) < 0 && errno == EINTR) {
        }
        g_thread_join(g_steal_pointer(&cpu->thread));
    }
}

bool lull_ftrace_cpu_finish(struct lull_ftrace_cpu *cpu, GError **error)
{
    cpu->why = 0;
    if (empty_pipe(cpu)) {
        while (move_pages(cpu)) {
        }
        read_rest(cpu);
    }
    return lull_ftrace_cpu_check(cpu, error);
}

bool lull_ftrace_cpu_start_there(struct lull_ftrace_cpu *cpu, GError **error)
{
    const off_t at = sizeof(uint64_t);
    unsigned long commit;
    if (cpu->bytes < cpu->page_bytes) {
        return true;
    }
    errno = 0;
    bool done = pread(cpu->out, &commit, sizeof commit, at) == sizeof commit;
    commit = done ? commit & ~MISSED_BITS : 0;
    done = done && pwrite(cpu->out, &commit, sizeof commit, at) == sizeof commit;
    return done || fail(cpu, "cannot save the events", errno ? errno : EIO, error);
}

/* What could not be saved is not to come before what is saved next. */
static void forget(struct lull_ftrace_cpu *cpu)
{
    uint8_t bytes[4096];
    while (cpu->in_pipe > 0 && read(cpu->pipe[0], bytes, sizeof bytes) > 0) {
    }
    cpu->in_pipe = 0;
    cpu->why = 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

void lull_ftrace_cpu_end_file(struct lull_ftrace_cpu *cpu)
{
    forget(cpu);
    close_fd(&cpu->out);
}

void lull_ftrace_cpu_close(struct lull_ftrace_cpu *cpu)
{
    lull_ftrace_cpu_end_file(cpu);
    close_fd(&cpu->raw);
    close_fd(&cpu->pipe[0]);
    close_fd(&cpu->pipe[1]);
    close_fd(&cpu->stop);
}
