/* SPDX-License-Identifier: MIT */
/* The options that define periods, spelled alike in all verbs that take them. */
#ifndef LULL_CMD_PERIOD_ARGS_H
#define LULL_CMD_PERIOD_ARGS_H

#include "cmd/verb.h"
#include "period/period.h"

/* For a verb's table of options; `period_help` says what the verb does with a period. */
#define LULL_OPTIONS_PERIOD(period_help)                                                           \
    {.name = "period",                                                                             \
     .kind = LULL_OPTION_TEXTS,                                                                    \
     .argument = "DEFINITION",                                                                     \
     .help = period_help "; 'lull help periods' describes the language"},                          \
        {.name = "period-captures",                                                                \
         .kind = LULL_OPTION_TEXTS,                                                                \
         .argument = "CAPTURES",                                                                   \
         .help = "values of the events that open and close a period, as in 'req : id = $evt.id : " \
                 "$evt.ret'"}

#endif
