/* SPDX-License-Identifier: MIT */
/* A critical path for a person: a sentence, the summary, notes, and the path as a table in time
 * order. */
#include "view/path/text.h"

#include <string.h>

#include "base/time.h"
#include "view/path/rows.h"
#include "view/table.h"
#include "view/words.h"

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define RESET "\033[0m"

#define MAX_INDENT 8 /* levels shown; deeper ones get the same indent */

/* "make/4711 waits in futex 0x7f12a0 since 10:29:41.366 (1.564 s), which sh/4712 holds" */
static void append_open_wait(const struct text_view *view, const struct lull_open_wait *wait,
                             GString *out)
{
    const bool ascii = !view->style->unicode;
    char since[LULL_TIME_TEXT_SIZE], so_far[LULL_TIME_TEXT_SIZE];
    lull_time_format_clock(wait->start_ns, view->style->local_time, since);
    lull_duration_format(wait->end_ns - wait->start_ns, so_far);
    lull_task_append(out, wait->comm, wait->tid, ascii);
    g_string_append(out, " waits");
    if (wait->what) {
        g_string_append_c(out, ' ');
        lull_clean_append(out, wait->what, ascii);
    }
    if (wait->holder_comm) {
        g_string_append(out, wait->role->before);
        lull_task_append(out, wait->holder_comm, wait->holder_tid, ascii);
        g_string_append_printf(out, "%s%s", wait->role->after, *wait->role->after ? "," : "");
    }
    g_string_append_printf(out, wait->is_older ? " since before %s (%s)" : " since %s (%s)", since,
                           so_far);
    if (wait->refused) {
        g_string_append_printf(out, ", after %s failed as it would never have ended (EDEADLK)",
                               wait->refused);
    }
}

/* What the path ends with has no end: who waits for what, and whose that is. */
static void print_open_waits(struct text_view *view)
{
    const struct lull_path *path = view->path;
    g_autoptr(GString) text = g_string_new(NULL);
    for (uint32_t i = 0; i < path->n_open_waits; i++) {
        g_string_append(text, i > 0 ? "; " : "");
        append_open_wait(view, &path->open_waits[i], text);
    }
    if (path->n_open_waits) {
        lull_out_printf(&view->out, "%s: %s.\n",
                        path->is_deadlock ? "Deadlock" : "Not over when the trace ends", text->str);
    }
}

/* Which processes of the path the kernel killed. */
static void print_kills(struct text_view *view)
{
    enum { MOST_KILLS = 5 };
    const struct lull_path *path = view->path;
    for (uint32_t i = 0; i < MIN(path->n_kills, MOST_KILLS); i++) {
        const struct lull_path_kill *kill = &path->kills[i];
        char at[LULL_TIME_TEXT_SIZE];
        g_autoptr(GString) text = g_string_new(NULL);
        lull_time_format_clock(kill->time_ns, view->style->local_time, at);
        lull_task_append(text, kill->comm, kill->tid, !view->style->unicode);
        g_string_append_c(text, ' ');
        lull_clean_append(text, kill->what, !view->style->unicode);
        lull_out_printf(&view->out, "At %s %s.\n", at, text->str);
    }
    if (path->n_kills > MOST_KILLS) {
        lull_out_printf(&view->out, "%u more processes were killed.\n", path->n_kills - MOST_KILLS);
    }
}

/* Whether these are the words of the command, whose first may have been found in the PATH. Of a line
 * that was cut, the last word may be the start of one. */
static bool are_words_of(const char *const *command, char *const *words, bool is_cut)
{
    g_autofree char *first = g_path_get_basename(command[0]);
    g_autofree char *word = words[0] ? g_path_get_basename(words[0]) : NULL;
    if (!word || strcmp(word, first) != 0) {
        return false;
    }
    uint32_t i = 1;
    for (; words[i] && command[i]; i++) {
        const bool is_start = is_cut && !words[i + 1];
        if (is_start ? !g_str_has_prefix(command[i], words[i])
                     : strcmp(words[i], command[i]) != 0) {
            return false;
        }
    }
    return !words[i] && (is_cut || !command[i]);
}

/* Whether the task went from the recorded command to another, as a shell does with its last one. A
 * script is the same command behind an interpreter, which may have one argument. */
