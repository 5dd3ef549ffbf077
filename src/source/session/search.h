/* SPDX-License-Identifier: MIT */
/* Finds the traces below a path: directories with a file `metadata`, and files of some kinds, in the
 * file system, in an archive, or what comes through a pipe. */
#ifndef LULL_SOURCE_SESSION_SEARCH_H
#define LULL_SOURCE_SESSION_SEARCH_H

#include "source/files/location.h"

struct lull_search {
    GPtrArray *locations; /* struct lull_location, owned, in order of their names */
    GPtrArray *keys;      /* of each place: what distinguishes it from others, owned */
    GPtrArray *errors;    /* GError, owned: what could not be looked at */
    GPtrArray *notes;     /* char, owned: what was left out */
    const char *hint;     /* what was found that is no trace; NULL: nothing that is known */
    char *hint_path;      /* where */
    /* Hears how far archives and pipes are; or NULL. */
    void (*progress)(void *user, const char *path, uint64_t done, uint64_t size);
    void *progress_user;
};

/* Also sets the progress to NULL. */
void lull_search_init(struct lull_search *search);
void lull_search_clear(struct lull_search *search);

/* Adds what is found below `path`; what goes wrong is in search->errors. */
void lull_search_path(struct lull_search *search, const char *path, uint32_t root);

#endif
