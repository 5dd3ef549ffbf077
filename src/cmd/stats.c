/* SPDX-License-Identifier: MIT */
/* lull stats: all analyses in one pass over the trace, as a report: text, JSON or a page of HTML.
 */
#include <stdio.h>

#include "analysis/hot_waits.h"
#include "analysis/stolen.h"
#include "base/output.h"
#include "cmd/analysis_args.h"
#include "cmd/join_args.h"
#include "cmd/options.h"
#include "cmd/program_out.h"
#include "cmd/progress.h"
#include "cmd/stats_top.h"
#include "view/result/view.h"

static const struct lull_option options[] = {
    {.name = "html",
     .kind = LULL_OPTION_FILE,
     .argument = "FILE",
     .help = "write a page with charts and tables that sort to FILE and print nothing: it needs no "
             "network and nothing but FILE; '-' is standard output"},
    LULL_OPTION_FREQ,
    LULL_OPTION_LIMIT_ROWS,
    LULL_OPTIONS_DURATION,
    LULL_OPTIONS_SIZE,
    LULL_OPTIONS_WHOM,
    LULL_OPTION_REFRESH,
    LULL_OPTIONS_PERIOD("one report for each instance of this period"),
    {.name = NULL},
};

static const struct lull_example examples[] = {
    {"lull stats my-trace | less", "Everything, from top to bottom."},
    {"lull stats --html report.html my-trace", "The same as a page for a browser."},
    {"lull stats --begin +2s --end +3s --limit 5 my-trace", "One second of it, shorter tables."},
    {"lull stats --comm postgres --json my-trace", "One program, for another program."},
    {NULL, NULL},
};

static const char *const common[] = {"intersection", "begin",      "end",     "timerange", "local",
                                     "host",         "filter",     "no-sync", "json",      "csv",
                                     "tsv",          "json-times", NULL};

/* The question of each part: the same, except for its own sections. */
static struct lull_question_params *params_of(const struct lull_result_report *report,
                                              const struct lull_question_params *query,
                                              unsigned more_sections)
{
    struct lull_question_params *params =
        g_new0(struct lull_question_params, MAX(report->parts.count, 1));
    for (size_t i = 0; i < report->parts.count; i++) {
        params[i] = *query;
        params[i].sections = report->parts.items[i]->sections | more_sections;
        params[i].groupings = report->parts.items[i]->groupings;
        params[i].is_report = true;
        params[i].freq_logarithmic = true;
    }
    return params;
}

static struct lull_result_view *open_view(const struct lull_args *args,
                                          const struct lull_session *session,
                                          const struct lull_result_report *report, int32_t host,
                                          FILE *file)
{
    struct lull_result_options view = {
        .file = file,
        .has_hosts = lull_session_host_count(session) > 1 && host < 0,
        .has_guests = lull_stolen_is_known(session, host),
        .report = report,
    };
    lull_view_style_init(&view.style, file, lull_args_text(args, "color"));
    view.style.local_time = lull_args_flag(args, "local");
    return lull_args_text(args, "html") ? lull_result_html_new(&view)
                                        : lull_analysis_open_view(args, &view);
}

/* Sums over the whole time: there are none of its parts, nor of some waits. */
static struct lull_hot_waits *read_waits(const struct lull_args *args, struct lull_session *session,
                                         const struct lull_query *query)
{
    const struct lull_question_params *params = &query->params;
    struct lull_progress progress;
    if (query->slice_ns > 0 || query->periods || params->cpus.count > 0 ||
        params->min_ns != INT64_MIN || params->max_ns != INT64_MAX) {
        return NULL;
    }
    lull_progress_start(&progress, args, session, "reading stacks", false);
    struct lull_hot_waits *hot = lull_hot_waits_read(session, params, query->host, query->start_ns,
                                                     query->end_ns, lull_args_progress, &progress);
    lull_progress_end(&progress);
    lull_session_unsubscribe_all(session);
    lull_session_limit(session, INT64_MIN, INT64_MAX);
    lull_session_select(session, query->host, -1);
    return hot;
}

static void choose_parts(struct lull_result_report *report, bool has_waits)
{
    size_t n = 0;
    for (size_t i = 0; i < report->parts.count; i++) {
        if (has_waits || report->parts.items[i]->analysis != &lull_analysis_hot_waits) {
            report->parts.items[n++] = report->parts.items[i];
        }
    }
    report->parts.count = n;
}

static int report(const struct lull_args *args, struct lull_session *session,
                  struct lull_query *query, FILE *file, GError **error)
{
    /* Histograms are what charts are for; in a text they are long. */
    const bool wants_freq = (query->params.sections & LULL_SECTION_FREQ) ||
                            lull_args_text(args, "html") || lull_args_flag(args, "json") ||
                            lull_args_flag(args, "csv") || lull_args_flag(args, "tsv");
    struct lull_result_report *report =
        lull_result_report_new(session, query->host, query->params.limit);
    if (lull_args_text(args, "html")) {
        lull_stats_add_top(args, session, query, report);
    }
    struct lull_hot_waits *hot = read_waits(args, session, query);
    choose_parts(report, hot != NULL);
    query->params.hot_waits = hot;
    const uint32_t n = (uint32_t)report->parts.count;
    g_autofree struct lull_question_params *params =
        params_of(report, &query->params, wants_freq ? LULL_SECTION_FREQ : 0);
    g_autofree const struct lull_analysis_class **classes =
        g_new0(const struct lull_analysis_class *, MAX(n, 1));
    for (uint32_t i = 0; i < n; i++) {
        classes[i] = report->parts.items[i]->analysis;
    }
    const int status =
        lull_analysis_answer(args, session, query, classes, params, n,
                             open_view(args, session, report, query->host, file), error);
    lull_result_report_free(report);
    lull_hot_waits_free(hot);
    return status;
}

