/* SPDX-License-Identifier: MIT */
/* The analysis of periods, on the stream `per` of the golden vectors of lttng-analyses: its figures
 * (vectors/per/periodstats.out and others, in microseconds), except where it is known to be wrong;
 * there they are worked out by hand, and the quirk is named. And windows of analyses by periods. */
#include <string.h>

#include "analysis/period_windows.h"
#include "analysis/periods/periods.h"
#include "kernel/vocabulary.h"
#include "lib/scratch.h"
#include "period/streams.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- a sink that keeps lines ---- */

struct lines {
    struct lull_sink sink;
    GPtrArray *lines; /* "class/subtitle: cell | cell …", and "note: …" */
};

static void append_cell(GString *out, const struct lull_cell *cell)
{
    const double value = cell->is_real ? cell->real : (double)cell->integer;
    switch ((enum lull_cell_class)cell->class) {
    case LULL_CELL_EMPTY:
        g_string_append(out, "-");
        break;
    case LULL_CELL_UNKNOWN:
        g_string_append(out, "?");
        break;
    case LULL_CELL_DURATION:
        g_string_append_printf(out, "%.3f", value / 1e3);
        break;
    case LULL_CELL_TIMESTAMP:
        g_string_append_printf(out, "%g", value / 1e3);
        break;
    case LULL_CELL_NUMBER:
        g_string_append_printf(out, cell->is_real ? "%.3f" : "%.0f", value);
        break;
    default:
        g_string_append(out, cell->text);
    }
}

static void on_start(struct lull_sink *sink, const char *analysis, const struct lull_window *window)
{
    g_ptr_array_add(((struct lines *)sink)->lines,
                    g_strdup_printf("window: %s%s %g %g %s", window->period ? window->period : "-",
                                    window->is_complete ? "" : "!", (double)window->start_ns / 1e6,
                                    (double)window->end_ns / 1e6,
                                    window->captures ? window->captures : "-"));
}

static void on_note(struct lull_sink *sink, const char *note)
{
    g_ptr_array_add(((struct lines *)sink)->lines, g_strdup_printf("note: %s", note));
}

static void on_table(struct lull_sink *sink, const struct lull_result_table *table)
{
    const struct lull_result_column *columns =
        table->columns ? table->columns : table->class->columns;
    for (uint64_t row = 0; row < table->n_rows; row++) {
        struct lull_cell cells[20] = {0};
        GString *line = g_string_new(table->class->name);
        g_string_append_printf(line, "/%s:", table->subtitle ? table->subtitle : "");
        table->row(table->user, row, cells);
        for (uint32_t i = 0; columns[i].title; i++) {
            if (columns[i].use & (LULL_USE_OWN | LULL_USE_HOST)) {
                continue;
            }
            g_string_append(line, line->str[line->len - 1] == ':' ? " " : " | ");
            append_cell(line, &cells[i]);
        }
        g_ptr_array_add(((struct lines *)sink)->lines, g_string_free(line, FALSE));
    }
}

static void on_end(struct lull_sink *sink)
{
}

static struct lines lines_new(void)
{
    return (struct lines){{on_start, on_note, on_table, on_end},
                          g_ptr_array_new_with_free_func(g_free)};
}

/* ---- asking ---- */

struct requested {
    unsigned sections;
    const char *select, *aggregate_by, *group_by, *order_by;
    int64_t min_duration_us, max_duration_us; /* 0: none */
    uint32_t limit;
    bool is_lami;
};

static const char *const definitions[] = {
    "req : $evt.$name == \"req_begin\" : $evt.$name == \"req_end\" && $evt.id == $begin.$evt.id",
    "a(req) : $evt.$name == \"a_begin\" && $evt.id == $parent.$begin.$evt.id : $evt.$name == "
    "\"a_end\" && $evt.id == $begin.$evt.id",
    "b(a) : $evt.$name == \"b_begin\" : $evt.$name == \"b_end\"", NULL};
