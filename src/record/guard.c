/* The process that cleans up. It has a session of its own, so that no Ctrl-C and no closed terminal
 * reaches it, and holds no file of the recorder, so that nobody waits for its end. */
#include "record/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tree.h"

/* How deep directories are in that of a recording. */
#define DEPTH 4
#define CLEAN_UPS 60
#define CLEAN_UP_PAUSE_US (50 * 1000)

/* A message is a letter, what it is about, and a NUL. */
enum message {
    MESSAGE_PATH = 'p',
    MESSAGE_DIRECTORY = 'd',
    MESSAGE_TRACER = 't', /* number of its kind, a space, the name */
    MESSAGE_END = 'e',
};

/* ---- in the guard ---- */

struct reported {
    char *path, *directory, *tracer;
    bool has_ended;
};

static void take(struct reported *reported, const char *message)
{
    char **text = message[0] == MESSAGE_PATH        ? &reported->path
                  : message[0] == MESSAGE_DIRECTORY ? &reported->directory
                  : message[0] == MESSAGE_TRACER    ? &reported->tracer
                                                    : NULL;
    if (text) {
        g_free(*text);
        *text = g_strdup(message + 1);
    }
    reported->has_ended |= message[0] == MESSAGE_END;
}

/* A process that was killed closes its files one after the other, ours among the first. Only then
 * it ceases to be our parent. */
static void wait_for_death(pid_t recorder)
{
    for (unsigned i = 0; i < 10000 && getppid() == recorder; i++) {
        g_usleep(1000);
    }
}

static void clean_up_all(void)
{
    for (uint32_t i = 0; lull_tracers[i]; i++) {
        if (lull_tracers[i]->clean_up) {
            lull_tracers[i]->clean_up();
        }
    }
}

/* Without a name the tracer was killed while it was set up: what it had made by then belongs to
 * nobody, but the kernel may hold it for some moments more. */
static void clean(const struct reported *reported)
{
    if (reported->tracer) {
        char *name;
        const guint64 kind = g_ascii_strtoull(reported->tracer, &name, 10);
        lull_tracers[kind]->remove(name + 1);
    }
    clean_up_all();
    for (unsigned i = 0; !reported->tracer && i < CLEAN_UPS; i++) {
        g_usleep(CLEAN_UP_PAUSE_US);
        clean_up_all();
    }
    if (reported->directory) {
        lull_tree_remove_busy(reported->directory, DEPTH);
    } else if (reported->path) {
        rmdir(reported->path);
    }
}

static void serve(int fd, pid_t recorder)
{
    struct reported reported = {NULL};
    g_autoptr(GString) message = g_string_new(NULL);
    char c;
    ssize_t n;
    while ((n = read(fd, &c, 1)) == 1 || (n < 0 && errno == EINTR)) {
        if (n == 1 && c != '\0') {
            g_string_append_c(message, c);
        } else if (n == 1) {
            take(&reported, message->str);
            g_string_truncate(message, 0);
        }
    }
    if (!reported.has_ended) {
        wait_for_death(recorder);
        clean(&reported);
    }
}

/* Leaves all that belongs to the recorder but the pipe, which becomes descriptor 3. */
static void leave(int fd)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    setsid();
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
        signal(signals[i], SIG_IGN);
    }
    const int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && null >= 0; i++) {
        dup2(null, i);
    }
    dup2(fd, 3);
    syscall(SYS_close_range, 4u, ~0u, 0u);
}

/* ---- in the recorder ---- */

bool lull_guard_start(struct lull_guard *guard, GError **error)
{
    const pid_t recorder = getpid();
    int ends[2];
    guard->pipe = -1;
    if (pipe2(ends, O_CLOEXEC) != 0 || (guard->pid = fork()) < 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "the process that would clean up cannot be started: %s", g_strerror(errno));
        return false;
    }
    if (guard->pid == 0) {
        leave(ends[0]);
        serve(3, recorder);
        _exit(0);
    }
    close(ends[0]);
    guard->pipe = ends[1];
    return true;
}

/* A guard that somebody has killed is no reason to stop. */
static void report(const struct lull_guard *guard, enum message letter, const char *text)
{
    g_autofree char *message = g_strdup_printf("%c%s", letter, text);
    const size_t size = strlen(message) + 1;
    for (size_t done = 0; guard->pipe >= 0 && done < size;) {
        const ssize_t n = write(guard->pipe, message + done, size - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            break;
        }
    }
}

void lull_guard_report_path(const struct lull_guard *guard, const char *path)
{
    report(guard, MESSAGE_PATH, path);
}

void lull_guard_report_directory(const struct lull_guard *guard, const char *path)
{
    report(guard, MESSAGE_DIRECTORY, path);
}

void lull_guard_report_tracer(const struct lull_guard *guard, const struct lull_tracer *tracer)
{
    for (uint32_t i = 0; lull_tracers[i] && tracer->kind->name_of; i++) {
        if (lull_tracers[i] == tracer->kind) {
            g_autofree char *text = g_strdup_printf("%u %s", i, tracer->kind->name_of(tracer));
            report(guard, MESSAGE_TRACER, text);
        }
    }
}

void lull_guard_end(struct lull_guard *guard)
{
    if (guard->pipe < 0) {
        return;
    }
    report(guard, MESSAGE_END, "");
    close(guard->pipe);
    guard->pipe = -1;
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR) {
    }
}
