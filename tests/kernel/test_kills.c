/* SPDX-License-Identifier: MIT */
/* Which processes the kernel killed by itself, and whether that was for memory: it sends a signal in the name of whoever
 * needs memory (mm/oom_kill.c, __oom_kill_process()), and then reports the victim. It reports as such also what ends
 * already, without a signal (task_will_free_mem()), which its own counters leave out. */
#include "kernel/kills.h"
#include "lib/feed.h"

/* All fields but those of contexts, which come last. */
#define OWN(event) ((UINT64_C(1) << LULL_FIELD_##event##_context_tid) - 1)

enum { SIGKILL_ = 9, SI_USER_ = 0, SI_KERNEL_ = 128, ALREADY_PENDING = 2 };

static struct lull_model *two_tasks(void)
{
    struct lull_model *model = lull_model_new(NULL, LULL_GROUP_SCHED | LULL_GROUP_KILLS);
    feed_switch(model, 0, 0, 50, 0, 10, 0);
    feed_switch(model, 0, 1, 50, 0, 20, 0);
    return model;
}

static void feed_signal(struct lull_model *model, int64_t t, int signal, int code, int tid,
                        int result)
{
    FEED(signal_generate, 0, 0, t, .have = OWN(signal_generate), .sig = signal, .code = code,
         .tid = tid, .result = result);
}

static void feed_victim(struct lull_model *model, int64_t t, int tid)
{
    FEED(oom_victim, 0, 0, t, .have = OWN(oom_victim), .tid = tid, .anon_kib = 1024,
         .file_kib = 512, .shmem_kib = 512);
}

/* "20: oom cgroup by 10, 2097152\n" */
static void assert_kills(struct lull_model *model, const char *expected)
{
    static const char *const limits[] = {"?", "machine", "cgroup"};
    g_autoptr(GString) out = g_string_new(NULL);
    uint32_t n;
    const struct lull_kill *kills = lull_model_kills(model, 0, INT64_MAX, &n);
    for (uint32_t i = 0; i < n; i++) {
        g_string_append_printf(
            out, "%d: %s %s by %d, %d\n", lull_model_task(model, kills[i].task)->tid,
            lull_kill_kind_name(kills[i].kind), limits[kills[i].limit],
            kills[i].asker == LULL_NONE ? 0 : lull_model_task(model, kills[i].asker)->tid,
            (int)kills[i].resident_bytes);
    }
    g_assert_cmpstr(out->str, ==, expected);
    lull_model_free(model);
}

static void test_group(void)
{
    struct lull_model *model = two_tasks();
    FEED(reclaim_end, 0, 0, 90, .have = 0);
    FEED(group_reclaim_end, 0, 0, 100, .have = 0);
    feed_signal(model, 110, SIGKILL_, SI_KERNEL_, 20, 0);
    feed_victim(model, 111, 20);
    assert_kills(model, "20: oom cgroup by 10, 2097152\n");
}

static void test_machine(void)
{
    struct lull_model *model = two_tasks();
    FEED(group_reclaim_end, 0, 0, 90, .have = 0);
    FEED(reclaim_end, 0, 0, 100, .have = 0);
    feed_signal(model, 110, SIGKILL_, SI_KERNEL_, 20, 0);
    feed_victim(model, 111, 20);
    assert_kills(model, "20: oom machine by 10, 2097152\n");
}

/* Before Linux 6.9 it had only the number of the task. */
static void test_old_kernel(void)
{
    struct lull_model *model = two_tasks();
    FEED(oom_victim, 0, 0, 111, .have = UINT64_C(1) << LULL_FIELD_oom_victim_tid, .tid = 20);
    assert_kills(model, "20: oom ? by 10, -1\n");
}

/* Killed by somebody, it needs memory to end. */
static void test_ends_already(void)
{
    struct lull_model *model = two_tasks();
    feed_signal(model, 100, SIGKILL_, SI_USER_, 20, 0);
    feed_victim(model, 111, 20);
    assert_kills(model, "");
}

static void test_exits_already(void)
{
    struct lull_model *model = two_tasks();
    FEED(sched_process_exit, 0, 1, 100, .have = ALL, .tid = 20);
    feed_victim(model, 111, 20);
    assert_kills(model, "");
}

/* A limit of CPU time, the end of a pid namespace, … */
static void test_other_reason(void)
{
    struct lull_model *model = two_tasks();
    feed_signal(model, 100, SIGKILL_, SI_KERNEL_, 20, 0);
    feed_signal(model, 101, SIGKILL_, SI_KERNEL_, 20, ALREADY_PENDING);
    feed_signal(model, 102, 17, SI_KERNEL_, 10, 0);
    assert_kills(model, "20: kernel ? by 0, -1\n");
}

static void test_hostile(void)
{
    struct lull_model *model = two_tasks();
    FEED(oom_victim, 0, 0, 111, .have = OWN(oom_victim), .tid = 20, .anon_kib = INT64_MAX,
         .file_kib = -1, .shmem_kib = 512);
    feed_victim(model, 112, -7);
    FEED(oom_victim, 0, 0, 113, .have = OWN(oom_victim), .tid = INT64_MAX);
    assert_kills(model, "20: oom ? by 10, -1\n");
}

static void test_words(void)
{
    struct lull_model *model = two_tasks();
    g_autoptr(GString) out = g_string_new(NULL);
    uint32_t n;
    FEED(group_reclaim_end, 0, 0, 100, .have = 0);
    feed_signal(model, 110, SIGKILL_, SI_KERNEL_, 20, 0);
    feed_victim(model, 111, 20);
    lull_kill_append(model, &lull_model_kills(model, 0, INT64_MAX, &n)[0], out);
    g_assert_cmpstr(out->str, ==,
                    "was killed by the OOM killer, as its control group had no memory left for "
                    "t10/10; it held 2.0 MiB");
    lull_model_free(model);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kills/group", test_group);
    g_test_add_func("/kills/machine", test_machine);
    g_test_add_func("/kills/old_kernel", test_old_kernel);
    g_test_add_func("/kills/ends_already", test_ends_already);
    g_test_add_func("/kills/exits_already", test_exits_already);
    g_test_add_func("/kills/other_reason", test_other_reason);
    g_test_add_func("/kills/hostile", test_hostile);
    g_test_add_func("/kills/words", test_words);
    return g_test_run();
}
