/* SPDX-License-Identifier: MIT */
/* A critical path for a person: a sentence, the summary, warnings, and the path as a table in time
 * order. */
#include "view/view.h"

#include <string.h>

#include "base/time.h"
#include "view/out.h"
#include "view/path/rows.h"
#include "view/table.h"
#include "view/words.h"

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define YELLOW "\033[33m"
#define RESET "\033[0m"

#define BAR_CELLS 20
#define MAX_TASKS 10 /* in the summary */
#define MAX_INDENT 8 /* levels shown; deeper ones get the same indent */

struct text_view {
    struct lull_out out;
    const struct lull_path *path;
    const struct lull_view_style *style;
    bool shows_hosts; /* the path touches several */
};

static void append_task(const struct text_view *view, GString *text, const char *comm, int32_t tid,
                        uint32_t host)
{
    lull_task_append(text, comm, tid, !view->style->unicode);
    if (view->path->n_hosts > 1) {
        g_string_append(text, " on ");
        lull_clean_append(text, lull_path_host_name(view->path, host), !view->style->unicode);
    }
}

static void print_headline(struct text_view *view)
{
    const struct lull_path *path = view->path;
    const char *bold = view->style->color ? BOLD : "", *reset = view->style->color ? RESET : "";
    char took[LULL_TIME_TEXT_SIZE], start[LULL_TIME_TEXT_SIZE], end[LULL_TIME_TEXT_SIZE];
    GString *task = g_string_new(NULL);

    lull_duration_format(path->end_ns - path->start_ns, took);
    lull_time_format_iso(path->start_ns, view->style->local_time, start);
    lull_time_format_iso(path->end_ns, view->style->local_time, end);
    /* The same day needs no second date. */
    if (strncmp(start, end, 10) == 0) {
        lull_time_format_clock(path->end_ns, view->style->local_time, end);
    }
    lull_task_append(task, path->comm, path->tid, !view->style->unicode);
    g_string_append(task, " on ");
    lull_clean_append(task, lull_path_host_name(path, path->host), !view->style->unicode);
    lull_out_printf(&view->out, "%s%s took %s%s, from %s to %s.\n", bold, task->str, took, reset,
                    start, end);
    lull_out_printf(&view->out, "Its critical path: %u task%s on %u host%s in %u segment%s.\n",
                    path->n_by_task, path->n_by_task == 1 ? "" : "s", path->n_by_host,
                    path->n_by_host == 1 ? "" : "s", path->n_segments,
                    path->n_segments == 1 ? "" : "s");
    g_string_free(task, TRUE);
}

/* A bar of eighths of a character. */
static void append_bar(GString *bar, double share)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int eighths = (int)(CLAMP(share, 0.0, 1.0) * BAR_CELLS * 8 + 0.5);

    for (int i = 0; i < eighths / 8; i++) {
        g_string_append(bar, "█");
    }
    g_string_append(bar, eighths ? parts[eighths % 8] : "▏");
}

enum { SUM_WHAT, SUM_TIME, SUM_SHARE, SUM_BAR };

static void add_summary_heading(const struct text_view *view, struct lull_table *table,
                                const char *title)
{
    lull_table_add_row(table);
    lull_table_set_text(table, SUM_WHAT, title);
    if (view->style->color) {
        lull_table_set_color(table, SUM_WHAT, BOLD);
    }
}

static void add_summary_row(const struct text_view *view, struct lull_table *table,
                            const char *what, int64_t duration_ns, const char *ansi)
{
    double share = lull_share(duration_ns, view->path->end_ns - view->path->start_ns);
    g_autofree char *indented = g_strdup_printf("  %s", what);

    lull_table_add_row(table);
    lull_table_set_text(table, SUM_WHAT, indented);
    lull_table_set_number(table, SUM_TIME, duration_ns);
    lull_table_set_real(table, SUM_SHARE, share);
    if (ansi) {
        lull_table_set_color(table, SUM_WHAT, ansi);
        lull_table_set_color(table, SUM_BAR, ansi);
    }
    GString *bar = g_string_new(NULL);
    append_bar(bar, share);
    lull_table_set_text(table, SUM_BAR, bar->str);
    g_string_free(bar, TRUE);
}

