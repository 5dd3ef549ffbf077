/* SPDX-License-Identifier: MIT */
/* Reads the functions of a program or library from its ELF file and the file of its debug symbols. */
#ifndef LULL_SYMBOL_ELF_H
#define LULL_SYMBOL_ELF_H

struct lull_object;

/* Where distributions keep debug symbols apart. */
#define LULL_DEBUG_ROOT "/usr/lib/debug"

/* Reads .symtab and .dynsym of an open file; if it is stripped, .symtab of the separate file that
 * distributions keep below `debug_root` (/usr/lib/debug), or beside the file, if `path` says where
 * that is, or of the packed .gnu_debugdata. Without `debug_root` no other file is opened. Both may
 * be NULL. The caller closes `fd`. NULL: it is no ELF file that can be run, or it is damaged. */
struct lull_object *lull_elf_read(int fd, const char *path, const char *debug_root);

#endif
