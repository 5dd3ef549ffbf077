/* SPDX-License-Identifier: MIT */
/* Reads the session again, now that the paths are known: no more is kept than the parts of these. */
#include "analysis/path_calls.h"

#include <stdlib.h>

#include "calls/cuts.h"

struct of_path {
    struct lull_path_calls public;
    const struct lull_path *path;
    LULL_VEC(struct lull_path_part) parts;
};

struct lull_paths_calls {
    struct lull_calls_reading reading;
    struct of_path *paths;
    uint32_t n_paths;
    uint32_t *segments_before; /* of each path: of those before it */
};

/* ---- reading ---- */

static void add_part(void *user, uint32_t number, const struct lull_calls_stretch *stretch)
{
    struct lull_paths_calls *all = user;
    uint32_t at = 0;
    for (uint32_t end = all->n_paths; end - at > 1;) {
        const uint32_t middle = at + (end - at) / 2;
        if (all->segments_before[middle] <= number) {
            at = middle;
        } else {
            end = middle;
        }
    }
    struct of_path *of = &all->paths[at];
    const uint32_t segment = number - all->segments_before[at];
    if (of->parts.count > 0) {
        struct lull_path_part *last = &of->parts.items[of->parts.count - 1];
        if (last->segment == segment && last->node == stretch->node &&
            last->end_ns == stretch->start_ns && last->is_uncertain == stretch->is_uncertain) {
            last->end_ns = stretch->end_ns;
            return;
        }
    }
    lull_vec_push(&of->parts, (struct lull_path_part){segment, stretch->node, stretch->start_ns,
                                                      stretch->end_ns, stretch->is_uncertain});
}

/* All segments of all paths; *start_ns, *end_ns: their times. */
static struct lull_calls_span *make_spans(struct lull_paths_calls *all, uint32_t *count,
                                          int64_t *start_ns, int64_t *end_ns)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < all->n_paths; i++) {
        all->segments_before[i] = n;
        n += all->paths[i].path->n_segments;
        *start_ns = MIN(*start_ns, all->paths[i].path->start_ns);
        *end_ns = MAX(*end_ns, all->paths[i].path->end_ns);
    }
    struct lull_calls_span *spans = g_new(struct lull_calls_span, MAX(n, 1));
    *count = 0;
    for (uint32_t i = 0; i < all->n_paths; i++) {
        const struct lull_path *path = all->paths[i].path;
        for (uint32_t k = 0; k < path->n_segments; k++) {
            const struct lull_segment *segment = &path->segments[k];
            spans[*count] = (struct lull_calls_span){segment->host, segment->tid, segment->start_ns,
                                                     segment->end_ns, *count};
            ++*count;
        }
    }
    return spans;
}

/* ---- what it comes to ---- */

static int compare_parts(const void *a, const void *b)
{
    const struct lull_path_part *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* A broken trace may have two tasks of one number at a time: the one that was there first counts. */
static void sort_parts(struct of_path *of)
{
    size_t n = 0;
    int64_t until_ns = INT64_MIN;
    if (of->parts.count > 0) {
        qsort(of->parts.items, of->parts.count, sizeof *of->parts.items, compare_parts);
    }
    for (size_t i = 0; i < of->parts.count; i++) {
        struct lull_path_part part = of->parts.items[i];
        part.start_ns = MAX(part.start_ns, until_ns);
        if (part.end_ns > part.start_ns) {
            of->parts.items[n++] = part;
            until_ns = part.end_ns;
        }
    }
    of->parts.count = n;
}

static void sum_up(struct of_path *of)
{
    struct lull_path_calls *public = &of->public;
    const struct lull_path *path = of->path;
    struct lull_function_shares shares = {0};
    uint32_t at = 0;
    sort_parts(of);
    public->parts = of->parts.items;
    public->n_parts = (uint32_t)of->parts.count;
    public->firsts = g_new(uint32_t, path->n_segments + 1);
    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *segment = &path->segments[i];
        int64_t left_ns = segment->end_ns - segment->start_ns;
        public->firsts[i] = at;
        for (; at < public->n_parts && public->parts[at].segment == i; at++) {
            const int64_t ns = public->parts[at].end_ns - public->parts[at].start_ns;
            const uint32_t function =
                lull_calls_own_function(public->calls, public->parts[at].node);
            lull_function_shares_add(
                &shares, public->calls,
                &(struct lull_function_share){function, segment->state, segment->cause, ns, 0});
            public->uncertain_ns += public->parts[at].is_uncertain ? ns : 0;
            left_ns -= ns;
        }
        if (left_ns > 0) {
            lull_function_shares_add(&shares, public->calls,
                                     &(struct lull_function_share){LULL_NONE, segment->state,
                                                                   segment->cause, left_ns, 0});
        }
    }
    public->firsts[path->n_segments] = at;
    lull_function_shares_sort(&shares);
    g_clear_pointer(&shares.by_key, g_hash_table_unref);
    public->n_by_function = (uint32_t)shares.items.count;
    public->by_function = lull_vec_steal(&shares.items);
}

/* ---- the whole ---- */

static void watch(void *user, struct lull_calls_reading *reading)
{
    lull_calls_cuts_watch(user, reading->calls, reading->model);
}

struct lull_paths_calls *lull_paths_calls_read(struct lull_session *session,
                                               const struct lull_path *const *paths, uint32_t n,
                                               void (*progress)(void *user), void *user)
{
    struct lull_paths_calls *all = g_new0(struct lull_paths_calls, 1);
    int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
    uint32_t n_spans;
    all->paths = g_new0(struct of_path, MAX(n, 1));
    all->segments_before = g_new0(uint32_t, MAX(n, 1));
    all->n_paths = n;
    for (uint32_t i = 0; i < n; i++) {
        all->paths[i].path = paths[i];
    }
    g_autofree struct lull_calls_span *spans = make_spans(all, &n_spans, &start_ns, &end_ns);
    struct lull_calls_cuts *cuts = lull_calls_cuts_new(spans, n_spans, add_part, all);
    all->reading = (struct lull_calls_reading){.prepare = watch, .prepare_user = cuts};
    if (n_spans > 0) {
        lull_calls_read(&all->reading, session, -1, start_ns, end_ns, NULL, NULL, progress, user);
    }
    lull_calls_cuts_free(cuts);
    for (uint32_t i = 0; i < n; i++) {
        all->paths[i].public.model = all->reading.model;
        all->paths[i].public.calls = all->reading.calls;
        sum_up(&all->paths[i]);
    }
    return all;
}

void lull_paths_calls_free(struct lull_paths_calls *all)
{
    if (!all) {
        return;
    }
    for (uint32_t i = 0; i < all->n_paths; i++) {
        lull_vec_free(&all->paths[i].parts);
        g_free(all->paths[i].public.firsts);
        g_free(all->paths[i].public.by_function);
    }
    lull_calls_reading_clear(&all->reading);
    g_free(all->paths);
    g_free(all->segments_before);
    g_free(all);
}

const struct lull_path_calls *lull_paths_calls_of(const struct lull_paths_calls *all, uint32_t path)
{
    return &all->paths[path].public;
}
