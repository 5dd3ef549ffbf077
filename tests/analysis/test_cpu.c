/* SPDX-License-Identifier: MIT */
/* cputop and sched, on machines that are told event by event. What is expected is arithmetic on the
 * times below. */
#include <glib.h>

#include "analysis/analysis.h"
#include "lib/feed.h"
#include "lib/table_sink.h"

enum { MS = 1000 }; /* a "millisecond" of these machines, so that all sums fit 32 bits */

struct run {
    struct table_sink sink;
    struct lull_runner *runner;
    struct lull_model *model;
};

static void run_start(struct run *run, const struct lull_analysis_class *analysis,
                      const struct lull_question_params *params)
{
    run->sink = table_sink_new();
    run->runner = lull_runner_new(NULL, &analysis, params, 1, &run->sink.sink);
    run->model = lull_runner_model(run->runner);
}

static void run_end(struct run *run)
{
    lull_runner_free(run->runner);
    g_string_free(run->sink.text, TRUE);
}

static struct lull_question_params all(void)
{
    return (struct lull_question_params){.host = -1,
                                         .min_ns = INT64_MIN,
                                         .max_ns = INT64_MAX,
                                         .freq_resolution = 2,
                                         .sections = LULL_SECTION_LOG | LULL_SECTION_TOP |
                                                     LULL_SECTION_STATS | LULL_SECTION_FREQ};
}

/* The next table of the class, from *from on; each line must fit its pattern. */
static void expect(const struct run *run, const char *table, const char *const *patterns)
{
    g_autofree char *text = table_sink_get(&run->sink, table);
    g_assert_nonnull(text);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (uint32_t i = 0; patterns[i]; i++) {
        g_assert_nonnull(lines[i]);
        if (!g_pattern_match_simple(patterns[i], lines[i])) {
            g_error("%s, row %u: “%s” is not “%s”", table, i, lines[i], patterns[i]);
        }
    }
}

#define EXPECT(run, table, ...) expect(run, table, (const char *const[]){__VA_ARGS__, NULL})

/* On CPU 5 task 42 runs from 1000 to 11000. On CPU 0 task 64 runs every other 100 ms from 1100 to
 * 5000, which is 20 times; on CPU 1 task 65 from 5100 to 10000, 25 times. The first switches say
 * that both CPUs were idle before. (This is a test of lttng-analyses; it counts that idle time as
 * busy.) */
static void feed_percents(struct lull_model *model)
{
    feed_switch(model, 0, 5, 1000 * MS, 0, 42, 0);
    for (int64_t t = 1100; t <= 4900; t += 200) {
        feed_switch(model, 0, 0, t * MS, 0, 64, 0);
        feed_switch(model, 0, 0, (t + 100) * MS, 64, 0, 1);
    }
    for (int64_t t = 5100; t <= 9900; t += 200) {
        feed_switch(model, 0, 1, t * MS, 0, 65, 0);
        feed_switch(model, 0, 1, (t + 100) * MS, 65, 0, 1);
    }
    feed_switch(model, 0, 5, 11000 * MS, 42, 0, 1);
    lull_model_finish(model);
}

static void test_percents(void)
{
    const struct lull_question_params params = all();
    struct run run;
    run_start(&run, &lull_analysis_cputop, &params);
    lull_runner_range(run.runner, INT64_MIN, INT64_MAX, 0);
    feed_percents(run.model);
    EXPECT(&run, "per-process", "t42/-1/42 ? 0 * 10000000 1.000", "t65/-1/65 ? 0 * 2500000 0.250",
           "t64/-1/64 ? 0 * 2000000 0.200", "per-cpu");
    /* CPU, busy, idle, other, unknown, usage */
    EXPECT(&run, "per-cpu", "0 2000000 8000000 0 0 0.200", "1 2500000 7500000 0 0 0.250",
           "5 10000000 0 0 0 1.000", "total");
    EXPECT(&run, "total", "3 14500000 15500000 0 0 0.483");
    run_end(&run);
}

/* From 1150 to 1250: half of it ran, although only one switch is in it; CPU 5 has none, and ran
 * all the time. CPU 1 was not heard of yet. */