static void add_state_rows(const struct text_view *view, struct lull_table *table)
{
    add_summary_heading(view, table, "By state");
    for (uint32_t i = 0; i < view->path->n_by_state; i++) {
        const struct lull_state_share *share = &view->path->by_state[i];
        const struct lull_look *look = lull_look_of(share->state, share->cause);
        add_summary_row(view, table, look->phrase, share->duration_ns, look->ansi);
    }
}

static void add_task_rows(const struct text_view *view, struct lull_table *table)
{
    const struct lull_path *path = view->path;
    uint32_t shown = path->n_by_task;
    int64_t rest_ns = 0;

    if (!view->style->full && shown > MAX_TASKS + 1) {
        shown = MAX_TASKS;
    }
    add_summary_heading(view, table, "By task");
    for (uint32_t i = 0; i < path->n_by_task; i++) {
        const struct lull_task_share *share = &path->by_task[i];
        if (i >= shown) {
            rest_ns += share->duration_ns;
            continue;
        }
        GString *name = g_string_new(NULL);
        append_task(view, name, share->comm, share->tid, share->host);
        add_summary_row(view, table, name->str, share->duration_ns, NULL);
        g_string_free(name, TRUE);
    }
    if (shown < path->n_by_task) {
        g_autofree char *text = g_strdup_printf("%u other tasks", path->n_by_task - shown);
        add_summary_row(view, table, text, rest_ns, NULL);
    }
}

static bool shows_bars(const struct text_view *view)
{
    return view->style->unicode && view->style->width > 0;
}

static bool print_summary(struct text_view *view, GError **error)
{
    const struct lull_column columns[] = {
        [SUM_WHAT] = {.title = "WHAT", .type = LULL_COLUMN_TEXT},
        [SUM_TIME] = {.title = "TIME", .type = LULL_COLUMN_DURATION},
        [SUM_SHARE] = {.title = "SHARE", .type = LULL_COLUMN_SHARE},
        [SUM_BAR] = {.title = "BAR",
                     .type = LULL_COLUMN_TEXT,
                     .flags = shows_bars(view) ? LULL_COLUMN_KEEP : LULL_COLUMN_JSON_ONLY},
        {0},
    };
    const struct lull_path *path = view->path;
    struct lull_table *table = lull_table_new(columns);

    lull_table_hide_headings(table);
    add_state_rows(view, table);
    add_task_rows(view, table);
    if (view->shows_hosts) {
        add_summary_heading(view, table, "By host");
        for (uint32_t i = 0; i < path->n_by_host; i++) {
            add_summary_row(view, table, lull_path_host_name(path, path->by_host[i].host),
                            path->by_host[i].duration_ns, NULL);
        }
    }
    lull_out_text(&view->out, "\n");
    bool ok = lull_table_print(table, view->out.file, view->style, error);
    lull_table_free(table);
    return ok;
}

static void append_warning(const struct text_view *view, GString *notes, const char *text)
{
    const char *ink = view->style->color ? YELLOW : "", *reset = view->style->color ? RESET : "";
    g_string_append_printf(notes, "%sWarning:%s %s\n", ink, reset, text);
}

static void warn_of_losses(const struct text_view *view, GString *notes)
{
    const struct lull_path *path = view->path;

    if (!path->lost_events && !path->lost_packets) {
        return;
    }
    GString *text = g_string_new("lost ");
    lull_losses_append(text, path);
    g_string_append(text, " during this time; the path may be wrong there.");
    append_warning(view, notes, text->str);
    g_string_free(text, TRUE);
}

