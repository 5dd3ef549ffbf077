/* SPDX-License-Identifier: MIT */
/* The functions of programs and libraries in a recording, so that it has their names, and how they call each other,
 * where these files are not. One text holds all of them, in lines:
 *
 *   object BUILD-ID INODE PATH      which file follows; BUILD-ID is "-" if it has none
 *   load OFFSET LENGTH ADDRESS      which bytes of the file have which addresses
 *   frames MACHINE ADDRESS KIND …   call frame information in base 64: e_machine of ELF; where the section is mapped;
 *                                   0: .eh_frame, 1: .debug_frame
 *   ADDRESS LENGTH NAME             a function
 *
 * INODE is decimal, other numbers are hexadecimal. What the kernel maps into programs has the inode 0. */
#ifndef LULL_SYMBOL_SAVED_H
#define LULL_SYMBOL_SAVED_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct lull_object;
struct lull_saved;

/* Whether a line can hold the path. */
bool lull_saved_can_hold(const char *path);
void lull_saved_append(GString *to, const struct lull_object *object, const char *path,
                       uint64_t inode);

/* Takes the text, which g_free() frees, and reads which objects it has. */
struct lull_saved *lull_saved_new(char *text, size_t length);
void lull_saved_free(struct lull_saved *saved);
/* The functions of this file; NULL: it is not there. */
struct lull_object *lull_saved_read(const struct lull_saved *saved, const char *path,
                                    uint64_t inode);
/* How they call each other, without their names; NULL: that is not there. */
struct lull_object *lull_saved_read_frames(const struct lull_saved *saved, const char *path,
                                           uint64_t inode);

#endif
