/* SPDX-License-Identifier: MIT */
/* The runner: which facts fall into which window, and when windows open and close. The analysis of
 * this test writes down what it is told. */
#include <glib.h>

#include "analysis/analysis.h"
#include "lib/feed.h"

/* ---- an analysis and a sink that keep a log ---- */

struct scribe {
    struct lull_analysis head;
    GString *log; /* times of the switches */
};

static void scribe_open(struct lull_analysis *analysis)
{
    ((struct scribe *)analysis)->log = g_string_new(NULL);
}

static void scribe_switched(void *user, const struct lull_switch_fact *fact)
{
    g_string_append_printf(((struct scribe *)user)->log, " %d", (int)fact->time_ns);
}

static void scribe_close(struct lull_analysis *analysis, int64_t end_ns)
{
    g_string_append_printf(((struct scribe *)analysis)->log, " |%d", (int)end_ns);
}

static void scribe_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    cells[0] = lull_cell_text(LULL_CELL_STRING, ((const struct scribe *)user)->log->str);
}

static const struct lull_result_column columns[] = {
    {.title = "Log", .heading = "LOG", .key = "log", .class = LULL_CELL_STRING}, {0}};
static const struct lull_result_class log_class = {
    .name = "log", .title = "Log", .columns = columns};

static void scribe_emit(struct lull_analysis *analysis, const struct lull_window *window,
                        struct lull_sink *sink)
{
    sink->table(sink, &(struct lull_result_table){
                          .class = &log_class, .n_rows = 1, .row = scribe_row, .user = analysis});
}

static void scribe_free(struct lull_analysis *analysis)
{
    g_string_free(((struct scribe *)analysis)->log, TRUE);
}

static const struct lull_analysis_class scribe_class = {
    .name = "scribe",
    .size = sizeof(struct scribe),
    .groups = LULL_GROUP_SCHED,
    .facts = {.switched = scribe_switched},
    .open = scribe_open,
    .close = scribe_close,
    .emit = scribe_emit,
    .free = scribe_free,
};

struct log_sink {
    struct lull_sink sink;
    GString *text;
};

static void sink_start(struct lull_sink *sink, const char *analysis,
                       const struct lull_window *window)
{
    g_string_append_printf(((struct log_sink *)sink)->text, "%s%u[%d,%d]%s%s",
                           window->number ? "; " : "", window->number, (int)window->start_ns,
                           (int)window->end_ns, window->is_complete ? "" : "?",
                           window->period ? window->period : "");
}

static void sink_note(struct lull_sink *sink, const char *note)
{
    g_string_append_printf(((struct log_sink *)sink)->text, " note: %s", note);
}

static void sink_table(struct lull_sink *sink, const struct lull_result_table *table)
{
    struct lull_cell cell = {0};
    table->row(table->user, 0, &cell);
    g_string_append(((struct log_sink *)sink)->text, cell.text);
}

static void sink_end(struct lull_sink *sink)
{
}

/* ---- one run ---- */

struct run {
    struct log_sink sink;
    struct lull_runner *runner;
    struct lull_model *model;
};

static void run_start(struct run *run)
{
    static const struct lull_analysis_class *const classes[] = {&scribe_class};
    static const struct lull_question_params params = {.host = -1};
    run->sink.sink = (struct lull_sink){sink_start, sink_note, sink_table, sink_end};
    run->sink.text = g_string_new(NULL);
    run->runner = lull_runner_new(NULL, classes, &params, 1, &run->sink.sink);
    run->model = lull_runner_model(run->runner);
}

/* Switches at 10, 20, 30, 45, 60. */
static void run_switches(struct run *run)
{
    static const int64_t times[] = {10, 20, 30, 45, 60};
    for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
        feed_switch(run->model, 0, 0, times[i], i % 2 ? 7 : 0, i % 2 ? 0 : 7, 1);
    }
}

static void run_expect(struct run *run, const char *expected)
{
    lull_model_finish(run->model);
    g_assert_cmpstr(run->sink.text->str, ==, expected);
    lull_runner_free(run->runner);
    g_string_free(run->sink.text, TRUE);
}

static void test_whole(void)
{
    struct run run;
    run_start(&run);
    lull_runner_range(run.runner, INT64_MIN, INT64_MAX, 0);
    run_switches(&run);
    run_expect(&run, "0[10,60] 10 20 30 45 60 |60");
}

/* The event at the begin is in, the one at the end is not. */
static void test_range(void)
{
    struct run run;
    run_start(&run);
    lull_runner_range(run.runner, 20, 45, 0);
    run_switches(&run);
    run_expect(&run, "0[20,45] 20 30 |45");
}

static void test_range_between_events(void)
{
    struct run run;
    run_start(&run);
    lull_runner_range(run.runner, 31, 44, 0);
    run_switches(&run);
    run_expect(&run, "0[31,44] |44");
}

static void test_range_behind(void)
{
    struct run run;
    run_start(&run);
    lull_runner_range(run.runner, 61, INT64_MAX, 0);
    run_switches(&run);
    run_expect(&run, "");
}

/* The last slice is as long as the range leaves it. */
static void test_slices(void)
{
    struct run run;
    run_start(&run);
    lull_runner_range(run.runner, INT64_MIN, INT64_MAX, 12);
    run_switches(&run);
    run_expect(&run, "0[10,22] 10 20 |22; 1[22,34] 30 |34; 2[34,46] 45 |46; 3[46,58] |58; "
                     "4[58,60] 60 |60");
}

static void test_slices_in_gap(void)
{
    struct run run;
    run_start(&run);
    lull_runner_range(run.runner, 12, 58, 14);
    run_switches(&run);
    run_expect(&run, "0[12,26] 20 |26; 1[26,40] 30 |40; 2[40,54] 45 |54; 3[54,58] |58");
}

static void test_no_events(void)
{
    struct run run;
    run_start(&run);
    lull_runner_range(run.runner, INT64_MIN, INT64_MAX, 10);
    run_expect(&run, "");
}

/* ---- windows of others ---- */

static void close_late(void *user)
{
    struct run *run = user;
    lull_runner_close(run->runner, 1, 60, &(struct lull_window){.period = "late"});
}

static void test_overlapping(void)
{
    struct run run;
    run_start(&run);
    lull_runner_at_end(run.runner, close_late, &run);
    g_assert_cmpuint(lull_runner_open(run.runner, 5), ==, 0);
    feed_switch(run.model, 0, 0, 10, 0, 7, 0);
    g_assert_cmpuint(lull_runner_open(run.runner, 20), ==, 1);
    feed_switch(run.model, 0, 0, 20, 7, 0, 1);
    lull_runner_close(run.runner, 0, 30,
                      &(struct lull_window){.period = "early", .is_complete = true});
    feed_switch(run.model, 0, 0, 60, 0, 7, 0);
    run_expect(&run, "0[5,30]early 10 20 |30; 1[20,60]?late 20 60 |60");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/whole", test_whole);
    g_test_add_func("/run/range", test_range);
    g_test_add_func("/run/range-between-events", test_range_between_events);
    g_test_add_func("/run/range-behind", test_range_behind);
    g_test_add_func("/run/slices", test_slices);
    g_test_add_func("/run/slices-in-gap", test_slices_in_gap);
    g_test_add_func("/run/no-events", test_no_events);
    g_test_add_func("/run/overlapping", test_overlapping);
    return g_test_run();
}
