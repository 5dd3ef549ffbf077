/* SPDX-License-Identifier: MIT */
/* Where the files of a trace lie: a directory of the file system, or one inside an archive. */
#ifndef LULL_SOURCE_FILES_LOCATION_H
#define LULL_SOURCE_FILES_LOCATION_H

#include <lull/error.h>

#include "base/file.h"
#include "ctf/stream/bytes.h"
#include "source/files/archive.h"

struct lull_file_kind;
struct lull_recording_file;

struct lull_location {
    char *path;                        /* for messages; within an archive after the archive's own */
    struct lull_archive *archive;      /* or NULL */
    char *prefix;                      /* of its members' names, "" or with a '/' at its end */
    const struct lull_file_kind *kind; /* of `file`, which is the trace; NULL: the directory is */
    char *file;                        /* or NULL */
    char *metadata;                    /* contents of the file, once read */
    gsize metadata_size;
    struct lull_recording_file *recording; /* that it is part of, a reference; or NULL */
    uint32_t root; /* the requested path below which it was found, by index */
};

/* The place of a directory, or with `archive` (a reference is taken) of a directory in it. */
struct lull_location *lull_location_new(const char *path, struct lull_archive *archive,
                                        const char *prefix);
void lull_location_free(struct lull_location *location);

/* Names of the files in it that may be streams, sorted: not `metadata`, not hidden ones. */
GPtrArray *lull_location_list(const struct lull_location *location, GError **error);
/* All of a file of at most `most_bytes`. False and an error if it cannot be read. */
bool lull_location_read(const struct lull_location *location, const char *name, uint64_t most_bytes,
                        char **data, gsize *size, GError **error);
/* The bytes of a file, not opened yet, and how many there are; or an error that says why not. */
enum lull_open_status lull_location_bytes(const struct lull_location *location, const char *name,
                                          struct lull_bytes **bytes, uint64_t *size,
                                          GError **error);

#endif
