/* SPDX-License-Identifier: MIT */
/* Test only: a trace directory held in memory, to be changed and written out again. */
#ifndef IMAGE_H
#define IMAGE_H

#include <glib.h>

struct image_file {
    char *name; /* relative to the trace, "index/c0_0.idx" */
    GByteArray *bytes;
};

struct image {
    GPtrArray *files; /* of struct image_file, by name */
};

struct image *image_read(const char *dir);
struct image *image_copy(const struct image *image);
void image_write(const struct image *image, const char *dir);
void image_free(struct image *image);
/* The file, or NULL. */
struct image_file *image_find(const struct image *image, const char *name);

#endif
