/* SPDX-License-Identifier: MIT */
/* Brings the snapshots of a set together: from this machine's daemon, then from those that it asked, and so on. */
#ifndef LULL_TRIGGER_COLLECT_H
#define LULL_TRIGGER_COLLECT_H

#include "trigger/key.h"
#include "trigger/sets.h"

struct lull_collect_question {
    const struct lull_trigger_config *config;
    const struct lull_peer_keys *keys;
    const char *set;
    const char *output; /* a new directory, with one for each machine */
    /* A machine whose snapshot is not there, and why. */
    void (*missing)(void *user, const char *machine, const char *why);
    void *user;
};

/* Waits until all is there. False and an error if this machine has no such snapshot, or if it cannot be
 * written; then nothing is left. */
bool lull_collect(const struct lull_collect_question *question, GError **error);

#endif