static const char *const captures[] = {
    "req : who = $evt.who, $evt.id : st = $evt.st, nope = $evt.nope",
    "a : fd = $evt.fd, pw = $parent.$begin.$evt.who : ret = $evt.ret, bfd = $begin.$evt.fd", NULL};

/* The lines that begin with one of the classes. */
static char *ask(const struct stream_event *events, const char *const *texts,
                 const char *const *capture_texts, const struct requested *requested,
                 const char *const *classes)
{
    GError *error = NULL;
    g_autofree char *dir = scratch_dir();
    write_stream(dir, events, 0);
    struct lull_session *session = open_stream(dir);
    struct lull_periods *periods = lull_periods_parse(texts, capture_texts, &error);
    g_assert_no_error(error);
    struct lull_periods_question *question =
        lull_periods_question_new(periods, requested->select, requested->aggregate_by,
                                  requested->group_by, requested->order_by, &error);
    g_assert_no_error(error);
    if (requested->min_duration_us > 0) {
        question->min_duration_ns = requested->min_duration_us * 1000;
    }
    if (requested->max_duration_us > 0) {
        question->max_duration_ns = requested->max_duration_us * 1000;
    }
    const struct lull_question_params params = {.sections = requested->sections,
                                                .host = -1,
                                                .min_ns = INT64_MIN,
                                                .max_ns = INT64_MAX,
                                                .limit = requested->limit,
                                                .freq_resolution = 2,
                                                .is_lami = requested->is_lami,
                                                .periods = question};
    struct lines lines = lines_new();
    const struct lull_analysis_class *const class = &lull_analysis_periods;
    struct lull_runner *runner = lull_runner_new(session, &class, &params, 1, &lines.sink);
    question->tracker = lull_period_tracker_new(periods, session, NULL, NULL);
    lull_runner_range(runner, INT64_MIN, INT64_MAX, 0);
    lull_runner_run(runner, NULL, NULL);
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < lines.lines->len; i++) {
        for (const char *const *name = classes; *name; name++) {
            if (g_str_has_prefix(lines.lines->pdata[i], *name)) {
                g_string_append_printf(out, "%s\n", (const char *)lines.lines->pdata[i]);
            }
        }
    }
    g_ptr_array_unref(lines.lines);
    lull_runner_free(runner);
    lull_period_tracker_free(question->tracker);
    lull_periods_question_free(question);
    lull_periods_free(periods);
    lull_session_free(session);
    scratch_remove(dir);
    return g_string_free(out, FALSE);
}

static void check(const struct requested *requested, const char *const *classes,
                  const char *expected)
{
    g_autofree char *got = ask(stream_requests, definitions, captures, requested, classes);
    g_assert_cmpstr(got, ==, expected);
}

/* ---- tests ---- */

static void test_stats(void)
{
    check(&(struct requested){.sections = LULL_SECTION_STATS}, LIST("note", "per_period", "tree"),
          "note: 1 period was not seen to end; it is not counted\n"
          "tree/: req | req : $evt.$name == \"req_begin\" : $evt.$name == \"req_end\" && $evt.id "
          "== $begin.$evt.id\n"
          "tree/:   a | a(req) : $evt.$name == \"a_begin\" && $evt.id == $parent.$begin.$evt.id : "
          "$evt.$name == \"a_end\" && $evt.id == $begin.$evt.id\n"
          "tree/:     b | b(a) : $evt.$name == \"b_begin\" : $evt.$name == \"b_end\"\n"
          "per_period_stats/: req | 5 | 5000.000 | 7000.000 | 9000.000 | 1581.139 | 35000.000\n"
          "per_period_stats/: req/a | 7 | 250.000 | 2321.429 | 3000.000 | 1178.932 | 16250.000\n"
          "per_period_stats/: req/a/b | 4 | 1000.000 | 1175.000 | 1400.000 | 170.783 | "
          "4700.000\n");
}

/* The peer cuts least and greatest of ratios and counts to integers in its text, not in its JSON.
 */
