/* SPDX-License-Identifier: MIT */
/* What the files of the recorder share. */
#ifndef LULL_RECORD_RECORDER_PRIVATE_H
#define LULL_RECORD_RECORDER_PRIVATE_H

#include "record/command.h"
#include "record/control.h"
#include "record/guard.h"
#include "record/keeper.h"
#include "record/names/names.h"
#include "record/recorder.h"
#include "record/state/state.h"

struct lull_recorder {
    struct lull_record_question question;
    struct lull_tracer_request request;
    struct lull_recording recording;
    const struct lull_tracer_kind *kind;
    char *reason;
    uint32_t n_tried; /* tracers that were judged */
    GString *refused; /* why those before `kind` are not taken */
    struct lull_invoker invoker;
    struct lull_guard guard;
    struct lull_keeper keeper;
    struct lull_command command;
    int objects; /* where programs write which files they call (hooks.h); -1: they do not */
    struct lull_tracer *tracer;
    struct lull_state_trace *state; /* of the machine; NULL: it is complete, or there is none */
    GByteArray *kept_names[2];      /* of a flight recorder: the latest, and those before */
    GByteArray *kept_packets[2];    /* likewise: headers of packets */
    struct lull_names *names;       /* NULL: they are not read */
    struct lull_state_trace
        *named; /* what was read, beside the state; NULL: not yet, or complete */
    struct lull_quota_log *quota_log; /* of CPU time; NULL: not any more, or a snapshot */
    GPtrArray *quotas;                /* what it came to; NULL before */
    int64_t steal_ns;                 /* lull_steal_ns() before the recording */
    GArray *lock_holders; /* struct lull_lock_holder, of those who wait at the end; NULL before */
    struct lull_pressure_log *pressure; /* NULL: the kernel does not count it, or a snapshot */
    struct lull_control control;        /* of a flight recorder */
    int wake;                           /* the companion waits for it; -1: there is none */
    bool is_frozen;                     /* the buffers are */
    uint32_t n_snapshots;
    uint32_t cleaned;
    char *left; /* by recorders that were killed, beside the recording; NULL: nothing */
    uint64_t n_left;
};

/* Now, since the epoch, by the recording's clock. */
int64_t lull_recorder_now_ns(const struct lull_recorder *recorder);
/* Creates the files of the state of the machine. */
bool lull_recorder_create_state(const struct lull_recorder *recorder,
                                struct lull_state_files *files, GError **error);
/* Completes the recording's description and gives the directory its name. */
bool lull_recorder_complete(struct lull_recorder *recorder, GError **error);

/* ---- recorder_names.c ---- */

/* Whether starts and ends of system calls are recorded. */
bool lull_recorder_has_calls(const struct lull_recorder *recorder);
/* Before the tracer is set up. A machine that cannot is no reason to stop: then the recording says so. */
bool lull_recorder_start_names(struct lull_recorder *recorder, GError **error);
/* When the state is being written; what was read, to be called several times a second; and the end. */
bool lull_recorder_open_names(struct lull_recorder *recorder, GError **error);
void lull_recorder_take_names(struct lull_recorder *recorder);
/* Of a flight recorder: beside the state of a snapshot, those since its first event. */
bool lull_recorder_write_names(struct lull_recorder *recorder, const struct lull_state_trace *state,
                               GError **error);
bool lull_recorder_end_names(struct lull_recorder *recorder, GError **error);

/* ---- recorder_snapshot.c ---- */

/* Opens the socket for snapshot requests. */
bool lull_recorder_listen(struct lull_recorder *recorder, GError **error);
/* Somebody requests a snapshot, at the socket or with a signal. */
void lull_recorder_requested(struct lull_recorder *recorder, bool is_signal);
/* Writes what the buffers hold if the time is longer than the question's limit. False and an error
 * if that fails. */
bool lull_recorder_judge(struct lull_recorder *recorder, int64_t took_ns, GError **error);

#endif
