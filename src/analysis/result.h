/* SPDX-License-Identifier: MIT */
/* What an analysis gives: tables with typed columns, whose rows are made one at a time when a view
 * asks, so that a log of a million rows needs no million of cells. The classes of cells are those
 * of LAMI 1.0.1 (lttng/lami-spec), which any of the views can show. */
#ifndef LULL_ANALYSIS_RESULT_H
#define LULL_ANALYSIS_RESULT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum lull_cell_class {
    LULL_CELL_EMPTY,   /* does not apply here; LAMI null */
    LULL_CELL_UNKNOWN, /* has a value, but the trace does not tell it */
    LULL_CELL_BOOL,
    LULL_CELL_NUMBER, /* integer or, with is_real, real */
    LULL_CELL_STRING,
    LULL_CELL_RATIO,     /* real, 1.0 = 100 % */
    LULL_CELL_TIMESTAMP, /* ns since the epoch, joined clock */
    LULL_CELL_DURATION,  /* ns; real if it is an average or a deviation */
    LULL_CELL_SIZE,      /* bytes; real likewise */
    LULL_CELL_TIME_RANGE,
    LULL_CELL_SYSCALL, /* text: name without prefix */
    LULL_CELL_PROCESS,
    LULL_CELL_PATH,
    LULL_CELL_FD,
    LULL_CELL_IRQ,
    LULL_CELL_CPU,
    LULL_CELL_DISK,
    LULL_CELL_NETIF,
    LULL_CELL_HOST, /* text; LAMI: string */
};

struct lull_cell {
    uint8_t class; /* enum lull_cell_class: the column's, EMPTY or UNKNOWN */
    bool is_real;  /* NUMBER, DURATION, SIZE: `real` instead of `integer` */
    bool is_hard;  /* IRQ: hardware interrupt, else softirq */
    union {
        int64_t integer; /* also BOOL, TIMESTAMP, FD, CPU, IRQ (number), begin of TIME_RANGE */
        double real;
    };
    int64_t end;      /* TIME_RANGE */
    const char *text; /* STRING, SYSCALL, PATH, DISK, NETIF, HOST; name of PROCESS, IRQ; or NULL.
                         Borrowed until the next row is made */
    int32_t pid, tid; /* PROCESS; -1: not known, or not told by this table */
};

enum lull_column_use {
    LULL_USE_HOST = 1 << 0,     /* shown only if the session has several hosts */
    LULL_USE_OWN = 1 << 1,      /* Lull's own: not in LAMI */
    LULL_USE_LAMI = 1 << 2,     /* only in LAMI */
    LULL_USE_BAR = 1 << 3,      /* text and HTML draw a bar beside the value */
    LULL_USE_NOT_TEXT = 1 << 4, /* in JSON and HTML, too wide for a terminal */
};

struct lull_result_column {
    const char *title;   /* LAMI's: "Minimum call duration"; NULL ends an array of columns */
    const char *heading; /* in text: "MIN" */
    const char *key;     /* in JSON, with the unit: "min_ns" */
    enum lull_cell_class class;
    const char *unit; /* of a NUMBER: "pages"; or NULL */
    unsigned use;     /* enum lull_column_use */
};

enum lull_table_kind {
    LULL_TABLE_PLAIN,     /* rows in an order that means something */
    LULL_TABLE_HISTOGRAM, /* lower bound, upper bound, count … */
    LULL_TABLE_LOG,       /* may be very long */
    LULL_TABLE_SERIES,    /* values over time: begin of the bin, then values of one unit */
};

struct lull_result_class {
    const char *name;  /* of LAMI: "per-process" */
    const char *title; /* "Per-TID top CPU usage" */
    const struct lull_result_column *columns;
    enum lull_table_kind kind;
    bool is_own;     /* Lull's own: not in LAMI */
    bool is_summary; /* LAMI: the rows of all windows make one table, told at the end */
};

/* Part of the time that a table is about. */
struct lull_window {
    int64_t start_ns, end_ns;           /* joined clock */
    uint32_t number;                    /* 0, 1, … in order of their ends */
    const char *period;                 /* name of the period it is an instance of, or NULL */
    const char *captures;               /* "request.pid = 42, …" or NULL */
    bool is_complete;                   /* false: the end of the period was not seen */
    uint64_t lost_events, lost_packets; /* that touch it */
};

struct lull_result_table {
    const struct lull_result_class *class;
    const char *subtitle; /* "read", or NULL */
    /* NULL, or columns instead of the class's, for tables whose columns depend on what was found.
     */
    const struct lull_result_column *columns;
    uint64_t n_rows;
    /* Fills the cells of one row, one for each column; they were cleared (EMPTY). Rows are asked
     * for in order, each at least once, some views ask for all of them twice. */
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
