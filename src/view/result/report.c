/* SPDX-License-Identifier: MIT */
/* The head of a report: traces and hosts; which parts are answered and which are not. */
#include "view/result/report.h"

#include <string.h>

#include <lull/recording.h>

#include "view/words.h"
#include "source/session/streams.h"

enum { MOST_TRACES = 8 };

static void add_line(struct lull_result_report *report, const char *label, char *text)
{
    lull_vec_push(&report->lines, (struct lull_report_line){label, text});
}

static bool is_of(const struct lull_trace *trace, int32_t only_host)
{
    return only_host < 0 || trace->host == (uint32_t)only_host;
}

static void add_traces(struct lull_result_report *report, const struct lull_session *session,
                       int32_t only_host)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < lull_session_trace_count(session); i++) {
        const struct lull_trace *trace = lull_session_trace(session, i);
        if (!is_of(trace, only_host) || n++ >= MOST_TRACES) {
            continue;
        }
        g_autoptr(GString) text = g_string_new(trace->path);
        g_string_append(text, " (");
        if (trace->domain[0]) {
            g_string_append_printf(text, "%s, ", trace->domain);
        }
        lull_bytes_append(text, (double)trace->size_bytes);
        g_string_append_c(text, ')');
        add_line(report, "Trace", g_strdup(text->str));
    }
    if (n > MOST_TRACES) {
        add_line(report, "", g_strdup_printf("and %u more traces", n - MOST_TRACES));
    }
}

/* "web: Linux 6.1.0, lttng-modules 2.13.9" from the first trace that has it; for a recording,
 * whose first trace may be the state of the machine, what that says. */
static void add_host(struct lull_result_report *report, const struct lull_session *session,
                     uint32_t host)
{
    const char *kernel = "", *tracer = "";
    uint32_t n;
    const uint32_t *traces = lull_session_host_traces(session, host, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_trace *trace = lull_session_trace(session, traces[i]);
        if (!kernel[0] && trace->kernel[0]) {
            kernel = trace->kernel;
            tracer = trace->tracer;
        }
        if (!tracer[0]) {
            tracer = trace->tracer;
        }
    }
    uint32_t n_recordings;
    const uint32_t first = lull_session_recordings_of(session, host, &n_recordings);
    for (uint32_t i = first; i < first + n_recordings; i++) {
        const struct lull_recording_info *recording = lull_session_recording(session, i);
        tracer = recording->tracer[0] ? recording->tracer : tracer;
    }
    add_line(report, "Host",
             g_strdup_printf("%s%s%s%s%s%s", lull_session_host(session, host)->name,
                             kernel[0] || tracer[0] ? ": " : "", kernel[0] ? "Linux " : "", kernel,
                             kernel[0] && tracer[0] ? ", " : "", tracer));
}

struct lull_result_report *lull_result_report_head(const struct lull_session *session,
                                                   int32_t only_host)
{
    struct lull_result_report *report = g_new0(struct lull_result_report, 1);
    add_traces(report, session, only_host);
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        if (only_host < 0 || host == (uint32_t)only_host) {
            add_host(report, session, host);
        }
    }
    return report;
}

struct lull_result_report *lull_result_report_new(const struct lull_session *session,
                                                  int32_t only_host, uint32_t limit)
{
    struct lull_result_report *report = lull_result_report_head(session, only_host);
    report->title = "What the trace shows";
    report->verb = "stats";
    report->limit = limit;
    for (const struct lull_report_part *part = lull_report_parts; part->analysis; part++) {
        char *missing = lull_report_missing(session, only_host, part);
        if (missing) {
            lull_vec_push(&report->gaps, (struct lull_report_gap){part, missing});
        } else {
            lull_vec_push(&report->parts, part);
        }
    }
    return report;
}

void lull_result_report_free(struct lull_result_report *report)
{
    if (!report) {
        return;
    }
    for (size_t i = 0; i < report->lines.count; i++) {
        g_free(report->lines.items[i].text);
    }
    for (size_t i = 0; i < report->gaps.count; i++) {
        g_free(report->gaps.items[i].missing);
    }
    g_free(report->path);
    g_free(report->narrow_path);
    g_free(report->path_command);
    g_free(report->why);
    lull_vec_free(&report->lines);
    lull_vec_free(&report->parts);
    lull_vec_free(&report->gaps);
    g_free(report);
}

char *lull_result_report_limit(const struct lull_result_report *report)
{
    return report->limit ? g_strdup_printf("Of long tables the first %u rows; --limit 0 gives all",
                                           report->limit)
                         : NULL;
}
