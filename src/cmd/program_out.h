/* SPDX-License-Identifier: MIT */
/* What a verb prints for programs: it writes JSON, which is shown as --json, --csv, --tsv and
 * --json-times request. */
#ifndef LULL_CMD_PROGRAM_OUT_H
#define LULL_CMD_PROGRAM_OUT_H

#include <stdio.h>

#include "cmd/verb.h"

/* The common options of it, for the verb's list. */
#define LULL_PROGRAM_OUT_COMMON "json", "csv", "tsv", "json-times"

struct lull_program_out {
    const struct lull_args *args;
    FILE *file; /* where the verb writes JSON */
    char *text; /* what it wrote, if it is to be changed */
    size_t length;
};

/* One of --json, --csv and --tsv is given, and not several of them; `other` is another form that was
 * requested (--NAME), or NULL. */
bool lull_program_out_is_wanted(const struct lull_args *args);
bool lull_program_out_check(const struct lull_args *args, const char *other, GError **error);

void lull_program_out_start(struct lull_program_out *out, const struct lull_args *args);
/* Shows it, if the verb could write all: `done`, else returns false. */
bool lull_program_out_end(struct lull_program_out *out, bool done, GError **error);

#endif