static void test_edges(void)
{
    const struct lull_question_params params = all();
    struct run run;
    run_start(&run, &lull_analysis_cputop, &params);
    lull_runner_range(run.runner, 1150 * MS, 1250 * MS, 0);
    feed_percents(run.model);
    EXPECT(&run, "per-process", "t42/-1/42 ? 0 * 100000 1.000", "t64/-1/64 ? 0 * 50000 0.500",
           "per-cpu");
    EXPECT(&run, "per-cpu", "0 50000 50000 0 0 0.500", "5 100000 0 0 0 1.000", "total");
    run_end(&run);
}

/* The slices meet at 6000: CPU 0 has no switch after 5000, and CPU 1 has run 5 of its 25 times. */
static void test_slices(void)
{
    const struct lull_question_params params = all();
    struct run run;
    run_start(&run, &lull_analysis_cputop, &params);
    lull_runner_range(run.runner, INT64_MIN, INT64_MAX, 5000 * MS);
    feed_percents(run.model);
    const char *second = strstr(run.sink.text->str + 1, "per-process");
    g_assert_nonnull(second);
    EXPECT(&run, "per-cpu", "0 2000000 3000000 0 0 0.400", "1 500000 4500000 0 0 0.100",
           "5 5000000 0 0 0 1.000", "total");
    g_string_erase(run.sink.text, 0, second - run.sink.text->str);
    EXPECT(&run, "per-cpu", "0 0 5000000 0 0 0.000", "1 2000000 3000000 0 0 0.400",
           "5 5000000 0 0 0 1.000", "total");
    run_end(&run);
}

/* A line for each of LAMI's windows: 7.5 of 15 s, and 2 of 5, none of 5 and 5 of 5. */
static void test_summary(void)
{
    struct lull_question_params params = all();
    struct run run;
    params.is_lami = params.has_windows = true;
    run_start(&run, &lull_analysis_cputop, &params);
    lull_runner_range(run.runner, INT64_MIN, INT64_MAX, 5000 * MS);
    feed_percents(run.model);
    EXPECT(&run, "summary", "1000000..6000000 0.500", "per-process");
    g_assert_nonnull(strstr(run.sink.text->str, "\nsummary\n6000000..11000000 0.467\n"));
    run_end(&run);
}

/* Other tasks are neither busy nor idle time then. */
static void test_one_task(void)
{
    static const int64_t tids[] = {64};
    struct lull_question_params params = all();
    struct run run;
    params.tids = (struct lull_numbers){tids, 1};
    run_start(&run, &lull_analysis_cputop, &params);
    lull_runner_range(run.runner, INT64_MIN, INT64_MAX, 0);
    feed_percents(run.model);
    EXPECT(&run, "per-process", "t64/-1/64 ? 0 * 2000000 0.200", "per-cpu");
    EXPECT(&run, "per-cpu", "0 2000000 8000000 0 0 0.200", "1 0 7500000 2500000 0 0.000",
           "5 0 0 10000000 0 0.000", "total");
    run_end(&run);
}

/* Who was switched to and away from at one time was on the CPU as well, for no time. */
static void test_no_time(void)
{
    const struct lull_question_params params = all();
    struct run run;
    run_start(&run, &lull_analysis_cputop, &params);
    lull_runner_range(run.runner, INT64_MIN, INT64_MAX, 0);
    feed_switch(run.model, 0, 0, 10, 0, 7, 0);
    feed_switch(run.model, 0, 0, 30, 7, 8, 0);
    feed_switch(run.model, 0, 0, 30, 8, 9, 0);
    feed_switch(run.model, 0, 0, 40, 9, 0, 0);
    lull_model_finish(run.model);
    EXPECT(&run, "per-process", "t7/-1/7 ? 0 * 20 0.667", "t9/-1/9 ? 0 * 10 0.333",
           "t8/-1/8 ? 0 * 0 0.000", "per-cpu");
    run_end(&run);
}

static void test_one_cpu(void)
{
    static const int64_t cpus[] = {1};
    struct lull_question_params params = all();
    struct run run;
    params.cpus = (struct lull_numbers){cpus, 1};
    run_start(&run, &lull_analysis_cputop, &params);
    lull_runner_range(run.runner, INT64_MIN, INT64_MAX, 0);
    feed_percents(run.model);
    EXPECT(&run, "per-process", "t65/-1/65 ? 0 * 2500000 0.250", "per-cpu");
    EXPECT(&run, "total", "1 2500000 7500000 0 0 0.250");
    run_end(&run);
}