static void test_pairs(void)
{
    check(&(struct requested){.sections = LULL_SECTION_STATS}, LIST("per_parent"),
          "per_parent_stats/With active children: req/a | req | 3000.000 | 3050.000 | 3250.000 | "
          "111.803\n"
          "per_parent_stats/With active children: req/a/b | req | 1000.000 | 1175.000 | 1400.000 | "
          "170.783\n"
          "per_parent_stats/With active children: req/a/b | req/a | 1000.000 | 1175.000 | 1400.000 "
          "| 170.783\n"
          "per_parent_percentage/With active children: req/a | req | 33.333 | 45.571 | 60.000 | "
          "11.229\n"
          "per_parent_percentage/With active children: req/a/b | req | 15.556 | 17.758 | 20.000 | "
          "1.879\n"
          "per_parent_percentage/With active children: req/a/b | req/a | 33.333 | 39.167 | 46.667 "
          "| 5.693\n"
          "per_parent_count/With active children: req/a | req | 1 | 1.200 | 2 | 0.447\n"
          "per_parent_count/With active children: req/a/b | req | 1 | 1.000 | 1 | 0.000\n"
          "per_parent_count/With active children: req/a/b | req/a | 1 | 1.000 | 1 | 0.000\n"
          "per_parent_stats/Globally: req/a | req | 3000.000 | 3050.000 | 3250.000 | 111.803\n"
          "per_parent_stats/Globally: req/a/b | req | 0.000 | 940.000 | 1400.000 | 545.894\n"
          "per_parent_stats/Globally: req/a/b | req/a | 0.000 | 783.333 | 1400.000 | 621.021\n"
          "per_parent_percentage/Globally: req/a | req | 33.333 | 45.571 | 60.000 | 11.229\n"
          "per_parent_percentage/Globally: req/a/b | req | 0.000 | 14.206 | 20.000 | 8.107\n"
          "per_parent_percentage/Globally: req/a/b | req/a | 0.000 | 26.111 | 46.667 | 20.701\n"
          "per_parent_count/Globally: req/a | req | 1 | 1.200 | 2 | 0.447\n"
          "per_parent_count/Globally: req/a/b | req | 0 | 0.800 | 1 | 0.447\n"
          "per_parent_count/Globally: req/a/b | req/a | 0 | 0.667 | 1 | 0.516\n");
}

/* Q-P8: names are exact, and --aggregate-by leaves only that ancestor. */
static void test_select(void)
{
    check(&(struct requested){.sections = LULL_SECTION_STATS,
                              .select = "req/a",
                              .aggregate_by = "req"},
          LIST("per_"),
          "per_period_stats/: req/a | 7 | 250.000 | 2321.429 | 3000.000 | 1178.932 | 16250.000\n"
          "per_parent_stats/With active children: req/a | req | 3000.000 | 3050.000 | 3250.000 | "
          "111.803\n"
          "per_parent_percentage/With active children: req/a | req | 33.333 | 45.571 | 60.000 | "
          "11.229\n"
          "per_parent_count/With active children: req/a | req | 1 | 1.200 | 2 | 0.447\n"
          "per_parent_stats/Globally: req/a | req | 3000.000 | 3050.000 | 3250.000 | 111.803\n"
          "per_parent_percentage/Globally: req/a | req | 33.333 | 45.571 | 60.000 | 11.229\n"
          "per_parent_count/Globally: req/a | req | 1 | 1.200 | 2 | 0.447\n");
}

/* Q-P10: the peer counts b twice per req, and divides by the requests of all groups. Requests of w0
 * are 0, 2 and 4 with one b each: 1000, 1200 and 1400 us of 5000, 7000 and 9000. */
