/* SPDX-License-Identifier: MIT */
/* The kernel's own symbols, as /proc/kallsyms lists them: address, kind, name, module. */
#ifndef LULL_SYMBOL_KALLSYMS_H
#define LULL_SYMBOL_KALLSYMS_H

#include <stddef.h>

#include "symbol/table.h"

/* The functions, those of modules as "name[module]". `modules` is the text of /proc/modules, which
 * says where each ends, or NULL. NULL: the text names none, since it is empty, damaged, or the kernel
 * hides its addresses (all are 0). */
struct lull_symbol_table *lull_kallsyms_parse(const char *text, size_t length, const char *modules);
/* The address of `_text`, where the kernel's code starts; 0: the text does not say. */
uint64_t lull_kallsyms_start(const char *text, size_t length);

#endif
