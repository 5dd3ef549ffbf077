/* SPDX-License-Identifier: MIT */
/* Whose an LTTng session is: processes that live, ended, or got the pid of another. */
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/lttng/lttng.h"

/* A child that tells the name it would give a session, and waits to be killed. */
static pid_t start_recorder(char name[static 256])
{
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    const pid_t pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        char *own = lull_lttng_session_name();
        const ssize_t size = (ssize_t)strlen(own) + 1;
        _exit(write(ends[1], own, (size_t)size) == size ? pause() : 1);
    }
    const ssize_t n = read(ends[0], name, 256); /* less than PIPE_BUF comes whole */
    g_assert_cmpint(n, >, 1);
    g_assert_cmpint(name[n - 1], ==, '\0');
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static void test_own(void)
{
    g_autofree char *name = lull_lttng_session_name();
    g_autofree char *start = g_strdup_printf("lull-%d-", (int)getpid());
    g_assert_true(g_str_has_prefix(name, start));
    g_assert_false(lull_lttng_is_left(name));
}

static void test_killed(void)
{
    char name[256];
    const pid_t pid = start_recorder(name);
    siginfo_t info;
    g_assert_false(lull_lttng_is_left(name));
    kill(pid, SIGKILL);
    g_assert_cmpint(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), ==, 0);
    g_assert_true(lull_lttng_is_left(name)); /* nobody has waited for it */
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    g_assert_true(lull_lttng_is_left(name));
}

/* The pid is that of a process that lives, but of one that started at another time. */
static void test_pid_again(void)
{
    char name[256];
    const pid_t pid = start_recorder(name);
    g_auto(GStrv) parts = g_strsplit(name, "-", -1);
    g_assert_cmpuint(g_strv_length(parts), ==, 4);
    g_autofree char *earlier = g_strdup_printf("lull-%s-1%s-%s", parts[1], parts[2], parts[3]);
    g_assert_false(lull_lttng_is_left(name));
    g_assert_true(lull_lttng_is_left(earlier));
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

static void test_not_ours(void)
{
    char name[256];
    const pid_t pid = start_recorder(name);
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    g_auto(GStrv) parts = g_strsplit(name, "-", -1);
    g_assert_cmpuint(g_strv_length(parts), ==, 4);
    /* In another pid namespace the process may live. */
    g_autofree char *elsewhere = g_strdup_printf("lull-%s-%s-1%s", parts[1], parts[2], parts[3]);
    g_assert_false(lull_lttng_is_left(elsewhere));
    g_autofree char *longer = g_strconcat(name, "x", NULL);
    g_assert_false(lull_lttng_is_left(longer));
    g_assert_false(lull_lttng_is_left("auto-20261121-150000"));
    g_assert_false(lull_lttng_is_left("lull-1"));
    g_assert_false(lull_lttng_is_left("lull--1-1-1"));
    g_assert_false(lull_lttng_is_left(""));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/record/lttng/own", test_own);
    g_test_add_func("/record/lttng/killed", test_killed);
    g_test_add_func("/record/lttng/pid-again", test_pid_again);
    g_test_add_func("/record/lttng/not-ours", test_not_ours);
    return g_test_run();
}