static void test_groups(void)
{
    check(&(struct requested){.sections = LULL_SECTION_STATS,
                              .group_by = "req.who",
                              .aggregate_by = "req"},
          LIST("per_period_stats/req.who = w0", "per_parent_stats/'req.who = w0",
               "per_parent_count/'req.who = w0' - G", "per_parent_percentage/'req.who = w0' - W",
               "per_period_stats/req.who = w1"),
          "per_period_stats/req.who = w0: req | 3 | 5000.000 | 7000.000 | 9000.000 | 2000.000 | "
          "21000.000\n"
          "per_period_stats/req.who = w0: req/a | 3 | 3000.000 | 3000.000 | 3000.000 | 0.000 | "
          "9000.000\n"
          "per_period_stats/req.who = w0: req/a/b | 3 | 1000.000 | 1200.000 | 1400.000 | 200.000 | "
          "3600.000\n"
          "per_parent_stats/'req.who = w0' - With active children: req/a | req | 3000.000 | "
          "3000.000 | 3000.000 | 0.000\n"
          "per_parent_stats/'req.who = w0' - With active children: req/a/b | req | 1000.000 | "
          "1200.000 | 1400.000 | 200.000\n"
          "per_parent_percentage/'req.who = w0' - With active children: req/a | req | 33.333 | "
          "45.397 | 60.000 | 13.514\n"
          "per_parent_percentage/'req.who = w0' - With active children: req/a/b | req | 15.556 | "
          "17.566 | 20.000 | 2.252\n"
          "per_parent_stats/'req.who = w0' - Globally: req/a | req | 3000.000 | 3000.000 | "
          "3000.000 | 0.000\n"
          "per_parent_stats/'req.who = w0' - Globally: req/a/b | req | 1000.000 | 1200.000 | "
          "1400.000 | 200.000\n"
          "per_parent_count/'req.who = w0' - Globally: req/a | req | 1 | 1.000 | 1 | 0.000\n"
          "per_parent_count/'req.who = w0' - Globally: req/a/b | req | 1 | 1.000 | 1 | 0.000\n"
          "per_period_stats/req.who = w1: req | 2 | 6000.000 | 7000.000 | 8000.000 | 1414.214 | "
          "14000.000\n"
          "per_period_stats/req.who = w1: req/a | 3 | 250.000 | 2083.333 | 3000.000 | 1587.713 | "
          "6250.000\n"
          "per_period_stats/req.who = w1: req/a/b | 1 | 1100.000 | 1100.000 | 1100.000 | ? | "
          "1100.000\n");
}

static void test_aggregated(void)
{
    const struct requested requested = {
        .sections = LULL_SECTION_LOG, .select = "a, b", .aggregate_by = "req"};
    check(&requested, LIST("aggregated", "log"),
          "aggregated_stats/: req | 1000 | 6000 | req/a | 1 | 3000.000 | 3000.000 | 3000.000 | ? | "
          "3000.000 | req.who = w0, req.$evt.id = 0, req.st = 0, req.nope = ?\n"
          "aggregated_stats/: req | 1000 | 6000 | req/a/b | 1 | 1000.000 | 1000.000 | 1000.000 | ? "
          "| 1000.000 | req.who = w0, req.$evt.id = 0, req.st = 0, req.nope = ?\n"
          "aggregated_stats/: req | 13000 | 19000 | req/a | 2 | 250.000 | 1625.000 | 3000.000 | "
          "1944.544 | 3250.000 | req.who = w1, req.$evt.id = 1, req.st = 2, req.nope = ?\n"
          "aggregated_stats/: req | 13000 | 19000 | req/a/b | 1 | 1100.000 | 1100.000 | 1100.000 | "
          "? | 1100.000 | req.who = w1, req.$evt.id = 1, req.st = 2, req.nope = ?\n"
          "aggregated_stats/: req | 25000 | 32000 | req/a | 1 | 3000.000 | 3000.000 | 3000.000 | ? "
          "| 3000.000 | req.who = w0, req.$evt.id = 2, req.st = 4, req.nope = ?\n"
          "aggregated_stats/: req | 25000 | 32000 | req/a/b | 1 | 1200.000 | 1200.000 | 1200.000 | "
          "? | 1200.000 | req.who = w0, req.$evt.id = 2, req.st = 4, req.nope = ?\n"
          "aggregated_stats/: req | 37000 | 45000 | req/a | 1 | 3000.000 | 3000.000 | 3000.000 | ? "
          "| 3000.000 | req.who = w1, req.$evt.id = 3, req.st = 6, req.nope = ?\n"
          "aggregated_stats/: req | 49000 | 58000 | req/a | 1 | 3000.000 | 3000.000 | 3000.000 | ? "
          "| 3000.000 | req.who = w0, req.$evt.id = 4, req.st = 8, req.nope = ?\n"
          "aggregated_stats/: req | 49000 | 58000 | req/a/b | 1 | 1400.000 | 1400.000 | 1400.000 | "
          "? | 1400.000 | req.who = w0, req.$evt.id = 4, req.st = 8, req.nope = ?\n");
}

