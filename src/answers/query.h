/* SPDX-License-Identifier: MIT */
/* The internals of the queries to analyses of the public API (lull/analysis.h). */
#ifndef LULL_ANSWERS_QUERY_H
#define LULL_ANSWERS_QUERY_H

#include "analysis/periods/periods.h"

/* How a setting is given, and kept. */
enum lull_setting_kind {
    LULL_SETTING_FLAG,
    LULL_SETTING_TEXT,
    LULL_SETTING_NUMBER, /* a text of digits */
    LULL_SETTING_TEXTS,  /* several times */
};

/* Ends with a NULL name. */
extern const struct lull_setting {
    const char *name;
    enum lull_setting_kind kind;
} lull_settings[];

struct lull_query {
    const struct lull_analysis_class *analysis; /* NULL: many, see lull_query_read() */
    unsigned sections;                          /* requested besides those that are set */
    bool has_whole_lists;                       /* a limit is not for lists, as in lttng-analyses */
    bool may_lack_periods;                      /* an analysis of periods without is empty */
    bool is_end_within; /* end_ns is the last moment of the range, not the first after it */

    /* as they were set */
    GHashTable *texts;                 /* by name; "" for flags */
    GPtrArray *definitions, *captures; /* of periods; end with NULL */
    int32_t host;                      /* -1: all */
    int64_t start_ns, end_ns;

    /* as they were parsed */
    struct lull_question_params params;
    int64_t slice_ns; /* of "refresh"; 0: none */
    GArray *numbers[5];
    char *comms;
    struct lull_periods *periods;           /* NULL: none */
    char *translated;                       /* the definition that deprecated settings came to */
    struct lull_periods_question *question; /* of an analysis of periods; else NULL */

    /* after reading */
    bool has_followed; /* periods */
    uint32_t n_instances;
    uint64_t n_refused; /* too many to be followed */
};

/* Parses what is set of periods, then the rest. False with LULL_ERROR_USAGE. */
bool lull_query_parse_periods(struct lull_query *query, GError **error);
bool lull_query_parse(struct lull_query *query, GError **error);

/* A duration: a number of `bare_unit_ns`, or with a unit. NULL leaves *value_ns as it is. False
 * with an error that names the setting. */
bool lull_duration_setting(const char *name, const char *given, double bare_unit_ns,
                           int64_t *value_ns, GError **error);

/* Has `n` analyses read the session in one pass, in the windows that the parsed query requests.
 * False with LULL_ERROR_QUESTION; nothing was read then. */
bool lull_query_read(struct lull_query *query, struct lull_session *session,
                     const struct lull_analysis_class *const *classes,
                     const struct lull_question_params *params, uint32_t n, struct lull_sink *sink,
                     void (*progress)(void *user), void *user, GError **error);

#endif