static bool executed_another(const struct lull_path *path)
{
    enum { MOST_BEFORE = 2 };
    g_auto(GStrv) words = NULL;
    int n;
    if (!path->command[0] || !g_shell_parse_argv(path->command_line, &n, &words, NULL)) {
        return false;
    }
    const bool is_cut = strcmp(words[n - 1], "…") == 0;
    if (is_cut) {
        g_clear_pointer(&words[n - 1], g_free);
    }
    bool is_another = words[0];
    for (uint32_t i = 0; is_another && i <= MOST_BEFORE && words[i]; i++) {
        is_another = !are_words_of(path->command, &words[i], is_cut);
    }
    return is_another;
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
    print_open_waits(view);
    print_kills(view);
    if (path->command || path->command_line) {
        g_autoptr(GString) command = g_string_new("Its command was: ");
        if (path->command) {
            lull_command_append(command, path->command, !view->style->unicode);
        }
        if (path->command_line && (!path->command || executed_another(path))) {
            g_string_append(command, path->command ? "\nIt then executed: " : "");
            lull_command_line_append(command, path->command_line, !view->style->unicode);
        }
        lull_out_printf(&view->out, "%s\n", command->str);
    }
    if (path->started_by) {
        g_autofree char *ancestors = lull_ancestors_text(path->started_by, !view->style->unicode);
        lull_out_printf(&view->out, "It was started by %s.\n", ancestors);
    }
    g_string_free(task, TRUE);
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
    lull_task_append(text, view->path->segments[row->named].comm, segment->tid, !unicode);
}

