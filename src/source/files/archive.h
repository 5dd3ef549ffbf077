/* SPDX-License-Identifier: MIT */
/* A packed directory (tar, also compressed; zip) or a compressed file that is read once, member by member, into memory or, if
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

/* Who wants to know what happens while an archive is unpacked. */
struct lull_unpack_watch {
    /* A member that is left out. */
    void (*problem)(void *user, const char *text);
    /* How many bytes of the packed file have been read, and how many it has (0: not known); or
     * NULL. */
    void (*progress)(void *user, const char *path, uint64_t done, uint64_t size);
    void *user, *progress_user;
};

static inline void lull_unpack_progress(const struct lull_unpack_watch *watch, const char *path,
                                        uint64_t done, uint64_t size)
{
    if (watch->progress) {
        watch->progress(watch->progress_user, path, done, size);
    }
}

/* Unpacks the file `path`. NULL and an error if it is no archive, is damaged, or passes a limit; in
 * a build without libarchive always. A file that is only compressed, as perf.data.zst, is its only
 * member, under its name without the suffix. */
struct lull_archive *lull_archive_open(const char *path, const struct lull_unpack_watch *watch,
                                       GError **error);
/* The same for the contents of an archive whose only member starts where it does. */
struct lull_archive *lull_archive_open_inner(const struct lull_archive *outer, const char *path,
                                             const struct lull_unpack_watch *watch, GError **error);
/* It was a compressed file, not a directory. */
bool lull_archive_is_single(const struct lull_archive *archive);
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
