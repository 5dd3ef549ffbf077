/* SPDX-License-Identifier: MIT */
/* Statistics of system calls, from calls said by hand. What is expected is counted by hand. */
#include <glib.h>
#include <stdio.h>

#include "facts.h"

/* The micro-scenario 9 of the peer's specification, with times in ns: getpid 3 times (1, 1, 2),
 * open twice (-2, 3). Return values are counted right (not Q-S1). */
static void test_counts(void)
{
    struct facts facts = facts_start(&lull_analysis_syscallstats, facts_params());
    uint32_t task = facts_task(&facts, 10, 10), other = facts_task(&facts, 11, 10);
    facts_open(&facts, 0);
    facts_call(&facts, task, "getpid", 10, 11, 10);
    facts_call(&facts, task, "getpid", 12, 13, 10);
    facts_call(&facts, task, "open", 14, 16, -2);
    facts_call(&facts, task, "getpid", 20, 22, 10);
    facts_call(&facts, task, "open", 24, 26, 3);
    facts_call(&facts, task, "nosuch", 30, 31, -9999);
    facts_call(&facts, other, "read", 24, 29, -512);
    facts_close(&facts, 40);
    /* getpid: mean 4/3, squared differences 2/9 + 1/9 + ... = 2/3, divided by 2: 1/3, root 0.577 */
    facts_expect(&facts, "per-tid [t10 (10, TID: 10)]",
                 "getpid 3 1 1.333 2 0.577 1 2 2 2 4 0 success 3\n"
                 "open 2 2 2.000 2 0.000 2 2 2 2 4 1 ENOENT 1, success 1\n"
                 "nosuch 1 1 1.000 1 ? 1 1 1 1 1 1 -9999 1\n");
    facts_expect(&facts, "per-tid [t11 (10, TID: 11)]",
                 "read 1 5 5.000 5 ? 5 5 5 5 5 1 ERESTARTSYS 1\n");
    facts_expect(&facts, "total", "t10/10/10 6 9 2\nt11/10/11 1 5 1\n");
    facts_end(&facts);
}

/* Of 32-bit calls that return addresses; what lies below the kernel's errors is none. */
static void test_compat_address(void)
{
    struct facts facts = facts_start(&lull_analysis_syscallstats, facts_params());
    uint32_t task = facts_task(&facts, 10, 10);
    facts_open(&facts, 0);
    struct lull_syscall_fact fact = {.task = task,
                                     .name = facts_label(&facts, "mmap2"),
                                     .start_ns = 1,
                                     .end_ns = 2,
                                     .ret = (int32_t)0xf7d00000,
                                     .has_ret = true};
    facts.class->facts.syscall(facts.analysis, &fact);
    fact.ret = -12;
    fact.error = 12;
    facts.class->facts.syscall(facts.analysis, &fact);
    fact.has_ret = false;
    fact.error = 0;
    facts.class->facts.syscall(facts.analysis, &fact);
    facts_close(&facts, 40);
    facts_expect(&facts, "per-tid [t10 (10, TID: 10)]",
                 "mmap2 3 1 1.000 1 0.000 1 1 1 1 3 1 "
                 "success 1, ENOMEM 1, unknown 1\n");
    facts_end(&facts);
}

/* Percentiles of 1..n ns by nearest rank: exact while the values are kept, then within 1.6 %. */
static void test_percentiles(void)
{
    for (int n = 1000; n <= 100000; n *= 100) {
        struct facts facts = facts_start(&lull_analysis_syscallstats, facts_params());
        uint32_t task = facts_task(&facts, 10, 10);
        facts_open(&facts, 0);
        for (int i = 1; i <= n; i++) {
            facts_call(&facts, task, "read", 1000, 1000 + i, 0);
        }
        facts_close(&facts, n + 1000);
        int count, min, max, p50, p90, p99, p999;
        double mean, deviation;
        g_autofree char *row = table_sink_get(&facts.sink, "per-tid [t10 (10, TID: 10)]");
        g_assert_nonnull(row);
        g_assert_cmpint(sscanf(row, "read %d %d %lf %d %lf %d %d %d %d", &count, &min, &mean, &max,
                               &deviation, &p50, &p90, &p99, &p999),
                        ==, 9);
        g_assert_cmpint(count, ==, n);
        g_assert_cmpint(min, ==, 1);
        g_assert_cmpint(max, ==, n);
        g_assert_cmpfloat_with_epsilon(mean, (n + 1) / 2.0, 0.001);
        double tolerance = n == 1000 ? 1.0 : 1.016;
        g_assert_true(p50 >= n / 2 && p50 <= n / 2 * tolerance);
        g_assert_true(p90 >= n / 10 * 9 && p90 <= n / 10 * 9 * tolerance);
        g_assert_true(p99 >= n / 100 * 99 && p99 <= n / 100 * 99 * tolerance);
        g_assert_true(p999 >= n / 1000 * 999 && p999 <= n / 1000 * 999 * tolerance);
        facts_end(&facts);
    }
}

