/* SPDX-License-Identifier: MIT */
/* Waiting for the end of a recording: the command's, that of the time, or a signal. */
#ifndef LULL_RECORD_WATCH_H
#define LULL_RECORD_WATCH_H

#include <signal.h>

#include "record/recording_json.h"

struct lull_watch {
    /* Whether something has ended the recording, and what; called after each signal of a child. */
    bool (*has_ended)(void *user, enum lull_recording_end *how, GError **error);
    /* Called several times a second; false and an error ends the recording. */
    bool (*check)(void *user, GError **error);
    /* Somebody requests a snapshot: at the descriptor `request`, or (is_signal) with SIGUSR1. May
     * be NULL. */
    void (*requested)(void *user, bool is_signal);
    void (*reload)(void *user); /* SIGHUP came; NULL: that ends the recording */
    void *user;
    int request;         /* readable on a request; < 0: none, also no SIGUSR1 */
    int wake;            /* check is called at once when it is readable; < 0: none */
    int64_t duration_ns; /* 0: no limit */
    /* check is called at that moment, if not before; g_get_monotonic_time(), which check may move. NULL: none. */
    const int64_t *due_us;
    pid_t command; /* gets the signals that only we got; -1: none */
    /* A signal ends the program also while it writes to a reader that does not read, as a pager; not to a terminal, which
     * would stay as it is. */
    bool ends_stuck;
    /* Its own. */
    sigset_t before, waited;
    int signals;
    int64_t end_us;
    GThread *looker; /* NULL: without ends_stuck */
    int over[2];     /* closed at the end */
};

/* From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT wait for lull_watch_wait(), also in threads that
 * are made meanwhile. */
void lull_watch_start(struct lull_watch *watch);
/* The time of duration_ns starts now. False and an error if recording cannot go on. */
bool lull_watch_wait(struct lull_watch *watch, enum lull_recording_end *how, GError **error);
/* When what happens every interval_ns is due after it was due at last_us (at first: the start of the
 * watch): moments that are over are left out, and so is one shortly before the end, INT64_MAX then. */
int64_t lull_watch_due(int64_t last_us, int64_t interval_ns, int64_t end_us);
/* When what lasts duration_ns (0: no limit) from now on ends, likewise. */
int64_t lull_watch_until(int64_t duration_ns);
/* Signals act as before. */
void lull_watch_end(struct lull_watch *watch);

#endif
