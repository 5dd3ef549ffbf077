/* SPDX-License-Identifier: MIT */
/* A snapshot, and `lull critpath` of it as a program of its own: it has its pager, and may be interrupted. */
#include "cmd/top_path.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "record/control.h"

#define LOOK_MS 200

static void unblock_signals(void *user)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Also of those that a signalfd will read. */
static bool has_signal(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
            sigismember(&pending, SIGHUP) == 1 || sigismember(&pending, SIGQUIT) == 1);
}

/* The terminal gives whole lines then. */
static void wait_for_enter(void)
{
    struct pollfd key = {.fd = STDIN_FILENO, .events = POLLIN};
    char typed[256];
    printf("Press Enter to go on with lull top.");
    fflush(stdout);
    while (!has_signal() && poll(&key, 1, LOOK_MS) == 0) {
    }
    if (key.revents) {
        (void)!read(STDIN_FILENO, typed, sizeof typed);
    }
}

bool lull_top_path(uint32_t pid, GError **error)
{
    g_autofree char *snapshot = lull_control_snapshot(0, NULL, error);
    g_autofree char *number = g_strdup_printf("%u", pid);
    char *program[] = {
        (char *)"/proc/self/exe", (char *)"critpath", (char *)"--pid", number, snapshot, NULL};
    if (!snapshot) {
        return false;
    }
    printf("lull critpath --pid %u %s\n", pid, snapshot);
    fflush(stdout);
    const bool done = g_spawn_sync(NULL, program, NULL, G_SPAWN_CHILD_INHERITS_STDIN,
                                   unblock_signals, NULL, NULL, NULL, NULL, error);
    wait_for_enter();
    return done;
}
