/* SPDX-License-Identifier: MIT */
/* The control groups of this machine. */
#ifndef LULL_RECORD_GROUPS_H
#define LULL_RECORD_GROUPS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Where a hierarchy is mounted. Borrowed for the call. */
struct lull_group_mount {
    const char *place;
    const char *root;               /* the group that is mounted there; "": the one of all */
    const char *const *controllers; /* of version 1, and other options; NULL: version 2 */
};

/* Calls visit() for each that this process sees. */
void lull_group_mounts(void (*visit)(void *user, const struct lull_group_mount *mount), void *user);

/* A control group, of a hierarchy that can limit CPU time. Borrowed for the call. */
struct lull_group {
    const char *dir;   /* where its files are */
    const char *path;  /* within its hierarchy: "/user.slice" */
    int64_t hierarchy; /* its number, as events have it; 0: version 2 */
};

/* Calls visit() for each that is there now, but not for the root; for at most 10 000 of a hierarchy, and
 * 32 below each other. True: these are all of the machine. A container sees none of those around its own. */
bool lull_groups_visit(void (*visit)(void *user, const struct lull_group *group), void *user);

/* What a file of the directory holds, or NULL. Free with g_free(). */
char *lull_groups_read(const char *dir, const char *name);

#endif
