/* SPDX-License-Identifier: MIT */
/* The tracker over eBPF, for what reads the maps that its programs share. */
#ifndef LULL_LIVE_BPF_TRACKER_H
#define LULL_LIVE_BPF_TRACKER_H

#include "live/kind.h"

struct lull_bpf_tracker;

/* A map of the programs. */
int lull_bpf_map(const struct lull_bpf_tracker *tracker, const char *name);

/* ---- bpf_sums.c, as struct lull_live_kind has them ---- */

/* Adds what all CPUs counted. False: they cannot be read, and errno says why. */
bool lull_bpf_counts(const struct lull_bpf_tracker *tracker, struct lull_track_counts *sum);
/* All since the start; the longest is that of the interval of this number. */
bool lull_bpf_histograms(const struct lull_bpf_tracker *tracker, uint64_t interval,
                         struct lull_track_histograms *all, GError **error);
bool lull_bpf_chains(const struct lull_bpf_tracker *tracker, GArray *chains, GError **error);
bool lull_bpf_ended(const struct lull_bpf_tracker *tracker,
                    void (*add)(void *user, uint32_t pid, const struct lull_track_ended *ended),
                    void *user, GError **error);

#endif
