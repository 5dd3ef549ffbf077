/* SPDX-License-Identifier: MIT */
/* Results in the LTTng analyses machine interface, LAMI 1.0.1 (github.com/lttng/lami-spec, sections
 * "Data objects", "Metadata phase objects", "Results phase objects"). */
#include "view/result/private.h"

#include <lull/version.h>

/* Lull's own columns and tables are not in LAMI: its clients know the classes of lttng-analyses. */
#define HIDDEN LULL_USE_OWN

/* Tables of one class that wait for those of the classes before; of a summary, the rows. */
struct group {
    const char *class;
    bool is_summary;
    bool has_table;
    struct lull_linebuf head, text; /* head: of a summary, its class */
    int64_t start_ns, end_ns;       /* of a summary */
};

struct lami_view {
    struct lull_result_view view;
    struct lull_window window;
    LULL_VEC(struct group) groups;
    bool has_table; /* in the document so far */
};

static const char *class_name(enum lull_cell_class class)
{
    static const char *const names[] = {
        [LULL_CELL_EMPTY] = "mixed",
        [LULL_CELL_UNKNOWN] = "unknown",
        [LULL_CELL_BOOL] = "bool",
        [LULL_CELL_NUMBER] = "number",
        [LULL_CELL_STRING] = "string",
        [LULL_CELL_RATIO] = "ratio",
        [LULL_CELL_TIMESTAMP] = "timestamp",
        [LULL_CELL_DURATION] = "duration",
        [LULL_CELL_SIZE] = "size",
        [LULL_CELL_TIME_RANGE] = "time-range",
        [LULL_CELL_SYSCALL] = "syscall",
        [LULL_CELL_PROCESS] = "process",
        [LULL_CELL_PATH] = "path",
        [LULL_CELL_FD] = "fd",
        [LULL_CELL_IRQ] = "irq",
        [LULL_CELL_CPU] = "cpu",
        [LULL_CELL_DISK] = "disk",
        [LULL_CELL_NETIF] = "netif",
        [LULL_CELL_HOST] = "string",
    };
    return names[class];
}

/* ---- data objects ---- */

static void put_member(struct lull_linebuf *line, const char *key, const char *text)
{
    lull_linebuf_char(line, ',');
    lull_result_json_key(line, key);
    lull_result_json_text(line, text ? text : "");
}

static void put_integer(struct lull_linebuf *line, const char *key, int64_t value)
{
    lull_linebuf_char(line, ',');
    lull_result_json_key(line, key);
    lull_linebuf_signed(line, value);
}

static void put_time_range(struct lull_linebuf *line, int64_t start_ns, int64_t end_ns)
{
    lull_linebuf_literal(line, "{\"class\":\"time-range\",\"begin\":{\"class\":\"timestamp\"");
    put_integer(line, "value", start_ns);
    lull_linebuf_literal(line, "},\"end\":{\"class\":\"timestamp\"");
    put_integer(line, "value", end_ns);
    lull_linebuf_literal(line, "}}");
}

static void put_process(struct lull_linebuf *line, const struct lull_cell *cell)
{
    if (cell->text) {
        put_member(line, "name", cell->text);
    }
    if (cell->pid >= 0) {
        put_integer(line, "pid", cell->pid);
    }
    if (cell->tid >= 0) {
        put_integer(line, "tid", cell->tid);
    }
}

static void put_irq(struct lull_linebuf *line, const struct lull_cell *cell)
{
    lull_linebuf_string(line, cell->is_hard ? ",\"hard\":true" : ",\"hard\":false");
    put_integer(line, "nr", cell->integer);
    if (cell->text) {
        put_member(line, "name", cell->text);
    }
}