/* vectors/per/periodlog-agg-group.out: a table for each group, in order of its first instance. */
static void test_aggregated_groups(void)
{
    check(&(struct requested){.sections = LULL_SECTION_LOG,
                              .select = "a",
                              .aggregate_by = "req",
                              .group_by = "req.who, a.fd"},
          LIST("aggregated_stats/a.fd = 0, req.who = w0", "aggregated_stats/a.fd = 1, req.who = w1",
               "aggregated_stats/a.fd = 9, req.who = w1"),
          "aggregated_stats/a.fd = 0, req.who = w0: req | 1000 | 6000 | req/a | 1 | 3000.000 | "
          "3000.000 | 3000.000 | ? | 3000.000 | req.who = w0, req.$evt.id = 0, req.st = 0, "
          "req.nope = ?\n"
          "aggregated_stats/a.fd = 1, req.who = w1: req | 13000 | 19000 | req/a | 1 | 3000.000 | "
          "3000.000 | 3000.000 | ? | 3000.000 | req.who = w1, req.$evt.id = 1, req.st = 2, "
          "req.nope = ?\n"
          "aggregated_stats/a.fd = 9, req.who = w1: req | 13000 | 19000 | req/a | 1 | 250.000 | "
          "250.000 | 250.000 | ? | 250.000 | req.who = w1, req.$evt.id = 1, req.st = 2, req.nope = "
          "?\n");
}

/* vectors/per/periodlog.out and periodlog-hier.out, begins and names; what has no end apart. */
static void test_log(void)
{
    check(&(struct requested){.sections = LULL_SECTION_LOG, .max_duration_us = 1100},
          LIST("log", "incomplete"),
          "log/: 3000 | 4000 | 1000.000 | req/a/b |  | \n"
          "log/: 15000 | 16100 | 1100.000 | req/a/b |  | \n"
          "log/: 17500 | 17750 | 250.000 | req/a | fd = 9, pw = w1 | ret = 22, bfd = 9\n"
          "log/: 62000 | 63000 | 1000.000 | req/a | fd = 5, pw = x | ret = 1, bfd = 5\n"
          "incomplete/: 61000 | 64000 | 3000.000 | req | who = x, $evt.id = 77 | -\n");
    check(&(struct requested){.sections = LULL_SECTION_LOG,
                              .order_by = "hierarchy",
                              .max_duration_us = 6000,
                              .is_lami = true},
          LIST("log"),
          "log/: 1000 | 6000 | 5000.000 | req | {\"who\": \"w0\", \"$evt.id\": 0} | {\"st\": 0, "
          "\"nope\": null}\n"
          "log/: 2000 | 5000 | 3000.000 | req/a | {\"fd\": 0, \"pw\": \"w0\"} | {\"ret\": 0, "
          "\"bfd\": 0}\n"
          "log/: 3000 | 4000 | 1000.000 | req/a/b | {} | {}\n"
          "log/: 13000 | 19000 | 6000.000 | req | {\"who\": \"w1\", \"$evt.id\": 1} | {\"st\": 2, "
          "\"nope\": null}\n"
          "log/: 14000 | 17000 | 3000.000 | req/a | {\"fd\": 1, \"pw\": \"w1\"} | {\"ret\": 1, "
          "\"bfd\": 1}\n"
          "log/: 15000 | 16100 | 1100.000 | req/a/b | {} | {}\n"
          "log/: 17500 | 17750 | 250.000 | req/a | {\"fd\": 9, \"pw\": \"w1\"} | {\"ret\": 22, "
          "\"bfd\": 9}\n");
}

