/* SPDX-License-Identifier: MIT */
/* `lull daemon`: a flight recorder, a tracker and a process that listens; a wait or a request that is
 * slower than a rule allows has the recorder write what it keeps. */
#ifndef LULL_TRIGGER_DAEMON_H
#define LULL_TRIGGER_DAEMON_H

#include "trigger/config.h"

struct lull_daemon_question {
    const struct lull_trigger_config *config;
    const char *path; /* where it is read again on SIGHUP; NULL: LULL_TRIGGER_CONFIG */
    void (*report)(void *user, const char *line); /* what happens, for a log */
    void *user;
};

/* Runs until a signal ends it. False and an error if it cannot run, or not go on; then nothing is left of
 * it either, but for the snapshots. */
bool lull_daemon_run(const struct lull_daemon_question *question, GError **error);

#endif