static void put_members(struct lull_linebuf *line, const struct lull_cell *cell)
{
    switch ((enum lull_cell_class)cell->class) {
    case LULL_CELL_BOOL:
        lull_linebuf_string(line, cell->integer ? ",\"value\":true" : ",\"value\":false");
        break;
    case LULL_CELL_NUMBER:
    case LULL_CELL_RATIO:
    case LULL_CELL_TIMESTAMP:
    case LULL_CELL_DURATION:
    case LULL_CELL_SIZE:
        lull_linebuf_literal(line, ",\"value\":");
        lull_result_json_number(line, cell);
        break;
    case LULL_CELL_STRING:
    case LULL_CELL_HOST:
        put_member(line, "value", cell->text);
        break;
    case LULL_CELL_SYSCALL:
    case LULL_CELL_DISK:
    case LULL_CELL_NETIF:
        put_member(line, "name", cell->text);
        break;
    case LULL_CELL_PATH:
        put_member(line, "path", cell->text);
        break;
    case LULL_CELL_PROCESS:
        put_process(line, cell);
        break;
    case LULL_CELL_FD:
        put_integer(line, "fd", cell->integer);
        break;
    case LULL_CELL_IRQ:
        put_irq(line, cell);
        break;
    case LULL_CELL_CPU:
        put_integer(line, "id", cell->integer);
        break;
    case LULL_CELL_EMPTY:
    case LULL_CELL_UNKNOWN:
    case LULL_CELL_TIME_RANGE:
        break;
    }
}

static void put_cell(struct lull_linebuf *line, const struct lull_cell *cell)
{
    if (cell->class == LULL_CELL_EMPTY) {
        lull_linebuf_literal(line, "null");
    } else if (cell->class == LULL_CELL_TIME_RANGE) {
        put_time_range(line, cell->integer, cell->end);
    } else {
        lull_linebuf_literal(line, "{\"class\":");
        lull_result_json_text(line, class_name(cell->class));
        put_members(line, cell);
        lull_linebuf_char(line, '}');
    }
}

/* ---- table classes ---- */

static void put_columns(struct lull_linebuf *line, const struct lull_result_view *view,
                        const struct lull_result_column *columns)
{
    bool has_column = false;
    lull_linebuf_literal(line, "\"column-descriptions\":[");
    for (; columns->title; columns++) {
        if (!lull_result_shows(view, columns, HIDDEN)) {
            continue;
        }
        lull_linebuf_string(line, has_column ? ",{\"title\":" : "{\"title\":");
        has_column = true;
        lull_result_json_text(line, columns->title);
        put_member(line, "class", class_name(columns->class));
        if (columns->unit && columns->class == LULL_CELL_NUMBER) {
            put_member(line, "unit", columns->unit);
        }
        lull_linebuf_char(line, '}');
    }
    lull_linebuf_char(line, ']');
}

static bool has_host_column(const struct lull_result_column *columns)
{
    for (; columns->title; columns++) {
        if (columns->use & LULL_USE_HOST && !(columns->use & HIDDEN)) {
            return true;
        }
    }
    return false;
}

static void put_title(struct lull_linebuf *line, const struct lull_result_table *table)
{
    g_autofree char *title =
        table->subtitle ? g_strdup_printf("%s [%s]", table->class->title, table->subtitle) : NULL;
    lull_linebuf_literal(line, "\"title\":");
    lull_result_json_text(line, title ? title : table->class->title);
}

/* The name of the class; or an object, if the title or the columns are others than declared. */
static void put_class(struct lull_linebuf *line, const struct lull_result_view *view,
                      const struct lull_result_table *table)
{
    const struct lull_result_column *columns =
        table->columns ? table->columns : table->class->columns;
    const bool has_hosts = view->options.has_hosts && has_host_column(columns);
    if (!table->subtitle && !table->columns && !has_hosts) {
        lull_result_json_text(line, table->class->name);
        return;
    }
    lull_linebuf_char(line, '{');
    if (!table->columns) {
        lull_linebuf_literal(line, "\"inherit\":");
        lull_result_json_text(line, table->class->name);
        lull_linebuf_char(line, ',');
    }
    put_title(line, table);
    if (table->columns || has_hosts) {
        lull_linebuf_char(line, ',');
        put_columns(line, view, columns);
    }
    lull_linebuf_char(line, '}');
}

