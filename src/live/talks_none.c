/* SPDX-License-Identifier: MIT */
/* Without eBPF nobody remembers who talked to whom. */
#include "live/talks.h"

struct lull_talks *lull_talks_new(GError **error)
{
    g_set_error_literal(
        error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
        "who talks to whom cannot be watched: this lull was built without live tracking; building "
        "it needs libbpf-dev and clang (-Dlive=enabled)");
    return NULL;
}

void lull_talks_list(const struct lull_talks *talks, GArray *list)
{
}

void lull_talks_free(struct lull_talks *talks)
{
}
