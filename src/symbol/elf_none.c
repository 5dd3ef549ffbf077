/* SPDX-License-Identifier: MIT */
/* Symbols of files, in a build without libelf: there are none. */
#include <stddef.h>

#include "symbol/elf.h"
#include "symbol/elf_frames.h"

struct lull_object *lull_elf_read(int fd, const char *path, const struct lull_apart *apart)
{
    return NULL;
}

char *lull_elf_build_id(int fd)
{
    return NULL;
}

struct lull_object *lull_elf_read_frames(int fd, const char *path, const struct lull_apart *apart)
{
    return NULL;
}

struct lull_object *lull_elf_read_vdso(void)
{
    return NULL;
}
