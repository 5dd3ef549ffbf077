/* SPDX-License-Identifier: MIT */
/* Calls of functions as tables: sums by function and by task, and each call. It reads the session
 * itself, because what was called before the time that counts belongs to the stacks, too. */
#ifndef LULL_ANALYSIS_CALLS_H
#define LULL_ANALYSIS_CALLS_H

#include "analysis/analysis.h"
#include "base/vec.h"
#include "calls/calls.h"
#include "calls/counts.h"
#include "calls/flame.h"
#include "calls/heap.h"

struct lull_symbol_table;

struct lull_calls_question {
    const struct lull_question_params *params;
    int64_t start_ns, end_ns;               /* INT64_MIN, INT64_MAX: all */
    const struct lull_symbol_table *others; /* for lull_calls_append_name(); or NULL */
    /* In place of the tables of all functions, or NULL: a function, as its table names it, with *, ? and [ as in
     * patterns of files; who called it, and what it called. */
    const char *callers, *callees;
    /* What has most comes first: "wall" (also NULL), "cpu", or the name of a counter. */
    const char *weight;
    int64_t at_ns; /* in place of them: the stacks at that time; INT64_MIN: not asked for */
    /* What is asked once the session is read: false: nothing is shown. Or NULL. */
    bool (*check)(void *user, const struct lull_model *model);
    void *check_user;
    GError **error; /* for a function that was not called */
};

/* Stacks that were read. */
struct lull_calls_reading {
    /* Set before: */
    bool wants_samples, wants_heap, wants_counters;
    bool wants_containers; /* of tasks, from the first event on */
    void (*prepare)(void *user, struct lull_calls_reading *reading); /* or NULL: before events */
    void *prepare_user;
    /* What was read: */
    struct lull_model *model;
    struct lull_calls *calls;
    struct lull_samples *samples;     /* or NULL */
    struct lull_heap *heap;           /* or NULL */
    struct lull_calls_counts *counts; /* or NULL */
    int64_t start_ns, end_ns;         /* what of the range has events */
};

/* Reads the session; false if it has no event. `ended` as in lull_calls_new(). */
bool lull_calls_read(struct lull_calls_reading *reading, struct lull_session *session, int32_t host,
                     int64_t start_ns, int64_t end_ns,
                     void (*ended)(void *user, const struct lull_call *call), void *ended_user,
                     void (*progress)(void *user), void *user);
void lull_calls_reading_clear(struct lull_calls_reading *reading);

/* Whether such a weight is the name of a counter. */
bool lull_calls_weight_is_counter(const char *weight);

/* What was read, and what was lost meanwhile. */
struct lull_window lull_calls_window(struct lull_session *session, int32_t host,
                                     const struct lull_calls_reading *reading);

/* Names the tables, for views; it is not run by a runner. */
extern const struct lull_analysis_class lull_analysis_calls;

void lull_calls_report(const struct lull_calls_question *question, struct lull_session *session,
                       struct lull_sink *sink, void (*progress)(void *user), void *user);

/* ---- for calls*.c, heap.c and their tables only ---- */

/* A function, over all tasks that are wanted. */
struct calls_row {
    uint32_t function; /* one of them */
    bool is_passed, has_states;
    char *name;
    uint64_t calls;
    struct lull_calls_times times;
    int64_t total_ns, waiting_ns, sum_ns, min_ns, max_ns;
    int64_t weight;    /* of its own */
    uint64_t *counted; /* by counter: of its own, then with what it called; NULL: none is wanted */
};

/* What was called by a function, or called it. */
struct calls_near_row {
    uint32_t
        function; /* one of them; LULL_NONE: what was asked about was called by nothing that was recorded */
    uint32_t of; /* the function that was asked about, one of them */
    uint64_t calls;
    struct lull_calls_times times;
    uint64_t counted; /* of the counter that is the weight */
    int64_t weight;
};

/* The rows of one of these tables, most time first. */
struct calls_near {
    LULL_VEC(struct calls_near_row) rows;
    GHashTable *by_pair; /* of functions → number + 1 */
};

/* What a counter rose on a host, and where. */
struct calls_counter_row {
    struct lull_calls_counted sums;
    uint64_t in_calls; /* of tasks that are wanted */
};

struct calls_report {
    const struct lull_calls_question *question;
    struct lull_session *session;
    struct lull_calls_reading reading;
    LULL_VEC(struct calls_row) rows;
    LULL_VEC(uint32_t) lines; /* that are wanted */
    struct calls_near callers, callees;
    LULL_VEC(struct lull_call) log;
    uint64_t n_not_logged;
    GString *text, *where; /* of the row that is shown */
    /* With a counter as the weight; else n_counters is 0. */
    uint32_t n_counters, counter;
    LULL_VEC(struct calls_counter_row) counters;
    GPtrArray *made; /* what columns of counters consist of */
};

bool calls_is_wanted(const struct calls_report *report, uint32_t line);
/* Sets what a counter needs. False: there is no such weight. */
bool calls_find_weight(struct calls_report *report);
/* What times, and what the counter counted, weigh. */
int64_t calls_weigh(const struct calls_report *report, const struct lull_calls_times *times,
                    uint64_t counted);
/* What the counter counted in a node. */
uint64_t calls_counted_of(const struct calls_report *report, uint32_t node);
/* Fills counters, and counted of the rows: row_of has the row of each function, or LULL_NONE. */
void calls_sum_counts(struct calls_report *report, const uint32_t *row_of);
/* Columns with those of counters (of all, own and with what was called; or of the one that is the
 * weight) before the one at `place`; those that exist if there are none. */
const struct lull_result_column *calls_add_counters(struct calls_report *report,
                                                    const struct lull_result_column *columns,
                                                    uint32_t place, bool is_all);
/* Fills callers and callees. False: the question is about a function that was not called. */
bool calls_find_near(struct calls_report *report);
void calls_clear_near(struct calls_report *report);
/* A table, unless it is empty; of it `limit` rows, 0: all. */
void calls_emit_table(const struct lull_result_class *class, size_t n,
                      void (*row)(const void *user, uint64_t row, struct lull_cell *cells),
                      const void *user, uint64_t limit, struct lull_sink *sink);
void calls_emit(struct calls_report *report, struct lull_sink *sink);
void calls_clear_weights(struct calls_report *report);

#endif
