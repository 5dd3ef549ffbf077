/* SPDX-License-Identifier: MIT */
/* Periods: intervals that an event opens and another closes, as in
 *   req : $evt.$name == "req_start" : $evt.$name == "req_end" && $evt.id == $begin.$evt.id
 * The language is that of lttng-analyses with its faults mended; docs/PERIODS.md describes it. A
 * tracker follows the periods of a session while somebody, or nobody, reads its events. */
#ifndef LULL_PERIOD_H
#define LULL_PERIOD_H

#include <lull/instances.h>

#include "filter/ast.h"

#define LULL_NO_PERIOD UINT32_MAX

/* ---- definitions ---- */

/* A definition. Borrowed from struct lull_periods. */
struct lull_period {
    const char *name; /* NULL: it has none */
    const char *path; /* "request/phase"; "" without name */
    const char *text; /* as it was written */
    uint32_t parent;  /* number of a definition before this one; LULL_NO_PERIOD: a root */
    uint32_t depth;   /* 0: a root */
    /* Names of the captures, in the order they were written. */
    const char *const *start_captures, *const *end_captures;
    uint32_t n_start_captures, n_end_captures;
};

/* lull_periods_parse() and lull_periods_free() are in the public API. */

/* The periods of such lists; NULL in *periods if nothing is given, which is two times NULL. False
 * with LULL_ERROR_USAGE. */
bool lull_periods_parse_given(const char *const *definitions, const char *const *captures,
                              struct lull_periods **periods, GError **error);
uint32_t lull_periods_count(const struct lull_periods *periods);
const struct lull_period *lull_periods_at(const struct lull_periods *periods, uint32_t number);
/* The definition of this name, or that the path ("request/phase") ends with; or LULL_NO_PERIOD. */
uint32_t lull_periods_find(const struct lull_periods *periods, const char *name, size_t length);

/* That the traces declare the fields and events that the definitions name; as lull_filter_check(). */
bool lull_periods_check(const struct lull_periods *periods, const struct lull_session *session,
                        GString *warnings, GError **error);

/* The deprecated options --period-begin, --period-end, --period-begin-key, --period-end-key and
 * --period-key-value as a definition; all but `begin` may be NULL, lists are separated by commas.
 * NULL and LULL_ERROR_USAGE if they do not fit together. Free with g_free(). */
char *lull_periods_translate(const char *start, const char *end, const char *start_keys,
                             const char *end_keys, const char *key_values, GError **error);

/* ---- instances ---- */

/* A period that was opened. */
struct lull_period_instance {
    uint32_t period;                   /* the definition */
    uint32_t parent;                   /* instance that it lies in; LULL_NO_PERIOD for a root */
    int64_t start_ns, end_ns;          /* joined clock; the event at the end is not in it */
    uint32_t host, end_host;           /* where the opening and the closing event happened */
    int32_t start_cpu, end_cpu;        /* -1: not on a CPU, or closed by no event of its own */
    int64_t start_tid, end_tid;        /* who ran on that CPU then; -1: not known */
    const char *start_comm, *end_comm; /* its name; NULL: not known */
    uint32_t start_values, end_values; /* see lull_period_value() */
    bool is_open;                      /* not closed yet */
    bool is_complete;                  /* closed by its own end condition */
};

struct lull_period_tracker;

/* Who wants to know at once. `instance` is a number for lull_period_at(). At an event that closes
 * some and opens others, those that close come first, children before parents. The event itself has
 * not been reported to anyone yet. */
struct lull_period_callbacks {
    void (*opened)(void *user, uint32_t instance);
    void (*closed)(void *user, uint32_t instance);
};

/* Follows the periods from the session's next event on; `periods` and `session` are borrowed, and
 * so are the callbacks (may be NULL). One tracker a session. Free with lull_period_tracker_free()
 * before the session. */
struct lull_period_tracker *lull_period_tracker_new(const struct lull_periods *periods,
                                                    struct lull_session *session,
                                                    const struct lull_period_callbacks *callbacks,
                                                    void *user);
void lull_period_tracker_free(struct lull_period_tracker *tracker);
/* Events outside start_ns <= time < end_ns neither open nor close. */
void lull_period_tracker_limit(struct lull_period_tracker *tracker, int64_t start_ns,
                               int64_t end_ns);
/* At most this many may be open at once (1000000 unless said) and be opened in all (10000000).
 * More are not opened. */
void lull_period_tracker_bound(struct lull_period_tracker *tracker, uint32_t most_open,
                               uint32_t most_kept);
/* Reading is over: what is open ends at `end_ns`, incomplete, children before parents. */
void lull_period_tracker_finish(struct lull_period_tracker *tracker, int64_t end_ns);

/* Instances are numbered in the order in which they were opened. */
uint32_t lull_period_instance_count(const struct lull_period_tracker *tracker);
/* Borrowed until the next event is read. */
const struct lull_period_instance *lull_period_at(const struct lull_period_tracker *tracker,
                                                  uint32_t instance);
/* Value of the capture at its start or end, by its place in the definition's list; kind
 * LULL_VALUE_NONE if the event had no such field. End captures are there once it is complete. */
const struct lull_value *lull_period_value(const struct lull_period_tracker *tracker,
                                           uint32_t instance, bool at_end, uint32_t capture);
/* How many were not opened because of a bound; more than 0 calls for a warning. */
uint64_t lull_period_refused(const struct lull_period_tracker *tracker);

#endif