static void test_top(void)
{
    check(&(struct requested){.sections = LULL_SECTION_TOP, .limit = 3, .select = "a,req"},
          LIST("top"),
          "top/: 49000 | 58000 | 9000.000 | req | who = w0, $evt.id = 4 | st = 8, nope = ?\n"
          "top/: 37000 | 45000 | 8000.000 | req | who = w1, $evt.id = 3 | st = 6, nope = ?\n"
          "top/: 25000 | 32000 | 7000.000 | req | who = w0, $evt.id = 2 | st = 4, nope = ?\n");
}

/* LAMI's table of pairs: the longest b is of request 4. Others do not get it. */
static void test_top_pairs(void)
{
    struct requested requested = {.sections = LULL_SECTION_TOP,
                                  .limit = 1,
                                  .select = "b",
                                  .aggregate_by = "req",
                                  .is_lami = true};
    check(&requested, LIST("aggregated"),
          "aggregated_top/: 49000 | 58000 | req | 51000 | 52400 | req/a/b | 1400.000 | 9000.000 | "
          "{\"begin\": {}, \"end\": {}}\n");
    requested.is_lami = false;
    check(&requested, LIST("aggregated"), "");
}

/* Request 1 has two of a, with fd 1 and 9, and is in the group of each. */
static void test_group_in_request(void)
{
    check(&(struct requested){.sections = LULL_SECTION_STATS, .group_by = "a.fd"},
          LIST("per_period_stats/a.fd = 9"),
          "per_period_stats/a.fd = 9: req | 1 | 6000.000 | 6000.000 | 6000.000 | ? | 6000.000\n"
          "per_period_stats/a.fd = 9: req/a | 1 | 250.000 | 250.000 | 250.000 | ? | 250.000\n");
}

/* Two bins: bounds and counts by hand from the durations in the log. Q-M6: bounds of counts and
 * ratios are numbers. */
static void test_freq(void)
{
    check(&(struct requested){.sections = LULL_SECTION_FREQ, .aggregate_by = "req", .select = "a"},
          LIST("freq"),
          "freq_duration/Duration of period: a: 250.000 | 1625.000 | 2\n"
          "freq_duration/Duration of period: a: 1625.000 | 3000.000 | 5\n"
          "freq_duration/Duration of req/a per req: 3000.000 | 3125.000 | 4\n"
          "freq_duration/Duration of req/a per req: 3125.000 | 3250.000 | 1\n"
          "freq_ratio/Usage ratio of req/a per req: 33.333 | 46.667 | 3\n"
          "freq_ratio/Usage ratio of req/a per req: 46.667 | 60.000 | 2\n"
          "freq_count/Number of req/a per req: 1.000 | 1.500 | 4\n"
          "freq_count/Number of req/a per req: 1.500 | 2.000 | 1\n"
          "freq_duration/Global duration of req/a per req: 3000.000 | 3125.000 | 4\n"
          "freq_duration/Global duration of req/a per req: 3125.000 | 3250.000 | 1\n"
          "freq_ratio/Global usage ratio of req/a per req: 33.333 | 46.667 | 3\n"
          "freq_ratio/Global usage ratio of req/a per req: 46.667 | 60.000 | 2\n"
          "freq_count/Global number of req/a per req: 1.000 | 1.500 | 4\n"
          "freq_count/Global number of req/a per req: 1.500 | 2.000 | 1\n");
}

/* Each section makes its own tables, and none of the others'. */
static void test_sections(void)
{
    static const struct {
        unsigned section;
        const char *tables;
    } sections[] = {{LULL_SECTION_STATS, "per_"},
                    {LULL_SECTION_FREQ, "freq"},
                    {LULL_SECTION_TOP, "top"},
                    {LULL_SECTION_LOG, "log"}};
    for (size_t asked = 0; asked < G_N_ELEMENTS(sections); asked++) {
        for (size_t i = 0; i < G_N_ELEMENTS(sections); i++) {
            const struct requested requested = {.sections = sections[asked].section, .limit = 5};
            g_autofree char *got =
                ask(stream_requests, definitions, captures, &requested, LIST(sections[i].tables));
            g_assert_cmpint(got[0] != '\0', ==, i == asked);
        }
    }
}

