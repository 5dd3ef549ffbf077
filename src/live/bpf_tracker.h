/* SPDX-License-Identifier: MIT */
/* The tracker over eBPF, for what reads the memory and the maps that its programs share. */
#ifndef LULL_LIVE_BPF_TRACKER_H
#define LULL_LIVE_BPF_TRACKER_H

#include "live/kind.h"

struct lull_bpf_tracker;

/* A map of the programs, what may be changed while they run, and all slots. */
int lull_bpf_map(const struct lull_bpf_tracker *tracker, const char *name);
volatile struct lull_track_governed *lull_bpf_governed(const struct lull_bpf_tracker *tracker);
/* How many slots there are. */
uint32_t lull_bpf_slot_count(const struct lull_bpf_tracker *tracker);
/* What slot `i` has before `spare`. False if it is free. */
bool lull_bpf_slot(const struct lull_bpf_tracker *tracker, uint32_t i,
                   struct lull_track_slot *slot);
bool lull_bpf_count(struct lull_bpf_tracker *tracker, struct lull_tracker_counts *counts,
                    GError **error);
bool lull_bpf_histograms(const struct lull_bpf_tracker *tracker,
                         struct lull_track_histograms *before, struct lull_track_histograms *since,
                         GError **error);

/* ---- sums.c ---- */

bool lull_bpf_chains(const struct lull_bpf_tracker *tracker, GArray *chains, GError **error);

struct lull_sums;

/* The tracker, which must have sums, is borrowed. The first interval starts now. */
struct lull_sums *lull_sums_new(struct lull_bpf_tracker *tracker);
/* Ends the interval, and starts the next. */
bool lull_sums_take(struct lull_sums *sums, struct lull_interval *interval, GError **error);
void lull_sums_free(struct lull_sums *sums);

#endif
