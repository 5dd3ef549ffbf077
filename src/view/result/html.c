/* SPDX-License-Identifier: MIT */
/* A report as one page of HTML that needs nothing but itself: style and script are in it, charts
 * are SVG, and a policy in its head forbids it to load anything. What comes from the trace is
 * cleaned and escaped, and never in a script. */
#include "view/result/html.h"

#include <lull/version.h>

#include <inttypes.h>
#include <stdarg.h>

#include "base/time.h"
#include "report_assets.h"
#include "view/result/cells.h"
#include "view/words.h"

enum { MOST_WINDOWS = 50, DATE_LENGTH = 10 };

/* ---- pieces ---- */

void lull_html_text(struct lull_html_view *html, const char *text)
{
    g_autofree char *clean = lull_clean_text(text, false);
    g_autofree char *escaped = g_markup_escape_text(clean, -1);
    lull_linebuf_string(&html->view.line, escaped);
}

void lull_html_put(struct lull_html_view *html, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    lull_linebuf_string(&html->view.line, text);
}

void lull_html_number(struct lull_html_view *html, double value)
{
    char text[LULL_DECIMAL_SIZE];
    lull_decimal_format(value, 2, text);
    char *point = strchr(text, '.');
    size_t length = strlen(text);
    while (point && length > 0 && (text[length - 1] == '0' || text[length - 1] == '.')) {
        length--;
        if (text[length] == '.') {
            break;
        }
    }
    lull_linebuf_bytes(&html->view.line, text, length);
}

const char *lull_html_cell(struct lull_html_view *html, const struct lull_cell *cell)
{
    g_string_truncate(html->text, 0);
    lull_cell_append(html->text, cell, &html->view.options.style, html->has_date);
    return html->text->str;
}

const char *lull_html_value(struct lull_html_view *html, const struct lull_result_column *column,
                            double value)
{
    g_string_truncate(html->text, 0);
    lull_result_value_append(html->text, column, value, &html->view.options.style);
    return html->text->str;
}

void lull_html_title(struct lull_html_view *html, const struct lull_result_table *table)
{
    lull_html_text(html, table->class->title);
    if (table->subtitle) {
        lull_html_put(html, ": ");
        lull_html_text(html, table->subtitle);
    }
}

static void put_row(struct lull_html_view *html, const char *label, const char *text)
{
    lull_html_put(html, "<dt>%s</dt><dd>", label);
    lull_html_text(html, text);
    lull_html_put(html, "</dd>\n");
}

/* ---- the head ---- */

/* A script that is not this one does not run. */
static void put_policy(struct lull_html_view *html)
{
    guint8 digest[32];
    gsize length = sizeof digest;
    GChecksum *checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_checksum_update(checksum, (const guchar *)report_js, sizeof report_js - 1);
    g_checksum_get_digest(checksum, digest, &length);
    g_checksum_free(checksum);
    g_autofree char *hash = g_base64_encode(digest, length);
    lull_html_put(html,
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'; script-src 'sha256-%s'\">\n",
                  hash);
}

static void put_chapters(struct lull_html_view *html)
{
    const struct lull_result_report *report = html->view.options.report;
    const char *last = NULL;
    uint32_t n = 0;
    lull_html_put(html, "<nav aria-label=\"Chapters\"><ul>");
    lull_html_put(html, "%s%s",
                  report->path ? "<li><a href=\"#longest\">What took longest</a></li>" : "",
                  report->why ? "<li><a href=\"#why\">Why slow</a></li>" : "");
    for (size_t i = 0; i < report->parts.count; i++) {
        if (last && strcmp(last, report->parts.items[i]->chapter) == 0) {
            continue;
        }
        last = report->parts.items[i]->chapter;
        lull_html_put(html, "<li><a href=\"#c%u\">%s</a></li>", ++n, last);
    }
    if (report->gaps.count) {
        lull_html_put(html, "<li><a href=\"#unanswered\">Not answered</a></li>");
    }
    lull_html_put(html, "</ul></nav>\n");
}

/* What took longest, and what makes slow ones slow. */
static void put_top(struct lull_html_view *html)
{
    const struct lull_result_report *report = html->view.options.report;
    if (report->path) {
        lull_html_put(html, "<section id=\"longest\">\n<h2>What took longest</h2>\n"
                            "<div class=\"scroll wide\" tabindex=\"0\">\n");
        lull_linebuf_string(&html->view.line, report->path);
        lull_html_put(html, "</div>\n");
        if (report->narrow_path) {
            lull_html_put(html, "<div class=\"for-narrow\">\n");
            lull_linebuf_string(&html->view.line, report->narrow_path);
            lull_html_put(html, "</div>\n");
        }
        if (report->path_command) {
            lull_html_put(html, "<p>More of it: <code>");
            lull_html_text(html, report->path_command);
            lull_html_put(html, "</code>; with --html FILE it can be zoomed.</p>\n");
        }
        lull_html_put(html, "</section>\n");
    }
    if (report->why) {
        lull_html_put(html, "<section id=\"why\">\n<h2>What makes slow ones slow</h2>\n");
        g_auto(GStrv) lines = g_strsplit(report->why, "\n", -1);
        for (uint32_t i = 0; lines[i]; i++) {
            const size_t blanks = strspn(lines[i], " ");
            if (lines[i][blanks]) {
                lull_html_put(html, "<p class=\"w%u\">", blanks == 0 ? 0 : blanks == 1 ? 1 : 2);
                lull_html_text(html, lines[i] + blanks);
                lull_html_put(html, "</p>\n");
            }
        }
        lull_html_put(html, "</section>\n");
    }
}

