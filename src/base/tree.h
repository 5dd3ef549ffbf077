/* SPDX-License-Identifier: MIT */
/* Directories that appear under their name when they are whole: until then they are called
 * NAME.part. Everything happens relative to open directories, and no link is followed, so that who
 * may rename things there cannot lead us elsewhere. */
#ifndef LULL_BASE_TREE_H
#define LULL_BASE_TREE_H

#include <lull/error.h>
#include <stdbool.h>
#include <sys/stat.h>

/* ---- in an open directory; names are single components ---- */

/* Opens a directory, which must not be a link. -1, with errno. */
int lull_tree_open(int at, const char *name);
/* Whether the name still is that of what `made` was read of. */
bool lull_tree_is(int at, const char *name, const struct stat *made);
/* Removes the directory with the files in it, and with directories down to `depth` levels; what
 * cannot be removed, or is mounted there, stays. */
void lull_tree_remove_at(int at, const char *name, unsigned depth);
/* Renames the directory `made`, which is called `part`, to `name`, which must not exist. False, with
 * errno: ESTALE if another directory has one of the names. */
bool lull_tree_publish_at(int at, const char *part, const char *name, const struct stat *made);
/* Whether only root and the user we are can rename or replace it or a directory above it. */
bool lull_tree_is_beyond_others(int dir);

/* ---- by path ---- */

/* The same of the directory with that absolute path, and of all links on the way to it. */
bool lull_tree_path_is_beyond_others(const char *path);
void lull_tree_remove(const char *path, unsigned depth);
/* The same, again and again while others still make files in it. */
void lull_tree_remove_busy(const char *path, unsigned depth);
/* Renames the directory `part` to `path`, beside it, which must not exist. */
bool lull_tree_publish(const char *part, const char *path, GError **error);

#endif
