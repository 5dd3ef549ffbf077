/* SPDX-License-Identifier: MIT */
/* Reads what the programs in the kernel count and sum: histograms, of each CPU one, and maps, which it
 * empties. */
#include "live/bpf_tracker.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

bool lull_bpf_counts(const struct lull_bpf_tracker *tracker, struct lull_track_counts *sum)
{
    const uint32_t zero = 0, n_cpus = (uint32_t)MAX(libbpf_num_possible_cpus(), 1);
    g_autofree struct lull_track_counts *of_cpus = g_new0(struct lull_track_counts, n_cpus);
    if (bpf_map_lookup_elem(lull_bpf_map(tracker, "counts"), &zero, of_cpus) != 0) {
        return false;
    }
    for (uint32_t cpu = 0; cpu < n_cpus; cpu++) {
        uint64_t *to = (uint64_t *)sum;
        for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) {
            to[i] += ((const uint64_t *)&of_cpus[cpu])[i];
        }
    }
    return true;
}

static void add_cpu(struct lull_track_histogram *to, const struct lull_track_histogram *of_cpu,
                    uint64_t interval)
{
    const struct lull_track_longest *longest = &of_cpu->longest[interval & 1];
    for (uint32_t bucket = 0; bucket < LULL_TRACK_BUCKETS; bucket++) {
        to->n[bucket] += of_cpu->n[bucket];
    }
    to->ns += of_cpu->ns;
    if (longest->interval == interval) {
        to->longest[0].ns = MAX(to->longest[0].ns, longest->ns);
    }
}

bool lull_bpf_histograms(const struct lull_bpf_tracker *tracker, uint64_t interval,
                         struct lull_track_histograms *all, GError **error)
{
    const uint32_t zero = 0, n_cpus = (uint32_t)MAX(libbpf_num_possible_cpus(), 1);
    g_autofree struct lull_track_histograms *of_cpus = g_new0(struct lull_track_histograms, n_cpus);
    if (bpf_map_lookup_elem(lull_bpf_map(tracker, "histograms"), &zero, of_cpus) != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                    "live tracking: cannot read the histograms: %s", g_strerror(errno));
        return false;
    }
    memset(all, 0, sizeof *all);
    for (uint32_t cpu = 0; cpu < n_cpus; cpu++) {
        for (uint32_t i = 0; i < LULL_TRACK_HISTOGRAMS; i++) {
            add_cpu(&lull_histograms_each(all)[i], &lull_histograms_each(&of_cpus[cpu])[i],
                    interval);
        }
    }
    return true;
}

/* ---- maps ---- */

/* Empties a map; false and an error. Waits that end in the nanoseconds between the reading and the
 * deleting of their sum are lost. */
static bool drain(int map, void *keys, void *values, uint32_t *n, GError **error)
{
    LIBBPF_OPTS(bpf_map_batch_opts, options);
    uint32_t position;
    *n = LULL_TRACK_MOST_CHAINS;
    if (bpf_map_lookup_and_delete_batch(map, NULL, &position, keys, values, n, &options) == 0 ||
        errno == ENOENT) { /* that was all */
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                "live tracking: cannot read the sums of waits: %s", g_strerror(errno));
    return false;
}

bool lull_bpf_ended(const struct lull_bpf_tracker *tracker,
                    void (*add)(void *user, uint32_t pid, const struct lull_track_ended *ended),
                    void *user, GError **error)
{
    uint32_t n;
    /* Only what is filled ever becomes memory. */
    g_autofree uint32_t *pids = g_new(uint32_t, LULL_TRACK_MOST_CHAINS);
    g_autofree struct lull_track_ended *ended =
        g_new(struct lull_track_ended, LULL_TRACK_MOST_CHAINS);
    if (!drain(lull_bpf_map(tracker, "ended_tasks"), pids, ended, &n, error)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        add(user, pids[i], &ended[i]);
    }
    return true;
}

bool lull_bpf_chains(const struct lull_bpf_tracker *tracker, GArray *chains, GError **error)
{
    uint32_t n;
    g_autofree struct lull_track_chain *keys =
        g_new(struct lull_track_chain, LULL_TRACK_MOST_CHAINS);
    g_autofree struct lull_track_chain_sum *values =
        g_new(struct lull_track_chain_sum, LULL_TRACK_MOST_CHAINS);
    g_array_set_size(chains, 0);
    if (!drain(lull_bpf_map(tracker, "chains"), keys, values, &n, error)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_live_chain chain = {.key = keys[i], .sum = values[i]};
        if (lull_live_chain_is_sound(&chain)) {
            g_array_append_val(chains, chain);
        }
    }
    return true;
}
