/* SPDX-License-Identifier: MIT */
/* Where a program writes a file that the user named. What is there decides how: "-", devices, pipes
 * and sockets are written to; a regular file is replaced when all is written, so that it is whole
 * or as it was before, and keeps its owner and mode. Links are followed, as far as the kernel lets
 * them be followed (fs.protected_symlinks). */
#ifndef LULL_BASE_OUTPUT_H
#define LULL_BASE_OUTPUT_H

#include <lull/error.h>
#include <stdbool.h>
#include <stdio.h>

struct lull_output;

/* Opens `name`, which is borrowed. NULL and an error if it cannot be written to. What was opened is
 * either finished or discarded, which frees it. */
struct lull_output *lull_output_new(const char *name, GError **error);
/* Borrowed. */
FILE *lull_output_file(const struct lull_output *output);
/* Writes what is left, and puts a regular file into its place. False and an error if that fails; a
 * regular file is as it was then. */
bool lull_output_finish(struct lull_output *output, GError **error);
/* A regular file stays as it was. */
void lull_output_discard(struct lull_output *output);

#endif
