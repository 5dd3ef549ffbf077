/* SPDX-License-Identifier: MIT */
/* Control groups of this machine: what the filter's `cgroup` is compared with. A task has a group in each
 * hierarchy, of which one counts: lull_state_group() says which. */
#ifndef LULL_LIVE_GROUPS_H
#define LULL_LIVE_GROUPS_H

#include "live/records.h"

struct lull_groups;

/* Finds where the hierarchies are mounted. Free with lull_groups_free(). */
struct lull_groups *lull_groups_new(void);
void lull_groups_free(struct lull_groups *groups);
/* By enum lull_track_hierarchy: the kernel's number of the group of that path; 0: there is none. */
void lull_groups_find(const struct lull_groups *groups, const char *path,
                      uint64_t ids[LULL_TRACK_HIERARCHIES]);
/* The path of the group that counts of a task with these numbers; NULL: it is gone, or this process may not
 * ask. Valid until the next call of any of these. */
const char *lull_groups_path(struct lull_groups *groups,
                             const uint64_t ids[LULL_TRACK_HIERARCHIES]);
/* The same of a task that is there still, from /proc. */
const char *lull_groups_of_task(struct lull_groups *groups, uint32_t tid);

#endif
