/* SPDX-License-Identifier: MIT */
/* From the command line to the question that is put to an analysis. */
#ifndef LULL_CMD_ANALYSIS_ARGS_H
#define LULL_CMD_ANALYSIS_ARGS_H

#include "analysis/periods/periods.h"
#include "cmd/analysis_verb.h"

/* The question and what it borrows. A zeroed one is valid. */
struct lull_analysis_question {
    struct lull_question_params params;
    int64_t slice_ns; /* of --refresh; 0: none */
    GArray *numbers[4];
    char **comms;
    struct lull_periods *periods;        /* of --period; NULL: none */
    struct lull_periods_question *query; /* what a verb of periods shows; else NULL */
};

/* Fills in the periods, which need no session; the first to be called on a zeroed question. False
 * with LULL_ERROR_USAGE; clear it in any case. (period_args.c) */
bool lull_analysis_question_periods(struct lull_analysis_question *question,
                                    const struct lull_args *args, GError **error);
/* Fills in the rest; the session is for --host. False with LULL_ERROR_USAGE or _QUESTION. */
bool lull_analysis_question_parse(struct lull_analysis_question *question,
                                  const struct lull_args *args, const struct lull_session *session,
                                  GError **error);
void lull_analysis_question_clear(struct lull_analysis_question *question);

/* The duration that an option says: a number of `bare_unit_ns`, or with a unit. Left as it is if
 * the option was not given. */
bool lull_args_duration(const struct lull_args *args, const char *name, double bare_unit_ns,
                        int64_t *value_ns, GError **error);

#endif