static void warn_of_unknown(const struct text_view *view, GString *notes)
{
    const struct lull_path *path = view->path;
    char duration[LULL_TIME_TEXT_SIZE], percent[LULL_DECIMAL_SIZE];
    int64_t unknown_ns = 0;

    for (uint32_t i = 0; i < path->n_by_state; i++) {
        if (lull_look_index(path->by_state[i].state, path->by_state[i].cause) ==
            LULL_LOOK_COUNT - 1) {
            unknown_ns += path->by_state[i].duration_ns;
        }
    }
    if (unknown_ns == 0) {
        return;
    }
    lull_duration_format(unknown_ns, duration);
    lull_decimal_format(100 * lull_share(unknown_ns, path->end_ns - path->start_ns), 1, percent);
    g_autofree char *text = g_strdup_printf(
        "%s (%s %%) is unknown: the trace does not show what was waited for.", duration, percent);
    append_warning(view, notes, text);
}

/* Says of each host on the path how well its clock is joined to the others. */
static void report_clocks(const struct text_view *view, GString *notes)
{
    const struct lull_path *path = view->path;
    GString *joined = g_string_new(NULL), *apart = g_string_new(NULL);

    for (uint32_t i = 0; i < path->n_by_host && path->sync; i++) {
        uint32_t host = path->by_host[i].host;
        const struct lull_host_clock *sync = host < path->n_hosts ? &path->sync[host] : NULL;
        if (!sync || sync->is_reference) {
            continue;
        }
        GString *to = sync->is_joined ? joined : apart;
        g_string_append(to, to->len ? ", " : "");
        lull_clean_append(to, lull_path_host_name(path, host), !view->style->unicode);
        if (sync->is_joined && sync->bound_ns >= 0) {
            char bound[LULL_TIME_TEXT_SIZE];
            lull_duration_format(sync->bound_ns, bound);
            g_string_append_printf(to, " to within %s", bound);
        }
    }
    if (joined->len) {
        g_string_append_printf(notes, "Clocks joined: %s.\n", joined->str);
    }
    if (apart->len) {
        g_string_prepend(apart, "not joined with the other clocks, so times there may be off: ");
        g_string_append_c(apart, '.');
        append_warning(view, notes, apart->str);
    }
    g_string_free(joined, TRUE);
    g_string_free(apart, TRUE);
}

static void print_notes(struct text_view *view)
{
    GString *notes = g_string_new(NULL);

    if (view->shows_hosts) {
        report_clocks(view, notes);
    }
    warn_of_losses(view, notes);
    warn_of_unknown(view, notes);
    if (notes->len) {
        lull_out_printf(&view->out, "\n%s", notes->str);
    }
    g_string_free(notes, TRUE);
}

enum { COL_AT, COL_FOR, COL_HOST, COL_TASK, COL_WHAT };

/* One unit for the whole table, so that lengths can be compared at a glance. */
static double pick_unit(int64_t total_ns, const char **unit)
{
    if (total_ns < 1000000) {
        *unit = "us";
        return 1e3;
    }
    *unit = "ms";
    return 1e6;
}

static void append_row_task(const struct text_view *view, GString *text,
                            const struct lull_path_row *row, const struct lull_path_row *before)
{
    const struct lull_segment *segment = &view->path->segments[row->first];
    bool unicode = view->style->unicode;

    for (uint32_t i = 0; i < MIN(row->depth, MAX_INDENT); i++) {
        g_string_append(text, "  ");
    }
    if (before && !lull_segment_same_task(segment, &view->path->segments[before->first])) {
        if (row->depth < before->depth) {
            g_string_append(text, unicode ? "← " : "<-");
        } else {
            g_string_append(text, unicode ? "→ " : "->");
        }
    } else {
        g_string_append(text, "  ");
    }
    lull_task_append(text, segment->comm, segment->tid, !unicode);
}

