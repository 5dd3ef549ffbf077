/* SPDX-License-Identifier: MIT */
/* --slowest means the same in all verbs: so many, or so many percent. */
#ifndef LULL_CMD_SLOWEST_ARGS_H
#define LULL_CMD_SLOWEST_ARGS_H

#include "cmd/verb.h"

#define LULL_OPTION_SLOWEST(what)                                                                  \
    {.name = "slowest",                                                                            \
     .kind = LULL_OPTION_TEXT,                                                                     \
     .argument = "N",                                                                              \
     .help = what "; with a percentage, as in 5%, that share of them, at least one"}

struct lull_slowest {
    uint32_t count; /* 0: not so many */
    double percent; /* -1: not so many percent */
};

/* An error of usage, if it is neither; both fields say no without the option. */
bool lull_args_slowest(const struct lull_args *args, struct lull_slowest *slowest, GError **error);
/* How many of `n` that is; n without the option. */
uint32_t lull_slowest_of(const struct lull_slowest *slowest, uint32_t n);
/* A number of percent, with or without the sign; *end is after it. */
bool lull_parse_percent(const char *text, double *percent, const char **end);

#endif
