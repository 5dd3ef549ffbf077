/* SPDX-License-Identifier: MIT */
/* Symbols of files, in a build without libelf: there are none. */
#include <stddef.h>

#include "symbol/elf.h"

struct lull_elf *lull_elf_read(int fd, const char *path, const char *debug_root)
{
    return NULL;
}

void lull_elf_free(struct lull_elf *elf)
{
}

const char *lull_elf_build_id(const struct lull_elf *elf)
{
    return NULL;
}

const char *lull_elf_find(const struct lull_elf *elf, uint64_t file_offset, uint64_t *offset)
{
    return NULL;
}
