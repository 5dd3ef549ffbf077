/* SPDX-License-Identifier: MIT */
/* What unpacking and reading of archives share. */
#ifndef LULL_SOURCE_FILES_PRIVATE_H
#define LULL_SOURCE_FILES_PRIVATE_H

#include "source/files/archive.h"

struct lull_archive {
    GArray *members; /* struct lull_archive_member, by name */
    int fd;          /* of the spool */
    unsigned references;
    bool is_single;
};

/* Without members and spool. */
struct lull_archive *lull_archive_new(void);

#endif
