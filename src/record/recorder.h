/* SPDX-License-Identifier: MIT */
/* A recording from start to end: chooses a tracer, runs the command, and leaves a directory that is
 * whole, or nothing (docs/RECORDING.md). */
#ifndef LULL_RECORD_RECORDER_H
#define LULL_RECORD_RECORDER_H

#include "record/recording_json.h"

struct lull_recorder;

/* A program that decides when a flight recorder writes, and runs within it. */
struct lull_record_companion {
    /* Everything is set up, and next root's rights are given up but for `capabilities`. Returns a
     * descriptor to wait for; -1 and an error ends the recording. */
    int (*prepare)(void *user, struct lull_recorder *recorder, GError **error);
    /* Recording has started. */
    void (*started)(void *user, struct lull_recorder *recorder);
    /* The descriptor is readable, or some time has passed: may call lull_recorder_snapshot(). False
     * and an error ends the recording. */
    bool (*serve)(void *user, struct lull_recorder *recorder, GError **error);
    bool (*is_over)(void *user); /* whether the recording is to end; NULL: never for this */
    void (*reload)(void *user);  /* SIGHUP came; NULL: that ends the recording */
    void *user;
    const uint8_t *capabilities;
    size_t n_capabilities;
    const char *leftover; /* a file that is removed if this process is killed; NULL: none */
};

/* The request; borrowed. */
struct lull_record_question {
    enum lull_purpose purpose;
    const char *tracer;    /* its name; NULL: the first that this machine can use */
    const char *host_name; /* what the recording calls this machine; NULL: as it calls itself */
    const char *output;    /* NULL: a name is made */
    const char *const *command; /* ends with NULL; NULL: none */
    int64_t duration_ns;        /* 0: no limit */
    uint64_t buffer_bytes;      /* of each CPU; 0: the tracer chooses */
    const pid_t *pids;          /* only these, */
    uint32_t n_pids;
    bool only_command;    /* or only the command */
    bool wants_headers;   /* of packets, to follow them to other machines; with is_snapshot */
    bool has_call_chains; /* only tracers that can record where tasks stop running */
    uint32_t stack_bytes; /* with has_call_chains, as in struct lull_tracer_request */
    const char *kernel_functions; /* only tracers that can: as in struct lull_tracer_request */
    const char *counters; /* only tracers that can: which are read there (counters.h); NULL: none */
    unsigned hooks;       /* which calls programs record that the command is or starts (hooks.h) */
    unsigned call_counters; /* which of the thread are read with each of these (hooks.h); 0: none */

    bool is_snapshot;     /* a flight recorder: what comes last is kept in memory, and written on
                             request only (record/control.h, SIGUSR1) */
    int64_t if_slower_ns; /* for that: and when the command takes longer than this; 0: not then */
    /* All is ready, by lull_recorder_tracer(). May be NULL. */
    void (*chose)(void *user, const struct lull_recorder *recorder);
    /* A snapshot was written, which lull_recorder_result() and lull_recorder_path() describe; or
     * it could not be, and recording goes on. May be NULL. */
    void (*wrote)(void *user, const struct lull_recorder *recorder);
    void (*failed)(void *user, const GError *error);
    void *user;
    const struct lull_record_companion *companion; /* NULL: none */
};

/* Chooses the tracer; nothing is changed on the machine. NULL and an error that says what is
 * missing if there is none. If the question names none and this one cannot be set up, the next
 * is taken when recording starts. */
struct lull_recorder *lull_recorder_new(const struct lull_record_question *question,
                                        GError **error);
void lull_recorder_free(struct lull_recorder *recorder);

/* Why that tracer, in words. */
const char *lull_recorder_tracer(const struct lull_recorder *recorder);
const char *lull_recorder_reason(const struct lull_recorder *recorder);
/* What of the request it does not record, a sentence without full stop; or NULL. When it was set up. */
const char *lull_recorder_remark(const struct lull_recorder *recorder);

/* Records until the command ends, the time is over, or a first SIGINT, SIGTERM, SIGHUP or SIGQUIT.
 * A second ends this process. A full disk ends it too, and what is whole until then is kept. False
 * and an error: nothing is left. */
bool lull_recorder_run(struct lull_recorder *recorder, GError **error);

/* For a companion: the buffers keep what they hold, at once, until a snapshot or lull_recorder_thaw(). */
bool lull_recorder_freeze(struct lull_recorder *recorder, GError **error);
bool lull_recorder_thaw(struct lull_recorder *recorder, GError **error);
/* For a companion: writes what the buffers hold to the new directory `output` (NULL: a name is made),
 * with the reason (or NULL). False and an error if that fails; recording goes on in any case. */
bool lull_recorder_snapshot(struct lull_recorder *recorder, const char *output,
                            const struct lull_recording_trigger *trigger, GError **error);
/* For prepare(): the command, which does not run yet; -1: there is none. */
pid_t lull_recorder_command(const struct lull_recorder *recorder);
/* CLOCK_MONOTONIC plus this is the time since the epoch, as the recorder's files say. That of a flight recorder follows
 * the clock if that is set, but between two calls of serve() only, and not with LTTng. */
int64_t lull_recorder_epoch_ns(const struct lull_recorder *recorder);
/* The same as it is now. */
int64_t lull_recorder_measure_epoch(void);

/* False and an error if a process that it needs to write snapshots, and to leave nothing behind, has been killed. */
bool lull_recorder_is_whole(const struct lull_recorder *recorder, GError **error);

/* What was recorded, and where; after lull_recorder_run(). */
const struct lull_recording *lull_recorder_result(const struct lull_recorder *recorder);
const char *lull_recorder_path(const struct lull_recorder *recorder);
/* How many snapshots were written. */
uint32_t lull_recorder_snapshots(const struct lull_recorder *recorder);
/* How many recordings of killed recorders were cleaned up. */
uint32_t lull_recorder_cleaned(const struct lull_recorder *recorder);
/* How many directories beside the recording were left by killed recorders, and the path of the
 * first; NULL: none. */
uint64_t lull_recorder_left(const struct lull_recorder *recorder, const char **first);
/* errno of why the command could not be executed; 0: it could. */
int lull_recorder_exec_errno(const struct lull_recorder *recorder);
/* Whether the command runs still. */
bool lull_recorder_has_command(const struct lull_recorder *recorder);
/* After the recording: has a child do it that has the rights of who records and no more, and waits for its end. Without
 * those of root it may read what others may have written; what it does takes some seconds at most. */
void lull_recorder_do_as_invoker(const struct lull_recorder *recorder, void (*work)(void *user),
                                 void *user);
/* Waits for the command, which may outlive the recording; its status as waitpid() has it. */
int lull_recorder_wait(struct lull_recorder *recorder);

#endif