/* ---- the result document ---- */

static void lami_start(struct lull_sink *sink, const char *analysis,
                       const struct lull_window *window)
{
    ((struct lami_view *)sink)->window = *window;
}

static void lami_note(struct lull_sink *sink, const char *note)
{
    /* LAMI has no place for them. */
}

static struct group *find_group(struct lami_view *lami, const char *class)
{
    for (size_t i = 0; i < lami->groups.count; i++) {
        if (strcmp(lami->groups.items[i].class, class) == 0) {
            return &lami->groups.items[i];
        }
    }
    lull_vec_push(&lami->groups, (struct group){.class = class});
    return &lami->groups.items[lami->groups.count - 1];
}

static void put_row(const struct lull_result_view *view, struct lull_linebuf *line,
                    const struct lull_result_rows *rows)
{
    bool has_cell = false;
    for (uint32_t i = 0; i < rows->n_columns; i++) {
        if (lull_result_shows(view, &rows->columns[i], HIDDEN)) {
            lull_linebuf_char(line, has_cell ? ',' : '[');
            has_cell = true;
            put_cell(line, &rows->cells[i]);
        }
    }
    lull_linebuf_string(line, has_cell ? "]" : "[]");
}

/* Between tables; `has_table` says whether there was one. */
static void put_comma(struct lull_linebuf *line, bool *has_table)
{
    lull_linebuf_string(line, *has_table ? "," : "");
    *has_table = true;
}

static void put_data(struct lull_linebuf *line, int64_t start_ns, int64_t end_ns)
{
    lull_linebuf_literal(line, ",\"time-range\":");
    put_time_range(line, start_ns, end_ns);
    lull_linebuf_literal(line, ",\"data\":[");
}

/* The rows of a summary join those of the windows before. */
static void collect_summary(struct lami_view *lami, struct group *group,
                            const struct lull_result_table *table)
{
    if (!group->is_summary) {
        group->is_summary = true;
        group->start_ns = lami->window.start_ns;
        group->end_ns = lami->window.end_ns;
        put_class(&group->head, &lami->view, table);
    }
    /* Periods may lie in one another. */
    group->start_ns = MIN(group->start_ns, lami->window.start_ns);
    group->end_ns = MAX(group->end_ns, lami->window.end_ns);
}

static void lami_table(struct lull_sink *sink, const struct lull_result_table *table)
{
    struct lami_view *lami = (struct lami_view *)sink;
    if (table->n_rows == 0 || table->class->is_own) {
        return;
    }
    struct group *group = find_group(lami, table->class->name);
    const bool is_summary = table->class->is_summary;
    const bool is_first = group == lami->groups.items && !is_summary && !lami->view.options.is_held;
    struct lull_linebuf *line = is_first ? &lami->view.line : &group->text;
    struct lull_result_rows rows;
    if (is_summary) {
        collect_summary(lami, group, table);
    } else {
        put_comma(line, is_first ? &lami->has_table : &group->has_table);
        lull_linebuf_literal(line, "{\"class\":");
        put_class(line, &lami->view, table);
        put_data(line, lami->window.start_ns, lami->window.end_ns);
    }
    lull_result_rows_init(&rows, table);
    for (uint64_t row = 0; row < table->n_rows && !lami->view.out.error; row++) {
        if (row || (is_summary && line->length)) {
            lull_linebuf_char(line, ',');
        }
        lull_result_rows_read(&rows, row);
        put_row(&lami->view, line, &rows);
        if (is_first) {
            lull_result_flush(&lami->view);
        }
    }
    lull_result_rows_clear(&rows);
    if (!is_summary) {
        lull_linebuf_literal(line, "]}");
    }
}

static void lami_end(struct lull_sink *sink)
{
}

