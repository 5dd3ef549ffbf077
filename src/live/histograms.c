/* SPDX-License-Identifier: MIT */
/* Reads the histograms that the programs in the kernel keep, of each CPU one. */
#include "live/tracker.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

/* Counts only ever grow: what is new is the difference. */
bool lull_tracker_histograms(const struct lull_tracker *tracker,
                             struct lull_track_histogram before[LULL_TRACK_MEASURES],
                             struct lull_track_histogram since[LULL_TRACK_MEASURES], GError **error)
{
    const uint32_t zero = 0, n_cpus = (uint32_t)MAX(libbpf_num_possible_cpus(), 1);
    g_autofree struct lull_track_histograms *of_cpus = g_new0(struct lull_track_histograms, n_cpus);
    if (bpf_map_lookup_elem(lull_tracker_map(tracker, "histograms"), &zero, of_cpus) != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                    "live tracking: cannot read the histograms: %s", g_strerror(errno));
        return false;
    }
    for (uint32_t i = 0; i < LULL_TRACK_MEASURES; i++) {
        for (uint32_t bucket = 0; bucket < LULL_TRACK_BUCKETS; bucket++) {
            uint64_t all = 0;
            for (uint32_t cpu = 0; cpu < n_cpus; cpu++) {
                all += of_cpus[cpu].of[i].n[bucket];
            }
            since[i].n[bucket] = all - before[i].n[bucket];
            before[i].n[bucket] = all;
        }
    }
    return true;
}
