/* Traces that are a single file, in formats other than CTF. A new format is a line in the table. */
#ifndef LULL_SOURCE_RECORDING_H
#define LULL_SOURCE_RECORDING_H

#include "source/source.h"

struct lull_recording_kind {
    const char *magic; /* what such a file begins with */
    size_t magic_size;
    struct lull_source *(*open)(const char *path, const struct lull_report *report, GError **error);
};

/* The kind of a file, as its first bytes tell; NULL if it is none or cannot be read. */
const struct lull_recording_kind *lull_recording_kind_of(const char *path);
/* Whether a file found in a directory may be one, by its name. */
bool lull_recording_is_name(const char *name);

#endif