/* "running (12 interrupts 0.4 ms, 2 preemptions 0.1 ms)" */
static void append_row_what(const struct text_view *view, GString *text,
                            const struct lull_path_row *row)
{
    const struct lull_segment *segment = &view->path->segments[row->segment];
    char duration[LULL_TIME_TEXT_SIZE];

    lull_segment_append(text, segment, !view->style->unicode);
    if (row->count == 1) {
        return;
    }
    gsize before = text->len;
    if (row->interrupts && segment->state == LULL_STATE_RUNNING) {
        lull_duration_format(row->interrupted_ns, duration);
        g_string_append_printf(text, " (%u interrupt%s %s", row->interrupts,
                               row->interrupts == 1 ? "" : "s", duration);
    }
    if (row->preemptions && segment->state != LULL_STATE_PREEMPTED) {
        lull_duration_format(row->preempted_ns, duration);
        g_string_append_printf(text, "%s%u preemption%s %s", text->len > before ? ", " : " (",
                               row->preemptions, row->preemptions == 1 ? "" : "s", duration);
    }
    if (text->len > before) {
        g_string_append_c(text, ')');
    }
}

static void add_path_row(const struct text_view *view, struct lull_table *table, double unit,
                         const struct lull_path_row *row, const struct lull_path_row *before)
{
    const struct lull_segment *segment = &view->path->segments[row->segment];
    GString *text = g_string_new(NULL);

    lull_table_add_row(table);
    lull_table_set_real(table, COL_AT, (double)(row->start_ns - view->path->start_ns) / unit);
    lull_table_set_real(table, COL_FOR, (double)(row->end_ns - row->start_ns) / unit);
    lull_table_set_text(table, COL_HOST, lull_path_host_name(view->path, segment->host));
    append_row_task(view, text, row, before);
    lull_table_set_text(table, COL_TASK, text->str);
    g_string_truncate(text, 0);
    append_row_what(view, text, row);
    lull_table_set_text(table, COL_WHAT, text->str);
    lull_table_set_color(table, COL_WHAT, lull_look_of(segment->state, segment->cause)->ansi);
    g_string_free(text, TRUE);
}

/* Before the first row shown within a wait: who waited, how long, what for. */
static void add_wait_row(const struct text_view *view, struct lull_table *table, double unit,
                         const struct lull_wait *wait, uint32_t depth)
{
    const bool ascii = !view->style->unicode;
    g_autoptr(GString) text = g_string_new(NULL);

    lull_table_add_row(table);
    lull_table_set_real(table, COL_AT, (double)(wait->start_ns - view->path->start_ns) / unit);
    lull_table_set_real(table, COL_FOR, (double)(wait->end_ns - wait->start_ns) / unit);
    lull_table_set_text(table, COL_HOST, lull_path_host_name(view->path, wait->host));
    for (uint32_t i = 0; i < MIN(depth, MAX_INDENT); i++) {
        g_string_append(text, "  ");
    }
    g_string_append(text, "  ");
    lull_task_append(text, wait->comm, wait->tid, ascii);
    lull_table_set_text(table, COL_TASK, text->str);
    g_string_assign(text, "waits ");
    lull_clean_append(text, wait->detail, ascii);
    lull_table_set_text(table, COL_WHAT, text->str);
    lull_table_set_color(table, COL_WHAT, DIM);
}

static void add_wait_rows(const struct text_view *view, struct lull_table *table, double unit,
                          const struct lull_path_row *row, bool *is_shown)
{
    const struct lull_path *path = view->path;
    g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(uint32_t));

    for (uint32_t w = path->segments[row->first].wait; w != LULL_NONE && !is_shown[w];
         w = path->waits[w].within) {
        is_shown[w] = true;
        g_array_append_val(waits, w);
    }
    for (guint i = waits->len; i-- > 0;) {
        const struct lull_wait *wait = &path->waits[g_array_index(waits, uint32_t, i)];
        if (wait->detail) {
            add_wait_row(view, table, unit, wait, row->depth - MIN(row->depth, i + 1));
        }
    }
}

/* The calls by which the wait of a row started, one a line. */
static void add_frame_rows(const struct text_view *view, struct lull_table *table,
                           const struct lull_path_row *row)
{
    const struct lull_segment *segment = &view->path->segments[row->segment];
    g_autoptr(GString) text = g_string_new(NULL);

    for (uint32_t i = 0; i < segment->n_frames; i++) {
        g_string_assign(text, "  ");
        lull_frame_append(text, &segment->frames[i], !view->style->unicode);
        lull_table_add_row(table);
        lull_table_set_text(table, COL_WHAT, text->str);
        lull_table_set_color(table, COL_WHAT, DIM);
    }
}

