/* SPDX-License-Identifier: MIT */
/* Lines of source code, in a build without libdw: there are none. */
#include "symbol/lines.h"

#include <stddef.h>

struct lull_lines *lull_lines_new(const struct lull_object *object)
{
    return NULL;
}

void lull_lines_free(struct lull_lines *lines)
{
}

uint32_t lull_lines_find(struct lull_lines *lines, uint64_t address,
                         struct lull_code code[LULL_MOST_INLINED])
{
    return 0;
}
