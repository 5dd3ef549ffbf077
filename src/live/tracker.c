/* SPDX-License-Identifier: MIT */
/* Chooses a way to watch this machine, and hands on what is asked of it. */
#include "live/tracker.h"

#include <string.h>

#include "live/kind.h"

const char lull_tracker_needs_bpf[] = "eBPF";

static bool can(const struct lull_live_kind *kind, const struct lull_tracker_question *question,
                GError **error)
{
    if (kind->has_alarms || (question->has_sums && question->n_rules == 0)) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                "live tracking: %s sees no single waits, so there are no rules with it",
                kind->name);
    return false;
}

static struct lull_tracker *start(const struct lull_live_kind *kind,
                                  const struct lull_tracker_question *question, GError **error)
{
    struct lull_tracker *tracker = can(kind, question, error) ? kind->start(question, error) : NULL;
    if (tracker) {
        tracker->kind = kind;
    }
    return tracker;
}

static void refuse_missing(const char *what, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                "live tracking: this lull was built without %s; building it needs libbpf-dev and "
                "clang (-Dlive=enabled)",
                what);
}

static struct lull_tracker *start_named(const struct lull_tracker_question *question,
                                        GError **error)
{
    for (uint32_t i = 0; lull_live_kinds[i]; i++) {
        if (strcmp(lull_live_kinds[i]->name, question->backend) == 0) {
            return start(lull_live_kinds[i], question, error);
        }
    }
    refuse_missing(question->backend, error);
    return NULL;
}

/* Why the best is not used. */
static char *describe(const GError *why)
{
    const char *prefix = "live tracking: ";
    const size_t skipped = g_str_has_prefix(why->message, prefix) ? strlen(prefix) : 0;
    return g_strdup_printf("no %s: %s", lull_live_kinds[0]->name, why->message + skipped);
}

bool lull_tracker_lacks(const char *backend, const char *lacks[LULL_TRACK_MEASURES], char **why,
                        GError **error)
{
    GError *first = NULL;
    for (uint32_t i = 0; lull_live_kinds[i]; i++) {
        const struct lull_live_kind *kind = lull_live_kinds[i];
        if (kind->lacks && (!backend || strcmp(kind->name, backend) == 0) &&
            kind->lacks(lacks, first ? NULL : &first)) {
            if (why) {
                *why = first ? describe(first) : NULL;
            }
            g_clear_error(&first);
            return true;
        }
    }
    if (!first) {
        refuse_missing(backend ? backend : "eBPF", &first);
    }
    g_propagate_error(error, first);
    return false;
}

/* What the best one lacks is said, whichever works in the end. */
struct lull_tracker *lull_tracker_new(const struct lull_tracker_question *question, GError **error)
{
    GError *why = NULL;
    if (question->backend) {
        return start_named(question, error);
    }
    for (uint32_t i = 0; lull_live_kinds[i]; i++) {
        struct lull_tracker *tracker = start(lull_live_kinds[i], question, why ? NULL : &why);
        if (tracker) {
            tracker->why = why ? describe(why) : NULL;
            g_clear_error(&why);
            return tracker;
        }
    }
    g_propagate_error(error, why);
    return NULL;
}

void lull_tracker_free(struct lull_tracker *tracker)
{
    if (tracker) {
        g_free(tracker->why);
        tracker->kind->free(tracker);
    }
}

struct lull_tracker_how lull_tracker_how(const struct lull_tracker *tracker)
{
    return (struct lull_tracker_how){.backend = tracker->kind->name,
                                     .unseen = tracker->kind->unseen,
                                     .why = tracker->why,
                                     .sees_waits = tracker->kind->has_alarms};
}

int lull_tracker_fd(const struct lull_tracker *tracker)
{
    return tracker->kind->fd(tracker);
}

bool lull_tracker_take(struct lull_tracker *tracker, GError **error)
{
    return tracker->kind->take(tracker, error);
}

bool lull_tracker_finish(struct lull_tracker *tracker, GError **error)
{
    const struct lull_live_kind *kind = tracker->kind;
    return kind->finish ? kind->finish(tracker, error) : kind->take(tracker, error);
}

void lull_tracker_govern(struct lull_tracker *tracker)
{
    if (tracker->kind->govern) {
        tracker->kind->govern(tracker);
    }
}

bool lull_tracker_count(struct lull_tracker *tracker, struct lull_tracker_counts *counts,
                        GError **error)
{
    return tracker->kind->count(tracker, counts, error);
}

/* Counts only ever grow: what is new is the difference. */
static void take_new(struct lull_track_histogram *since, const struct lull_track_histogram *all,
                     const struct lull_track_histogram *before)
{
    *since = *all;
    for (uint32_t bucket = 0; bucket < LULL_TRACK_BUCKETS; bucket++) {
        since->n[bucket] -= before->n[bucket];
    }
    since->ns -= before->ns;
}

bool lull_tracker_histograms(const struct lull_tracker *tracker,
                             struct lull_track_histograms *before,
                             struct lull_track_histograms *since, GError **error)
{
    g_autofree struct lull_track_histograms *all = g_new(struct lull_track_histograms, 1);
    if (!tracker->kind->histograms(tracker, all, error)) {
        return false;
    }
    for (uint32_t i = 0; i < LULL_TRACK_HISTOGRAMS; i++) {
        take_new(&lull_histograms_each(since)[i], &lull_histograms_each(all)[i],
                 &lull_histograms_each(before)[i]);
    }
    *before = *all;
    return true;
}

bool lull_tracker_chains(const struct lull_tracker *tracker, GArray *chains, GError **error)
{
    return tracker->kind->chains(tracker, chains, error);
}

bool lull_tracker_sum(struct lull_tracker *tracker, struct lull_interval *interval, GError **error)
{
    return tracker->kind->sum(tracker, interval, error);
}