/* Task 10 runs, wakes 11 (waking at 20, wakeup at 25) and gives way to it at 30. Nobody is known to
 * wake 12 at 32, which runs on CPU 2 at 40. 11 sleeps from 50, is woken at 60 on an idle CPU, runs
 * at 70, sleeps at 85, is woken by 10 at 86 and runs at 90. A wake-up of 11 while it runs, at 31,
 * is none. Waits: 10, 8, 10, 4 ms. */
static void feed_waits(struct lull_model *model)
{
    feed_switch(model, 0, 0, 10 * MS, 0, 10, 0);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 20 * MS, 11, 0);
    feed_wake(model, LULL_EVENT_sched_wakeup, 0, 0, 25 * MS, 11, 0);
    feed_switch(model, 0, 0, 30 * MS, 10, 11, 0);
    feed_wake(model, LULL_EVENT_sched_wakeup, 0, 0, 31 * MS, 11, 0);
    feed_wake(model, LULL_EVENT_sched_wakeup, 0, 1, 32 * MS, 12, 2);
    feed_switch(model, 0, 2, 40 * MS, 0, 12, 0);
    feed_switch(model, 0, 0, 50 * MS, 11, 0, 1);
    feed_wake(model, LULL_EVENT_sched_wakeup, 0, 0, 60 * MS, 11, 0);
    feed_switch(model, 0, 0, 70 * MS, 0, 11, 0);
    feed_switch(model, 0, 0, 85 * MS, 11, 10, 1);
    feed_wake(model, LULL_EVENT_sched_wakeup, 0, 0, 86 * MS, 11, 0);
    feed_switch(model, 0, 0, 90 * MS, 10, 11, 0);
    lull_model_finish(model);
}

static void test_waits(void)
{
    struct lull_question_params params = all();
    struct run run;
    params.limit = 2;
    params.groupings = LULL_GROUPING_TOTAL | LULL_GROUPING_TID;
    run_start(&run, &lull_analysis_sched, &params);
    lull_runner_range(run.runner, INT64_MIN, INT64_MAX, 0);
    feed_waits(run.model);
    /* wakeup, switch, latency, priority, CPU, wakee, waker, in an interrupt */
    EXPECT(&run, "log", "20000 30000 10000 * 0 t11/-1/11 t10/-1/10 0",
           "32000 40000 8000 * 2 t12/-1/12 - 0", "60000 70000 10000 * 0 t11/-1/11 - 0",
           "86000 90000 4000 * 0 t11/-1/11 t10/-1/10 0", "top");
    EXPECT(&run, "top", "20000 30000 *", "60000 70000 *", "");
    /* count, min, average, max, deviation, percentiles. 4 8 10 10: mean 8, squares 16+0+4+4 = 24,
     * deviation sqrt(24/3). 4 10 10: mean 8, squares 16+4+4 = 24, deviation sqrt(24/2). */
    EXPECT(&run, "total_stats", "4 4000 8000.000 10000 2828.427 8000 10000 10000 10000",
           "per_tid_stats");
    EXPECT(&run, "per_tid_stats",
           "t11/-1/11 3 4000 8000.000 10000 3464.102 10000 10000 10000 10000 *",
           "t12/-1/12 1 8000 8000.000 8000 ? 8000 8000 8000 8000 *", "freq");
    EXPECT(&run, "freq", "4000.000 7000.000 1", "7000.000 10000.000 3", "freq [TID: 11]");
    EXPECT(&run, "freq [TID: 11]", "4000.000 7000.000 1", "7000.000 10000.000 2", "freq [TID: 12]");
    EXPECT(&run, "freq [TID: 12]", "8000.000 8000.000 1", "log");
    run_end(&run);
}

/* Tables without rows count too. */
static void note_table(struct lull_sink *sink, const struct lull_result_table *table)
{
    g_string_append_printf(((struct table_sink *)sink)->text, "%s has a table\n",
                           table->class->name);
    table_sink_table(sink, table);
}

