/* SPDX-License-Identifier: MIT */
/* Traces that are one file each, recognized by the file's first bytes. */
#ifndef LULL_SOURCE_SESSION_FILE_KINDS_H
#define LULL_SOURCE_SESSION_FILE_KINDS_H

#include "source/files/location.h"
#include "source/source.h"

struct lull_file_kind {
    const char *name;
    const char *magic; /* the bytes that such a file starts with */
    uint32_t magic_size;
    /* Opens the file `place->file`. `report` is borrowed for the life of the source, the place only
     * for the call. NULL and an error if nothing can be read; also in a build without this kind. */
    struct lull_source *(*open)(struct lull_location *location, const struct lull_report *report,
                                GError **error);
};

/* How many bytes from the start of a file determine its kind. */
#define LULL_FILE_KIND_BYTES 16u

/* The kind of a file that starts so, or NULL. */
const struct lull_file_kind *lull_file_kind_of(const uint8_t *start, size_t size);

#endif