/* "running (12 interrupts 0.4 ms, 2 preemptions 0.1 ms)" */
static void append_row_what(const struct text_view *view, GString *text,
                            const struct lull_path_row *row)
{
    const struct lull_segment *segment = &view->path->segments[row->segment];
    char duration[LULL_TIME_TEXT_SIZE];

    lull_segment_append(text, segment, !view->style->unicode);
    if (row->mostly) {
        /* All but a twentieth is all. */
        const int64_t ns = row->end_ns - row->start_ns - row->interrupted_ns - row->preempted_ns;
        g_string_append(text, segment->detail && segment->state == LULL_STATE_RUNNING ? "," : "");
        g_string_append(text, row->mostly_ns >= ns - ns / 20 ? " " : " mostly ");
        lull_clean_append(text, row->mostly, !view->style->unicode);
    }
    if (row->count == 1) {
        return;
    }
    gsize before = text->len;
    const int64_t rest_ns = row->end_ns - row->start_ns - row->preempted_ns;
    if (segment->state == LULL_STATE_PREEMPTED && rest_ns > 0) {
        lull_duration_format(row->preempted_ns, duration);
        g_string_append_printf(text, " (%u preemption%s %s", row->preemptions,
                               row->preemptions == 1 ? "" : "s", duration);
        lull_duration_format(rest_ns, duration);
        g_string_append_printf(text, ", on a CPU %s", duration);
    }
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

/* "loop of 412 × running → blocked on disk: vda read" */
static void append_loop(const struct text_view *view, GString *text,
                        const struct lull_path_row *row)
{
    const bool unicode = view->style->unicode;
    const struct lull_segment *segments = view->path->segments;
    const struct lull_segment *first = &segments[row->first];

    g_string_append_printf(text, "loop of %u %s ", row->repeats, unicode ? "×" : "x");
    for (uint32_t i = 0; i < row->period; i++) {
        const struct lull_segment *step = &segments[row->steps[i]];
        g_string_append(text, i == 0 ? "" : unicode ? " → " : " -> ");
        if (step->program != first->program) {
            lull_clean_append(text, step->program, !unicode);
            g_string_append_c(text, ' ');
        }
        g_string_append(text, lull_look_of(step->state, step->cause)->phrase);
        if (step->subject) {
            g_string_append(text, " (");
            lull_clean_append(text, step->subject, !unicode);
            g_string_append_c(text, ')');
        }
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
    if (row->repeats) {
        append_loop(view, text, row);
    } else {
        append_row_what(view, text, row);
    }
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
    g_string_printf(text, "%s ", lull_wait_verb(wait));
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
        if (!row->repeats ||
            path->waits[w].end_ns >= row->end_ns) { /* a loop is within it as a whole */
            is_shown[w] = true;
            g_array_append_val(waits, w);
        }
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

/* The calls in which the time of a row was spent. */
static void add_stack_rows(const struct text_view *view, struct lull_table *table,
                           const struct lull_path_row *row)
{
    g_autoptr(GPtrArray) stacks = text_stacks(view, row->first, row->count);

    for (guint i = 0; i < stacks->len; i++) {
        lull_table_add_row(table);
        lull_table_set_text(table, COL_WHAT, stacks->pdata[i]);
        lull_table_set_color(table, COL_WHAT, DIM);
    }
}

/* What most of the time of the hidden rows from first up to `end` was: ": 8.1 ms running, …". */
static void append_most(const struct text_view *view, GString *text, GArray *rows, guint first,
                        guint end)
{
    int64_t sums[LULL_LOOK_COUNT] = {0};
    const struct lull_path_row *last = &g_array_index(rows, struct lull_path_row, end - 1);
    const int64_t took_ns =
        last->end_ns - g_array_index(rows, struct lull_path_row, first).start_ns;
    int64_t left_ns = took_ns;

    for (uint32_t i = g_array_index(rows, struct lull_path_row, first).first;
         i < last->first + last->count; i++) {
        const struct lull_segment *segment = &view->path->segments[i];
        sums[lull_look_index(segment->state, segment->cause)] +=
            segment->end_ns - segment->start_ns;
    }
    for (int named = 0; left_ns > took_ns / 16; named++) {
        uint32_t most = 0;
        char duration[LULL_TIME_TEXT_SIZE];
        for (uint32_t look = 1; look < LULL_LOOK_COUNT; look++) {
            most = sums[look] > sums[most] ? look : most;
        }
        if (sums[most] == 0) {
            break;
        }
        lull_duration_format(sums[most], duration);
        g_string_append_printf(text, "%s%s %s", named ? ", " : ": ", lull_look_at(most)->phrase,
                               duration);
        left_ns -= sums[most];
        sums[most] = 0;
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
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "%s %u shorter steps, %s in total", view->style->unicode ? "…" : "...",
                    end - first, duration);
    if (g_array_index(rows, struct lull_path_row, first).is_mix) {
        g_string_append(text, ":");
    } else {
        append_most(view, text, rows, first, end);
    }
    lull_table_add_row(table);
    lull_table_set_real(table, COL_AT, (double)(start_ns - view->path->start_ns) / unit);
    lull_table_set_real(table, COL_FOR, (double)took_ns / unit);
    lull_table_set_text(table, COL_WHAT, text->str);
    for (uint32_t i = COL_AT; i <= COL_WHAT; i++) {
        lull_table_set_color(table, i, DIM);
    }
}

/* What repeats in the hidden rows from first up to `end`, one line each. */
static void add_mix_rows(const struct text_view *view, struct lull_table *table, double unit,
                         GArray *rows, guint first, guint end)
{
    const bool unicode = view->style->unicode;
    const uint32_t segment = g_array_index(rows, struct lull_path_row, first).first;
    const struct lull_path_row *last = &g_array_index(rows, struct lull_path_row, end - 1);
    g_autoptr(GArray) parts =
        lull_path_mix(view->path, segment, last->first + last->count - segment);
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = 0; i < parts->len; i++) {
        const struct lull_cause_share *part = &g_array_index(parts, struct lull_cause_share, i);
        lull_table_add_row(table);
        lull_table_set_real(table, COL_FOR, (double)part->duration_ns / unit);
        lull_table_set_text(table, COL_HOST,
                            part->host == LULL_NONE ? ""
                                                    : lull_path_host_name(view->path, part->host));
        g_string_assign(text, "    ");
        lull_clean_append(text, part->program, !unicode);
        lull_table_set_text(table, COL_TASK, text->str);
        g_string_printf(text, "%u %s ", part->count, unicode ? "×" : "x");
        lull_state_append(text, part->state, part->cause, part->detail, !unicode);
        lull_table_set_text(table, COL_WHAT, text->str);
        lull_table_set_color(table, COL_WHAT, lull_look_of(part->state, part->cause)->ansi);
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
            if (row->is_mix) {
                add_mix_rows(view, table, unit, rows, i, end);
            }
            i = end;
            continue;
        }
        add_wait_rows(view, table, unit, row, is_shown);
        add_path_row(view, table, unit, row, before);
        if (view->style->stacks) {
            add_frame_rows(view, table, row);
        }
        if (view->style->calls) {
            add_stack_rows(view, table, row);
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
    lull_out_fold(&view.out, style->width);
    print_headline(&view);
    if (!lull_text_print_causes(&view, error)) {
        return false;
    }
    if (!lull_text_print_summary(&view, error)) {
        return false;
    }
    text_print_notes(&view);
    if (!text_print_counts(&view, error)) {
        return false;
    }
    if (!print_path(&view, error)) {
        return false;
    }
    return lull_out_end(&view.out, "the critical path", error);
}