/* Represents the hidden rows from first up to `end`. */
static void add_gap_row(const struct text_view *view, struct lull_table *table, double unit,
                        GArray *rows, guint first, guint end)
{
    int64_t start_ns = g_array_index(rows, struct lull_path_row, first).start_ns;
    int64_t took_ns = g_array_index(rows, struct lull_path_row, end - 1).end_ns - start_ns;
    char duration[LULL_TIME_TEXT_SIZE];

    lull_duration_format(took_ns, duration);
    g_autofree char *text =
        g_strdup_printf("%s %u shorter steps, %s in total", view->style->unicode ? "…" : "...",
                        end - first, duration);
    lull_table_add_row(table);
    lull_table_set_real(table, COL_AT, (double)(start_ns - view->path->start_ns) / unit);
    lull_table_set_real(table, COL_FOR, (double)took_ns / unit);
    lull_table_set_text(table, COL_WHAT, text);
    for (uint32_t i = COL_AT; i <= COL_WHAT; i++) {
        lull_table_set_color(table, i, DIM);
    }
}

static void add_path_rows(const struct text_view *view, struct lull_table *table, double unit,
                          GArray *rows)
{
    const struct lull_path_row *before = NULL;
    g_autofree bool *is_shown = g_new0(bool, view->path->n_waits);

    for (guint i = 0; i < rows->len;) {
        const struct lull_path_row *row = &g_array_index(rows, struct lull_path_row, i);
        guint end = i;
        while (end < rows->len && g_array_index(rows, struct lull_path_row, end).is_hidden) {
            end++;
        }
        if (end > i) {
            add_gap_row(view, table, unit, rows, i, end);
            i = end;
            continue;
        }
        add_wait_rows(view, table, unit, row, is_shown);
        add_path_row(view, table, unit, row, before);
        if (view->style->stacks) {
            add_frame_rows(view, table, row);
        }
        before = row;
        i++;
    }
}

static bool print_path(struct text_view *view, GError **error)
{
    const struct lull_path *path = view->path;
    const char *unit_name;
    double unit = pick_unit(path->end_ns - path->start_ns, &unit_name);
    const struct lull_column columns[] = {
        [COL_AT] = {.title = "AT", .type = LULL_COLUMN_REAL, .unit = unit_name, .digits = 3},
        [COL_FOR] = {.title = "FOR", .type = LULL_COLUMN_REAL, .unit = unit_name, .digits = 3},
        [COL_HOST] = {.title = "HOST",
                      .type = LULL_COLUMN_TEXT,
                      .flags = view->shows_hosts ? LULL_COLUMN_KEEP : LULL_COLUMN_JSON_ONLY},
        [COL_TASK] = {.title = "TASK", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP},
        [COL_WHAT] = {.title = "WHAT", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
        {0},
    };
    GArray *rows = lull_path_rows_new(path, view->style->full, view->style->limit);
    struct lull_table *table = lull_table_new(columns);

    lull_out_text(&view->out, "\n");
    add_path_rows(view, table, unit, rows);
    bool ok = lull_table_print(table, view->out.file, view->style, error);
    lull_table_free(table);
    g_array_unref(rows);
    return ok;
}

bool lull_view_path_text(const struct lull_path *path, FILE *file,
                         const struct lull_view_style *style, GError **error)
{
    struct text_view view = {.path = path, .style = style, .shows_hosts = path->n_by_host > 1};

    lull_out_start(&view.out, file);
    print_headline(&view);
    if (!print_summary(&view, error)) {
        return false;
    }
    print_notes(&view);
    if (!print_path(&view, error)) {
        return false;
    }
    return lull_out_end(&view.out, "the critical path", error);
}
