/* SPDX-License-Identifier: MIT */
/* The directory of a recording: NAME.part while it is made, then NAME. */
#ifndef LULL_RECORD_FOLDER_H
#define LULL_RECORD_FOLDER_H

#include "record/invoker.h"

struct lull_folder {
    char *path, *part; /* absolute; free with g_free() */
    int lock;          /* of a file in it, which says that it is in work; -1: none */
    bool is_made;
};

/* Chooses the names. Without `output` it is called after the command (NULL: none) and the time, in
 * the working directory. */
void lull_folder_init(struct lull_folder *folder, const char *output, const char *command);
/* Makes the directory. What a killed recorder has left under that name is removed before. */
bool lull_folder_make(struct lull_folder *folder, GError **error);
/* From now on the directory is known to be a recording in work. */
bool lull_folder_mark(struct lull_folder *folder, GError **error);
/* Gives it to the invoker, and its name. */
bool lull_folder_publish(struct lull_folder *folder, const struct lull_invoker *invoker,
                         GError **error);
/* To be called in any case; removes the directory if `is_failed`. Leaves `path`. */
void lull_folder_clear(struct lull_folder *folder, bool is_failed);

#endif
