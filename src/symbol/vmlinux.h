/* SPDX-License-Identifier: MIT */
/* The file of a kernel with its symbols and debug information, where packages, builds and people put it. */
#ifndef LULL_SYMBOL_VMLINUX_H
#define LULL_SYMBOL_VMLINUX_H

#include <stdint.h>

#include "symbol/object.h"

/* The one with this build-id (hexadecimal digits) below a directory; NULL as directory: of this machine. NULL: there
 * is none that names functions. */
struct lull_object *lull_vmlinux_find(const char *directory, const char *build_id);
/* The same of a file. */
struct lull_object *lull_vmlinux_read(const char *path, const char *build_id);
/* The address of `_text` as the file has it, where the kernel's code starts; 0: it has none. */
uint64_t lull_vmlinux_start(const struct lull_object *vmlinux);

#endif
