/* SPDX-License-Identifier: MIT */
/* Names of C++, Rust and Cython as their sources have them. */
#ifndef LULL_SYMBOL_DEMANGLE_H
#define LULL_SYMBOL_DEMANGLE_H

#include <glib.h>

/* "_ZN4llvm3Foo3barEi" → "llvm::Foo::bar", without the types of parameters and Rust's hashes;
 * "__pyx_f_3pkg_3mod_work" → "pkg.mod.work"; to be freed with g_free(). NULL: it is no such name, or one of a
 * length that nobody reads. */
char *lull_demangle(const char *name);

/* The same of C++ and Rust alone; NULL where Lull is built without libiberty. */
char *lull_demangle_compilers(const char *name);

/* Appends that, or the name as it is. */
static inline void lull_demangle_append(const char *name, GString *out)
{
    g_autofree char *readable = lull_demangle(name);
    g_string_append(out, readable ? readable : name);
}

#endif
