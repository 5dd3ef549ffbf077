/* SPDX-License-Identifier: MIT */
/* Reads the functions of a program or library from its ELF file and the file of its debug symbols. */
#ifndef LULL_SYMBOL_ELF_H
#define LULL_SYMBOL_ELF_H

struct lull_apart;
struct lull_object;

/* Where distributions keep debug symbols apart. */
#define LULL_DEBUG_ROOT "/usr/lib/debug"

/* Reads .symtab and .dynsym of an open file; if it is stripped, .symtab of the separate file that
 * distributions keep below a directory (/usr/lib/debug), or beside the file, if `path` says where
 * that is, of the packed .gnu_debugdata, or of what a server has. Without `apart` no other file is
 * opened, and none beside it without a root. Both may be NULL. The caller closes `fd`. NULL: it is no ELF file that can be run, or it is damaged. */
struct lull_object *lull_elf_read(int fd, const char *path, const struct lull_apart *apart);
/* The build-id of an open file, hexadecimal digits, to be freed with g_free(); NULL: it has none. */
char *lull_elf_build_id(int fd);

#endif
