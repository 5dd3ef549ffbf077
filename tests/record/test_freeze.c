/* SPDX-License-Identifier: MIT */
/* A flight recorder of ftrace's stops at once, whatever other programs do with ftrace meanwhile. The kernel says whether it
 * stands still. Root only. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/kept.h"
#include "record/tracer.h"

#define MS INT64_C(1000000)
#define ROUNDS 300

extern const struct lull_tracer_kind lull_tracer_ftrace;

static int64_t now_ns(void)
{
    return g_get_monotonic_time() * 1000;
}

static char *path_of(const char *instance, const char *file)
{
    return g_build_filename("/sys/kernel/tracing/instances", instance, file, NULL);
}

/* Somebody who sets up ftrace and takes it down again, all the time, and is no more urgent than anybody. The kernel holds
 * a lock of all of ftrace meanwhile. */
static pid_t start_other(const char *name)
{
    const pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        g_autofree char *command =
            g_strdup_printf("cd /sys/kernel/tracing/instances && while :; do mkdir %s; "
                            "echo 1 > %s/events/sched/enable; rmdir %s; done 2> /dev/null",
                            name, name, name);
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(127);
    }
    return pid;
}

/* What it has started, such as a mkdir, may go on for a moment. */
static void stop_other(pid_t pid, const char *name)
{
    g_autofree char *path = path_of(name, NULL);
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 2000 && kill(-pid, 0) == 0; i++) {
        g_usleep(1000);
    }
    rmdir(path);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

/* Events that the kernel says to have recorded of all CPUs, those that were overwritten too. */
static uint64_t count_events(const char *instance)
{
    uint64_t n = 0;
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
        g_autofree char *file = g_strdup_printf("per_cpu/cpu%ld/stats", cpu);
        g_autofree char *path = path_of(instance, file), *text = NULL;
        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        n += strtoull(strstr(text, "entries: ") + 9, NULL, 10) +
             strtoull(strstr(text, "overrun: ") + 9, NULL, 10);
    }
    return n;
}

static void switch_tasks(void)
{
    for (int i = 0; i < 20; i++) {
        g_usleep(1000);
    }
}

static void check_still(struct lull_tracer *tracer)
{
    const char *name = tracer->kind->name_of(tracer);
    g_assert_true(tracer->kind->freeze(tracer, NULL));
    const uint64_t before = count_events(name);
    switch_tasks();
    g_assert_cmpuint(count_events(name), ==, before);
    g_assert_true(tracer->kind->thaw(tracer, NULL));
    switch_tasks();
    g_assert_cmpuint(count_events(name), >, before + 20);
}

static int64_t longest_freeze(struct lull_tracer *tracer)
{
    int64_t longest_ns = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const int64_t start_ns = now_ns();
        g_assert_true(tracer->kind->freeze(tracer, NULL));
        longest_ns = MAX(longest_ns, now_ns() - start_ns);
        g_assert_true(tracer->kind->thaw(tracer, NULL));
        g_usleep(3000);
    }
    return longest_ns;
}

static void test_freeze(void)
{
    const struct sched_param urgent = {.sched_priority = 1}, usual = {0};
    g_autofree char *other = g_strdup_printf("lull-other-%d", (int)getpid());
    g_autoptr(GError) error = NULL;
    struct kept kept;
    struct lull_tracer_result result;
    kept_start(&kept);
    const struct lull_tracer_request request = {.keeper = &kept.keeper,
                                                .invoker = &kept.invoker,
                                                .purpose = LULL_PURPOSE_SCHED,
                                                .buffer_bytes = 1 << 20,
                                                .is_snapshot = true};
    g_autofree char *missing = lull_tracer_ftrace.missing(&request);
    struct lull_tracer *tracer = missing ? NULL : lull_tracer_ftrace.set_up(&request, &error);
    if (!tracer) {
        g_test_skip(missing ? missing : error->message);
        kept_end(&kept);
        return;
    }
    g_assert_true(tracer->kind->start(tracer, NULL));
    check_still(tracer);
    const pid_t pid = start_other(other);
    /* As the daemon is; else it would wait for a CPU, too. */
    sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &urgent);
    const int64_t longest_ns = longest_freeze(tracer);
    sched_setscheduler(0, SCHED_OTHER, &usual);
    stop_other(pid, other);
    check_still(tracer);
    g_test_message("%d freezes beside another user of ftrace: the longest took %.3f ms", ROUNDS,
                   (double)longest_ns / MS);
    g_assert_cmpint(longest_ns, <, 20 * MS);
    g_assert_true(tracer->kind->stop(tracer, &result, NULL));
    tracer->kind->free(tracer);
    kept_end(&kept);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/record/freeze", test_freeze);
    return g_test_run();
}
