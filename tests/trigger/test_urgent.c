/* SPDX-License-Identifier: MIT */
/* What the kernel says of who is urgent: its policy, its niceness, and those of whom it starts. */
#include <errno.h>
#include <glib.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trigger/urgent.h"

#define WINDOW_US 150000 /* longer than that of the judge */

static bool is_real_time(pid_t pid)
{
    return (sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK) == SCHED_RR;
}

/* Of a thread that is urgent: real time, or where that cannot be, before all others that are usual. */
static bool is_urgent(pid_t pid)
{
    return is_real_time(pid) || getpriority(PRIO_PROCESS, (id_t)pid) < 0;
}

static void spin(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        __asm__ volatile("");
    }
}

static pid_t start(void (*what)(void))
{
    const pid_t pid = fork();
    if (pid == 0) {
        what();
        _exit(0);
    }
    g_assert_cmpint(pid, >, 0);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

static bool is_allowed(void)
{
    if (lull_urgent_set(0, true)) {
        g_assert_true(lull_urgent_set(0, false));
        return true;
    }
    g_assert_true(errno == EPERM || errno == EACCES);
    g_test_skip("nobody here may have a priority");
    return false;
}

static void tell_own(void)
{
    _exit(is_urgent(0) ? 1 : 0);
}

static void test_children(void)
{
    int status;
    if (!is_allowed()) {
        return;
    }
    g_assert_true(lull_urgent_set(0, true));
    g_assert_true(is_urgent(0));
    const pid_t child = start(tell_own);
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(lull_urgent_set(0, false));
    g_assert_false(is_urgent(0));
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
}

/* Who does not stop gets no more than others, until it does. */
static void test_busy(void)
{
    struct lull_urgent urgent;
    if (!is_allowed()) {
        return;
    }
    const pid_t busy = start(spin);
    struct sched_param own, other;
    lull_urgent_set(0, true); /* else it would not let us run */
    g_assert_true(lull_urgent_start(&urgent, busy));
    g_assert_true(is_urgent(busy));
    g_assert_true(sched_getparam(0, &own) == 0 && sched_getparam(busy, &other) == 0);
    g_assert_true(!is_real_time(0) || !is_real_time(busy) ||
                  other.sched_priority > own.sched_priority);
    const bool is_certain = is_real_time(busy);
    g_usleep(WINDOW_US);
    lull_urgent_check(&urgent);
    g_assert_true(!is_certain || !is_urgent(busy));
    kill(busy, SIGSTOP);
    g_usleep(WINDOW_US);
    lull_urgent_check(&urgent); /* some of that it may have run */
    g_usleep(WINDOW_US);
    lull_urgent_check(&urgent);
    g_assert_true(is_urgent(busy));
    lull_urgent_set(0, false);
    end(busy);
}

static void rest(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pause();
}

static void test_idle(void)
{
    struct lull_urgent urgent;
    if (!is_allowed()) {
        return;
    }
    const pid_t idle = start(rest);
    g_assert_true(lull_urgent_start(&urgent, idle));
    for (unsigned i = 0; i < 2; i++) {
        g_usleep(WINDOW_US);
        lull_urgent_check(&urgent);
        g_assert_true(is_urgent(idle));
    }
    end(idle);
    lull_urgent_check(&urgent); /* of a process that has gone nothing happens */
}

static void test_nobody(void)
{
    g_assert_false(lull_urgent_set(-1, true));
    g_assert_cmpint(errno, ==, EINVAL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/urgent/children", test_children);
    g_test_add_func("/urgent/busy", test_busy);
    g_test_add_func("/urgent/idle", test_idle);
    g_test_add_func("/urgent/nobody", test_nobody);
    return g_test_run();
}
