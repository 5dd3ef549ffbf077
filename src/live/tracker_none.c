/* SPDX-License-Identifier: MIT */
/* Without libbpf or clang there is no tracker, and nothing to sum. */
#include "live/sums.h"

static void refuse(GError **error)
{
    g_set_error_literal(
        error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
        "this lull was built without live tracking, which needs libbpf-dev and clang "
        "(-Dlive=enabled)");
}

bool lull_tracker_lacks(const char *lacks[LULL_TRACK_MEASURES], GError **error)
{
    refuse(error);
    return false;
}

struct lull_tracker *lull_tracker_new(const struct lull_tracker_question *question, GError **error)
{
    refuse(error);
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

bool lull_tracker_histograms(const struct lull_tracker *tracker,
                             struct lull_track_histograms *before,
                             struct lull_track_histograms *since, GError **error)
{
    return true;
}

bool lull_tracker_chains(const struct lull_tracker *tracker, GArray *chains, GError **error)
{
    return true;
}

struct lull_sums *lull_sums_new(struct lull_tracker *tracker)
{
    return NULL;
}

bool lull_sums_take(struct lull_sums *sums, struct lull_interval *interval, GError **error)
{
    return true;
}

void lull_sums_free(struct lull_sums *sums)
{
}
