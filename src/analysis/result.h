/* SPDX-License-Identifier: MIT */
/* What an analysis gives: tables with typed columns, whose rows are made one at a time when a view
 * requests them, so that a log of a million rows needs no million of cells. The classes of cells
 * are those of LAMI 1.0.1 (lttng/lami-spec), which any of the views can show. */
#ifndef LULL_ANALYSIS_RESULT_H
#define LULL_ANALYSIS_RESULT_H

#include <lull/analysis.h>

enum lull_table_kind {
    LULL_TABLE_PLAIN,     /* rows in an order that means something */
    LULL_TABLE_HISTOGRAM, /* lower bound, upper bound, count … */
    LULL_TABLE_LOG,       /* may be very long */
    LULL_TABLE_OPEN,      /* plain, with further columns that depend on the trace */
    LULL_TABLE_SERIES,    /* values over time: start of the bin, then values of one unit */
};

struct lull_result_class {
    const char *name;  /* of LAMI: "per-process" */
    const char *title; /* "Per-TID top CPU usage" */
    const struct lull_result_column *columns;
    enum lull_table_kind kind;
    bool is_own;     /* Lull's own: not in LAMI */
    bool is_summary; /* LAMI: the rows of all windows make one table, shown at the end */
};

struct lull_result_table {
    const struct lull_result_class *class;
    const char *subtitle; /* "read", or NULL */
    /* NULL, or columns instead of the class's, for tables whose columns depend on what was found.
     */
    const struct lull_result_column *columns;
    uint64_t n_rows;
    uint64_t n_left_out; /* rows that a limit keeps from being shown */
    /* Fills the cells of one row, one for each column; they were cleared (EMPTY). Views request
     * rows in order, each at least once; some request all of them twice. */
    void (*row)(const void *user, uint64_t row, struct lull_cell *cells);
    const void *user;
};

/* Takes the results of an analysis as they come; a view is one. Pointers are borrowed for the call.
 */
struct lull_sink {
    /* One window of one analysis follows: its notes, then its tables. */
    void (*start)(struct lull_sink *sink, const char *analysis, const struct lull_window *window);
    /* Something that a reader must know about what follows: a sentence without full stop. */
    void (*note)(struct lull_sink *sink, const char *note);
    void (*table)(struct lull_sink *sink, const struct lull_result_table *table);
    void (*end)(struct lull_sink *sink);
};

/* Cells, in the fewest words. */
static inline struct lull_cell lull_cell_integer(enum lull_cell_class class, int64_t integer)
{
    return (struct lull_cell){.class = class, .integer = integer, .pid = -1, .tid = -1};
}

static inline struct lull_cell lull_cell_real(enum lull_cell_class class, double real)
{
    return (struct lull_cell){.class = class, .is_real = true, .real = real, .pid = -1, .tid = -1};
}

/* NULL: unknown. */
static inline struct lull_cell lull_cell_text(enum lull_cell_class class, const char *text)
{
    return (struct lull_cell){
        .class = text ? class : LULL_CELL_UNKNOWN, .text = text, .pid = -1, .tid = -1};
}

#endif
