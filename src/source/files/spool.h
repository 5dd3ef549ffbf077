/* SPDX-License-Identifier: MIT */
/* Where bytes go that come from an archive or a pipe: memory at first, a file without a name in
 * $TMPDIR beyond LULL_ARCHIVE_MEMORY_BYTES. */
#ifndef LULL_SOURCE_FILES_SPOOL_H
#define LULL_SOURCE_FILES_SPOOL_H

#include <lull/error.h>
#include <stdbool.h>
#include <stdint.h>

struct lull_spool {
    const char *path; /* of what is read, for messages */
    int fd;           /* for the caller to close */
    uint64_t limit, used;
    bool on_disk;
};

/* How much a packed file of so many bytes may unpack to. */
uint64_t lull_spool_limit(uint64_t size);
/* Sets errors as all the functions here do: "PATH: …". */
bool lull_spool_init(struct lull_spool *spool, const char *path, uint64_t limit, GError **error);
/* False if the spool may not have so many bytes in all. */
bool lull_spool_fits(const struct lull_spool *spool, uint64_t end, GError **error);
/* Bytes at `offset`, which is not before the end but may be behind it: a hole. */
bool lull_spool_write(struct lull_spool *spool, const void *data, uint64_t size, uint64_t offset,
                      GError **error);
/* A hole at the end has no bytes before this. */
bool lull_spool_finish(struct lull_spool *spool, GError **error);

#endif
