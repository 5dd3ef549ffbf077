/* SPDX-License-Identifier: MIT */
/* Asks the machines that a slow request touched to freeze too, and notes what they did. */
#ifndef LULL_TRIGGER_REACH_H
#define LULL_TRIGGER_REACH_H

#include "trigger/speaker.h"
#include "trigger/touched.h"

/* The file of a set in which this is noted: a line for each machine, "ADDRESS RESULT [SNAPSHOT]". */
#define LULL_REACH_NOTES "machines"

struct lull_reach {
    int sockets;                    /* lull_touched_open() */
    const struct lull_talks *talks; /* or NULL */
    const struct lull_trigger_config *config;
    const struct lull_speaker *speaker;
};

/* Asks each machine at the other end of a connection that the configuration names among its peers, but for
 * `about.to`, who knows already. The rest of `about` is passed on; its connections are those by which the request
 * came. `pid` is who served it, or -1; `hook` is what a server said of it, or NULL. *is_known: whether a process of
 * this machine is (lull_touched_find()). False and an error if the kernel does not report connections; machines that are
 * known even so are asked. */
bool lull_reach_ask(const struct lull_reach *how, const struct lull_spread_question *about,
                    int64_t pid, const struct lull_hook *hook, bool *is_known, GError **error);
/* Adds what a machine did to the file of the set, if the set is there. */
void lull_reach_note(const struct lull_trigger_config *config,
                     const struct lull_spread_outcome *outcome);

#endif
