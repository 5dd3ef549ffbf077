/* SPDX-License-Identifier: MIT */
/* Results as JSON, version 1: a line for each row. The rows of all tables of a class are in one
 * array: those of a window's first class are written at once, so that memory does not grow with
 * them, those of others wait for the window's end. */
#include "base/time.h"
#include "view/result/private.h"

/* The rows of the tables of one class. */
struct array {
    const char *class;
    struct lull_linebuf text; /* what waits */
    bool has_row;
};

struct json_view {
    struct lull_result_view view;
    uint32_t n_windows;
    bool in_notes, in_tables;
    LULL_VEC(struct array) arrays; /* of the window, in order of first use */
};

static struct json_view *view_of(struct lull_sink *sink)
{
    return (struct json_view *)sink;
}

static void put_count(struct lull_linebuf *line, const char *key, uint64_t count)
{
    lull_linebuf_char(line, ',');
    lull_result_json_key(line, key);
    lull_linebuf_unsigned(line, count);
}

/* Nanoseconds since 1970, or a text, which no reader rounds. */
static void put_time(const struct json_view *json, struct lull_linebuf *line, int64_t time_ns)
{
    if (json->view.options.has_iso_times) {
        char text[LULL_TIME_TEXT_SIZE];
        lull_time_format_iso(time_ns, json->view.options.style.local_time, text);
        lull_result_json_text(line, text);
    } else {
        lull_linebuf_signed(line, time_ns);
    }
}

static void start_document(struct json_view *json)
{
    const struct lull_result_report *report = json->view.options.report;
    struct lull_linebuf *line = &json->view.line;
    lull_linebuf_literal(line, "{\"version\":1");
    if (json->view.options.analysis) {
        lull_linebuf_literal(line, ",\"analysis\":");
        lull_result_json_text(line, json->view.options.analysis->name);
    }
    for (size_t i = 0; report && i < report->gaps.count; i++) {
        lull_linebuf_string(line, i ? ",{\"analysis\":" : ",\"unanswered\":[{\"analysis\":");
        lull_result_json_text(line, report->gaps.items[i].part->analysis->name);
        lull_linebuf_literal(line, ",\"missing\":");
        lull_result_json_text(line, report->gaps.items[i].missing);
        lull_linebuf_char(line, '}');
    }
    if (report) {
        lull_linebuf_string(line, report->gaps.count ? "]" : ",\"unanswered\":[]");
    }
    lull_linebuf_literal(line, ",\"windows\":[");
}

static void json_start(struct lull_sink *sink, const char *analysis,
                       const struct lull_window *window)
{
    struct json_view *json = view_of(sink);
    struct lull_linebuf *line = &json->view.line;
    lull_linebuf_string(line, json->n_windows++ ? ",\n{" : "\n{");
    if (!json->view.options.analysis) {
        lull_linebuf_literal(line, "\"analysis\":");
        lull_result_json_text(line, analysis);
        lull_linebuf_char(line, ',');
    }
    lull_linebuf_literal(line, "\"begin_ns\":");
    put_time(json, line, window->start_ns);
    lull_linebuf_literal(line, ",\"end_ns\":");
    put_time(json, line, window->end_ns);
    put_count(line, "number", window->number);
    lull_linebuf_literal(line, ",\"period\":");
    lull_result_json_text(line, window->period);
    lull_linebuf_literal(line, ",\"captures\":");
    lull_result_json_text(line, window->captures);
    lull_linebuf_string(line,
                        window->is_complete ? ",\"is_complete\":true" : ",\"is_complete\":false");
    put_count(line, "lost_events", window->lost_events);
    put_count(line, "lost_packets", window->lost_packets);
    lull_linebuf_literal(line, ",\"notes\":[");
    json->in_notes = false;
    json->in_tables = false;
    json->arrays.count = 0;
}

static void json_note(struct lull_sink *sink, const char *note)
{
    struct json_view *json = view_of(sink);
    if (json->in_notes) {
        lull_linebuf_char(&json->view.line, ',');
    }
    json->in_notes = true;
    lull_result_json_text(&json->view.line, note);
}

static void put_process(struct lull_linebuf *line, const struct lull_cell *cell)
{
    lull_linebuf_literal(line, "{\"comm\":");
    lull_result_json_text(line, cell->text);
    if (cell->pid >= 0) {
        lull_linebuf_literal(line, ",\"pid\":");
        lull_linebuf_signed(line, cell->pid);
    }
    lull_linebuf_literal(line, ",\"tid\":");
    if (cell->tid >= 0) {
        lull_linebuf_signed(line, cell->tid);
    } else {
        lull_linebuf_literal(line, "null");
    }
    lull_linebuf_char(line, '}');
}

static void put_irq(struct lull_linebuf *line, const struct lull_cell *cell)
{
    lull_linebuf_string(line, cell->is_hard ? "{\"hard\":true,\"number\":"
                                            : "{\"hard\":false,\"number\":");
    lull_linebuf_signed(line, cell->integer);
    lull_linebuf_literal(line, ",\"name\":");
    lull_result_json_text(line, cell->text);
    lull_linebuf_char(line, '}');
}

