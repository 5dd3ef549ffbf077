/* SPDX-License-Identifier: MIT */
/* A sink that writes tables down as text, a line each row, for tests of analyses:
 *
 *   per-tid [t10 (?, TID: 10)]
 *   read 2 10 15 20 …
 *
 * EMPTY is "-", UNKNOWN "?"; columns that need several hosts, or virtual machines, are left out. */
#ifndef LULL_TESTS_TABLE_SINK_H
#define LULL_TESTS_TABLE_SINK_H

#include "analysis/analysis.h"

struct table_sink {
    struct lull_sink sink;
    GString *text;
};

static inline void table_sink_cell(GString *text, const struct lull_cell *cell)
{
    switch (cell->class) {
    case LULL_CELL_EMPTY:
        g_string_append(text, " -");
        break;
    case LULL_CELL_UNKNOWN:
        g_string_append(text, " ?");
        break;
    case LULL_CELL_PROCESS:
        g_string_append_printf(text, " %s/%d/%d", cell->text, cell->pid, cell->tid);
        break;
    case LULL_CELL_TIME_RANGE:
        g_string_append_printf(text, " %d..%d", (int)cell->integer, (int)cell->end);
        break;
    default:
        if (cell->text) {
            g_string_append_printf(text, " %s", cell->text);
        } else if (cell->is_real) {
            g_string_append_printf(text, " %.3f", cell->real);
        } else {
            g_string_append_printf(text, " %d", (int)cell->integer);
        }
    }
}

static inline void table_sink_start(struct lull_sink *sink, const char *analysis,
                                    const struct lull_window *window)
{
}

static inline void table_sink_note(struct lull_sink *sink, const char *note)
{
    g_string_append_printf(((struct table_sink *)sink)->text, "note: %s\n", note);
}

static inline void table_sink_table(struct lull_sink *sink, const struct lull_result_table *table)
{
    GString *text = ((struct table_sink *)sink)->text;
    const struct lull_result_column *columns =
        table->columns ? table->columns : table->class->columns;
    uint32_t n = 0;
    while (columns[n].title) {
        n++;
    }
    if (table->n_rows == 0) {
        return;
    }
    g_string_append(text, table->class->name);
    if (table->subtitle) {
        g_string_append_printf(text, " [%s]", table->subtitle);
    }
    g_string_append_c(text, '\n');
    g_autofree struct lull_cell *cells = g_new(struct lull_cell, n);
    for (uint64_t row = 0; row < table->n_rows; row++) {
        memset(cells, 0, n * sizeof *cells);
        table->row(table->user, row, cells);
        size_t start = text->len;
        for (uint32_t i = 0; i < n; i++) {
            /* A view may copy a text before it asks for the next row, not later. */
            if (!(columns[i].use & (LULL_USE_HOST | LULL_USE_GUEST))) {
                table_sink_cell(text, &cells[i]);
            }
        }
        g_string_erase(text, (gssize)start, 1);
        g_string_append_c(text, '\n');
    }
}

static inline void table_sink_end(struct lull_sink *sink)
{
}

static inline struct table_sink table_sink_new(void)
{
    return (struct table_sink){
        {table_sink_start, table_sink_note, table_sink_table, table_sink_end}, g_string_new(NULL)};
}

/* The tables of one class (all with its subtitles), or NULL if there was none. Free it. */
static inline char *table_sink_get(const struct table_sink *sink, const char *head)
{
    const char *at = sink->text->str;
    size_t length = strlen(head);
    while (at && !(strncmp(at, head, length) == 0 && at[length] == '\n')) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
        if (at && !*at) {
            at = NULL;
        }
    }
    return at ? g_strdup(at + length + 1) : NULL;
}

#endif
