/* SPDX-License-Identifier: MIT */
/* Without libbpf or clang only what the tracers record is known. */
#include "record/names/names.h"

struct lull_names *lull_names_new(const struct lull_names_wish *wish, GError **error)
{
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                        "this lull was built without libbpf and clang");
    return NULL;
}

bool lull_names_follow(struct lull_names *names, pid_t pid, GError **error)
{
    return true;
}

void lull_names_take(struct lull_names *names, const struct lull_names_sink *sink)
{
}

uint64_t lull_names_lost(const struct lull_names *names)
{
    return 0;
}

void lull_names_free(struct lull_names *names)
{
}
