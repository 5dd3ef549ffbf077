/* SPDX-License-Identifier: MIT */
/* The functions of a program or library, from its ELF file and the file of its debug symbols. */
#ifndef LULL_SYMBOL_ELF_H
#define LULL_SYMBOL_ELF_H

#include <stdbool.h>
#include <stdint.h>

struct lull_elf;

/* Reads .symtab and .dynsym of an open file; if it is stripped, .symtab of the separate file that
 * distributions keep below `debug_root` (/usr/lib/debug), or beside the file, if `path` says where
 * that is, or of the packed .gnu_debugdata. Without `debug_root` no other file is opened. Both may
 * be NULL. The caller closes `fd`. NULL: it is no ELF file that can be run, or it is damaged. */
struct lull_elf *lull_elf_read(int fd, const char *path, const char *debug_root);
void lull_elf_free(struct lull_elf *elf);

/* The build-id in hexadecimal digits, or NULL. */
const char *lull_elf_build_id(const struct lull_elf *elf);
/* The symbol of the byte at `file_offset`, *offset bytes after its start; NULL: none. */
const char *lull_elf_find(const struct lull_elf *elf, uint64_t file_offset, uint64_t *offset);

#endif
