/* SPDX-License-Identifier: MIT */
/* Traces that are one file each, told by how the file begins. */
#ifndef LULL_SOURCE_SESSION_FILE_KINDS_H
#define LULL_SOURCE_SESSION_FILE_KINDS_H

#include "source/files/location.h"
#include "source/source.h"

struct lull_file_kind {
    const char *name;
    const char *magic; /* the bytes that such a file begins with */
    uint32_t magic_size;
    /* Opens the file `place->file`. `report` is borrowed for the life of the source, the place only
     * for the call. NULL and an error if nothing can be read; also in a build without this kind. */
    struct lull_source *(*open)(struct lull_location *location, const struct lull_report *report,
                                GError **error);
};

/* Bytes from the begin of a file that tell its kind. */
#define LULL_FILE_KIND_BYTES 16u

/* The kind of a file that begins so, or NULL. */
const struct lull_file_kind *lull_file_kind_of(const uint8_t *start, size_t size);
/* The same for the file `path`. NULL also if it cannot be read. */
const struct lull_file_kind *lull_file_kind_at(const char *path);

#endif
