/* SPDX-License-Identifier: MIT */
/* Built without libiberty: names of C++ and Rust stay as they are. */
#include "symbol/demangle.h"

#include <stddef.h>

char *lull_demangle_compilers(const char *name)
{
    return NULL;
}
