/* SPDX-License-Identifier: MIT */
/* Analyses of traces in files, where what was recorded of each host matters: the time that its events
 * cover, and which events there are. */
#include "analysis/analysis.h"
#include "analysis/event_counts.h"
#include "analysis/questions.h"
#include "analysis/report.h"
#include "lib/ctf_writer.h"
#include "lib/scratch.h"
#include "lib/table_sink.h"

#define MS INT64_C(1000000)

struct traces {
    char *dir;
    struct lull_session *session;
};

static struct ctf_writer *add_host(const struct traces *traces, const char *name,
                                   const char *const *omit)
{
    g_autofree char *dir = g_build_filename(traces->dir, name, NULL);
    return ctf_writer_new(
        dir, &(struct ctf_options){.hostname = name, .omit = omit, .seed = (uint8_t)name[0]});
}

static void write_switch(struct ctf_writer *writer, int64_t t, int prev, int next)
{
    ctf_event(writer, 0, t, "sched_switch", "prev_tid=%d next_tid=%d prev_state=1", prev, next);
}

static void open_traces(struct traces *traces)
{
    traces->session = lull_session_new();
    g_assert_true(lull_session_add(traces->session, traces->dir, NULL));
}

static void remove_traces(struct traces *traces)
{
    lull_session_free(traces->session);
    scratch_remove(traces->dir);
    g_free(traces->dir);
}

/* ---- coverage ---- */

/* Packets go on for up to two seconds after the last event, without any, which is not coverage. */
static void test_silent_end(void)
{
    static const int64_t silences[] = {0, MS / 2, 3 * MS, 40 * MS, 700 * MS, 2000 * MS};
    for (size_t i = 0; i < G_N_ELEMENTS(silences); i++) {
        struct traces traces = {.dir = scratch_dir()};
        struct ctf_writer *writer = add_host(&traces, "a", NULL);
        ctf_writer_empty_packet(writer, 0, 1 * MS, 2 * MS);
        for (int64_t t = 5; t <= 905; t += 100) {
            write_switch(writer, t * MS, 0, 7);
            ctf_writer_end_packet(writer, 0);
        }
        if (silences[i]) {
            ctf_writer_empty_packet(writer, 0, 905 * MS + 1, 905 * MS + silences[i]);
        }
        ctf_writer_close(writer);
        open_traces(&traces);
        g_autofree struct lull_coverage *coverage = lull_coverage_find(traces.session, -1);
        g_assert_cmpint(coverage[0].first_ns, ==, 5 * MS);
        g_assert_cmpint(coverage[0].last_ns, ==, 905 * MS);
        remove_traces(&traces);
    }
}

/* One event is the first and the last; a host without any has none, nor has one not asked for. */
static void test_each_host(void)
{
    struct traces traces = {.dir = scratch_dir()};
    struct ctf_writer *a = add_host(&traces, "a", NULL), *b = add_host(&traces, "b", NULL),
                      *c = add_host(&traces, "c", NULL);
    write_switch(a, 10 * MS, 0, 7);
    write_switch(a, 70 * MS, 7, 0);
    write_switch(b, 30 * MS, 0, 7);
    ctf_writer_empty_packet(c, 0, 1 * MS, 90 * MS);
    ctf_writer_close(a);
    ctf_writer_close(b);
    ctf_writer_close(c);
    open_traces(&traces);
    g_autofree struct lull_coverage *all = lull_coverage_find(traces.session, -1);
    g_assert_cmpint(all[0].first_ns, ==, 10 * MS);
    g_assert_cmpint(all[0].last_ns, ==, 70 * MS);
    g_assert_cmpint(all[1].first_ns, ==, 30 * MS);
    g_assert_cmpint(all[1].last_ns, ==, 30 * MS);
    g_assert_cmpint(all[2].first_ns, >, all[2].last_ns);
    g_autofree struct lull_coverage *one = lull_coverage_find(traces.session, 1);
    g_assert_cmpint(one[0].first_ns, >, one[0].last_ns);
    g_assert_cmpint(one[1].first_ns, ==, 30 * MS);
    g_assert_cmpint(one[1].last_ns, ==, 30 * MS);
    remove_traces(&traces);
}

