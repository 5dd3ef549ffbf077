/* SPDX-License-Identifier: MIT */
/* A snapshot on its way to another machine: its directory as a POSIX archive (ustar). */
#ifndef LULL_TRIGGER_BUNDLE_H
#define LULL_TRIGGER_BUNDLE_H

#include <lull/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of one snapshot. */
#define LULL_BUNDLE_MOST_BYTES (UINT64_C(1) << 30)
#define LULL_BUNDLE_DEPTH 8

/* Writes what is in the open directory to a descriptor: regular files and directories, nothing else, and follows no
 * link. False if it could not be written whole; then its end is missing. */
bool lull_bundle_write(int directory, int out);

/* Where an archive comes from: fills `bytes` with up to `size` bytes; 0 at its end, -1 if there will be no more. */
struct lull_bundle_source {
    ssize_t (*read)(void *user, uint8_t *bytes, size_t size);
    void *user;
};

/* Makes what the archive holds in the open directory, which is empty. Whoever sent it cannot make or change
 * anything else. False and an error if it is damaged, too large or not whole, or cannot be written. */
bool lull_bundle_read(const struct lull_bundle_source *source, int directory, GError **error);

#endif