static void put_cell(const struct json_view *json, struct lull_linebuf *line,
                     const struct lull_cell *cell)
{
    switch ((enum lull_cell_class)cell->class) {
    case LULL_CELL_EMPTY:
    case LULL_CELL_UNKNOWN:
        lull_linebuf_literal(line, "null");
        break;
    case LULL_CELL_BOOL:
        lull_linebuf_string(line, cell->integer ? "true" : "false");
        break;
    case LULL_CELL_NUMBER:
    case LULL_CELL_RATIO:
    case LULL_CELL_DURATION:
    case LULL_CELL_SIZE:
    case LULL_CELL_FD:
    case LULL_CELL_CPU:
        lull_result_json_number(line, cell);
        break;
    case LULL_CELL_TIMESTAMP:
        put_time(json, line, cell->integer);
        break;
    case LULL_CELL_TIME_RANGE:
        lull_linebuf_literal(line, "{\"begin_ns\":");
        put_time(json, line, cell->integer);
        lull_linebuf_literal(line, ",\"end_ns\":");
        put_time(json, line, cell->end);
        lull_linebuf_char(line, '}');
        break;
    case LULL_CELL_PROCESS:
        put_process(line, cell);
        break;
    case LULL_CELL_IRQ:
        put_irq(line, cell);
        break;
    case LULL_CELL_STRING:
    case LULL_CELL_SYSCALL:
    case LULL_CELL_PATH:
    case LULL_CELL_DISK:
    case LULL_CELL_NETIF:
    case LULL_CELL_HOST:
        lull_result_json_text(line, cell->text);
        break;
    }
}

static void put_row(const struct json_view *json, struct lull_linebuf *line,
                    const struct lull_result_rows *rows)
{
    bool has_member = false;
    lull_linebuf_literal(line, "\n{");
    if (rows->table->subtitle) {
        lull_linebuf_literal(line, "\"of\":");
        lull_result_json_text(line, rows->table->subtitle);
        has_member = true;
    }
    for (uint32_t i = 0; i < rows->n_columns; i++) {
        if (!lull_result_shows(&json->view, &rows->columns[i], LULL_USE_LAMI)) {
            continue;
        }
        if (has_member) {
            lull_linebuf_char(line, ',');
        }
        has_member = true;
        lull_result_json_key(line, rows->columns[i].key);
        put_cell(json, line, &rows->cells[i]);
    }
    lull_linebuf_char(line, '}');
}

static void start_tables(struct json_view *json)
{
    if (!json->in_tables) {
        lull_linebuf_literal(&json->view.line, "],\"tables\":{");
        json->in_tables = true;
    }
}

static void start_array(struct lull_linebuf *line, const char *class)
{
    lull_linebuf_char(line, '\n');
    lull_result_json_key(line, class);
    lull_linebuf_char(line, '[');
}

static struct array *find_array(struct json_view *json, const char *class)
{
    for (size_t i = 0; i < json->arrays.count; i++) {
        if (strcmp(json->arrays.items[i].class, class) == 0) {
            return &json->arrays.items[i];
        }
    }
    lull_vec_push(&json->arrays, (struct array){.class = class});
    struct array *array = &json->arrays.items[json->arrays.count - 1];
    start_array(json->arrays.count == 1 ? &json->view.line : &array->text, class);
    return array;
}

static void json_table(struct lull_sink *sink, const struct lull_result_table *table)
{
    struct json_view *json = view_of(sink);
    struct lull_result_rows rows;
    start_tables(json);
    struct array *array = find_array(json, table->class->name);
    const bool is_first = array == json->arrays.items;
    struct lull_linebuf *line = is_first ? &json->view.line : &array->text;
    lull_result_rows_init(&rows, table);
    for (uint64_t row = 0; row < table->n_rows && !json->view.out.error; row++) {
        lull_result_rows_read(&rows, row);
        lull_linebuf_string(line, array->has_row ? "," : "");
        array->has_row = true;
        put_row(json, line, &rows);
        if (is_first) {
            lull_result_flush(&json->view);
        }
    }
    lull_result_rows_clear(&rows);
}

static void json_end(struct lull_sink *sink)
{
    struct json_view *json = view_of(sink);
    struct lull_linebuf *line = &json->view.line;
    start_tables(json);
    for (size_t i = 0; i < json->arrays.count; i++) {
        struct array *array = &json->arrays.items[i];
        lull_linebuf_string(line, i ? "," : "");
        lull_linebuf_bytes(line, array->text.data, array->text.length);
        lull_linebuf_char(line, ']');
        lull_linebuf_free(&array->text);
    }
    lull_linebuf_literal(line, "}}");
    lull_result_flush(&json->view);
}

static void json_finish(struct lull_result_view *view)
{
    lull_vec_free(&((struct json_view *)view)->arrays);
    lull_linebuf_literal(&view->line, "]}\n");
}

struct lull_result_view *lull_result_json_new(const struct lull_result_options *options)
{
    struct json_view *json = g_new0(struct json_view, 1);
    lull_result_view_init(&json->view, options, "JSON", json_finish);
    json->view.sink = (struct lull_sink){json_start, json_note, json_table, json_end};
    start_document(json);
    return &json->view;
}
