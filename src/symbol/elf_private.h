/* SPDX-License-Identifier: MIT */
/* What reads a program or library, and what reads the files and sections that have its debug
 * symbols, share. */
#ifndef LULL_SYMBOL_ELF_PRIVATE_H
#define LULL_SYMBOL_ELF_PRIVATE_H

#include <gelf.h>
#include <glib.h>
#include <stdbool.h>

#include "symbol/object.h"

struct lull_symbol_table;

/* Against files with holes, which claim more than memory holds. */
#define ELF_MOST_SECTION_BYTES (UINT64_C(1) << 27)

struct opened {
    Elf *file;
    char *build_id;      /* in hexadecimal digits; or NULL */
    GPtrArray *unpacked; /* contents of sections that lie outside of the file; or NULL */
};

/* The caller closes `fd` after elf_shut(). False: it is no ELF file, and there is nothing to shut. */
bool elf_open(struct opened *opened, int fd);
/* The same of opened->file, which is shut otherwise; NULL is no ELF file. `object`, if it is not NULL,
 * gets its loads. */
bool elf_look(struct opened *opened, struct lull_object *object);
void elf_shut(struct opened *opened);
/* Unpacks a section of which the caller knows that it has a size that memory holds. */
void elf_unpack_zstd(struct opened *opened, Elf_Scn *section);

/* Adds the symbols of the table of this type; a file has one. False: it has none. */
bool elf_add_first(struct lull_symbol_table *table, Elf *file, uint32_t type);
/* Adds the stubs that call functions of libraries as "malloc@plt"; of files for x86-64. */
void elf_add_stubs(struct lull_symbol_table *table, Elf *file);
/* Opens the file that was read, if it is still the same; -1 otherwise. */
int elf_reopen(const struct lull_object_file *file);
/* Gets a file of the same build, whose contents it may steal; `at` is its path. False: it is of no use. */
typedef bool elf_taker(void *user, struct opened *debug, const char *at);
/* Tries the separate files of this machine that may have its debug symbols, until one is taken. */
bool elf_try_separate(const struct opened *of, const char *path, const struct lull_apart *apart,
                      elf_taker *take, void *user);
/* The same of what servers have. */
bool elf_try_servers(const struct opened *of, const struct lull_apart *apart, elf_taker *take,
                     void *user);
/* Adds those which are kept elsewhere, since the file has no .symtab: of a separate file of the same
 * build, else of the packed section .gnu_debugdata, else of what servers have. */
void elf_add_separate(struct lull_symbol_table *table, const struct opened *of, const char *path,
                      const struct lull_apart *apart);

#endif
