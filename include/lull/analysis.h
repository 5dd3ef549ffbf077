/* SPDX-License-Identifier: MIT */
/* Analyses: statistics of a session as tables, those of the verbs of lull (cputop, sched, io, …).
 *
 *     struct lull_query *query = lull_query_new("cputop", &error);
 *     lull_query_set(query, "limit", "5", &error);
 *     lull_query_run(query, session, &visitor, user, &error);
 *
 * Tables come one after the other, and their cells when they are asked for, so that a log of a
 * million rows needs no memory for all of them.
 *
 * Ownership: struct lull_query is the caller's. What callbacks are given is borrowed for the call,
 * and texts of cells until the next row is asked for. */
#ifndef LULL_ANALYSIS_API_H
#define LULL_ANALYSIS_API_H

#include <lull/session.h>

G_BEGIN_DECLS

/** What a cell holds. More may follow. */
enum lull_cell_class {
    LULL_CELL_EMPTY,   /**< does not apply here */
    LULL_CELL_UNKNOWN, /**< has a value, but the trace does not show it */
    LULL_CELL_BOOL,
    LULL_CELL_NUMBER, /**< integer or, with is_real, real */
    LULL_CELL_STRING,
    LULL_CELL_RATIO,     /**< real, 1.0 = 100 % */
    LULL_CELL_TIMESTAMP, /**< ns since the Unix epoch, joined clock */
    LULL_CELL_DURATION,  /**< ns; real if it is an average or a deviation */
    LULL_CELL_SIZE,      /**< bytes; real likewise */
    LULL_CELL_TIME_RANGE,
    LULL_CELL_SYSCALL, /**< text: name without prefix */
    LULL_CELL_PROCESS,
    LULL_CELL_PATH,
    LULL_CELL_FD,
    LULL_CELL_IRQ,
    LULL_CELL_CPU,
    LULL_CELL_DISK,
    LULL_CELL_NETIF,
    LULL_CELL_HOST, /**< text */
};

/** One cell of a table. */
struct lull_cell {
    uint8_t class; /**< enum lull_cell_class: the column's, EMPTY or UNKNOWN */
    bool is_real;  /**< NUMBER, DURATION, SIZE: `real` instead of `integer` */
    bool is_hard;  /**< IRQ: hardware interrupt, else softirq */
    union {
        int64_t integer; /**< also BOOL, TIMESTAMP, FD, CPU, IRQ (number), start of TIME_RANGE */
        double real;
    };
    int64_t end; /**< TIME_RANGE */
    const char
        *text; /**< STRING, SYSCALL, PATH, DISK, NETIF, HOST; name of PROCESS, IRQ; or NULL */
    int32_t pid, tid; /**< PROCESS; -1: not known, or not in this table */
};

/** How views treat a column; or'ed. */
enum lull_column_use {
    LULL_USE_HOST = 1 << 0,     /**< shown only if the session has several hosts */
    LULL_USE_OWN = 1 << 1,      /**< Lull's own: not in LAMI */
    LULL_USE_LAMI = 1 << 2,     /**< only in LAMI; lull_rows_column() leaves it out */
    LULL_USE_BAR = 1 << 3,      /**< text and HTML draw a bar beside the value */
    LULL_USE_NOT_TEXT = 1 << 4, /**< in JSON and HTML, too wide for a terminal */
    LULL_USE_DETAIL = 1 << 5,   /**< the first to be left out where a terminal is too narrow */
    LULL_USE_GUEST = 1 << 6,    /**< shown only if a virtual machine's clock was joined with its
                                   host's, and one host was not chosen */
    LULL_USE_TASK = 1 << 7,     /**< of a task: not in texts if rows are of groups of them */
};

/** A column of a table. */
struct lull_result_column {
    const char *title;   /**< "Minimum call duration" */
    const char *heading; /**< in text: "MIN"; or NULL */
    const char *key;     /**< in JSON, with the unit: "min_ns" */
    enum lull_cell_class class;
    const char *unit; /**< of a NUMBER: "pages"; or NULL */
    unsigned use;     /**< enum lull_column_use */
};

