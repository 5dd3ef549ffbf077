/* SPDX-License-Identifier: MIT */
/* The verbs of analyses are data: each names an analysis, the section of it that is meant, and its
 * options; one function runs them all. The tables are in verbs_*.c. */
#ifndef LULL_CMD_ANALYSIS_VERB_H
#define LULL_CMD_ANALYSIS_VERB_H

#include "analysis/analysis.h"
#include "cmd/period_args.h"

struct lull_result_view;
struct lull_query;

struct lull_verb_analysis {
    const struct lull_analysis_class *class; /* NULL: many */
    unsigned sections; /* enum lull_section: always shown; options add others */
};

/* verb->run of all of them. */
int lull_analysis_verb_run(const struct lull_args *args, GError **error);

/* The second half of it, for a verb of many analyses: has `n` of them read the session in one pass,
 * in the windows of the command line, and shown in `view`, which it ends. */
int lull_analysis_answer(const struct lull_args *args, struct lull_session *session,
                         struct lull_query *query, const struct lull_analysis_class *const *classes,
                         const struct lull_question_params *params, uint32_t n,
                         struct lull_result_view *view, GError **error);

struct lull_result_options;
/* The view that they choose, or text; sets what they say of *options. */
struct lull_result_view *lull_analysis_open_view(const struct lull_args *args,
                                                 struct lull_result_options *options);

/* What a verb of an analysis prints, as text in the markup of lull_verb.description, from its options and the table classes
 * of the analysis. Free with g_free(). */
char *lull_analysis_verb_output(const struct lull_verb *verb);

/* Its common options. */
extern const char *const lull_analysis_common[];

/* Options by group, for tables of options; each verb takes WHOM and WHEN. */

#define LULL_OPTIONS_TASKS                                                                         \
    {.name = "tid",                                                                                \
     .kind = LULL_OPTION_NUMBERS,                                                                  \
     .argument = "LIST",                                                                           \
     .help = "only tasks with one of these thread ids (N,N,…)"},                                   \
        {.name = "pid",                                                                            \
         .kind = LULL_OPTION_NUMBERS,                                                              \
         .argument = "LIST",                                                                       \
         .help = "only tasks of these processes (N,N,…)"},                                         \
        {.name = "comm",                                                                           \
         .kind = LULL_OPTION_LIST,                                                                 \
         .argument = "LIST",                                                                       \
         .help = "only tasks with one of these names (NAME,NAME,…; the kernel keeps the first 15 " \
                 "bytes of a name), or names that match a pattern, as in 'postgres*'"},            \
        {.name = "container",                                                                      \
         .kind = LULL_OPTION_LIST,                                                                 \
         .argument = "LIST",                                                                       \
         .help = "only tasks in one of these containers: names, patterns for a name or the path "  \
                 "of a control group, or six digits or more of an id"}

#define LULL_OPTIONS_WHOM                                                                          \
    LULL_OPTIONS_TASKS,                                                                            \
        {.name = "procname",                                                                       \
         .kind = LULL_OPTION_LIST,                                                                 \
         .argument = "LIST",                                                                       \
         .help = "the same as --comm, as in lttng-analyses"},                                      \
        {.name = "cpu",                                                                            \
         .kind = LULL_OPTION_NUMBERS,                                                              \
         .argument = "LIST",                                                                       \
         .help = "only what happened on one of these CPUs (N,N,…)"}

/* Of verbs with tables of tasks. */
#define LULL_OPTION_BY                                                                             \
    {.name = "by",                                                                                 \
     .kind = LULL_OPTION_TEXT,                                                                     \
     .argument = "WHAT",                                                                           \
     .help = "a row for each container, pod, cgroup or vm instead of each task"}

#define LULL_OPTION_REFRESH                                                                        \
    {.name = "refresh",                                                                            \
     .letter = 'r',                                                                                \
     .kind = LULL_OPTION_TEXT,                                                                     \
     .argument = "DURATION",                                                                       \
     .help = "one result for each slice of this length (500ms, 2s, …; a bare number is "           \
             "seconds)"}

/* What lttng-analyses had before --period. */
#define LULL_OPTIONS_OLD_PERIOD                                                                    \
    {.name = "period-begin",                                                                       \
     .kind = LULL_OPTION_TEXT,                                                                     \
     .argument = "NAME",                                                                           \
     .help = "deprecated: a period that an event of this name opens"},                             \
        {.name = "period-end",                                                                     \
         .kind = LULL_OPTION_TEXT,                                                                 \
         .argument = "NAME",                                                                       \
         .help = "deprecated: and that one of this name closes (the same, if not given)"},         \
        {.name = "period-begin-key",                                                               \
         .kind = LULL_OPTION_TEXT,                                                                 \
         .argument = "FIELDS",                                                                     \
         .help = "deprecated: fields of the opening event, with commas between (cpu_id)"},         \
        {.name = "period-end-key",                                                                 \
         .kind = LULL_OPTION_TEXT,                                                                 \
         .argument = "FIELDS",                                                                     \
         .help = "deprecated: fields of the closing event that are equal to them (the same)"},     \
        {.name = "period-key-value",                                                               \
         .kind = LULL_OPTION_TEXT,                                                                 \
         .argument = "VALUES",                                                                     \
         .help = "deprecated: values that the fields of the opening event have"}