/* A call whose start was not seen has no duration; it is reported, not counted. Filters by task, CPU
 * and duration. */
static void test_left_out(void)
{
    static const int64_t tids[] = {11}, cpus[] = {0};
    struct lull_question_params params = facts_params();
    params.tids = (struct lull_numbers){tids, 1};
    params.cpus = (struct lull_numbers){cpus, 1};
    params.min_ns = 5;
    params.max_ns = 8;
    struct facts facts = facts_start(&lull_analysis_syscallstats, params);
    uint32_t task = facts_task(&facts, 10, 10), other = facts_task(&facts, 11, 11);
    facts_open(&facts, 0);
    facts_call(&facts, task, "read", 1, 7, 0);
    facts_call(&facts, other, "write", 1, 5, 0);  /* 4: too short */
    facts_call(&facts, other, "write", 1, 6, 0);  /* 5 */
    facts_call(&facts, other, "write", 1, 9, 0);  /* 8 */
    facts_call(&facts, other, "write", 1, 10, 0); /* 9: too long */
    facts_call(&facts, other, "close", INT64_MIN, 10, 0);
    struct lull_syscall_fact elsewhere = {
        .task = other, .name = facts_label(&facts, "dup"), .cpu = 1, .start_ns = 1, .end_ns = 7};
    facts.class->facts.syscall(facts.analysis, &elsewhere);
    facts_close(&facts, 40);
    facts_expect(&facts, "total", "t11/11/11 2 13 0\n");
    facts_expect(&facts,
                 "note: 1 call is not counted, as its start was not seen: how long it took "
                 "is not known",
                 "");
    facts_expect_none(&facts, "per-tid [t10 (10, TID: 10)]");
    facts_end(&facts);
}

/* The shortest or the longest duration may be asked for alone. */
static void test_one_bound(void)
{
    static const struct {
        int64_t min_ns, max_ns;
        const char *total;
    } bounds[] = {
        {5, INT64_MAX, "t10/10/10 2 14 0\n"}, /* 6 and 8 */
        {INT64_MIN, 6, "t10/10/10 2 10 0\n"}, /* 4 and 6 */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(bounds); i++) {
        struct lull_question_params params = facts_params();
        params.min_ns = bounds[i].min_ns;
        params.max_ns = bounds[i].max_ns;
        struct facts facts = facts_start(&lull_analysis_syscallstats, params);
        uint32_t task = facts_task(&facts, 10, 10);
        facts_open(&facts, 0);
        facts_call(&facts, task, "read", 1, 5, 0);
        facts_call(&facts, task, "read", 11, 17, 0);
        facts_call(&facts, task, "read", 21, 29, 0);
        facts_close(&facts, 40);
        facts_expect(&facts, "total", bounds[i].total);
        facts_end(&facts);
    }
}

/* How LTTng records the end of a signal handler: by its start alone. */
static void test_unended(void)
{
    struct facts facts = facts_start(&lull_analysis_syscallstats, facts_params());
    uint32_t task = facts_task(&facts, 10, 10);
    facts_open(&facts, 0);
    facts_call(&facts, task, "read", 1, 7, 0);
    struct lull_syscall_fact fact = {.task = task,
                                     .name = facts_label(&facts, "rt_sigreturn"),
                                     .start_ns = 8,
                                     .end_ns = 8,
                                     .is_open = true};
    for (int i = 0; i < 3; i++) {
        facts.class->facts.syscall(facts.analysis, &fact);
    }
    facts_close(&facts, 40);
    facts_expect(&facts,
                 "note: 3 calls are not counted, as their end was not recorded (LTTng records "
                 "none of rt_sigreturn)",
                 "");
    facts_end(&facts);
}

