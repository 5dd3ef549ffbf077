/* SPDX-License-Identifier: MIT */
/* Reads the histograms that the programs in the kernel keep, of each CPU one. */
#include "live/bpf_tracker.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

/* Counts only ever grow: what is new is the difference. */
bool lull_bpf_histograms(const struct lull_bpf_tracker *tracker,
                         struct lull_track_histograms *before, struct lull_track_histograms *since,
                         GError **error)
{
    const uint32_t zero = 0, n_cpus = (uint32_t)MAX(libbpf_num_possible_cpus(), 1);
    g_autofree struct lull_track_histograms *of_cpus = g_new0(struct lull_track_histograms, n_cpus);
    if (bpf_map_lookup_elem(lull_bpf_map(tracker, "histograms"), &zero, of_cpus) != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                    "live tracking: cannot read the histograms: %s", g_strerror(errno));
        return false;
    }
    uint64_t *was = (uint64_t *)before, *new = (uint64_t *)since;
    for (size_t i = 0; i < sizeof *before / sizeof *was; i++) {
        uint64_t all = 0;
        for (uint32_t cpu = 0; cpu < n_cpus; cpu++) {
            all += ((const uint64_t *)&of_cpus[cpu])[i];
        }
        new[i] = all - was[i];
        was[i] = all;
    }
    return true;
}
