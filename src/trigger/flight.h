/* SPDX-License-Identifier: MIT */
/* A flight recorder in the process that tracks: alarms have it written, within limits. */
#ifndef LULL_TRIGGER_FLIGHT_H
#define LULL_TRIGGER_FLIGHT_H

#include "live/alarm.h"
#include "record/recorder.h"
#include "trigger/limits.h"

struct lull_flight {
    struct lull_recorder *recorder; /* its own, from lull_flight_run() on */
    struct lull_trigger_config config;
    struct lull_trigger_limits limits;
    uint64_t bytes;    /* of all snapshots */
    char *last;        /* the directory that was written last; NULL: none */
    int64_t frozen_ns; /* and when its buffers stood still, CLOCK_MONOTONIC */
    char *why;         /* of the last that failed */
    uint64_t n[LULL_TRIGGER_VERDICTS];
};

/* What an alarm came to. */
struct lull_flight_result {
    enum lull_trigger_verdict verdict;
    const char *path; /* WRITTEN, COALESCED: where it is shown; until the next alarm; or NULL */
    const char *why;  /* there is no path: in words */
    int64_t
        late_ns; /* WRITTEN: from the end of what was too long to when the buffers stood still */
};

/* What runs in the loop of the recorder. */
struct lull_flight_question {
    const char *const *command; /* ends with NULL; NULL: there is none */
    int64_t duration_ns;        /* 0: no limit */
    /* The command, if there is one, is there (lull_recorder_command()), and does not run yet. Returns a
     * descriptor to wait for; -1 and an error: nothing runs. */
    int (*prepare)(void *user, struct lull_recorder *recorder, GError **error);
    /* The descriptor is readable, or some time has passed; false and an error ends it. */
    bool (*check)(void *user, GError **error);
    bool (*is_over)(void *user);
    /* What is kept is kept now. */
    void (*started)(void *user, struct lull_recorder *recorder);
    void *user;
};

/* With the limits of a daemon that has no others in its configuration. */
void lull_flight_init(struct lull_flight *flight);
void lull_flight_clear(struct lull_flight *flight);
/* Runs until the command ends, the time is over, it is_over(), or a signal comes. Once. */
bool lull_flight_run(struct lull_flight *flight, const struct lull_flight_question *question,
                     GError **error);
/* Within check(): the buffers stop at once if the limits allow a snapshot, and are written to a new directory, in the
 * current one. */
struct lull_flight_result lull_flight_take(struct lull_flight *flight,
                                           const struct lull_track_alarm *alarm);

/* Why a snapshot is written. `comm` is room for the name of the task; id and rule are not set. */
struct lull_recording_trigger lull_trigger_of_alarm(const struct lull_track_alarm *alarm,
                                                    int64_t epoch_ns,
                                                    char comm[static LULL_TRACK_COMM + 1]);

#endif