/* Options of lttng-analyses that all verbs have. */
#define LULL_OPTIONS_PEER                                                                          \
    {.name = "gmt",                                                                                \
     .kind = LULL_OPTION_FLAG,                                                                     \
     .help = "times are UTC, as they are without this option (lttng-analyses has it)"},            \
        {.name = "no-intersection",                                                                \
         .kind = LULL_OPTION_FLAG,                                                                 \
         .help = "read everything, as is done without this option (lttng-analyses has it)"},       \
        {.name = "lami",                                                                           \
         .kind = LULL_OPTION_FLAG,                                                                 \
         .help = "print the LTTng analyses machine interface, LAMI 1.0, for programs that read "   \
                 "lttng-analyses"}

#define LULL_OPTIONS_WHEN                                                                          \
    LULL_OPTION_REFRESH, LULL_OPTIONS_PERIOD("one result for each instance of this period"),       \
        LULL_OPTIONS_PEER

#define LULL_OPTION_LIMIT_ROWS                                                                     \
    {.name = "limit",                                                                              \
     .letter = 'n',                                                                                \
     .kind = LULL_OPTION_LIMIT,                                                                    \
     .argument = "N",                                                                              \
     .help = "at most N rows of each table or list; 0 or unlimited: all (if not given: 10 of a "   \
             "top, else all)"}

#define LULL_OPTIONS_DURATION                                                                      \
    {.name = "min",                                                                                \
     .kind = LULL_OPTION_TEXT,                                                                     \
     .argument = "D",                                                                              \
     .help = "leave out what took less than D: a number is microseconds, else with unit (3ms)"},   \
        {.name = "max",                                                                            \
         .kind = LULL_OPTION_TEXT,                                                                 \
         .argument = "D",                                                                          \
         .help = "leave out what took more than D"}

#define LULL_OPTIONS_SIZE                                                                          \
    {.name = "minsize",                                                                            \
     .kind = LULL_OPTION_TEXT,                                                                     \
     .argument = "BYTES",                                                                          \
     .help = "leave out calls that moved less"},                                                   \
        {.name = "maxsize",                                                                        \
         .kind = LULL_OPTION_TEXT,                                                                 \
         .argument = "BYTES",                                                                      \
         .help = "leave out calls that moved more"}

#define LULL_OPTIONS_BINS                                                                          \
    {.name = "freq-resolution",                                                                    \
     .kind = LULL_OPTION_NUMBER,                                                                   \
     .argument = "N",                                                                              \
     .help = "bins of a histogram, 20 if not given"},                                              \
        {.name = "freq-uniform",                                                                   \
         .kind = LULL_OPTION_FLAG,                                                                 \
         .help = "the same bins for all histograms"}

#define LULL_OPTION_FREQ_LOG                                                                       \
    {.name = "freq-log",                                                                           \
     .kind = LULL_OPTION_FLAG,                                                                     \
     .help = "bins that double in width, from the smallest value to the largest"}

#define LULL_OPTIONS_FREQ                                                                          \
    LULL_OPTIONS_BINS,                                                                             \
        {.name = "freq-series",                                                                    \
         .kind = LULL_OPTION_FLAG,                                                                 \
         .help = "all histograms in one table, a column each (implies --freq-uniform)"},           \
        LULL_OPTION_FREQ_LOG

/* Sections that add up with the one the verb is named after. */
#define LULL_OPTION_STATS                                                                          \
    {.name = "stats", .kind = LULL_OPTION_FLAG, .help = "print statistics as well"}
#define LULL_OPTION_FREQ                                                                           \
    {.name = "freq", .kind = LULL_OPTION_FLAG, .help = "print histograms as well"}
#define LULL_OPTION_LOG {.name = "log", .kind = LULL_OPTION_FLAG, .help = "print the log as well"}
#define LULL_OPTION_TOP {.name = "top", .kind = LULL_OPTION_FLAG, .help = "print the top as well"}
#define LULL_OPTION_STACKS                                                                         \
    {.name = "stacks",                                                                             \
     .kind = LULL_OPTION_FLAG,                                                                     \
     .help = "a row for each chain of calls that led into the wait, if they were recorded"}
#define LULL_OPTION_USAGE                                                                          \
    {.name = "usage", .kind = LULL_OPTION_FLAG, .help = "print the usage as well"}

#endif
