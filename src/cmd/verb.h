/* The command line as a table: a verb, its options, examples and function. Help, man pages and bash completion come from it. */
#ifndef LULL_CMD_VERB_H
#define LULL_CMD_VERB_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include <lull/session.h>

enum lull_option_kind {
    LULL_OPTION_FLAG,   /* bool */
    LULL_OPTION_TEXT,   /* const char *  */
    LULL_OPTION_NUMBER, /* int64_t, >= 0; -1 if not given */
    LULL_OPTION_FILE,   /* const char *, completed as a file name */
    LULL_OPTION_CHOICE, /* const char *, one of `choices` */
};

struct lull_option {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* or 0 */
    enum lull_option_kind kind;
    const char *argument; /* shown in help: "T", "N", "FILE" */
    const char *help;     /* one sentence, no full stop needed in the table of --help */
    const char *const *choices; /* NULL-terminated, for CHOICE */
};

struct lull_args; /* the parsed command line */

/* By name of the option; the name must be in the verb's or the common table (checked). */
bool lull_args_flag(const struct lull_args *args, const char *name);
const char *lull_args_text(const struct lull_args *args, const char *name); /* NULL: not given */
int64_t lull_args_number(const struct lull_args *args, const char *name);   /* -1: not given */
/* What stands on the line besides options: the traces. */
const char *const *lull_args_rest(const struct lull_args *args, uint32_t *count);

struct lull_example {
    const char *command; /* "lull info my-trace" */
    const char *explanation;
};

struct lull_verb {
    const char *name;
    const char *summary;   /* one line, without full stop: "show what a trace holds" */
    const char *usage;     /* "TRACE…" */
    const char *description; /* paragraphs for --help and the man page */
    const struct lull_option *options; /* the verb's own, ends with NULL name */
    const char *const *common; /* which of the common options it takes, NULL-terminated */
    const struct lull_example *examples; /* ends with NULL command */
    /* Exit status: 0 done, 1 the input or the question was bad, 2 usage. On 1 and 2 with *error set, main prints it. */
    int (*run)(const struct lull_args *args, GError **error);
};

/* All verbs, in the order of `lull --help`; ends with a NULL name. One line a verb in verbs.c. */
extern const struct lull_verb *const lull_verbs[];
extern const struct lull_option lull_common_options[];

/* Shared by the verbs (session_args.c): opens every TRACE of the command line, applies --host --cpu --begin --end --timerange. */
struct lull_session *lull_args_open_session(const struct lull_args *args, GError **error);
/* Prints on stderr what was damaged or lost; returns 1 if anything was damaged, else 0. */
int lull_args_report_problems(struct lull_session *session);

#endif
