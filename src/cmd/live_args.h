/* SPDX-License-Identifier: MIT */
/* What the verbs that watch this machine share. */
#ifndef LULL_CMD_LIVE_ARGS_H
#define LULL_CMD_LIVE_ARGS_H

#include "cmd/verb.h"
#include "live/rule.h"

/* --max-overhead: a share of the time of all CPUs, 0 .. 1. */
bool lull_args_overhead(const struct lull_args *args, double *overhead, GError **error);
/* --backend: how the machine is watched. */
#define LULL_BACKEND_OPTION(help_text)                                                             \
    {.name = "backend",                                                                            \
     .kind = LULL_OPTION_CHOICE,                                                                   \
     .argument = "HOW",                                                                            \
     .choices = lull_backends,                                                                     \
     .help = help_text}
extern const char *const lull_backends[];
/* Adds a rule to `rules`, unless there are too many of them. */
bool lull_args_add_rule(GPtrArray *rules, struct lull_track_rule *rule, GError **error);
/* What a time of CLOCK_MONOTONIC is to be added to. */
int64_t lull_epoch_of_monotonic(void);

#endif