/* Q-P17: an ancestor that took no time has no ratio. Q-P11: periods without name are counted. */
static void test_edges(void)
{
    static const struct stream_event events[] = {
        {1, 0, "a", "id=1"}, {1, 0, "b", ""}, {1, 0, "c", ""},    {1, 0, "d", ""},
        {2, 0, "e", ""},     {5, 0, "e", ""}, {9, 0, "bare", ""}, {0, 0, NULL, NULL},
    };
    g_autofree char *got =
        ask(events,
            LIST("p : $evt.$name == \"a\" : $evt.$name == \"d\"",
                 "q(p) : $evt.$name == \"b\" : $evt.$name == \"c\"", ": $evt.$name == \"e\""),
            NULL, &(struct requested){.sections = LULL_SECTION_STATS}, LIST("per_"));
    g_assert_cmpstr(got, ==,
                    "per_period_stats/: p | 1 | 0.000 | 0.000 | 0.000 | ? | 0.000\n"
                    "per_period_stats/: p/q | 1 | 0.000 | 0.000 | 0.000 | ? | 0.000\n"
                    "per_period_stats/: (period 3) | 1 | 3000.000 | 3000.000 | 3000.000 | ? | "
                    "3000.000\n"
                    "per_parent_stats/With active children: p/q | p | 0.000 | 0.000 | 0.000 | ?\n"
                    "per_parent_percentage/With active children: p/q | p | ? | ? | ? | ?\n"
                    "per_parent_count/With active children: p/q | p | 1 | 1.000 | 1 | ?\n"
                    "per_parent_stats/Globally: p/q | p | 0.000 | 0.000 | 0.000 | ?\n"
                    "per_parent_percentage/Globally: p/q | p | ? | ? | ? | ?\n"
                    "per_parent_count/Globally: p/q | p | 1 | 1.000 | 1 | ?\n");
}

static void test_refused(void)
{
    static const struct {
        const char *select, *aggregate_by, *group_by, *order_by, *part;
    } cases[] = {
        {"re", NULL, NULL, NULL, "select: there is no period “re”"},
        {NULL, "x", NULL, NULL, "aggregate-by: there is no period “x”"},
        {NULL, NULL, "req", NULL, "“req” is not PERIOD.CAPTURE"},
        {NULL, NULL, "req.x", NULL, "has no capture “x”"},
        {NULL, NULL, "a.fd, other.k", NULL, "do not lie in one another"},
        {NULL, NULL, NULL, "size", "it is time or hierarchy"},
    };
    struct lull_periods *periods =
        lull_periods_parse(LIST(definitions[0], definitions[1], "other(req) : $evt.k == 1"),
                           LIST(captures[0], captures[1], "other : k = $evt.k"), NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(lull_periods_question_new(periods, cases[i].select, cases[i].aggregate_by,
                                                cases[i].group_by, cases[i].order_by, &error));
        g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
        if (!strstr(error->message, cases[i].part)) {
            g_error("%s", error->message);
        }
    }
    lull_periods_free(periods);
}

/* ---- windows ---- */

struct counter {
    struct lull_analysis head;
    int64_t n;
};

static void on_switched(void *user, const struct lull_switch_fact *fact)
{
    ((struct counter *)user)->n++;
}

static const struct lull_result_column counter_columns[] = {
    {.title = "Switches", .heading = "N", .key = "n", .class = LULL_CELL_NUMBER}, {0}};
static const struct lull_result_class counter_table = {
    .name = "switches", .title = "Switches", .columns = counter_columns};

static void counter_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    cells[0] = lull_cell_integer(LULL_CELL_NUMBER, ((const struct counter *)user)->n);
}

static void counter_emit(struct lull_analysis *analysis, const struct lull_window *window,
                         struct lull_sink *sink)
{
    sink->table(sink,
                &(struct lull_result_table){
                    .class = &counter_table, .n_rows = 1, .row = counter_row, .user = analysis});
}

