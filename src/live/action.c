/* SPDX-License-Identifier: MIT */
/* Starts commands by env, which sets the variables after the environment of the user is made. */
#include "live/action.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: signals that the tracker waits for act as usual. */
static void become_invoker(void *user)
{
    const struct lull_invoker *invoker = user;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (lull_invoker_become(invoker) != 0) {
        _exit(127);
    }
}

void lull_action_run(struct lull_action *action, const char *const *variables)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    lull_action_reap(action, false);
    if (action->pid) {
        action->n_left_out++;
        return;
    }
    g_ptr_array_add(words, "env");
    g_ptr_array_add(words, "--");
    for (; *variables; variables++) {
        g_ptr_array_add(words, (gpointer)*variables);
    }
    static const char *const shell[] = {"sh", "-c", "exec >&2; eval \"$1\"", "sh"};
    for (size_t i = 0; i < G_N_ELEMENTS(shell); i++) {
        g_ptr_array_add(words, (gpointer)shell[i]);
    }
    g_ptr_array_add(words, (gpointer)action->command);
    g_ptr_array_add(words, NULL);
    action->n_run++;
    if (!g_spawn_async(NULL, (char **)words->pdata, NULL,
                       G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, become_invoker,
                       (gpointer)action->invoker, &action->pid, NULL)) {
        action->pid = 0;
        action->n_failed++;
    }
}

void lull_action_reap(struct lull_action *action, bool waits)
{
    pid_t pid = 0;
    int status = 0;
    if (!action->pid) {
        return;
    }
    while ((pid = waitpid(action->pid, &status, waits ? 0 : WNOHANG)) < 0 && errno == EINTR) {
    }
    if (pid) {
        action->n_failed += pid < 0 || status != 0;
        action->pid = 0;
    }
}
