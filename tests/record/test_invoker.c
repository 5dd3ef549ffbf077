/* SPDX-License-Identifier: MIT */
/* Work that is done as who records, whatever rights the recorder still has: the kernel's own account of the process that
 * does it (proc_pid_status(5)). Needs root. */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/invoker.h"

#define NOBODY "65534"

/* Ends the process with a status unless it has this user and no capability. */
static void check(void *user)
{
    const char *uid = user;
    g_autofree char *text = NULL;
    g_autofree char *expected = g_strdup_printf("\nUid:\t%s\t%s\t%s\t%s\n", uid, uid, uid, uid);
    if (!g_file_get_contents("/proc/self/status", &text, NULL, NULL) || !strstr(text, expected) ||
        !strstr(text, "\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n") ||
        getenv("SUDO_UID")) {
        _exit(3);
    }
}

static void abort_now(void *user)
{
    _exit(5);
}

static bool is_root(void)
{
    if (geteuid() != 0) {
        g_test_skip("this needs root");
    }
    return geteuid() == 0;
}

static void test_root(void)
{
    struct lull_invoker invoker;
    if (is_root()) {
        g_assert_true(lull_invoker_init(&invoker, NULL));
        g_assert_true(lull_invoker_do(&invoker, check, (char *)"0"));
        g_assert_false(lull_invoker_do(&invoker, check, (char *)"1"));
        g_assert_false(lull_invoker_do(&invoker, abort_now, NULL));
        lull_invoker_clear(&invoker);
    }
}

/* Before and after the recorder has become the user itself, and keeps some of root's rights. */
static void test_sudo(void)
{
    struct lull_invoker invoker;
    int status;
    if (!is_root()) {
        return;
    }
    g_setenv("SUDO_UID", NOBODY, TRUE);
    g_setenv("SUDO_GID", NOBODY, TRUE);
    g_assert_true(lull_invoker_init(&invoker, NULL));
    g_assert_true(lull_invoker_do(&invoker, check, (char *)NOBODY));
    const pid_t recorder = fork();
    if (recorder == 0) {
        _exit(!lull_invoker_limit(&invoker, false, NULL, 0, NULL) ||
              !lull_invoker_do(&invoker, check, (char *)NOBODY));
    }
    g_assert_cmpint(waitpid(recorder, &status, 0), ==, recorder);
    g_assert_cmpint(status, ==, 0);
    lull_invoker_clear(&invoker);
    g_unsetenv("SUDO_UID");
    g_unsetenv("SUDO_GID");
}

int main(int argc, char **argv)
{
    g_unsetenv("SUDO_UID");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/invoker/root", test_root);
    g_test_add_func("/invoker/sudo", test_sudo);
    return g_test_run();
}
