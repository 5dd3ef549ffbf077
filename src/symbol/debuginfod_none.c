/* SPDX-License-Identifier: MIT */
/* Built without libdebuginfod: no server is asked. */
#include "symbol/debuginfod.h"

#include <lull/error.h>

bool lull_debuginfod_check(GError **error)
{
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                        "--debuginfod: this lull is built without libdebuginfod");
    return false;
}

struct lull_debuginfod *lull_debuginfod_new(void)
{
    return NULL;
}

void lull_debuginfod_free(struct lull_debuginfod *servers)
{
}

char *lull_debuginfod_find(struct lull_debuginfod *servers, const char *build_id,
                           enum lull_debuginfod_kind kind)
{
    return NULL;
}

const char *lull_debuginfod_why(const struct lull_debuginfod *servers)
{
    return "Lull is built without libdebuginfod";
}
