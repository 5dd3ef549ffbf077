/* SPDX-License-Identifier: MIT */
/* Directories that appear under their name when they are whole: until then they are called
 * NAME.part. */
#ifndef LULL_BASE_TREE_H
#define LULL_BASE_TREE_H

#include <lull/error.h>
#include <stdbool.h>
#include <sys/types.h>

/* Removes the directory with the files in it, and with directories down to `depth` levels; links
 * are not followed. What cannot be removed stays. */
void lull_tree_remove(const char *path, unsigned depth);

/* The same, again and again while others still make files in it. */
void lull_tree_remove_busy(const char *path, unsigned depth);

/* Gives the directory and all in it, down to `depth` levels, to a user, as far as the file system
 * knows of owners; links are not followed. */
void lull_tree_give(const char *path, uid_t uid, gid_t gid, unsigned depth);

/* Renames the directory `part` to `path`, which must not exist. */
bool lull_tree_publish(const char *part, const char *path, GError **error);

#endif
