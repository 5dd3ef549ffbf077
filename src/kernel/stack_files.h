/* SPDX-License-Identifier: MIT */
/* Where the names of the functions in call chains came from, file by file, and why others have none. */
#ifndef LULL_KERNEL_STACK_FILES_H
#define LULL_KERNEL_STACK_FILES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbol/lines.h"

struct lull_model;

enum lull_names_from {
    LULL_NAMES_NOWHERE,
    LULL_NAMES_RECORDING, /* the recording holds them */
    LULL_NAMES_DIRECTORY, /* of a file in the directory that the user named */
    LULL_NAMES_BUILD,     /* of a file of this machine with the build-id that was recorded */
    LULL_NAMES_HERE,      /* of this machine, which has not changed since */
    LULL_NAMES_SERVER,    /* of a file that a debuginfod server has */
};

/* A place in a file, once for all chains in which it is. */
struct lull_stack_place {
    uint64_t offset; /* in the file; an address if it is of none, of the kernel or of an image */
    uint64_t symbol_offset;
    const char *symbol; /* NULL: not known */
    const char *path;   /* as in its file */
    uint32_t host;
    int32_t pid;
    struct lull_source_line
        source; /* of the place, if it is wanted; of a function around calls in line: of these */
    bool is_inlined; /* a call that was put in line there; it comes before what it is in */
};

/* A file in which there are such places. Texts belong to the model. */
struct lull_stack_file {
    const char *path;     /* NULL: memory of which nothing is known, or the kernel's */
    const char *build_id; /* hexadecimal digits; NULL: not known */
    const char *why;      /* if there are no names: a sentence without its end; else NULL */
    uint32_t host;
    int32_t pid; /* whose memory it is, if it is of no file; else 0 */
    bool is_kernel;
    enum lull_names_from from;
    uint32_t n_places, n_named;
};

struct lull_stack_files {
    GArray *files;  /* struct lull_stack_file: those with most places first */
    GArray *places; /* struct lull_stack_place: by host, path and offset */
};

/* Of all chains that the model (or NULL) has kept; files are read for it now, for lines and calls in line too if these
 * are wanted. With `wants_all` also files in which no chain lies. */
struct lull_stack_files *lull_stack_files_new(struct lull_model *model, bool wants_lines,
                                              bool wants_all);
void lull_stack_files_free(struct lull_stack_files *files);

#endif