/* ---- analyses ---- */

static char *run(struct lull_session *session, const struct lull_analysis_class *analysis)
{
    const struct lull_question_params params = {
        .host = -1, .min_ns = INT64_MIN, .max_ns = INT64_MAX};
    struct table_sink sink = table_sink_new();
    struct lull_runner *runner = lull_runner_new(session, &analysis, &params, 1, &sink.sink);
    lull_runner_range(runner, INT64_MIN, INT64_MAX, 0);
    lull_runner_run(runner, NULL, NULL);
    lull_runner_free(runner);
    return g_string_free(sink.text, FALSE);
}

/* a is recorded from 1000 to 5000, and its task runs from 1000 to 3000. b is recorded from 2000 to
 * 4000, and its task runs all the time: what it did in the other 2000 is not known. */
static void test_hosts_differ(void)
{
    struct traces traces = {.dir = scratch_dir()};
    struct ctf_writer *a = add_host(&traces, "a", NULL), *b = add_host(&traces, "b", NULL);
    write_switch(a, 1000, 0, 7);
    write_switch(a, 3000, 7, 0);
    write_switch(a, 5000, 0, 7);
    write_switch(b, 2000, 0, 8);
    write_switch(b, 4000, 8, 0);
    ctf_writer_close(a);
    ctf_writer_close(b);
    open_traces(&traces);
    g_autofree char *text = run(traces.session, &lull_analysis_cputop);
    /* CPU, busy, idle, other, unknown, usage */
    g_assert_nonnull(
        strstr(text, "\nper-cpu\n0 2000 2000 0 0 0.500\n0 2000 0 0 2000 0.500\ntotal\n"));
    remove_traces(&traces);
}

/* What a host did not record is said, and of which host, if there are several. */
static void test_lacks(void)
{
    static const char *const without_switch[] = {"sched_switch", NULL};
    for (int n_hosts = 1; n_hosts <= 2; n_hosts++) {
        struct traces traces = {.dir = scratch_dir()};
        struct ctf_writer *b = add_host(&traces, "b", without_switch);
        ctf_event(b, 0, 1000, "sched_waking", "tid=8");
        ctf_writer_close(b);
        if (n_hosts == 2) {
            struct ctf_writer *a = add_host(&traces, "a", NULL);
            write_switch(a, 1000, 0, 7);
            ctf_writer_close(a);
        }
        open_traces(&traces);
        g_autofree char *text = run(traces.session, &lull_analysis_cputop);
        const char *const lack = "sched_switch was not recorded, which this needs\n";
        g_autofree char *line = g_strconcat("note: ", n_hosts == 1 ? "" : "b: ", lack, NULL);
        g_assert_nonnull(strstr(text, line));
        g_assert_null(strstr(text, "a: sched_switch"));
        remove_traces(&traces);
    }
}

/* A star means all names that start so. */
static void test_lacks_any(void)
{
    static const char *const without_calls[] = {"syscall_*", NULL};
    for (int has_calls = 0; has_calls < 2; has_calls++) {
        struct traces traces = {.dir = scratch_dir()};
        struct ctf_writer *a = add_host(&traces, "a", has_calls ? NULL : without_calls);
        write_switch(a, 1000, 0, 7);
        ctf_writer_close(a);
        open_traces(&traces);
        g_autofree char *text = run(traces.session, &lull_analysis_syscallstats);
        g_assert_cmpint(strstr(text, "was not recorded, which this needs\n") != NULL, ==,
                        !has_calls);
        remove_traces(&traces);
    }
}

