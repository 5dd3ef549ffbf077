/* SPDX-License-Identifier: MIT */
/* The option that names a file of declared states. */
#ifndef LULL_CMD_STATES_ARGS_H
#define LULL_CMD_STATES_ARGS_H

#include "cmd/verb.h"
#include "states/states.h"

/* For a verb's table of options; `states_help` says what the verb does with them. */
#define LULL_OPTION_STATES(states_help)                                                            \
    {.name = "states", .kind = LULL_OPTION_FILE, .argument = "FILE", .help = states_help}

/* The states of the file, whose warnings it prints (is_partial: lull_states_read()); *states is NULL without the option. Free with
 * lull_states_free(). False with LULL_ERROR_USAGE or _IO. */
bool lull_args_states(const struct lull_args *args, bool is_partial, struct lull_states **states,
                      GError **error);
/* Prints which events and fields the rules need and no trace declares. */
void lull_args_check_states(const struct lull_states *states, const struct lull_session *session);

#endif
