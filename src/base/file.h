/* SPDX-License-Identifier: MIT */
/* Opening the files of a trace. They come from anywhere: what is no regular file is refused without
 * being waited for, since a pipe may never be written to and a device may never end. */
#ifndef LULL_BASE_FILE_H
#define LULL_BASE_FILE_H

#include <glib.h>
#include <lull/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum lull_open_status {
    LULL_OPEN_DONE,
    LULL_OPEN_ABSENT,
    LULL_OPEN_DIRECTORY,
    LULL_OPEN_REFUSED, /* no regular file, or it may not be read */
};

/* Opens `path` for reading; *size may be NULL. Unless it is done, *why says why not. */
enum lull_open_status lull_file_open(const char *path, int *fd, uint64_t *size, const char **why);
/* All of a file of at most `most_bytes`, and a NUL after it. False with an error otherwise. */
bool lull_file_read(const char *path, uint64_t most_bytes, char **data, gsize *size,
                    GError **error);
/* The same refusal for files of other kinds, such as members of archives. */
bool lull_file_check_size(const char *path, uint64_t size, uint64_t most_bytes, GError **error);

/* A file below an open directory, to be read line by line. NULL if it cannot be opened. */
FILE *lull_file_open_lines(int directory, const char *path);
/* Writes all of it, whatever interrupts that. 0, or errno, which is set as well. */
int lull_file_write(int fd, const void *bytes, size_t size);

/* Metadata of the largest recordings have some megabytes. */
#define LULL_METADATA_MOST_BYTES (UINT64_C(64) << 20)

#endif
