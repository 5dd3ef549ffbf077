/* SPDX-License-Identifier: MIT */
/* The directory of a recording: NAME.part while it is made, then NAME. Only the keeper (keeper.h)
 * has one, so everything here happens with the rights of who records. */
#ifndef LULL_RECORD_FOLDER_H
#define LULL_RECORD_FOLDER_H

#include <lull/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct lull_folder {
    char *path, *part; /* absolute, for messages and daemons; free with g_free() */
    char *name;        /* in the directory `parent` */
    int parent, dir;   /* -1: there is none */
    int lock;          /* of a file in it, which says that it is in work; -1: none */
    struct stat self;
    GArray *made; /* what is to be removed if it does not become whole */
};

/* What is created in it. */
enum lull_folder_kind {
    LULL_FOLDER_FILE,      /* stays */
    LULL_FOLDER_UNNAMED,   /* a file that is gone when it is closed */
    LULL_FOLDER_DIRECTORY, /* for names "DIRECTORY/FILE" */
    LULL_FOLDER_FOREIGN,   /* a directory that a daemon will make; the name is a glob */
};

/* Chooses the names and makes the directory, which must be neither there nor, unless a killed
 * recorder has left it, in work. Without `output` it is called after the command (NULL: none) and
 * the time, in the working directory. Clear it in any case. */
bool lull_folder_make(struct lull_folder *folder, const char *output, const char *command,
                      GError **error);
/* Creates something new; -1 and an error if the name is taken. The descriptor of a file, else 0. */
int lull_folder_create(struct lull_folder *folder, const char *name, enum lull_folder_kind kind,
                       GError **error);
/* Bytes of the file, or of all files in the directory; 0: there are none. */
uint64_t lull_folder_measure(const struct lull_folder *folder, const char *name);
/* Takes "PREFIX…/NAME", which a daemon made, as "NAME". */
bool lull_folder_lift(struct lull_folder *folder, const char *prefix, const char *name,
                      GError **error);
/* How many directories beside it were left by recorders that were killed with guard and keeper, and
 * the path of the first, to be freed with g_free(); NULL: there is none. */
uint64_t lull_folder_find_left(const struct lull_folder *folder, char **first);
/* Whether its disk has room. */
bool lull_folder_has_room(const struct lull_folder *folder);
/* Whether nobody else can put another directory where its path leads, so that a daemon with more
 * rights than ours may be given that path. */
bool lull_folder_is_beyond_others(const struct lull_folder *folder);
/* Gives it its name. */
bool lull_folder_publish(struct lull_folder *folder, GError **error);
/* Removes, if it has not got its name, what was created, and nothing else. */
void lull_folder_clear(struct lull_folder *folder);

#endif