/* A name alone chooses too. The call that a task made most is first, whatever came first. */
static void test_one_name(void)
{
    struct lull_question_params params = facts_params();
    params.comms = "t11";
    struct facts facts = facts_start(&lull_analysis_syscallstats, params);
    uint32_t task = facts_task(&facts, 10, 10), other = facts_task(&facts, 11, 11);
    facts_open(&facts, 0);
    facts_call(&facts, task, "read", 1, 7, 0);
    facts_call(&facts, other, "open", 8, 9, 3);
    facts_call(&facts, other, "write", 10, 11, 1);
    facts_call(&facts, other, "write", 12, 13, 1);
    facts_close(&facts, 40);
    facts_expect(&facts, "per-tid [t11 (11, TID: 11)]",
                 "write 2 1 1.000 1 0.000 1 1 1 1 2 0 success 2\n"
                 "open 1 1 1.000 1 ? 1 1 1 1 1 0 success 1\ntotal\n");
    facts_expect(&facts, "total", "t11/11/11 3 3 0\n");
    facts_expect_none(&facts, "per-tid [t10 (10, TID: 10)]");
    facts_end(&facts);
}

/* In a report: calls of all tasks together, those that took longest in all first: 12 ns of read in two
 * calls, one of which fails, 5 of open. LAMI's summary is of tasks. */
static void test_report(void)
{
    struct lull_question_params params = facts_params();
    params.is_report = params.is_lami = params.has_windows = true;
    params.sections = LULL_SECTION_STATS;
    struct facts facts = facts_start(&lull_analysis_syscallstats, params);
    uint32_t task = facts_task(&facts, 10, 10), other = facts_task(&facts, 11, 11);
    facts_open(&facts, 2);
    facts_call(&facts, task, "open", 10, 15, 3);
    facts_call(&facts, task, "read", 20, 24, 1);
    facts_call(&facts, other, "read", 20, 28, -11);
    facts_close(&facts, 40);
    facts_expect(&facts, "per-call", "read 12 2 1 4 6.000 8 2.828 ");
    g_autofree char *rows = table_sink_get(&facts.sink, "per-call");
    g_auto(GStrv) lines = g_strsplit(rows, "\n", 3);
    g_assert_true(g_str_has_prefix(lines[1], "open 5 1 0 5 5.000 5 ? "));
    g_assert_true(g_str_has_prefix(lines[2], "total\n"));
    facts_expect(&facts, "summary", "2..40 t10/10/10 2\n2..40 t11/11/11 1\n");
    facts_expect_none(&facts, "per-tid [t10 (10, TID: 10)]");
    facts_end(&facts);
}

/* Calls that have not returned when the window closes: one that began in it, and none that ended,
 * nor that of a dead task. */
static void test_open(void)
{
    enum { NR_READ = 0, NR_PAUSE = 34 }; /* x86-64 */
    struct facts facts = facts_start(&lull_analysis_syscallstats, facts_params());
    struct lull_model *model = facts.model;
    facts_open(&facts, 0);
    const uint64_t have = UINT64_C(1) << LULL_FIELD_syscall_entry_number;
    feed_switch(model, 0, 0, 20, 0, 10, 0);
    FEED(syscall_entry, 0, 0, 25, .have = have, .number = NR_READ);
    FEED(syscall_exit, 0, 0, 26, .have = have, .number = NR_READ);
    FEED(syscall_entry, 0, 0, 30, .have = have, .number = NR_READ);
    feed_switch(model, 0, 0, 40, 10, 11, 1);
    FEED(syscall_entry, 0, 0, 45, .have = have, .number = NR_PAUSE);
    feed_switch(model, 0, 0, 50, 11, 12, 1);
    FEED(syscall_entry, 0, 0, 55, .have = have, .number = NR_PAUSE);
    feed_switch(model, 0, 0, 60, 12, 0, 64); /* dead */
    facts_close(&facts, 100);
    facts_expect(&facts, "open", "t10/-1/10 read 30 70\nt11/-1/11 pause 45 55\n");
    facts_expect(&facts, "total", "t10/-1/10 1 1 0\n");
    facts_end(&facts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/syscallstats/counts", test_counts);
    g_test_add_func("/analysis/syscallstats/compat-address", test_compat_address);
    g_test_add_func("/analysis/syscallstats/percentiles", test_percentiles);
    g_test_add_func("/analysis/syscallstats/left-out", test_left_out);
    g_test_add_func("/analysis/syscallstats/one-bound", test_one_bound);
    g_test_add_func("/analysis/syscallstats/unended", test_unended);
    g_test_add_func("/analysis/syscallstats/one-name", test_one_name);
    g_test_add_func("/analysis/syscallstats/report", test_report);
    g_test_add_func("/analysis/syscallstats/open", test_open);
    return g_test_run();
}
