/* SPDX-License-Identifier: MIT */
/* The keeper: a process with all of the identity of who records (user, groups, no capabilities),
 * which makes, names and removes every file of a recording. The recorder may be root; it receives
 * open files, and never uses a path that others can change (docs/SECURITY.md). When the recorder is
 * gone, the keeper removes what it created and what did not become whole. */
#ifndef LULL_RECORD_KEEPER_H
#define LULL_RECORD_KEEPER_H

#include <lull/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/invoker.h"

/* ---- in the recorder ---- */

struct lull_keeper {
    int socket;        /* -1: there is none */
    int reserve;       /* a file that only takes room; -1: none */
    char *path, *part; /* of the recording that was made last, to be freed; NULL: none yet */
};

/* Waits until the process at the other end of the socket has become who records. */
bool lull_keeper_meet(struct lull_keeper *keeper, GError **error);
/* The keeper ends when nobody else has the socket. Leaves the paths. */
void lull_keeper_leave(struct lull_keeper *keeper);

/* Makes the directory of a recording, as lull_folder_make(); one at a time. */
bool lull_keeper_make(struct lull_keeper *keeper, const char *output, const char *command,
                      GError **error);
/* A new file in it, or in a directory of it, open for reading and writing; -1 and an error. */
int lull_keeper_create(const struct lull_keeper *keeper, const char *name, GError **error);
/* One that nobody sees, and that is gone when it is closed. */
int lull_keeper_create_unnamed(const struct lull_keeper *keeper, const char *name, GError **error);
bool lull_keeper_create_directory(const struct lull_keeper *keeper, const char *name,
                                  GError **error);
/* A daemon will make directories with such names (a glob): they are part of the recording. */
bool lull_keeper_expect(const struct lull_keeper *keeper, const char *pattern, GError **error);
/* Takes "PREFIX…/NAME", which the daemon made, as "NAME". */
bool lull_keeper_lift(const struct lull_keeper *keeper, const char *prefix, const char *name,
                      GError **error);
/* Adds the functions of a file that was mapped with this inode at `mapped_ns` (of the wall clock) to
 * the file "symbols" of the recording, if who records may read it; and how they call each other, if it `wants_frames`. *is_full: there is no room for
 * more, and the file is whole without it. */
bool lull_keeper_save_symbols(const struct lull_keeper *keeper, const char *path, uint64_t inode,
                              int64_t mapped_ns, bool wants_frames, bool *is_full, GError **error);
/* The same of the functions that a process lists in /tmp/perf-PID.map, if they are of who records and
 * were written since `since_ns`. */
bool lull_keeper_save_map(const struct lull_keeper *keeper, int pid, int64_t since_ns,
                          bool *is_full, GError **error);
/* Bytes of a file, or of the files in a directory. */
bool lull_keeper_measure(const struct lull_keeper *keeper, const char *name, uint64_t *bytes,
                         GError **error);
/* False and an error if the disk is full. */
bool lull_keeper_has_room(const struct lull_keeper *keeper, GError **error);
/* Directories beside it that killed recorders have left: how many, and the path of the first, to be
 * freed with g_free(). */
uint64_t lull_keeper_find_left(const struct lull_keeper *keeper, char **first);
/* Takes room on the disk for what is written last, so that a recording that fills the disk can be
 * completed. False and an error if there is none. */
bool lull_keeper_reserve(struct lull_keeper *keeper, GError **error);
/* Gives that room back. */
void lull_keeper_release(const struct lull_keeper *keeper);
/* Where a daemon of root's may make files; NULL and an error if that could be anywhere. */
const char *lull_keeper_path_for_daemon(const struct lull_keeper *keeper, GError **error);
/* The recording is whole and gets its name. */
bool lull_keeper_publish(const struct lull_keeper *keeper, GError **error);
/* Removes it if it is not. */
void lull_keeper_clear(const struct lull_keeper *keeper);
/* It is the last recording from now on (last.h). */
void lull_keeper_remember(const struct lull_keeper *keeper);

/* ---- in the process itself ---- */

/* Becomes the user who records, and serves requests at the socket until nobody is left there. */
void lull_keeper_serve(int socket, const struct lull_invoker *invoker);

#endif
