/* SPDX-License-Identifier: MIT */
/* Programs, libraries and debug symbols from servers that give them out by build-id (elfutils' debuginfod). They are
 * asked only if the user wants it: each question says to somebody else which programs run here. */
#ifndef LULL_SYMBOL_DEBUGINFOD_H
#define LULL_SYMBOL_DEBUGINFOD_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* What asks the servers that DEBUGINFOD_URLS names, at most LULL_DEBUGINFOD_SECONDS in all, or less if
 * DEBUGINFOD_MAXTIME says so. */
struct lull_debuginfod;

#define LULL_DEBUGINFOD_SECONDS 20
/* Larger files are not fetched to their end. */
#define LULL_DEBUGINFOD_MOST_BYTES (INT64_C(1) << 30)

enum lull_debuginfod_kind {
    LULL_DEBUGINFOD_DEBUG,   /* the debug symbols that were kept apart */
    LULL_DEBUGINFOD_PROGRAM, /* the program or library itself */
};

/* Whether servers can be asked: false with an error if the environment names none, if this is root's process and the
 * cache of libdebuginfod is not root's, or if Lull is built without. */
bool lull_debuginfod_check(GError **error);
struct lull_debuginfod *lull_debuginfod_new(void);
void lull_debuginfod_free(struct lull_debuginfod *servers);
/* Where the file of a build is now (in the cache of libdebuginfod: it is asked for once), to be freed with g_free().
 * What a server sends may be anything: whoever reads it looks whether it is of this build. NULL: no server has it in
 * time. `build_id` are hexadecimal digits. */
char *lull_debuginfod_find(struct lull_debuginfod *servers, const char *build_id,
                           enum lull_debuginfod_kind kind);
/* Why the last one was not found: a constant sentence without its end. */
const char *lull_debuginfod_why(const struct lull_debuginfod *servers);

#endif
