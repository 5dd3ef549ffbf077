/* SPDX-License-Identifier: MIT */
/* Without libbpf or clang there is no tracker. */
#include "live/tracker.h"

struct lull_tracker *lull_tracker_new(const struct lull_tracker_question *question, GError **error)
{
    g_set_error_literal(
        error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
        "this lull was built without live tracking, which needs libbpf-dev and clang "
        "(-Dlive=enabled)");
    return NULL;
}

int lull_tracker_fd(const struct lull_tracker *tracker)
{
    return -1;
}

bool lull_tracker_take(struct lull_tracker *tracker, GError **error)
{
    return true;
}

void lull_tracker_govern(struct lull_tracker *tracker)
{
}

bool lull_tracker_count(struct lull_tracker *tracker, struct lull_tracker_counts *counts,
                        GError **error)
{
    return true;
}

void lull_tracker_free(struct lull_tracker *tracker)
{
}
