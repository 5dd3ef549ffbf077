/* SPDX-License-Identifier: MIT */
/* The command line as a table: a verb, its options, examples and function. Help, man pages and bash
 * completion come from it. */
#ifndef LULL_CMD_VERB_H
#define LULL_CMD_VERB_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include <lull/session.h>

#include "base/numbers.h"

enum lull_option_kind {
    LULL_OPTION_FLAG,    /* bool; with an argument also const char *, which may follow as "=…" */
    LULL_OPTION_TEXT,    /* const char *  */
    LULL_OPTION_TEXTS,   /* the same, several times: const char *const * */
    LULL_OPTION_LIST,    /* const char *, with commas between; several times: all of them */
    LULL_OPTION_NUMBERS, /* the same of numbers: also struct lull_numbers */
    LULL_OPTION_NUMBER,  /* int64_t, >= 0; -1 if not given */
    LULL_OPTION_LIMIT,   /* the same, where 0 and the word "unlimited", which is 0, mean all */
    LULL_OPTION_FILE,    /* const char *, completed as a file name */
    LULL_OPTION_CHOICE,  /* const char *, one of `choices` */
};

struct lull_option {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* or 0 */
    enum lull_option_kind kind;
    const char *argument;       /* shown in help: "T", "N", "FILE" */
    const char *help;           /* one sentence, no full stop needed in the table of --help */
    const char *const *choices; /* NULL-terminated, for CHOICE */
    bool takes_either;          /* FILE: a directory, or a file that is something else */
};

struct lull_args;          /* the parsed command line */
struct lull_verb_analysis; /* cmd/analysis_verb.h */

/* By name of the option; the name must be in the verb's or the common table (checked). */
bool lull_args_flag(const struct lull_args *args, const char *name);
const char *lull_args_text(const struct lull_args *args, const char *name); /* NULL: not given */
/* Of a TEXTS: all, as they were given, NULL-terminated; NULL: not given. */
const char *const *lull_args_texts(const struct lull_args *args, const char *name);
int64_t lull_args_number(const struct lull_args *args, const char *name); /* -1: not given */
/* Of NUMBERS; none: not given. */
struct lull_numbers lull_args_numbers(const struct lull_args *args, const char *name);
/* Whether it is an option of this verb. */
bool lull_args_takes(const struct lull_args *args, const char *name);
/* True if the program was called by a name of lttng-analyses. */
bool lull_args_is_dropin(const struct lull_args *args);
/* The words of the line besides options: the traces. */
const char *const *lull_args_rest(const struct lull_args *args, uint32_t *count);
/* How many of them stand before "--". */
uint32_t lull_args_before_dashes(const struct lull_args *args);

struct lull_example {
    const char *command; /* "lull info my-trace" */
    const char *explanation;
};

struct lull_verb {
    const char *name;
    const char *summary; /* one line, without full stop: "show what a trace holds" */
    const char *usage;   /* "TRACE…" */
    /* Paragraphs for --help and the man page: lines are joined and wrapped anew, an empty line ends
     * a paragraph, a line that starts with a space is kept as it is. */
    const char *description;
    const char
        *output; /* what is printed, with the structure of --json, for the man page; or NULL */
    const struct lull_option *options;   /* the verb's own, ends with NULL name */
    const char *const *common;           /* which of the common options it takes, NULL-terminated */
    const struct lull_example *examples; /* ends with NULL command */
    const struct lull_verb_analysis *analysis; /* what a verb of an analysis shows; else NULL */
    /* Behaves as the program of that name in lttng-analyses does: any unambiguous start of an
     * option will do, a time that is a whole number is in ns. */
    bool is_dropin;
    bool takes_no_trace;       /* and is about none */
    const char *without_trace; /* the option with which it needs none; or NULL */
    const char *no_words;      /* options are all that it takes: what to say of a word; or NULL */
    bool rest_is_command; /* the first word that is no option, and all that follow, are a command */
    bool has_no_pager;    /* what it prints comes as it happens: never through a pager */
    bool is_mi;           /* such a program for other programs: results and errors are LAMI */
    /* Exit status: 0 done, 1 the input or the question was bad, 2 usage. On 1 and 2 with *error
     * set, main prints it. */
    int (*run)(const struct lull_args *args, GError **error);
};

/* Something that several verbs share and that needs a page of its own: 'lull help NAME' and
 * lull-NAME(7). */
struct lull_topic {
    const char *name;
    const char *summary;
    const char *description; /* as in struct lull_verb */
};

/* Ends with NULL; in verbs.c. */
extern const struct lull_topic *const lull_topics[];
/* All verbs, in the order of `lull --help`; ends with NULL. One line a verb in verbs.c. */
extern const struct lull_verb *const lull_verbs[];
/* Headings of `lull --help`: each stands before a verb, and is for those that follow. Ends with NULL
 * title. */
extern const struct lull_verb_group {
    const char *title;
    const struct lull_verb *first;
} lull_verb_groups[];
/* The heading before this verb, or NULL. */
const char *lull_verb_heading(const struct lull_verb *verb);
/* The options spelled the same in all verbs; ends with NULL name. --help, --color, --no-pager and
 * --no-progress belong to every verb, the others to those that list them in `common`. */
extern const struct lull_option lull_common_options[];
/* What `lull --help` and lull(1) say first, in the markup of lull_verb.description. */
extern const char lull_program_description[];

/* Shared by the verbs (session_args.c). */

/* Opens every TRACE of the command line; --filter is in force from then on. A live session is an
 * error: it can be read once only. */
struct lull_session *lull_args_open_traces(const struct lull_args *args, GError **error);
/* The two halves of it, for those who can follow live sessions: a session without traces, and the
 * traces. */
struct lull_session *lull_args_new_session(const struct lull_args *args, GError **error);
bool lull_args_add_traces(const struct lull_args *args, struct lull_session *session,
                          GError **error);
/* The first TRACE that is a live session, or NULL. */
const char *lull_args_live(const struct lull_args *args);
/* Applies --host --cpu --begin --end --timerange, on the clock the session has now. */
bool lull_args_apply(const struct lull_args *args, struct lull_session *session, GError **error);
/* That some trace declares what the definitions (or NULL) name; prints what they can do without. */
struct lull_periods;
bool lull_args_check_periods(const struct lull_args *args, const struct lull_session *session,
                             const struct lull_periods *periods, GError **error);
/* The host that --host names, -1 without --host; false and an error that lists the hosts if there
 * is none of that name. */
bool lull_args_host(const struct lull_args *args, const struct lull_session *session, int32_t *host,
                    GError **error);
/* What --begin, --end and --timerange request, on the joined clock; INT64_MIN and INT64_MAX where
 * no limit was given. Leaves the session without limits if it had to look for events there. */
bool lull_args_range(const struct lull_args *args, struct lull_session *session, int64_t *start_ns,
                     int64_t *end_ns, GError **error);
/* The time that another option of times gives, in the same language; *time_ns stays as it is without it. */
bool lull_args_moment(const struct lull_args *args, const char *option,
                      struct lull_session *session, int64_t *time_ns, GError **error);
/* Prints on stderr what was damaged or lost, and remarks; returns 1 if anything was damaged, else 0. */
int lull_args_report_problems(struct lull_session *session);
/* The same for damage alone. */
int lull_args_report_damage(struct lull_session *session);

#endif
