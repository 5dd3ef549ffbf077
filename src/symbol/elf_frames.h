/* SPDX-License-Identifier: MIT */
/* Reads how the functions of a program or library call each other from its ELF file. */
#ifndef LULL_SYMBOL_ELF_FRAMES_H
#define LULL_SYMBOL_ELF_FRAMES_H

struct lull_apart;
struct lull_object;

/* Like lull_elf_read(), but for call frame information, from .eh_frame and .debug_frame of the file and
 * .debug_frame of its separate file below the root of `apart` (or NULL); without symbols. */
struct lull_object *lull_elf_read_frames(int fd, const char *path, const struct lull_apart *apart);
/* What the kernel maps into each program of this machine, of 64 bits if this one is: with symbols, too. NULL: there is
 * nothing. */
struct lull_object *lull_elf_read_vdso(void);
/* What its mapping is called. */
#define LULL_VDSO "[vdso]"

#endif
