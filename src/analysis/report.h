/* SPDX-License-Identifier: MIT */
/* The report of a trace: which analyses it is made of, in the order in which they are read, and
 * which of them a session can answer. */
#ifndef LULL_ANALYSIS_REPORT_H
#define LULL_ANALYSIS_REPORT_H

#include "analysis/analysis.h"

struct lull_report_part {
    const char *chapter; /* the same as that of the part before: it goes on */
    const struct lull_analysis_class *analysis;
    unsigned sections, groupings; /* of struct lull_question_params */
    bool is_partial; /* what improves its answer yields something without what it needs */
};

/* All parts; ends with a NULL analysis. */
extern const struct lull_report_part lull_report_parts[];

/* The part of the analysis of that name, or NULL. */
const struct lull_report_part *lull_report_find(const char *analysis);

/* "lull waits --tid 7 my-trace": how to ask more of the traces, of a host (LULL_NONE: of all) of the session
 * (or NULL). Free with g_free(). */
char *lull_report_command(const struct lull_session *session, uint32_t host, const char *what);

/* NULL if some host (or the one with number only_host, if >= 0) declares the events that the part
 * needs; else the names of those that are missing, with commas between. Free with g_free(). */
char *lull_report_missing(const struct lull_session *session, int32_t only_host,
                          const struct lull_report_part *part);

#endif
