/* SPDX-License-Identifier: MIT */
/* The control groups of this machine. */
#ifndef LULL_RECORD_GROUPS_H
#define LULL_RECORD_GROUPS_H

#include <glib.h>
#include <stdint.h>

/* A control group, of a hierarchy that can limit CPU time. Borrowed for the call. */
struct lull_group {
    const char *dir;   /* where its files are */
    const char *path;  /* within its hierarchy: "/user.slice" */
    int64_t hierarchy; /* its number, as events have it; 0: version 2 */
};

/* Calls visit() for each that is there now, but not for the root; for at most 10 000 of a hierarchy, and
 * 32 below each other. */
void lull_groups_visit(void (*visit)(void *user, const struct lull_group *group), void *user);

/* What a file of the directory holds, or NULL. Free with g_free(). */
char *lull_groups_read(const char *dir, const char *name);

#endif