/** Part of the time, of which tables are. */
struct lull_window {
    int64_t start_ns, end_ns;           /**< joined clock */
    uint32_t number;                    /**< 0, 1, … in order of their ends */
    const char *period;                 /**< name of the period it is an instance of, or NULL */
    const char *captures;               /**< "request.pid = 42, …" or NULL */
    bool is_complete;                   /**< false: the end of the period was not seen */
    uint64_t lost_events, lost_packets; /**< that touch it */
};

/** A table while it is handed out. */
struct lull_rows;

/** Receives results; each callback may be NULL. For each window: `window`, its notes, its tables,
 * `end`. */
struct lull_result_visitor {
    void (*window)(void *user, const struct lull_window *window);
    /** Something that a reader must know about what follows: a sentence without full stop. */
    void (*note)(void *user, const char *note);
    void (*table)(void *user, struct lull_rows *rows);
    void (*end)(void *user);
    /** Every some thousand events while reading; see lull_session_progress(). */
    void (*progress)(void *user);
};

/** Names of the analyses, in a fixed order; NULL behind the last. There is one more, "states", which needs a
 * file: the states that the setting "states" declares (docs/STATES.md). Its settings are the options of lull
 * states: "group", "row", "kernel", "log", "limit", "refresh", "partial". What the reader of the file should know
 * are notes of the first window. The rows of its table "log" are the intervals. */
const char *lull_analysis_name(uint32_t index);

struct lull_query;

/** A question to the analysis of this name: a result for the whole session, each section that
 * `sections` of the verbs of the same name have. NULL and LULL_ERROR_USAGE if there is none. */
struct lull_query *lull_query_new(const char *analysis, GError **error);
void lull_query_free(struct lull_query *query);
/** Sets what the option --NAME of the analysis' verbs sets, with the same text ("limit" "5", "tid"
 * "3,7", "min" "20us", "refresh" "1s", "period" "NAME : START : END"); NULL for options without
 * value ("log", "stats", "freq", "top", "usage", "total", "per-tid", …). "period" and
 * "period-captures" may be set several times. The text is checked by lull_query_run(). False and
 * LULL_ERROR_USAGE if there is no such setting. */
bool lull_query_set(struct lull_query *query, const char *name, const char *value, GError **error);
/** What of the session is meant: host < 0: all; start_ns <= time < end_ns on the joined clock,
 * INT64_MIN and INT64_MAX: all. What was before is read too, so that states are known. */
void lull_query_limit(struct lull_query *query, int32_t host, int64_t start_ns, int64_t end_ns);

/** Reads the session and hands out the results. Subscriptions, limits and selection of the session
 * are lost. False with LULL_ERROR_USAGE or LULL_ERROR_QUESTION if a setting is wrong. `size` is
 * that of struct lull_result_visitor as the caller knows it. */
bool lull_query_run_sized(struct lull_query *query, struct lull_session *session,
                          const struct lull_result_visitor *visitor, size_t size, void *user,
                          GError **error);
static inline bool lull_query_run(struct lull_query *query, struct lull_session *session,
                                  const struct lull_result_visitor *visitor, void *user,
                                  GError **error)
{
    return lull_query_run_sized(query, session, visitor, sizeof *visitor, user, error);
}

/** Name of the table ("per-process"), its title, and what tells it from others of its name in the
 * window ("read"; or NULL). */
const char *lull_rows_name(const struct lull_rows *rows);
const char *lull_rows_title(const struct lull_rows *rows);
const char *lull_rows_subtitle(const struct lull_rows *rows);
/** Its columns. */
uint32_t lull_rows_column_count(const struct lull_rows *rows);
const struct lull_result_column *lull_rows_column(const struct lull_rows *rows, uint32_t column);
/** Its rows and their cells. Rows are made when they are asked for: ask in order. */
uint64_t lull_rows_count(const struct lull_rows *rows);
const struct lull_cell *lull_rows_cell(struct lull_rows *rows, uint64_t row, uint32_t column);

G_END_DECLS

#endif
