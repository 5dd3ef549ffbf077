/* SPDX-License-Identifier: MIT */
/* Processes that the kernel killed by itself. */
#ifndef LULL_KERNEL_KILLS_H
#define LULL_KERNEL_KILLS_H

#include <glib.h>

#include "kernel/model.h"

enum lull_kill_kind {
    LULL_KILL_OTHER, /* the kernel sent SIGKILL, which does not say why */
    LULL_KILL_OOM,   /* out of memory */
};

/* Where no memory was left. */
enum lull_kill_limit {
    LULL_KILL_LIMIT_UNKNOWN,
    LULL_KILL_LIMIT_MACHINE,
    LULL_KILL_LIMIT_GROUP, /* a control group that the process was in */
};

struct lull_kill {
    int64_t time_ns;
    int64_t resident_bytes; /* OOM: of memory that the process had; -1: not reported */
    uint32_t task;          /* of the process; as a rule its first */
    uint32_t asker;         /* OOM: who needed memory; LULL_NONE: not known */
    uint8_t kind;           /* enum lull_kill_kind */
    uint8_t limit;          /* OOM: enum lull_kill_limit */
};

/* Those from start_ns to end_ns, both included, in time order, *n of them; with LULL_GROUP_KILLS. Borrowed until the model
 * reads on. */
const struct lull_kill *lull_model_kills(const struct lull_model *model, int64_t start_ns,
                                         int64_t end_ns, uint32_t *n);
/* "oom" or "kernel". */
const char *lull_kill_kind_name(enum lull_kill_kind kind);
/* Appends how it happened, after the name of the process:
 *     was killed by the OOM killer, as its control group had no memory left for make/12; it held 31.5 MiB
 *     was killed by the kernel */
void lull_kill_append(const struct lull_model *model, const struct lull_kill *kill, GString *out);

#endif