static void write_group(struct lami_view *lami, struct group *group)
{
    struct lull_linebuf *line = &lami->view.line;
    if (group->text.length) {
        put_comma(line, &lami->has_table);
    }
    if (group->is_summary) {
        lull_linebuf_literal(line, "{\"class\":");
        lull_linebuf_bytes(line, group->head.data, group->head.length);
        put_data(line, group->start_ns, group->end_ns);
    }
    lull_linebuf_bytes(line, group->text.data, group->text.length);
    if (group->is_summary) {
        lull_linebuf_literal(line, "]}");
    }
    lull_result_flush(&lami->view);
    lull_linebuf_free(&group->head);
    lull_linebuf_free(&group->text);
}

static void lami_finish(struct lull_result_view *view)
{
    struct lami_view *lami = (struct lami_view *)view;
    for (size_t i = 0; i < lami->groups.count; i++) {
        write_group(lami, &lami->groups.items[i]);
    }
    lull_vec_free(&lami->groups);
    lull_linebuf_literal(&view->line, "]}\n");
}

struct lull_result_view *lull_result_lami_new(const struct lull_result_options *options)
{
    struct lami_view *lami = g_new0(struct lami_view, 1);
    lull_result_view_init(&lami->view, options, "LAMI", lami_finish);
    lami->view.sink = (struct lull_sink){lami_start, lami_note, lami_table, lami_end};
    lull_linebuf_literal(&lami->view.line, "{\"results\":[");
    return &lami->view;
}

/* ---- the metadata document ---- */

static void put_version(struct lull_linebuf *line)
{
    g_auto(GStrv) parts = g_strsplit(LULL_VERSION, ".", 3);
    static const char *const keys[] = {"major", "minor", "patch"};
    lull_linebuf_literal(line, "\"version\":{");
    for (uint32_t i = 0; i < 3 && parts[i]; i++) {
        lull_linebuf_string(line, i ? "," : "");
        lull_result_json_key(line, keys[i]);
        lull_linebuf_unsigned(line, g_ascii_strtoull(parts[i], NULL, 10));
    }
    lull_linebuf_literal(line, "}");
}

static void put_table_classes(struct lull_linebuf *line, const struct lull_result_view *view,
                              const struct lull_analysis_class *analysis)
{
    bool has_class = false;
    lull_linebuf_literal(line, "\"table-classes\":{");
    for (uint32_t i = 0; analysis->tables && analysis->tables[i]; i++) {
        const struct lull_result_class *class = analysis->tables[i];
        if (class->is_own) {
            continue;
        }
        if (has_class) {
            lull_linebuf_char(line, ',');
        }
        has_class = true;
        lull_result_json_key(line, class->name);
        lull_linebuf_literal(line, "{\"title\":");
        lull_result_json_text(line, class->title);
        lull_linebuf_char(line, ',');
        put_columns(line, view, class->columns);
        lull_linebuf_char(line, '}');
    }
    lull_linebuf_char(line, '}');
}

bool lull_lami_metadata(const struct lull_analysis_class *analysis, FILE *file, GError **error)
{
    struct lull_result_view view = {0};
    struct lull_linebuf *line = &view.line;
    lull_out_start(&view.out, file);
    lull_linebuf_literal(line, "{\"mi-version\":{\"major\":1,\"minor\":0},");
    put_version(line);
    put_member(line, "title", analysis->title);
    put_member(line, "description", analysis->description);
    lull_linebuf_literal(line,
                         ",\"authors\":[\"Lull\"],\"tags\":[\"linux-kernel\",\"lttng-analyses\"");
    for (uint32_t i = 0; analysis->tags && analysis->tags[i]; i++) {
        lull_linebuf_char(line, ',');
        lull_result_json_text(line, analysis->tags[i]);
    }
    lull_linebuf_literal(line, "],");
    put_table_classes(line, &view, analysis);
    lull_linebuf_literal(line, "}\n");
    lull_result_flush(&view);
    const bool is_written = lull_out_end(&view.out, "metadata", error);
    lull_linebuf_free(line);
    return is_written;
}
