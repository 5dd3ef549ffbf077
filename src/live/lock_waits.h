/* SPDX-License-Identifier: MIT */
/* Locks of files that somebody waits for now, and who holds them, as the kernel lists them (proc_locks(5)). Of a wait that
 * is not over no event has said yet what it is for. */
#ifndef LULL_LIVE_LOCK_WAITS_H
#define LULL_LIVE_LOCK_WAITS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "live/records.h"

/* As many are kept. */
enum { LULL_LOCK_WAITS = 1000 };

struct lull_lock_task {
    int32_t
        pid; /* of the process; 0: not known, as of locks of open files, or of another pid namespace */
    char comm[LULL_TRACK_COMM];
};

struct lull_lock_wait {
    struct lull_lock_task waiter, holder;
    const char *call;    /* by which such locks are taken: "flock", "fcntl" */
    char *path;          /* of the file; NULL: not known */
    int64_t at_least_ns; /* it has been waiting, as far as was seen */
};

struct lull_lock_waits;
/* Free with lull_lock_waits_free(). */
struct lull_lock_waits *lull_lock_waits_new(void);
void lull_lock_waits_free(struct lull_lock_waits *waits);
/* Looks what the kernel lists at `now_ns` (any clock that only goes forwards). Who waited at the look before, too, is in
 * `waiting` afterwards, the longest first. */
void lull_lock_waits_look(struct lull_lock_waits *waits, int64_t now_ns);
/* The same of such a text. */
void lull_lock_waits_take(struct lull_lock_waits *waits, const char *text, int64_t now_ns);
/* struct lull_lock_wait; they hold until the next look. */
const GArray *lull_lock_waits_waiting(const struct lull_lock_waits *waits);

#endif
