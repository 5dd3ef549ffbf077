/* SPDX-License-Identifier: MIT */
/* Views of what analyses find: text for people, JSON for programs, LAMI for the clients of
 * lttng-analyses. Each is a sink that writes as the results come; rows are never kept.
 *
 *     struct lull_result_view *view = lull_result_text_new(&options);
 *     runner = lull_runner_new(session, classes, params, 1, lull_result_sink(view));
 *     lull_runner_run(runner, NULL, NULL);
 *     ok = lull_result_finish(view, error);
 */
#ifndef LULL_VIEW_RESULT_VIEW_H
#define LULL_VIEW_RESULT_VIEW_H

#include "view/result/report.h"
#include "view/view.h"

struct lull_result_options {
    FILE *file;                   /* stays open */
    FILE *notes;                  /* CSV: for what is no row; NULL: nobody reads it */
    struct lull_view_style style; /* text only: colours, character set, width, local time */
    char separator;               /* CSV: ',' or '\t' */
    bool has_iso_times;           /* JSON, CSV: times as texts, not as ns since 1970 */
    bool is_held;                 /* LAMI: nothing is written before lull_result_finish() */
    bool has_hosts;               /* the session has several hosts: columns of LULL_USE_HOST */
    bool has_guests;              /* lull_stolen_is_known(): columns of LULL_USE_GUEST */
    /* Text only: "control group" where tables have a row for each of those, not for tasks; or NULL. */
    const char *rows_of;
    /* The only analysis that is shown; NULL: several are, and JSON says so in each window. */
    const struct lull_analysis_class *analysis;
    const struct lull_result_report *report; /* they are the parts of it; or NULL. Borrowed */
};

struct lull_result_view;

struct lull_result_view *lull_result_text_new(const struct lull_result_options *options);
/* A report's {"version": 1, "unanswered": [{"analysis", "missing"}, …], "windows": …}, or
 * {"version": 1, "analysis": NAME, "windows": [{"start_ns", "end_ns", "number", "period",
 * "captures", "is_complete", "lost_events", "lost_packets", "notes", "tables": {CLASS: [{KEY:
 * VALUE, …}, …], …}}, …]} The rows of all tables of a class are in one array; those of tables with
 * a subtitle have it under "of". What is empty or unknown is null. */
struct lull_result_view *lull_result_json_new(const struct lull_result_options *options);
/* Tables with commas or tabs between fields, and headings that are the keys of JSON. */
struct lull_result_view *lull_result_csv_new(const struct lull_result_options *options);
/* The result document of LAMI 1.0.1. Tables are grouped by class, groups in order of first use:
 * those of the first class are written at once, those of others wait in memory. */
struct lull_result_view *lull_result_lami_new(const struct lull_result_options *options);
/* A page of HTML for a report (options->report) that needs nothing but itself: charts as SVG,
 * tables that sort. At most LULL_HTML_ROWS rows of a table are in it, and a log not at all. */
struct lull_result_view *lull_result_html_new(const struct lull_result_options *options);
enum { LULL_HTML_ROWS = 1000 };
/* Puts an element svg into such a page, below what it has already. */
void lull_result_html_picture(struct lull_result_view *view, const char *svg);

struct lull_sink *lull_result_sink(struct lull_result_view *view);
/* Writes what is left, flushes and frees. False with LULL_ERROR_IO if something could not be
 * written; a closed pipe is not an error. */
bool lull_result_finish(struct lull_result_view *view, GError **error);

/* Frees a view that was shown nothing, and writes nothing. */
void lull_result_drop(struct lull_result_view *view);

/* The metadata document of LAMI 1.0.1 for an analysis. */
bool lull_lami_metadata(const struct lull_analysis_class *analysis, FILE *file, GError **error);

#endif
