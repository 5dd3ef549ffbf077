/* SPDX-License-Identifier: MIT */
/* Writes a snapshot into a pipe, in a process beside the daemon, which goes on meanwhile. */
#ifndef LULL_TRIGGER_SET_SENDER_H
#define LULL_TRIGGER_SET_SENDER_H

#include "trigger/config.h"

#define LULL_SET_SENDERS 4

struct lull_set_senders {
    pid_t pid[LULL_SET_SENDERS]; /* 0: none */
};

/* Sends it to `out`, which it closes, unless there is no such set or too many are being sent. */
void lull_set_send(struct lull_set_senders *senders, const struct lull_trigger_config *config,
                   const char *set, int out);
/* Takes note of those that have ended. */
void lull_set_senders_check(struct lull_set_senders *senders);
/* Ends them. */
void lull_set_senders_clear(struct lull_set_senders *senders);

#endif
