/* SPDX-License-Identifier: MIT */
/* A packed directory (tar, also compressed) that is read once, member by member, into memory or, if
 * it is large, into a temporary file without a name. Nothing is ever written under a member's name.
 */
#ifndef LULL_SOURCE_FILES_ARCHIVE_H
#define LULL_SOURCE_FILES_ARCHIVE_H

#include <lull/error.h>
#include <stdbool.h>

#include "base/report.h"
#include "ctf/stream/bytes.h"

struct lull_archive;

/* A regular file in it. */
struct lull_archive_member {
    char *name;          /* "kernel/c0_0": relative, without "." and "..", not hidden */
    uint64_t base, size; /* bytes in the spool */
};

/* More is not unpacked: a small archive may otherwise fill memory and disk. What it unpacks to may
 * be this many times its own size, or this many bytes if that is more, but never more than the
 * third limit. */
#define LULL_ARCHIVE_RATIO 250
#define LULL_ARCHIVE_FREE_BYTES (UINT64_C(1) << 30)
#define LULL_ARCHIVE_MAX_BYTES (UINT64_C(64) << 30)
#define LULL_ARCHIVE_MAX_MEMBERS 200000
/* Up to here the contents stay in memory. */
#define LULL_ARCHIVE_MEMORY_BYTES (UINT64_C(64) << 20)

/* Unpacks the file `path`. `problem` reports members that are left out. NULL and an error if it
 * is no archive, is damaged, or passes a limit; in a build without libarchive always. */
struct lull_archive *lull_archive_open(const char *path,
                                       void (*problem)(void *user, const char *text), void *user,
                                       GError **error);
struct lull_archive *lull_archive_ref(struct lull_archive *archive);
void lull_archive_unref(struct lull_archive *archive);

/* Members in the order of their names, bytewise. */
uint32_t lull_archive_count(const struct lull_archive *archive);
const struct lull_archive_member *lull_archive_member(const struct lull_archive *archive,
                                                      uint32_t index);
/* The first member whose name is not before `name`. */
uint32_t lull_archive_first(const struct lull_archive *archive, const char *name);
const struct lull_archive_member *lull_archive_find(const struct lull_archive *archive,
                                                    const char *name);
/* All of a member's bytes to `out`. */
bool lull_archive_read(const struct lull_archive *archive, const struct lull_archive_member *member,
                       uint8_t *out);
/* The same for a stream to read from; holds a reference. */
struct lull_bytes *lull_archive_bytes(struct lull_archive *archive,
                                      const struct lull_archive_member *member);

#endif
