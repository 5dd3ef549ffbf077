/* SPDX-License-Identifier: MIT */
/* Starts the pager and waits for it. Views find out by lull_view_is_terminal() that the pipe to it
 * leads to a terminal. */
#include "cmd/pager.h"
#include "cmd/say.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "view/view.h"

/* What the user wants, if it is there; NULL: no pager. Free with g_free(). */
static char *find_pager(void)
{
    const char *wanted = g_getenv("LULL_PAGER");
    if (!wanted) {
        wanted = g_getenv("PAGER");
    }
    if (!wanted) {
        wanted = "less";
    }
    if (!*wanted || strcmp(wanted, "cat") == 0) {
        return NULL;
    }
    /* A shell runs it, and would fail only after the output has gone into its pipe. */
    g_autofree char *word = g_strndup(wanted, strcspn(wanted, " \t"));
    g_autofree char *path = g_find_program_in_path(word);
    if (!path && !strpbrk(word, "'\"\\$=~`;|&<>(){}")) {
        if (strcmp(wanted, "less") != 0) {
            lull_say("lull: the pager “%s” is not installed\n", word);
        }
        return NULL;
    }
    return g_strdup(wanted);
}

/* The child: becomes the pager. */
static void run_pager(const char *command, const int ends[2])
{
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    signal(SIGPIPE, SIG_DFL);
    /* If we are interrupted, it ends too and does not wait for keys beside the shell. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    /* Colours as they are; no pager for what fits the screen; what was shown stays. */
    setenv("LESS", "FRX", 0);
    setenv("LV", "-c", 0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* Where views ask how wide the terminal is. */
static void keep_width(void)
{
    struct winsize size;
    if (!g_getenv("COLUMNS") && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        char columns[16];
        g_snprintf(columns, sizeof columns, "%d", size.ws_col);
        setenv("COLUMNS", columns, 1);
    }
}

void lull_pager_start(struct lull_pager *pager)
{
    int ends[2];
    pager->pid = 0;
    g_autofree char *command = isatty(STDOUT_FILENO) ? find_pager() : NULL;
    if (!command || pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    fflush(stdout);
    fflush(stderr);
    const pid_t pid = fork();
    if (pid == 0) {
        run_pager(command, ends);
    }
    if (pid > 0) {
        keep_width();
        lull_view_set_paged(ends[1]);
        if (isatty(STDERR_FILENO)) {
            dup2(ends[1], STDERR_FILENO);
        }
        dup2(ends[1], STDOUT_FILENO);
        pager->pid = pid;
    }
    close(ends[0]);
    close(ends[1]);
}

void lull_pager_end(struct lull_pager *pager)
{
    if (pager->pid <= 0) {
        return;
    }
    /* All is sent: Ctrl-C is for the pager from here on. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    fflush(stdout);
    fflush(stderr);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        close(nowhere);
    }
    while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    pager->pid = 0;
}
