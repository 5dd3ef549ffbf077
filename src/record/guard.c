/* SPDX-License-Identifier: MIT */
/* The process that cleans up. It and the keeper have a session of their own, so that no Ctrl-C and
 * no closed terminal reaches them, and hold no file of the recorder, so that nobody waits for their
 * end. */
#include "record/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"

/* Of files that a tracer made in the directory of a flight recorder. */
#define DEPTH 4
#define CLEAN_UPS 60
#define CLEAN_UP_PAUSE_US (50 * 1000)

/* A message is a letter, what it is about, and a NUL. */
enum message {
    MESSAGE_CONTROL = 'c',
    MESSAGE_TRACER = 't',   /* number of its kind, a space, the name */
    MESSAGE_LEFTOVER = 'f', /* a file */
    MESSAGE_END = 'e',
};

/* What both processes have instead of the recorder's files: 0 to 2 are /dev/null. */
enum { FIRST = 3, MOST = 2 };

/* ---- in the guard ---- */

struct reported {
    char *control, *tracer, *leftover;
    bool has_ended;
};

static void take(struct reported *reported, const char *message)
{
    char **text = message[0] == MESSAGE_CONTROL    ? &reported->control
                  : message[0] == MESSAGE_TRACER   ? &reported->tracer
                  : message[0] == MESSAGE_LEFTOVER ? &reported->leftover
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
    if (reported->leftover) {
        unlink(reported->leftover);
    }
    if (reported->control) {
        lull_tree_remove_busy(reported->control, DEPTH);
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

/* Leaves all that belongs to the recorder but these files, which become FIRST and those after it;
 * the caller's numbers may be any. */
static void leave(const int *fds, int n)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    int kept[MOST];
    setsid();
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
        signal(signals[i], SIG_IGN);
    }
    for (int i = 0; i < n; i++) {
        kept[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST + MOST);
    }
    const int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < FIRST && null >= 0; i++) {
        dup2(null, i);
    }
    for (int i = 0; i < n; i++) {
        dup2(kept[i], FIRST + i);
    }
    syscall(SYS_close_range, (unsigned)(FIRST + n), ~0u, 0u);
}

/* Holds the recorder's end of the keeper's socket too, so that the keeper starts to clean up when
 * no tracer writes any more. */
static void run(int pipe, const int sockets[static 2], const struct lull_invoker *invoker,
                pid_t recorder)
{
    const pid_t keeper = fork();
    if (keeper == 0) {
        leave(&sockets[1], 1);
        lull_keeper_serve(FIRST, invoker);
        _exit(0);
    }
    leave((const int[]){pipe, sockets[0]}, 2);
    if (keeper > 0) {
        serve(FIRST, recorder);
    }
    close(FIRST + 1);
    while (keeper > 0 && waitpid(keeper, NULL, 0) < 0 && errno == EINTR) {
    }
}

/* ---- in the recorder ---- */

bool lull_guard_start(struct lull_guard *guard, struct lull_keeper *keeper,
                      const struct lull_invoker *invoker, GError **error)
{
    const pid_t recorder = getpid();
    int ends[2], sockets[2];
    guard->pipe = keeper->socket = keeper->reserve = -1;
    if (pipe2(ends, O_CLOEXEC) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0 ||
        (guard->pid = fork()) < 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "the helper process that cleans up cannot be started: %s", g_strerror(errno));
        return false;
    }
    if (guard->pid == 0) {
        run(ends[0], sockets, invoker, recorder);
        _exit(0);
    }
    close(ends[0]);
    close(sockets[1]);
    guard->pipe = ends[1];
    keeper->socket = sockets[0];
    return lull_keeper_meet(keeper, error);
}

/* A guard that somebody has killed is no reason to stop. */
static void report(const struct lull_guard *guard, enum message letter, const char *text)
{
    g_autofree char *message = g_strdup_printf("%c%s", letter, text);
    if (guard->pipe >= 0) {
        (void)!lull_file_write(guard->pipe, message, strlen(message) + 1);
    }
}

void lull_guard_report_control(const struct lull_guard *guard, const char *dir)
{
    report(guard, MESSAGE_CONTROL, dir);
}

void lull_guard_report_leftover(const struct lull_guard *guard, const char *path)
{
    report(guard, MESSAGE_LEFTOVER, path);
}

void lull_guard_report_tracer(const struct lull_guard *guard, const struct lull_tracer_kind *kind,
                              const char *name)
{
    for (uint32_t i = 0; lull_tracers[i]; i++) {
        if (lull_tracers[i] == kind) {
            g_autofree char *text = g_strdup_printf("%u %s", i, name);
            report(guard, MESSAGE_TRACER, text);
        }
    }
}

/* The kernel says at our ends that nobody has the others. */
bool lull_guard_is_there(const struct lull_guard *guard, const struct lull_keeper *keeper,
                         GError **error)
{
    struct pollfd ends[] = {{.fd = guard->pipe}, {.fd = keeper->socket}};
    const bool is_gone = poll(ends, G_N_ELEMENTS(ends), 0) > 0 &&
                         ((ends[0].revents | ends[1].revents) & (POLLERR | POLLHUP));
    if (is_gone) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_IO,
                            ends[1].revents
                                ? "the process that writes recordings: it has ended; start again"
                                : "the process that cleans up: it has ended; start again");
    }
    return !is_gone;
}

void lull_guard_end(struct lull_guard *guard, struct lull_keeper *keeper)
{
    lull_keeper_leave(keeper);
    if (guard->pipe < 0) {
        return;
    }
    report(guard, MESSAGE_END, "");
    close(guard->pipe);
    guard->pipe = -1;
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR) {
    }
}
