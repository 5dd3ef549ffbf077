/* SPDX-License-Identifier: MIT */
/* Where the bytes of a stream come from: a file, or requests to a relay. Called once for
 * each window, never for each event. */
#ifndef LULL_CTF_STREAM_BYTES_H
#define LULL_CTF_STREAM_BYTES_H

#include <stdbool.h>
#include <stdint.h>

struct lull_bytes;

struct lull_bytes_ops {
    /* NULL, or why the bytes cannot be read. */
    const char *(*open)(struct lull_bytes *bytes);
    /* Up to `size` bytes from `offset` on; 0 with *why set if there is none. */
    uint64_t (*read)(struct lull_bytes *bytes, uint64_t offset, uint8_t *buf, uint64_t size,
                     const char **why);
    void (*close)(struct lull_bytes *bytes);
    void (*free)(struct lull_bytes *bytes);
    /* May be NULL. The same bytes to be read by another thread, not open; not itself thread-safe.
     */
    struct lull_bytes *(*share)(const struct lull_bytes *bytes);
    /* May be NULL. The file that a byte lies in, and at which of its bytes, for messages. */
    const char *(*where)(const struct lull_bytes *bytes, uint64_t *offset);
};

/* Implementations put it first in a structure of their own. */
struct lull_bytes {
    const struct lull_bytes_ops *ops;
    /* Set before open(): a file is open only while it is read, since more are read in turn than may be
     * open. */
    bool is_brief;
};

/* The bytes of a file; it is open only between open() and close(). */
struct lull_bytes *lull_bytes_of_file(const char *path);

#endif
