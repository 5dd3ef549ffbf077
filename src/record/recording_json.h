/* SPDX-License-Identifier: MIT */
/* recording.json: what was recorded, how, and of which command. docs/RECORDING.md describes it. */
#ifndef LULL_RECORD_RECORDING_JSON_H
#define LULL_RECORD_RECORDING_JSON_H

#include <lull/error.h>

#include <lull/recording.h>

#include "record/keeper.h"
#include "record/tracer.h"

enum lull_recording_end {
    LULL_RECORDING_ENDED_BY_COMMAND,
    LULL_RECORDING_ENDED_BY_DURATION,
    LULL_RECORDING_ENDED_BY_INTERRUPT,
    LULL_RECORDING_ENDED_BY_DISK,     /* there was no room for more */
    LULL_RECORDING_ENDED_BY_SNAPSHOT, /* it goes on, but this is what it had until then */
};

/* All borrowed, unless it says otherwise. */
struct lull_recording {
    const struct lull_tracer_request *request;
    const struct lull_tracer *tracer;
    uint64_t hook_bytes;        /* of the calls that programs wrote; 0: none did */
    const char *reason;         /* why this tracer */
    const char *host_name;      /* what this machine is called; NULL: as it calls itself */
    const char *const *command; /* NULL-terminated; NULL: none */
    pid_t pid;                  /* of the command */
    int wait_status;            /* of the command, as waitpid() has it */
    bool has_ended;             /* the command has, so wait_status is known */
    int64_t start_ns, end_ns;   /* since the Unix epoch */
    enum lull_recording_end ended_by;
    struct lull_tracer_result result;
    const struct lull_recording_trigger *trigger; /* or NULL */
    char *
        names_missing; /* the recorder's own: why paths that calls were given are not recorded; NULL: they are */
    uint64_t lost_names;                      /* of them */
    const struct lull_pressure_log *pressure; /* as counted meanwhile; or NULL */
    const GArray *lock_holders; /* struct lull_lock_holder, of those who wait at the end; or NULL */
    const GPtrArray *quotas;    /* of CPU time: struct lull_quota, as counted meanwhile; or NULL */
    bool has_all_quotas;        /* the machine has no others */
    int64_t steal_ns;           /* lull_steal_ns() of that time; -1: not known */
};

/* Writes the file, and waits until it is on the disk. */
bool lull_recording_json_write(const struct lull_recording *recording,
                               const struct lull_keeper *keeper, GError **error);

#endif
