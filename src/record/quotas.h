/* SPDX-License-Identifier: MIT */
/* The CPU quotas of control groups, and how long the kernel kept their tasks off the CPU: no event
 * of Linux says so. */
#ifndef LULL_RECORD_QUOTAS_H
#define LULL_RECORD_QUOTAS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct lull_quota_counts {
    int64_t periods, throttled_periods, throttled_ns;
};

/* A control group (version 1 or 2) with a quota. */
struct lull_quota {
    char *dir;                       /* where its files are */
    char *path;                      /* within its hierarchy: "/user.slice" */
    int64_t hierarchy;               /* its number, as events have it; 0: version 2 */
    int64_t quota_us;                /* of CPU time … */
    int64_t period_us;               /* … each period */
    int64_t periods;                 /* in which its tasks ran */
    int64_t throttled_periods;       /* in which the quota was used up */
    int64_t throttled_ns;            /* summed over CPUs */
    struct lull_quota_counts before; /* of that, before the recording */
    GArray *pids;                    /* pid_t: processes that were seen in it */
    bool is_gone;                    /* it was removed: the rest is what was seen last */
};

/* What all count while a recording lasts. It looks for new ones again and again, as far as that costs little, and at
 * those that it knows whenever it is asked: what is removed has a quota all the same. */
struct lull_quota_log;
struct lull_quota_log *lull_quota_log_start(void);
/* log: or NULL. */
void lull_quota_log_check(struct lull_quota_log *log);
/* Frees the log, and returns what each counted since the start: struct lull_quota, which the array owns. *is_all: no group
 * of the machine can have a quota that is not among them, but one that was made and removed between two looks. */
GPtrArray *lull_quota_log_end(struct lull_quota_log *log, bool *is_all);
void lull_quota_log_free(struct lull_quota_log *log);

/* The address of the kernel's function that starts their periods; 0: not known. */
uint64_t lull_quotas_timer(void);

#endif