/* A report says of a part of what it lacks, if no host has it. */
static void test_missing(void)
{
    static const char *const without_io[] = {"block_rq_*", "syscall_*", NULL};
    struct traces traces = {.dir = scratch_dir()};
    struct ctf_writer *a = add_host(&traces, "a", without_io);
    struct ctf_writer *b = add_host(&traces, "b", (const char *const[]){"sched_*", NULL});
    write_switch(a, 1000, 0, 7);
    ctf_event(b, 0, 1000, "irq_softirq_entry", "vec=3");
    ctf_writer_close(a);
    ctf_writer_close(b);
    open_traces(&traces);
    const struct lull_report_part *cpu = lull_report_find("cputop");
    g_assert_null(lull_report_missing(traces.session, -1, cpu));
    g_assert_null(lull_report_missing(traces.session, 0, cpu));
    g_autofree char *of_b = lull_report_missing(traces.session, 1, cpu);
    g_assert_cmpstr(of_b, ==, "sched_switch");
    remove_traces(&traces);
}

/* All that it needs and all that improves it is there, or not all of either. */
static void test_judged(void)
{
    static const enum lull_answer answers[] = {LULL_ANSWER_YES, LULL_ANSWER_PARTLY, LULL_ANSWER_NO};
    const struct lull_question *question = lull_questions;
    while (strcmp(question->id, "disk-waits") != 0) {
        question++;
    }
    static const char *const omitted[][2] = {
        {NULL}, {"lttng_statedump_block_device", NULL}, {"block_rq_complete", NULL}};
    for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
        struct traces traces = {.dir = scratch_dir()};
        struct ctf_writer *a = add_host(&traces, "a", omitted[i]);
        write_switch(a, 1000, 0, 7);
        ctf_writer_close(a);
        open_traces(&traces);
        struct lull_declared *declared = lull_declared_new(traces.session, 0);
        g_assert_cmpint(lull_question_judge(declared, question), ==, answers[i]);
        lull_declared_free(declared);
        remove_traces(&traces);
    }
}

/* ---- what there is ---- */

static const struct ctf_class *class_of(const char *name)
{
    const struct ctf_class *class = ctf_kernel_classes;
    while (strcmp(class->name, name) != 0) {
        class ++;
    }
    return class;
}

/* Most first, then by name, then by host. */
static void test_counts(void)
{
    static const struct lull_event_count expected[] = {{1, "sched_wakeup", 3},
                                                       {0, "sched_switch", 2},
                                                       {0, "sched_wakeup", 2},
                                                       {0, "sched_waking", 2},
                                                       {1, "sched_waking", 1}};
    static const char *const hosts[] = {"a", "b"};
    struct traces traces = {.dir = scratch_dir()};
    for (uint32_t host = 0; host < 2; host++) {
        struct ctf_writer *writer = add_host(&traces, hosts[host], NULL);
        ctf_event(writer, 0, 10, "sched_waking", "tid=7");
        for (unsigned i = 0; i < 2 + host; i++) {
            ctf_event(writer, 0, 20 + i, "sched_wakeup", "tid=7");
            if (host == 0) {
                write_switch(writer, 20 + i, 0, 7);
            }
        }
        if (host == 0) { /* another stream declares the same event once more */
            ctf_writer_channel(writer, false, 0);
            ctf_writer_class(writer, class_of("sched_waking"));
            ctf_event(writer, 0, 30, "sched_waking", "tid=7");
        }
        ctf_writer_close(writer);
    }
    open_traces(&traces);
    g_autoptr(GArray) counts = lull_event_counts(traces.session);
    g_assert_cmpuint(counts->len, ==, G_N_ELEMENTS(expected));
    for (guint i = 0; i < counts->len; i++) {
        const struct lull_event_count *found = &g_array_index(counts, struct lull_event_count, i);
        g_assert_cmpuint(found->host, ==, expected[i].host);
        g_assert_cmpstr(found->name, ==, expected[i].name);
        g_assert_cmpuint(found->count, ==, expected[i].count);
    }
    remove_traces(&traces);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/session/silent-end", test_silent_end);
    g_test_add_func("/analysis/session/each-host", test_each_host);
    g_test_add_func("/analysis/session/hosts-differ", test_hosts_differ);
    g_test_add_func("/analysis/session/lacks", test_lacks);
    g_test_add_func("/analysis/session/lacks-any", test_lacks_any);
    g_test_add_func("/analysis/session/missing", test_missing);
    g_test_add_func("/analysis/session/judged", test_judged);
    g_test_add_func("/analysis/session/counts", test_counts);
    return g_test_run();
}
