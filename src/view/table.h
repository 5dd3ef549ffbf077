/* SPDX-License-Identifier: MIT */
/* A table with typed columns: aligned text for people, rows of JSON for programs.
 *
 *     static const struct lull_column columns[] = {
 *         {.title = "HOST", .key = "host", .type = LULL_COLUMN_TEXT},
 *         {.title = "TOOK", .key = "duration_ns", .type = LULL_COLUMN_DURATION},
 *         {0},
 *     };
 *     struct lull_table *table = lull_table_new(columns);
 *     lull_table_add_row(table);
 *     lull_table_set_text(table, 0, host->name);
 *     lull_table_set_number(table, 1, duration_ns);
 *     ok = lull_table_print(table, stdout, &style, error);
 *     lull_table_free(table);
 */
#ifndef LULL_VIEW_TABLE_H
#define LULL_VIEW_TABLE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "view/view.h"

enum lull_column_type {
    LULL_COLUMN_TEXT,     /* set_text */
    LULL_COLUMN_NUMBER,   /* set_number: a name that is a number (id, tid, port): 12345 */
    LULL_COLUMN_COUNT,    /* set_number: 12 345 as "12345" */
    LULL_COLUMN_TIME,     /* set_number, ns since the epoch: a date-time; JSON: the ns */
    LULL_COLUMN_DURATION, /* set_number, ns: "12.35 ms"; JSON: the ns */
    LULL_COLUMN_BYTES,    /* set_number: "4.0 KiB"; JSON: the bytes */
    LULL_COLUMN_SHARE,    /* set_real, 0..1: "52.9 %"; JSON: up to six decimals */
    LULL_COLUMN_REAL,     /* set_real: `digits` decimals; JSON: up to nine decimals */
};

enum lull_column_flags {
    LULL_COLUMN_TEXT_ONLY = 1 << 0, /* not in JSON */
    LULL_COLUMN_JSON_ONLY = 1 << 1, /* not in text */
    LULL_COLUMN_WRAP =
        1 << 2, /* on a terminal: long text goes on in the next line; else it is cut if need be */
    LULL_COLUMN_KEEP = 1 << 3,   /* on a terminal: never cut */
    LULL_COLUMN_BAR = 1 << 4,    /* on a terminal: the first to go where there is no room */
    LULL_COLUMN_DETAIL = 1 << 5, /* the next */
    LULL_COLUMN_RIGHT = 1 << 6,  /* text as numbers are: to the right, never cut */
};

struct lull_column {
    const char *title; /* heading; NULL ends an array of columns */
    const char *key;   /* in JSON */
    enum lull_column_type type;
    const char *unit; /* appended to the heading, "DRIFT (ppm)"; or NULL */
    int digits;       /* REAL: decimals in text */
    unsigned flags;   /* enum lull_column_flags */
};

struct lull_table;

/* `columns` end with a NULL title (at most 64) and are borrowed. Free with lull_table_free(). */
struct lull_table *lull_table_new(const struct lull_column *columns);
void lull_table_free(struct lull_table *table);

/* Starts a row; its cells are empty (JSON: null) until they are set. Text is copied, and cleaned
 * when it is printed as text. */
void lull_table_add_row(struct lull_table *table);
void lull_table_set_text(struct lull_table *table, uint32_t column,
                         const char *text); /* NULL: empty */
void lull_table_set_number(struct lull_table *table, uint32_t column, int64_t number);
void lull_table_set_real(struct lull_table *table, uint32_t column, double number);
/* ANSI escape sequence for a cell of the last row, a string constant; used only where colours are
 * wanted. */
void lull_table_set_color(struct lull_table *table, uint32_t column, const char *ansi);
/* Leaves out the line of headings. */
void lull_table_hide_headings(struct lull_table *table);

uint32_t lull_table_row_count(const struct lull_table *table);

/* Prints aligned columns, numbers to the right. Without terminal (width 0) nothing is cut. A table
 * without rows prints nothing. */
bool lull_table_print(const struct lull_table *table, FILE *file,
                      const struct lull_view_style *style, GError **error);
/* Prints the rows as a JSON array of objects, a line each, without a newline at the end:
 * fputs("{\"version\":1,\"requests\":", f); lull_table_print_json(t, f, error); fputs("}\n", f); */
bool lull_table_print_json(const struct lull_table *table, FILE *file, GError **error);

#endif