/* The page appears under its name when it is whole. */
static int report_in_file(const struct lull_args *args, struct lull_session *session,
                          struct lull_query *query, GError **error)
{
    g_autoptr(GError) problem = NULL;
    struct lull_output *output = lull_output_new(lull_args_text(args, "html"), error);
    if (!output) {
        return 1;
    }
    const int status = report(args, session, query, lull_output_file(output), &problem);
    if (!problem) {
        return lull_output_finish(output, error) ? status : 1;
    }
    lull_output_discard(output);
    g_propagate_error(error, g_steal_pointer(&problem));
    return 1;
}

static int run_session(const struct lull_args *args, struct lull_session *session,
                       struct lull_query *query, GError **error)
{
    if (!lull_args_query_rest(args, query, session, error)) {
        return 1;
    }
    return lull_args_text(args, "html") ? report_in_file(args, session, query, error)
                                        : report(args, session, query, stdout, error);
}

static int open_and_run(const struct lull_args *args, struct lull_query *query, GError **error)
{
    struct lull_session *session = lull_args_open_traces(args, error);
    if (!session) {
        return 1;
    }
    lull_args_join(args, session);
    const int status = run_session(args, session, query, error);
    lull_session_free(session);
    return status;
}

static int run(const struct lull_args *args, GError **error)
{
    if (!lull_program_out_check(args, lull_args_text(args, "html") ? "html" : NULL, error)) {
        return 2;
    }
    struct lull_query *query = lull_args_query(args);
    const int status =
        lull_args_query_periods(args, query, error) ? open_and_run(args, query, error) : 1;
    lull_query_free(query);
    return status;
}

const struct lull_verb lull_verb_stats = {
    .name = "stats",
    .summary = "report on everything in one pass: CPUs, waits, calls, disks, network, interrupts",
    .usage = "TRACE…",
    .description =
        "Runs all analyses in one pass over the trace and shows the results as one report. It opens "
        "with findings: the waits that cost most (uninterruptible ones, waits for locks, for a "
        "CPU), the busiest disk, the longest waits of woken tasks for a CPU, each with the command "
        "that shows more. A wait for a futex counts as one for a lock if the value with which it "
        "waits says so, as libraries use it; of others the two longest are there that another "
        "task ended, and not of threads that wait together for work: such a task may have had "
        "nothing to do. Then use over time, CPUs and tasks, scheduling latencies, system calls, futexes, input and "
        "output by task, file and disk, network, interrupts, memory. The end of the report "
        "lists what the trace cannot answer, with the missing events.\n"
        "\n"
        "Each part has the same numbers as its own verb (cputop, freq, schedstats, schedtop, "
        "syscallstats, futex, iousagetop, iolatencystats, iolatencytop, nettop, irqstats, "
        "memtop); 'lull help VERB' explains them. Statistics by task or system call show those "
        "that took most; system calls are also summed over all tasks.\n"
        "\n"
        "Use over time has at most 240 parts of equal length (the last may be half as long, or "
        "half as long again): how busy each CPU was, how long woken tasks waited for a CPU on "
        "average, and system calls, disk and network transfer per second. A transfer counts "
        "when it is complete.\n"
        "\n"
        "--html writes one page that needs no other file and no network. At its top are the "
        "critical path of what took longest (the slowest request, or instance of --period, or the "
        "recorded command) and what 'lull why' says. Its tables sort by a "
        "click on a heading, or with the keyboard; without scripts they can still be read.",
    .output =
        "With --json, as of the other analyses, with the name of the analysis in each window:\n"
        "\n"
        " {\"version\":1,\"unanswered\":[{\"analysis\",\"missing\"},…],\n"
        "  \"windows\":[{\"analysis\",\"begin_ns\",\"end_ns\",\"number\",\"period\",\"captures\",\n"
        "  \"is_complete\",\"lost_events\",\"lost_packets\",\"notes\":[…],\n"
        "  \"tables\":{NAME:[{KEY:VALUE,…},…],…}},…]}\n"
        "\n"
        "The tables are those of the analyses; and of the analysis 'timeline': cpu-over-time "
        "(begin_ns, then for each CPU a share, \"cpu0\", …), waits-over-time (avg_wait_ns), "
        "calls-over-time (calls_per_s), disk-over-time (read_bytes_per_s, written_bytes_per_s), "
        "network-over-time (received_bytes_per_s, sent_bytes_per_s), with the host under \"of\" if "
        "there are several; of 'syscallstats': per-call and freq (histogram), over all tasks. "
        "Histograms have bins that double in width.",
    .options = options,
    .common = common,
    .examples = examples,
    .run = run,
    .analysis = &(const struct lull_verb_analysis){NULL, LULL_SECTION_TOP},
};