static const struct lull_analysis_class counter_class = {.name = "counter",
                                                         .size = sizeof(struct counter),
                                                         .groups = LULL_GROUP_SCHED,
                                                         .facts = {.switched = on_switched},
                                                         .emit = counter_emit};

static void check_windows(int64_t end_ns, const char *expected)
{
    static const struct stream_event events[] = {
        {1, 0, "sched_switch", "prev_tid=1 next_tid=2"},
        {2, 0, "a", "id=1"},
        {3, 0, "sched_switch", "prev_tid=2 next_tid=3"},
        {4, 0, "a", "id=2"},
        {5, 0, "sched_switch", "prev_tid=3 next_tid=4"},
        {6, 0, "b", "id=1"},
        {7, 0, "sched_switch", "prev_tid=4 next_tid=3"},
        {8, 0, "bare", ""},
        {0, 0, NULL, NULL},
    };
    g_autofree char *dir = scratch_dir();
    write_stream(dir, events, 0);
    struct lull_session *session = open_stream(dir);
    struct lull_periods *periods =
        lull_periods_parse(LIST("p : $evt.$name == \"a\" : $evt.$name == \"b\" && $evt.id == "
                                "$begin.$evt.id",
                                "s : $evt.next_tid == 3 : $evt.next_tid == 4"),
                           LIST("p : id = $evt.id :"), NULL);
    const struct lull_question_params params = {
        .host = -1, .min_ns = INT64_MIN, .max_ns = INT64_MAX};
    struct lines lines = lines_new();
    const struct lull_analysis_class *const class = &counter_class;
    struct lull_runner *runner = lull_runner_new(session, &class, &params, 1, &lines.sink);
    struct lull_period_windows *windows =
        lull_period_windows_new(runner, session, periods, INT64_MIN, end_ns);
    lull_runner_run(runner, NULL, NULL);
    g_ptr_array_add(lines.lines, NULL);
    g_autofree char *got = g_strjoinv("; ", (char **)lines.lines->pdata);
    g_assert_cmpstr(got, ==, expected);
    g_ptr_array_unref(lines.lines);
    lull_period_windows_free(windows);
    lull_runner_free(runner);
    lull_periods_free(periods);
    lull_session_free(session);
    scratch_remove(dir);
}

/* The event that opens is in the window, the one that closes is not: also if it is a switch. s: 3 to 5,
 * in it the switch at 3; p: 2 to 6, in it 3 and 5; then without end: p from 4, in it 5 and 7, and s
 * from 7. Before 7 there is one switch in the open p, and no open s. */
static void test_windows(void)
{
    check_windows(INT64_MAX,
                  "window: s 3 5 -; switches/: 1; window: p 2 6 p.id = 1; switches/: 2; "
                  "window: p! 4 8 p.id = 2; switches/: 2; window: s! 7 8 -; switches/: 1");
    check_windows(6500000, "window: s 3 5 -; switches/: 1; window: p 2 6 p.id = 1; switches/: 2; "
                           "window: p! 4 6.5 p.id = 2; switches/: 1");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/periods/stats", test_stats);
    g_test_add_func("/analysis/periods/pairs", test_pairs);
    g_test_add_func("/analysis/periods/top-pairs", test_top_pairs);
    g_test_add_func("/analysis/periods/group-in-request", test_group_in_request);
    g_test_add_func("/analysis/periods/select", test_select);
    g_test_add_func("/analysis/periods/groups", test_groups);
    g_test_add_func("/analysis/periods/aggregated", test_aggregated);
    g_test_add_func("/analysis/periods/aggregated-groups", test_aggregated_groups);
    g_test_add_func("/analysis/periods/log", test_log);
    g_test_add_func("/analysis/periods/top", test_top);
    g_test_add_func("/analysis/periods/freq", test_freq);
    g_test_add_func("/analysis/periods/sections", test_sections);
    g_test_add_func("/analysis/periods/edges", test_edges);
    g_test_add_func("/analysis/periods/refused", test_refused);
    g_test_add_func("/analysis/periods/windows", test_windows);
    return g_test_run();
}
