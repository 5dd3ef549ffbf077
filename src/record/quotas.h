/* SPDX-License-Identifier: MIT */
/* The CPU quotas of control groups, and how long the kernel kept their tasks off the CPU: no event
 * of Linux says so. */
#ifndef LULL_RECORD_QUOTAS_H
#define LULL_RECORD_QUOTAS_H

#include <glib.h>
#include <stdint.h>

/* A control group (version 1 or 2) with a quota. */
struct lull_quota {
    char *path;                /* within its hierarchy: "/user.slice" */
    int64_t hierarchy;         /* its number, as events have it; 0: version 2 */
    int64_t quota_us;          /* of CPU time … */
    int64_t period_us;         /* … each period */
    int64_t periods;           /* in which its tasks ran */
    int64_t throttled_periods; /* in which the quota was used up */
    int64_t throttled_ns;      /* summed over CPUs */
    GArray *pids;              /* pid_t: processes in it */
};

/* All that this machine has now, with what they count since they exist: struct lull_quota, which
 * the array owns. */
GPtrArray *lull_quotas_read(void);
/* The address of the kernel's function that starts their periods; 0: not known. */
uint64_t lull_quotas_timer(void);
/* Leaves in `now` what it counted since `before`; what was not there before had counted nothing.
 * The processes are those of both times. */
void lull_quotas_subtract(GPtrArray *now, const GPtrArray *before);

#endif
