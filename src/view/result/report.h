/* SPDX-License-Identifier: MIT */
/* What surrounds the results of a report: what was recorded, and what could not be answered. */
#ifndef LULL_VIEW_RESULT_REPORT_H
#define LULL_VIEW_RESULT_REPORT_H

#include "analysis/report.h"

/* A part that was left out. */
struct lull_report_gap {
    const struct lull_report_part *part;
    char *missing; /* names of events */
};

/* "Host", "web: Linux 6.1.0-30, lttng-modules 2.13.9"; not cleaned */
struct lull_report_line {
    const char *label;
    char *text;
};

struct lull_result_report {
    const char *title; /* of a page */
    const char *verb;  /* that writes it */
    LULL_VEC(struct lull_report_line) lines;
    LULL_VEC(const struct lull_report_part *) parts; /* those that are answered */
    LULL_VEC(struct lull_report_gap) gaps;
    uint32_t limit; /* rows of a top; 0: all */
    /* What a page has at its top; each NULL if there is none. */
    char *path;         /* of what took longest: an element svg */
    char *narrow_path;  /* the same for a telephone */
    char *path_command; /* that shows more of it; not cleaned */
    char *why;          /* lines of text */
};

/* The lines alone, without parts: of all hosts of the session, or the one with number only_host (if >= 0). */
struct lull_result_report *lull_result_report_head(const struct lull_session *session,
                                                   int32_t only_host);
/* With the parts and gaps of a report on everything. Free with
 * lull_result_report_free(). */
struct lull_result_report *lull_result_report_new(const struct lull_session *session,
                                                  int32_t only_host, uint32_t limit);
void lull_result_report_free(struct lull_result_report *report);

/* "At most 10 rows of each table …", or NULL if there is no limit. Free with g_free(). */
char *lull_result_report_limit(const struct lull_result_report *report);

#endif