/* Only what was asked for by group is shown by group. No priority is known here. */
static void test_groupings(void)
{
    static const struct {
        unsigned grouping;
        bool has_total, has_tids;
    } groupings[] = {{LULL_GROUPING_TOTAL, true, false},
                     {LULL_GROUPING_TID, false, true},
                     {LULL_GROUPING_PRIO, false, false}};
    for (size_t i = 0; i < G_N_ELEMENTS(groupings); i++) {
        struct lull_question_params params = all();
        struct run run;
        params.groupings = groupings[i].grouping;
        run_start(&run, &lull_analysis_sched, &params);
        run.sink.sink.table = note_table;
        lull_runner_range(run.runner, INT64_MIN, INT64_MAX, 0);
        feed_waits(run.model);
        const char *text = run.sink.text->str;
        g_assert_cmpint(strstr(text, "total_stats has a table\n") != NULL, ==,
                        groupings[i].has_total);
        g_assert_cmpint(strstr(text, "freq\n") != NULL, ==, groupings[i].has_total);
        g_assert_cmpint(strstr(text, "per_tid_stats has a table\n") != NULL, ==,
                        groupings[i].has_tids);
        g_assert_cmpint(strstr(text, "freq [TID: 11]\n") != NULL, ==, groupings[i].has_tids);
        run_end(&run);
    }
}

/* Waits by priority: of 7, with the kernel's 120, 10 and 30; of 8, with 98, 5. 9 is a deadline task,
 * whose priority -1 is none of these. */
static void test_by_priority(void)
{
    static const struct {
        int tid, prio;
        int64_t woken_ns, runs_ns;
    } waits[] = {{7, 120, 10, 20}, {9, -1, 25, 40}, {8, 98, 50, 55}, {7, 120, 60, 90}};
    struct lull_question_params params = all();
    struct run run;
    params.groupings = LULL_GROUPING_TOTAL | LULL_GROUPING_PRIO;
    params.sections = LULL_SECTION_STATS | LULL_SECTION_FREQ;
    run_start(&run, &lull_analysis_sched, &params);
    lull_runner_range(run.runner, INT64_MIN, INT64_MAX, 0);
    struct lull_model *model = run.model;
    for (size_t i = 0; i < G_N_ELEMENTS(waits); i++) {
        FEED(sched_wakeup, 0, 1, waits[i].woken_ns, .have = WITHOUT(sched_wakeup, context_tid),
             .tid = waits[i].tid, .prio = waits[i].prio);
        feed_switch(model, 0, 0, waits[i].runs_ns, 0, waits[i].tid, 0);
        feed_switch(model, 0, 0, waits[i].runs_ns + 1, waits[i].tid, 0, 1);
    }
    lull_model_finish(model);
    EXPECT(&run, "total_stats", "4 5 15.000 30 *");
    EXPECT(&run, "freq [Priority: -2]", "5.000 5.000 1", "freq [Priority: 20]");
    EXPECT(&run, "freq [Priority: 20]", "10.000 20.000 1", "20.000 30.000 1", "");
    run_end(&run);
}

/* A wait counts where it ends, with its whole length; bounds of --min and --max are within. */
static void test_chosen_waits(void)
{
    struct lull_question_params params = all();
    struct run run;
    params.sections = LULL_SECTION_LOG;
    params.min_ns = 8 * MS;
    params.max_ns = 10 * MS;
    run_start(&run, &lull_analysis_sched, &params);
    lull_runner_range(run.runner, 35 * MS, INT64_MAX, 0);
    feed_waits(run.model);
    EXPECT(&run, "log", "32000 40000 8000 *", "60000 70000 10000 *", "");
    run_end(&run);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cpu/percents", test_percents);
    g_test_add_func("/cpu/edges", test_edges);
    g_test_add_func("/cpu/slices", test_slices);
    g_test_add_func("/cpu/summary", test_summary);
    g_test_add_func("/cpu/one-task", test_one_task);
    g_test_add_func("/cpu/no-time", test_no_time);
    g_test_add_func("/cpu/one-cpu", test_one_cpu);
    g_test_add_func("/cpu/waits", test_waits);
    g_test_add_func("/cpu/groupings", test_groupings);
    g_test_add_func("/cpu/by-priority", test_by_priority);
    g_test_add_func("/cpu/chosen-waits", test_chosen_waits);
    return g_test_run();
}
