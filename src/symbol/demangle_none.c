/* SPDX-License-Identifier: MIT */
/* Built without libiberty: names stay as they are. */
#include "symbol/demangle.h"

#include <stddef.h>

char *lull_demangle(const char *name)
{
    return NULL;
}
