/* SPDX-License-Identifier: MIT */
/* recording.json: it marks a directory as a recording, whose traces are of one host. */
#ifndef LULL_SOURCE_FILES_RECORDING_H
#define LULL_SOURCE_FILES_RECORDING_H

#include <lull/recording.h>

#include "source/files/location.h"

#define LULL_RECORDING_FILE "recording.json"
/* The directory in it that says what the machine was like; the rest is what the tracer recorded. */
#define LULL_RECORDING_STATE "state"
/* The kernel's functions in it, as /proc/kallsyms has them. */
#define LULL_RECORDING_KERNEL "kallsyms"
/* Where its modules lie, as /proc/modules has them. */
#define LULL_RECORDING_MODULES "modules"
/* The build-id of the kernel. */
#define LULL_RECORDING_KERNEL_ID "kernel-build-id"
/* The functions of programs and libraries in it, as symbol/saved.h has them. */
#define LULL_RECORDING_SYMBOLS "symbols"
/* What the name of a directory ends with while it is being written. */
#define LULL_RECORDING_UNFINISHED ".part"

/* Who waited for a lock when the recording ended, and who held it. */
struct lull_recorded_holder {
    int64_t tid;
    int64_t holder;   /* thread, or process of which any thread may release it */
    const char *call; /* that it waited in */
    uint64_t address; /* of the futex; 0: a lock of a file */
    bool is_process;
    bool is_timed; /* the call may end by itself */
};

/* Counted references: the places that were found in it and the session hold one each. */
struct lull_recording_file {
    struct lull_recording_info info; /* host is filled by the session */
    const char *hostname;            /* or NULL */
    const char *host_name; /* what people call the machine, if it is something else; or NULL */
    bool has_all_quotas;   /* the machine had no CPU quotas but those in info */
    const char *quota_timer_text; /* or NULL */
    uint64_t quota_timer; /* address of the kernel's function that starts the periods of CPU quotas;
                             0: not recorded */
    const char **events; /* that were switched on, without and with their system; ends with NULL; or
                            NULL: not known */
    bool has_boot_id;
    uint8_t boot_id[16];
    struct lull_location *location; /* its directory */
    GPtrArray *texts;
    int32_t *pids;                             /* of its CPU quotas */
    struct lull_recorded_holder *lock_holders; /* by tid */
    uint32_t n_lock_holders;
    struct lull_recording_trigger trigger;
};

struct lull_recording_file *lull_recording_ref(struct lull_recording_file *file);
void lull_recording_unref(struct lull_recording_file *file);

/* Reads the file recording.json of the place. True with *file NULL if there is none, or it is not
 * one of Lull's. False and an error if it is damaged. */
bool lull_recording_read(const struct lull_location *location, struct lull_recording_file **file,
                         GError **error);

/* Whether the last or last but one part of the path is called as what is not finished. */
bool lull_recording_is_unfinished(const char *path);

#endif