static void start_page(struct lull_html_view *html)
{
    const struct lull_result_report *report = html->view.options.report;
    lull_html_put(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(html);
    lull_html_put(html,
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"generator\" content=\"Lull " LULL_VERSION "\">\n"
                  "<title>%s",
                  report->parts.count ? "Report" : report->title);
    for (size_t i = 0; i < report->lines.count; i++) {
        if (strcmp(report->lines.items[i].label, "Host") == 0) {
            lull_html_put(html, " on ");
            lull_html_text(html, report->lines.items[i].text);
            break;
        }
    }
    lull_html_put(html, "</title>\n<style>\n");
    lull_linebuf_literal(&html->view.line, report_css);
    lull_html_put(html, "</style>\n</head>\n<body>\n<header>\n<h1>%s</h1>\n<dl>\n", report->title);
    for (size_t i = 0; i < report->lines.count; i++) {
        put_row(html, report->lines.items[i].label, report->lines.items[i].text);
    }
    lull_html_put(html, "</dl>\n</header>\n");
    if (report->parts.count) {
        put_chapters(html);
    }
    lull_html_put(html, "<main>\n");
    put_top(html);
}

/* ---- windows and chapters ---- */

static void close_grid(struct lull_html_view *html)
{
    if (html->in_grid) {
        lull_html_put(html, "</div>\n");
    }
    html->in_grid = false;
}

static void close_chapter(struct lull_html_view *html)
{
    close_grid(html);
    if (html->chapter) {
        lull_html_put(html, "</section>\n");
    }
    html->chapter = NULL;
}

static void put_losses(struct lull_html_view *html, const struct lull_window *window)
{
    if (!window->lost_events && !window->lost_packets) {
        return;
    }
    lull_html_put(html,
                  "<p class=\"warn\">Lost in this time: %" PRIu64 " events and %" PRIu64
                  " packets. What they recorded is missing.</p>\n",
                  window->lost_events, window->lost_packets);
}

static void start_window(struct lull_html_view *html, const struct lull_window *window)
{
    const bool local = html->view.options.style.local_time;
    char start[LULL_TIME_TEXT_SIZE], end[LULL_TIME_TEXT_SIZE], took[LULL_TIME_TEXT_SIZE];
    lull_time_format_iso(window->start_ns, local, start);
    lull_time_format_iso(window->end_ns, local, end);
    lull_duration_format(window->end_ns - window->start_ns, took);
    html->has_date = strncmp(start, end, DATE_LENGTH) != 0;
    if (html->n_windows > 1) {
        lull_html_put(html, "<h1 class=\"window\">%s (%s)</h1>\n", start, took);
    }
    g_autofree char *range = g_strdup_printf("%s to %s (%s)%s", start, end, took,
                                             window->is_complete ? "" : ", the end was not seen");
    lull_html_put(html, "<dl>\n");
    put_row(html, "Time", range);
    if (window->period) {
        put_row(html, "Period", window->period);
    }
    if (window->captures && *window->captures) {
        put_row(html, "Captured", window->captures);
    }
    lull_html_put(html, "</dl>\n");
    put_losses(html, window);
    g_hash_table_remove_all(html->notes);
}

static void start_chapter(struct lull_html_view *html, const char *analysis)
{
    const struct lull_report_part *part = lull_report_find(analysis);
    const char *chapter = part ? part->chapter : analysis;
    if (html->chapter && strcmp(chapter, html->chapter) == 0) {
        return;
    }
    close_chapter(html);
    html->chapter = chapter;
    lull_html_put(html, "<section id=\"c%u\">\n", ++html->n_chapters);
    if (!html->view.options.analysis) {
        lull_html_put(html, "<h2>");
        lull_html_text(html, chapter);
        lull_html_put(html, "</h2>\n");
    }
}

static void html_start(struct lull_sink *sink, const char *analysis,
                       const struct lull_window *window)
{
    struct lull_html_view *html = (struct lull_html_view *)sink;
    if (html->n_windows == 0 || window->number != html->window.number) {
        if (html->n_windows >= MOST_WINDOWS) {
            html->n_left_out++;
        } else {
            html->n_windows++;
        }
        if (!html->n_left_out) {
            close_chapter(html);
            start_window(html, window);
        }
    }
    html->window = *window;
    html->has_rows = false;
    g_string_truncate(html->empty, 0);
    if (!html->n_left_out) {
        start_chapter(html, analysis);
    }
}

static void html_note(struct lull_sink *sink, const char *note)
{
    struct lull_html_view *html = (struct lull_html_view *)sink;
    if (html->n_left_out || !g_hash_table_add(html->notes, g_strdup(note))) {
        return;
    }
    close_grid(html);
    lull_html_put(html, "<p class=\"note\">");
    lull_html_text(html, note);
    lull_html_put(html, "</p>\n");
}

static void html_table(struct lull_sink *sink, const struct lull_result_table *table)
{
    struct lull_html_view *html = (struct lull_html_view *)sink;
    if (html->n_left_out || table->class->kind == LULL_TABLE_LOG) {
        return;
    }
    if (table->n_rows == 0) {
        g_string_append_printf(html->empty, "%s%s%s%s", html->empty->len ? "; " : "",
                               table->class->title, table->subtitle ? ": " : "",
                               table->subtitle ? table->subtitle : "");
        return;
    }
    html->has_rows = true;
    if (table->class->kind != LULL_TABLE_SERIES) {
        lull_html_end_series(html);
    }
    if (table->class->kind == LULL_TABLE_HISTOGRAM) {
        if (!html->in_grid) {
            lull_html_put(html, "<div class=\"grid\">\n");
        }
        html->in_grid = true;
        lull_html_histogram(html, table);
    } else {
        close_grid(html);
        if (table->class->kind == LULL_TABLE_SERIES) {
            lull_html_series(html, table);
        } else {
            lull_html_table(html, table, true);
        }
    }
    lull_result_flush(&html->view);
}

void lull_result_html_picture(struct lull_result_view *view, const char *svg)
{
    struct lull_html_view *html = (struct lull_html_view *)view;
    if (html->n_left_out) {
        return;
    }
    close_grid(html);
    lull_html_put(html, "<div class=\"scroll picture\" tabindex=\"0\">\n");
    lull_linebuf_string(&view->line, svg);
    lull_html_put(html, "</div>\n");
    lull_result_flush(view);
}

static void html_end(struct lull_sink *sink)
{
    struct lull_html_view *html = (struct lull_html_view *)sink;
    lull_html_end_series(html);
    if (html->n_left_out) {
        return;
    }
    close_grid(html);
    if (html->empty->len) {
        lull_html_put(html, "<p class=\"none\">Nothing was found for: ");
        lull_html_text(html, html->empty->str);
        lull_html_put(html, "</p>\n");
    }
    lull_result_flush(&html->view);
}

/* ---- the end ---- */

static void put_gaps(struct lull_html_view *html)
{
    const struct lull_result_report *report = html->view.options.report;
    lull_html_put(html, "<section id=\"unanswered\">\n<h2>Not answered</h2>\n<dl>\n");
    for (size_t i = 0; i < report->gaps.count; i++) {
        g_autofree char *text = g_strdup_printf("not recorded: %s", report->gaps.items[i].missing);
        put_row(html, report->gaps.items[i].part->analysis->title, text);
    }
    lull_html_put(html, "</dl>\n</section>\n");
}

static void html_finish(struct lull_result_view *view)
{
    struct lull_html_view *html = (struct lull_html_view *)view;
    close_chapter(html);
    if (html->n_windows == 0) {
        lull_html_put(html, "<p>Nothing was recorded in this time.</p>\n");
    }
    if (html->n_left_out) {
        lull_html_put(html,
                      "<p class=\"warn\">%u more spans of time are left out of this page.</p>\n",
                      html->n_left_out);
    }
    if (view->options.report->gaps.count) {
        put_gaps(html);
    }
    g_autofree char *limit = lull_result_report_limit(view->options.report);
    lull_html_put(html,
                  "</main>\n<footer><p>Written by lull %s " LULL_VERSION
                  ". ? means that the trace does not say. %s</p></footer>\n<script>",
                  view->options.report->verb, limit ? limit : "");
    lull_linebuf_literal(&view->line, report_js);
    lull_html_put(html, "</script>\n</body>\n</html>\n");
    g_string_free(html->empty, TRUE);
    g_string_free(html->text, TRUE);
    g_ptr_array_unref(html->charts);
    g_hash_table_unref(html->notes);
}

struct lull_result_view *lull_result_html_new(const struct lull_result_options *options)
{
    struct lull_html_view *html = g_new0(struct lull_html_view, 1);
    lull_result_view_init(&html->view, options, "HTML", html_finish);
    html->view.options.style.unicode = true;
    html->view.sink = (struct lull_sink){html_start, html_note, html_table, html_end};
    html->empty = g_string_new(NULL);
    html->text = g_string_new(NULL);
    html->charts = lull_html_charts_new();
    html->notes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    start_page(html);
    return &html->view;
}
